//===- LoopIndices.cpp - which element an iteration selects ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are numbers, or tensors of one element, and what they are computed
// from is so, too: folding gives what they are. What a loop carries and is such
// a number is followed from one iteration to the next.
//
//===----------------------------------------------------------------------===//

#include "LoopIndices.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace remat;
using import::LoopBounds;
using import::Order;

/// Iterations of a loop whose indices are computed. There are slices of longer
/// loops, too, but it takes seconds to find them.
static constexpr int64_t maxTrips = int64_t(1) << 20;

/// Operations that an index is computed by: those of an exporter are a few.
static constexpr size_t maxOperations = 256;

/// Whether `type` is a number, or a tensor of one.
static bool isNumber(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && (!tensor.hasStaticShape() || tensor.getNumElements() != 1))
    return false;
  return (tensor ? tensor.getElementType() : type).isIntOrIndexOrFloat();
}

namespace {
/// What the numbers are that an index of a loop depends on, iteration by
/// iteration.
class Evaluation {
public:
  Evaluation(scf::ForOp loop, LoopBounds bounds, Value index)
      : loop(loop), bounds(bounds), index(index) {
    collect();
  }

  /// What the index is in the next iteration; null if that is not known.
  Attribute next();

private:
  void collect();
  void collect(Value value);
  void evaluate(Operation *op);
  void evaluateBody(linalg::LinalgOp op);
  bool isInLoop(Operation *op) {
    return loop.getRegion().isAncestor(op->getParentRegion());
  }

  scf::ForOp loop;
  LoopBounds bounds;
  Value index;
  int64_t number = 0;
  /// What computes the numbers, operands first.
  SmallVector<Operation *> operations;
  DenseSet<Value> collected;
  /// The numbers of what is carried.
  llvm::SetVector<unsigned> carried;
  /// What values are. Nothing is known of those that are missing, or null.
  DenseMap<Value, Attribute> known;
};
} // namespace

/// Whether `op` computes one element of each result.
static bool isOfOneElement(linalg::LinalgOp op) {
  return llvm::all_of(op.getStaticLoopRanges(),
                      [](int64_t size) { return size == 1; }) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

void Evaluation::collect(Value value) {
  if (!isNumber(value.getType()) || operations.size() >= maxOperations ||
      !collected.insert(value).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getOwner() == loop.getBody() && argument.getArgNumber() > 0)
      carried.insert(argument.getArgNumber() - 1);
    return;
  }
  Operation *op = value.getDefiningOp();
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (structured
          ? !structured.hasPureTensorSemantics() || !isOfOneElement(structured)
          : op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return;
  for (Value operand : op->getOperands())
    collect(operand);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value operand : captured)
    collect(operand);
  operations.push_back(op);
}

void Evaluation::collect() {
  collect(index);
  // What is carried depends on all that it was, so it is no operand: the index
  // may be what it becomes.
  for (size_t i = 0; i < carried.size(); ++i) {
    collect(loop.getInitArgs()[carried[i]]);
    collect(loop.getYieldedValues()[carried[i]]);
  }
}

/// The element of what a tensor of one is, or the number itself.
static Attribute getElement(Attribute value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  return elements ? elements.getSplatValue<Attribute>() : value;
}

/// Computes the one element of each result of `op`.
void Evaluation::evaluateBody(linalg::LinalgOp op) {
  Block *block = op.getBlock();
  for (OpOperand &operand : op->getOpOperands())
    known[op.getMatchingBlockArgument(&operand)] =
        getElement(known.lookup(operand.get()));
  for (Operation &inner : block->without_terminator())
    if (isa<linalg::IndexOp>(inner))
      known[inner.getResult(0)] =
          IntegerAttr::get(IndexType::get(op->getContext()), 0);
    else if (inner.getNumRegions() == 0 && isMemoryEffectFree(&inner))
      evaluate(&inner);
  for (auto [result, yielded] :
       llvm::zip(op->getResults(), block->getTerminator()->getOperands())) {
    Attribute element = known.lookup(yielded);
    known[result] = element ? DenseElementsAttr::get(
                                  cast<ShapedType>(result.getType()), element)
                            : Attribute();
  }
}

void Evaluation::evaluate(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return evaluateBody(structured);
  for (Value result : op->getResults())
    known.erase(result);
  if (isTransparentOp(op)) {
    known[op->getResult(0)] = known.lookup(op->getOperand(0));
    return;
  }
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    known[op->getResult(0)] = constant;
    return;
  }
  SmallVector<Attribute> operands;
  for (Value operand : op->getOperands())
    operands.push_back(known.lookup(operand));
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) ||
      folded.size() != op->getNumResults())
    return;
  for (auto [result, value] : llvm::zip(op->getResults(), folded)) {
    auto attribute = dyn_cast<Attribute>(value);
    if (!attribute)
      attribute = known.lookup(cast<Value>(value));
    // What is undefined is no number either.
    if (isa_and_nonnull<IntegerAttr, FloatAttr, DenseElementsAttr>(attribute))
      known[result] = attribute;
  }
}

Attribute Evaluation::next() {
  SmallVector<Attribute> state;
  for (unsigned i : carried)
    state.push_back(known.lookup(loop.getYieldedValues()[i]));
  // What is around the loop is the same in all iterations.
  if (number == 0) {
    for (Operation *op : operations)
      if (!isInLoop(op))
        evaluate(op);
    for (auto [value, i] : llvm::zip(state, carried))
      value = known.lookup(loop.getInitArgs()[i]);
  }
  for (auto [value, i] : llvm::zip(state, carried))
    known[loop.getRegionIterArgs()[i]] = value;
  Value counter = loop.getInductionVar();
  known[counter] =
      import::getCounter(counter.getType(), bounds.low, bounds.step, number);
  for (Operation *op : operations)
    if (isInLoop(op))
      evaluate(op);
  ++number;
  return known.lookup(index);
}

Order import::LoopIndices::findOrder(OpFoldResult index) {
  auto value = dyn_cast<Value>(index);
  if (!value || bounds.trips > maxTrips)
    return Order::None;
  auto [it, isNew] = orders.try_emplace(value, Order::None);
  if (!isNew)
    return it->second;
  Evaluation evaluation(loop, bounds, value);
  // Which element is the last is known at run time, then.
  bool isForward = true, isBackward = !bounds.isRunTime;
  for (int64_t number = 0; number < bounds.trips; ++number) {
    auto selected = dyn_cast_or_null<IntegerAttr>(evaluation.next());
    if (!selected || !selected.getType().isIndex())
      return Order::None;
    isForward &= selected.getInt() == number;
    isBackward &= selected.getInt() == bounds.trips - 1 - number;
    if (!isForward && !isBackward)
      return Order::None;
  }
  return it->second = isForward ? Order::Forward : Order::Backward;
}
