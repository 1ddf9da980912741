//===- Sweep.cpp - differentiation of straight-line code ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Sweep.h"

#include "Idioms.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Locations.h"

using namespace mlir;
using namespace remat;

SequenceActivity::SequenceActivity(ArrayRef<Operation *> ops,
                                   ArrayRef<Value> inputs,
                                   ArrayRef<Value> outputs) {
  auto blocks = [](Operation *op) {
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    return rule && rule.blocksDerivative();
  };
  // Forwards: what depends on the inputs.
  active.insert(inputs.begin(), inputs.end());
  for (Operation *op : ops) {
    if (blocks(op) || llvm::none_of(getDependencies(op), [&](Value value) {
          return isActive(value);
        }))
      continue;
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    for (OpResult result : op->getResults())
      if (isDifferentiableType(result.getType()) &&
          (!rule || rule.resultVaries(result, *this)))
        active.insert(result);
  }
  // Backwards: of that, what the outputs depend on.
  llvm::DenseSet<Value> useful(outputs.begin(), outputs.end());
  for (Operation *op : llvm::reverse(ops)) {
    if (blocks(op) || llvm::none_of(op->getResults(), [&](Value value) {
          return useful.contains(value) && isActive(value);
        }))
      continue;
    for (Value value : getDependencies(op))
      useful.insert(value);
  }
  llvm::DenseSet<Value> varied = std::move(active);
  active.clear();
  for (Value value : varied)
    if (useful.contains(value))
      active.insert(value);
}

//===----------------------------------------------------------------------===//
// In reverse
//===----------------------------------------------------------------------===//

Value ReverseSweep::cotangent(Value forward) {
  return cotangents.get(forward, getBuilder(), getLoc());
}

void ReverseSweep::accumulate(Value forward, Value term) {
  if (term && isActive(forward))
    cotangents.add(forward, term, getBuilder(), getLoc());
}

void ReverseSweep::accumulateSlice(Value forward, Value term,
                                   ArrayRef<int64_t> offsets,
                                   ArrayRef<int64_t> sizes,
                                   ArrayRef<int64_t> strides) {
  if (term && isActive(forward))
    cotangents.addSlice(forward, {term, offsets, sizes, strides}, getBuilder(),
                        getLoc());
}

LogicalResult ReverseSweep::run(ArrayRef<Operation *> ops) {
  StringAttr name = getBuilder().getStringAttr(backwardLocName);
  for (Operation *op : llvm::reverse(ops)) {
    setLoc(NameLoc::get(name, op->getLoc()));
    // A value is complete once all its users have been visited; what was
    // collected for it is put together here.
    if (llvm::none_of(op->getResults(), [&](Value result) {
          return isActive(result) && cotangent(result);
        }))
      continue;
    if (failed(emitDerivative(op, *this)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Forwards
//===----------------------------------------------------------------------===//

LogicalResult ForwardSweep::run(ArrayRef<Operation *> ops) {
  StringAttr name = getBuilder().getStringAttr(tangentLocName);
  for (Operation *op : ops) {
    if (llvm::none_of(op->getResults(),
                      [&](Value result) { return isActive(result); }))
      continue;
    setLoc(NameLoc::get(name, op->getLoc()));
    Operation *next = op->getNextNode();
    getBuilder().setInsertionPointAfter(op);
    if (failed(emitDerivative(op, *this)))
      return failure();
    // The tangents of a backward operation are part of the backward
    // computation.
    Attribute phase = op->getAttr(RematDialect::backwardAttrName);
    for (Operation *made = op->getNextNode(); phase && made != next;
         made = made->getNextNode())
      made->setAttr(RematDialect::backwardAttrName, phase);
  }
  return success();
}
