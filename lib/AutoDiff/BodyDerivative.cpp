//===- BodyDerivative.cpp - derivatives of scalar bodies ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyDerivative.h"

#include "Emit.h"
#include "Idioms.h"

#include "remat/Utils/Locations.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// In reverse
//===----------------------------------------------------------------------===//

BodyDerivative::BodyDerivative(const StructuredBody &forward, bool forScatter,
                               bool useStored, Location loc)
    : BodyBuilder(forward, forScatter, useStored, loc) {}

Value BodyDerivative::cotangent(Value value) {
  return cotangents.lookup(value);
}

void BodyDerivative::accumulate(Value value, Value term) {
  if (!term || !isActive(value))
    return;
  Value &sum = cotangents[value];
  sum = sum ? createSum(getBuilder(), getLoc(), sum, term) : term;
}

LogicalResult BodyDerivative::sweep() {
  Location whole = getLoc();
  StringAttr name = getBuilder().getStringAttr(backwardLocName);
  for (Operation &op : llvm::reverse(forward.body->without_terminator())) {
    if (isa<tensor::ExtractOp>(op) ||
        llvm::none_of(op.getResults(),
                      [&](Value value) { return cotangent(value); }))
      continue;
    // Of operations that were fused, each is somewhere else in the model.
    setLoc(isa<UnknownLoc>(op.getLoc()) ? whole
                                        : NameLoc::get(name, op.getLoc()));
    if (failed(emitDerivative(&op, *this)))
      return failure();
  }
  setLoc(whole);
  return success();
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

BodyTangents::BodyTangents(const StructuredBody &forward, bool forScatter,
                           Location loc, ForwardContext &outer,
                           ArrayRef<Value> accumulators)
    : BodyBuilder(forward, forScatter, /*useStored=*/true, loc), outer(outer) {
  setIdiomLog(outer.getIdiomLog());
  SmallVector<Value> leaves;
  for (const StructuredBody::Element &element : forward.elements)
    if (element.inside && outer.tangent(element.source) &&
        !llvm::is_contained(accumulators, element.inside))
      leaves.push_back(element.inside);
  for (Operation &op : *forward.body)
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != forward.body && outer.tangent(operand)) {
        leaves.push_back(operand);
        // An element that is read of a tensor.
        if (isa<ShapedType>(operand.getType()))
          llvm::append_range(leaves, op.getResults());
      }
  activate(leaves);
}

Value BodyTangents::tangent(Value value) {
  if (!isActive(value))
    return nullptr;
  if (Value known = tangents.lookup(value))
    return known;
  if (value.getParentBlock() != forward.body)
    return outer.tangent(value);
  for (const StructuredBody::Element &candidate : forward.elements)
    if (candidate.inside == value)
      return tangents[value] =
                 element(outer.tangent(candidate.source), candidate.map);
  return nullptr;
}

LogicalResult BodyTangents::sweep(ArrayRef<Value> wanted) {
  llvm::DenseSet<Value> needed(wanted.begin(), wanted.end());
  SmallVector<Operation *> ops;
  for (Operation &op : llvm::reverse(forward.body->without_terminator())) {
    auto isWanted = [&](Value result) {
      return needed.contains(result) && isActive(result);
    };
    if (llvm::none_of(op.getResults(), isWanted))
      continue;
    needed.insert(op.operand_begin(), op.operand_end());
    ops.push_back(&op);
  }
  for (Operation *op : llvm::reverse(ops))
    if (failed(emitDerivative(op, *this)))
      return failure();
  return success();
}
