//===- CallOperands.cpp - constants that calls read -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CallOperands.h"
#include "KernelPool.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/ConvolutionBias.h"

using namespace mlir;
using namespace remat;

/// A buffer with what `operand`, a constant, has.
static void materialize(OpOperand &operand) {
  Operation *source = skipTransparent(operand.get()).getDefiningOp();
  if (!source || !isClonedIntoKernels(source))
    return;
  Operation *op = operand.getOwner();
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(operand.get().getType());
  Value empty = tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(),
                                        type.getElementType());
  auto copy = linalg::CopyOp::create(
      builder, op->getLoc(), ValueRange{operand.get()}, ValueRange{empty});
  copyBackward(op, copy);
  operand.set(copy->getResult(0));
}

void remat::materializeCallOperands(func::FuncOp func) {
  bool haveBiases = addsConvolutionBias(getTargetFacts(func));
  for (Operation &op : func.getOps()) {
    if (isa<ConvOp, LoopOp, StackOp, PackOp, UnpackOp>(op)) {
      for (OpOperand &operand : op.getOpOperands())
        materialize(operand);
      continue;
    }
    auto generic = dyn_cast<linalg::GenericOp>(op);
    std::optional<ConvolutionBias> added;
    if (generic && haveBiases)
      added = matchConvolutionBias(generic);
    if (!added)
      continue;
    for (OpOperand *input : generic.getDpsInputOperands())
      if (input->get() == added->bias)
        materialize(*input);
  }
}
