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

/// Checks what names a codec.
static LogicalResult verifyCodec(Operation *op, Attribute codec) {
  if (!codec)
    return success();
  if (auto name = dyn_cast<StringAttr>(codec)) {
    if (name == "bf16" || name == "int8")
      return success();
    return op->emitOpError("has the unknown codec '")
           << name.getValue() << "', expected 'bf16', 'int8' or two functions";
  }
  auto pair = dyn_cast<ArrayAttr>(codec);
  if (pair && pair.size() == 2 &&
      llvm::all_of(pair, llvm::IsaPred<FlatSymbolRefAttr>))
    return success();
  return op->emitOpError("'codec' must be a name or the symbols of two "
                         "functions, got ")
         << codec;
}

LogicalResult ScopeOp::verify() {
  if (getForbid() && (getCodec() || getOffload()))
    return emitOpError("forbids what it asks for");
  if (getCodec() && getOffload())
    return emitOpError("has both a 'codec' and 'offload', expected one");
  return verifyCodec(*this, getCodecAttr());
}

LogicalResult ScopeOp::verifyRegions() {
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
  if (!getName() && !getPolicy() && !getCodec())
    return emitOpError("needs a 'name', a 'policy' or a 'codec'");
  if (getName() && getName()->empty())
    return emitOpError("'name' must not be empty");
  return verifyCodec(*this, getCodecAttr());
}
