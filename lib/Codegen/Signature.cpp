//===- Signature.cpp - what steps take and give ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/Signature.h"
#include "remat/Codegen/Dtypes.h"

using namespace mlir;
using namespace remat;

static LogicalResult checkType(GraphOp graph, Location location, Type type,
                               StringRef what, unsigned number) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() &&
      codegen::getDtype(tensor.getElementType()))
    return success();
  return emitError(location)
         << what << " " << number << " of the step '" << graph.getSymName()
         << "' has type " << type
         << ", expected a tensor of static shape with elements of i1, i8, i16, "
            "i32, i64, index, f16, bf16, f32, f64, complex<f32> or "
            "complex<f64>";
}

LogicalResult remat::codegen::checkSignature(GraphOp graph) {
  Block &block = graph.getBody().front();
  for (BlockArgument argument : block.getArguments())
    if (failed(checkType(graph, argument.getLoc(), argument.getType(),
                         "argument", argument.getArgNumber())))
      return failure();
  for (OpOperand &operand : block.getTerminator()->getOpOperands())
    if (failed(checkType(graph, operand.get().getLoc(), operand.get().getType(),
                         "result", operand.getOperandNumber())))
      return failure();
  return success();
}
