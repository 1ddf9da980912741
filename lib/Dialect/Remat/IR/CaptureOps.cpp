//===- CaptureOps.cpp - what the user asks for (L0) -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

LogicalResult CheckpointOp::verifyRegions() {
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield)
    return emitOpError("region must end with 'remat.yield'");
  if (getBody().getNumArguments() != 0)
    return emitOpError("region must not have arguments, got ")
           << getBody().getNumArguments();
  if (yield.getValues().getTypes() != getResultTypes())
    return emitOpError("yields values of types (")
           << yield.getValues().getTypes() << "), expected its result types ("
           << getResultTypes() << ")";
  return success();
}

LogicalResult TagOp::verify() {
  if (!getName() && !getPolicy())
    return emitOpError("needs a 'name' or a 'policy'");
  if (getName() && getName()->empty())
    return emitOpError("'name' must not be empty");
  return success();
}
