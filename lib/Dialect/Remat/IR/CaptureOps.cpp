//===- CaptureOps.cpp - what the user asks for (L0) -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Dialect/Remat/IR/Remat.h"

using namespace mlir;
using namespace remat;

/// Checks a region without arguments that yields the results of its op.
static LogicalResult verifyBody(Operation *op, Region &body) {
  auto yield = dyn_cast<YieldOp>(body.front().getTerminator());
  if (!yield)
    return op->emitOpError("region must end with 'remat.yield'");
  if (body.getNumArguments() != 0)
    return op->emitOpError("region must not have arguments, got ")
           << body.getNumArguments();
  if (yield.getValues().getTypes() != op->getResultTypes())
    return op->emitOpError("yields values of types (")
           << yield.getValues().getTypes() << "), expected its result types ("
           << op->getResultTypes() << ")";
  return success();
}

LogicalResult CheckpointOp::verifyRegions() {
  return verifyBody(*this, getBody());
}

LogicalResult ScopeOp::verify() {
  if (getForbid() && (getCodec() || getOffload()))
    return emitOpError("has 'forbid' and a ")
           << (getCodec() ? "'codec'" : "'offload'") << ", expected one";
  if (getCodec() && getOffload())
    return emitOpError("has both a 'codec' and 'offload', expected one");
  return verifyCodec(*this, getCodecAttr());
}

LogicalResult ScopeOp::verifyRegions() { return verifyBody(*this, getBody()); }

LogicalResult TagOp::verify() {
  if (!getName() && !getPolicy() && !getCodec() && !isMutationMark())
    return emitOpError("needs a 'name', a 'policy' or a 'codec'");
  if (getForReaders() && !getCodec() && !getPolicy())
    return emitOpError("'for_readers' says whom a 'codec' or a 'policy' is "
                       "for, expected one of them");
  if (getName() && getName()->empty())
    return emitOpError("'name' must not be empty");
  return verifyCodec(*this, getCodecAttr());
}
