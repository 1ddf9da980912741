//===- IndexEvaluation.cpp - what an index of a loop is -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are numbers, or tensors of one element, and what they are computed
// from is so, too: folding gives what they are. What a loop carries and is such
// a number is followed from one iteration to the next.
//
// Nearly all indices grow by the same amount in each iteration, and so does
// what they are computed from. That is shown by induction: it is assumed of
// what is carried, with the amount of the first iteration, and what an
// iteration makes of it has to be what the next one begins with.
//
//===----------------------------------------------------------------------===//

#include "IndexEvaluation.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using arith::CmpIPredicate;
using import::IndexEvaluation;

/// Operations that an index is computed by: those of an exporter are a few.
static constexpr size_t maxOperations = 256;

/// Whether `type` is a number, or a tensor of one.
static bool isNumber(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && (!tensor.hasStaticShape() || tensor.getNumElements() != 1))
    return false;
  return getElementTypeOrSelf(type).isIntOrIndexOrFloat();
}

/// Whether `op` computes one element of each result.
static bool isOfOneElement(linalg::LinalgOp op) {
  return llvm::all_of(op.getStaticLoopRanges(),
                      [](int64_t size) { return size == 1; }) &&
         llvm::all_of(op->getResultTypes(), isNumber);
}

/// The element of what a tensor of one is, or the number itself.
static Attribute getElement(Attribute value) {
  auto elements = dyn_cast_or_null<DenseElementsAttr>(value);
  return elements ? elements.getSplatValue<Attribute>() : value;
}

//===----------------------------------------------------------------------===//
// What an index is computed from
//===----------------------------------------------------------------------===//

IndexEvaluation::IndexEvaluation(scf::ForOp loop, LoopBounds bounds,
                                 Value index)
    : loop(loop), bounds(bounds), index(index) {
  collect(index);
  // What is carried depends on all that it was, so it is no operand: the index
  // may be what it becomes.
  for (size_t i = 0; i < carried.size(); ++i) {
    collect(loop.getInitArgs()[carried[i]]);
    collect(loop.getYieldedValues()[carried[i]]);
  }
}

void IndexEvaluation::collect(Value value) {
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

//===----------------------------------------------------------------------===//
// What numbers are in some iterations
//===----------------------------------------------------------------------===//

/// Computes the one element of each result of `op`.
void IndexEvaluation::evaluateStructured(linalg::LinalgOp op) {
  Block *block = op.getBlock();
  for (OpOperand &operand : op->getOpOperands()) {
    auto [value, step] = known.lookup(operand.get());
    known[op.getMatchingBlockArgument(&operand)] = {getElement(value), step};
  }
  for (Operation &inner : block->without_terminator())
    if (isa<linalg::IndexOp>(inner))
      known[inner.getResult(0)] = {
          IntegerAttr::get(IndexType::get(op->getContext()), 0)};
    else if (inner.getNumRegions() == 0 && isMemoryEffectFree(&inner))
      evaluate(&inner);
  for (auto [result, yielded] :
       llvm::zip(op->getResults(), block->getTerminator()->getOperands())) {
    auto [element, step] = known.lookup(yielded);
    if (element)
      element =
          DenseElementsAttr::get(cast<ShapedType>(result.getType()), element);
    known[result] = {element, step};
  }
}

void IndexEvaluation::evaluate(Operation *op) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return evaluateStructured(structured);
  for (Value result : op->getResults())
    known.erase(result);
  if (isTransparentOp(op)) {
    Number number = known.lookup(op->getOperand(0));
    known[op->getResult(0)] = number;
    return;
  }
  Attribute constant;
  if (matchPattern(op, m_Constant(&constant))) {
    known[op->getResult(0)] = {constant};
    return;
  }
  SmallVector<Attribute> operands;
  bool isGrowing = false;
  for (Value operand : op->getOperands()) {
    Number number = known.lookup(operand);
    operands.push_back(number.value);
    isGrowing |= number.step != 0;
  }
  SmallVector<OpFoldResult> folded;
  if (failed(op->fold(operands, folded)) ||
      folded.size() != op->getNumResults())
    return;
  for (auto [result, value] : llvm::zip(op->getResults(), folded)) {
    auto attribute = dyn_cast<Attribute>(value);
    Number number =
        attribute ? Number{attribute} : known.lookup(cast<Value>(value));
    // What is undefined is no number either.
    if (!isa_and_nonnull<IntegerAttr, FloatAttr, DenseElementsAttr>(
            number.value))
      continue;
    // What operands that grow are in the first iteration, the result may be for
    // no other reason in that iteration alone.
    if (isGrowing)
      number = grow(op, number.value);
    if (number.step == 0 || getEnds(result.getType(), number))
      known[result] = number;
  }
}

/// The ends of `number` of `type`; nothing if it is no known integer, or one
/// that its type does not hold in all iterations.
std::optional<IndexEvaluation::Ends>
IndexEvaluation::getEnds(Type type, Number number) const {
  auto first = dyn_cast_or_null<IntegerAttr>(getElement(number.value));
  if (!first || first.getValue().getBitWidth() > 64)
    return std::nullopt;
  Ends ends = {first.getValue().getSExtValue(), 0};
  if (llvm::MulOverflow(number.step, count - 1, ends.last) ||
      llvm::AddOverflow(ends.first, ends.last, ends.last) ||
      !llvm::isIntN(getCounterWidth(getElementTypeOrSelf(type)), ends.last))
    return std::nullopt;
  return ends;
}

std::optional<IndexEvaluation::Ends>
IndexEvaluation::getEnds(Value value) const {
  return getEnds(value.getType(), known.lookup(value));
}

/// Whether `a` and `b` stand to each other by `predicate` in all iterations, or
/// in none; nothing if that may change. Two lines meet once at most.
std::optional<bool> IndexEvaluation::compare(CmpIPredicate predicate, Ends a,
                                             Ends b) {
  bool isEquality =
      predicate == CmpIPredicate::eq || predicate == CmpIPredicate::ne;
  if (predicate >= CmpIPredicate::ult &&
      std::min({a.first, a.last, b.first, b.last}) < 0)
    return std::nullopt;
  auto holds = [](CmpIPredicate predicate, int64_t x, int64_t y) {
    return arith::applyCmpPredicate(predicate, APInt(64, x, /*isSigned=*/true),
                                    APInt(64, y, /*isSigned=*/true));
  };
  auto changes = [&](CmpIPredicate predicate) {
    return holds(predicate, a.first, b.first) !=
           holds(predicate, a.last, b.last);
  };
  if (isEquality ? changes(CmpIPredicate::slt) || changes(CmpIPredicate::sgt)
                 : changes(predicate))
    return std::nullopt;
  return holds(predicate, a.first, b.first);
}

/// The result of `op`, some of whose operands grow: it is `first` in the first
/// iteration. Integers wrap around, so a line that stays within what its type
/// holds is the result of lines whatever they go through on the way.
IndexEvaluation::Number IndexEvaluation::grow(Operation *op, Attribute first) {
  auto lookUp = [&](unsigned i) { return known.lookup(op->getOperand(i)); };
  auto lookUpEnds = [&](unsigned i) { return getEnds(op->getOperand(i)); };
  auto lookUpComparison = [&](CmpIPredicate predicate) {
    std::optional<Ends> a = lookUpEnds(0), b = lookUpEnds(1);
    return a && b ? compare(predicate, *a, *b) : std::nullopt;
  };
  auto choose = [&](CmpIPredicate predicate) {
    std::optional<bool> isFirst = lookUpComparison(predicate);
    return isFirst ? lookUp(*isFirst ? 0 : 1) : Number();
  };
  if (isa<arith::SelectOp>(op)) {
    auto [value, change] = lookUp(0);
    auto condition = dyn_cast_or_null<IntegerAttr>(getElement(value));
    if (!condition || change != 0)
      return {};
    return lookUp(condition.getValue().isZero() ? 2 : 1);
  }
  for (Value operand : op->getOperands())
    if (!known.lookup(operand).value)
      return {};
  int64_t step = lookUp(0).step;
  if (isa<arith::AddIOp>(op)) {
    if (llvm::AddOverflow(step, lookUp(1).step, step))
      return {};
  } else if (isa<arith::SubIOp>(op)) {
    if (llvm::SubOverflow(step, lookUp(1).step, step))
      return {};
  } else if (isa<arith::MulIOp>(op)) {
    unsigned growing = step != 0 ? 0 : 1;
    std::optional<Ends> factor = lookUpEnds(1 - growing);
    if (!factor || factor->first != factor->last ||
        llvm::MulOverflow(lookUp(growing).step, factor->first, step))
      return {};
  } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
                 arith::CeilDivSIOp, arith::CeilDivUIOp>(op)) {
    // Without a remainder, all of them are the same of what is not negative.
    std::optional<Ends> dividend = lookUpEnds(0), divisor = lookUpEnds(1);
    bool isUnsigned = isa<arith::DivUIOp, arith::CeilDivUIOp>(op);
    if (!dividend || !divisor || divisor->first != divisor->last ||
        divisor->first <= 0 || dividend->first % divisor->first != 0 ||
        step % divisor->first != 0 ||
        (isUnsigned && std::min(dividend->first, dividend->last) < 0))
      return {};
    step /= divisor->first;
  } else if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
    std::optional<Ends> ends = lookUpEnds(0);
    if (!ends || std::min(ends->first, ends->last) < 0)
      return {};
  } else if (isa<arith::CmpIOp>(op)) {
    if (!lookUpComparison(cast<arith::CmpIOp>(op).getPredicate()))
      return {};
    step = 0;
  } else if (isa<arith::MinSIOp>(op)) {
    return choose(CmpIPredicate::sle);
  } else if (isa<arith::MaxSIOp>(op)) {
    return choose(CmpIPredicate::sge);
  } else if (isa<arith::MinUIOp>(op)) {
    return choose(CmpIPredicate::ule);
  } else if (isa<arith::MaxUIOp>(op)) {
    return choose(CmpIPredicate::uge);
  } else if (isa<tensor::ExtractOp>(op)) {
    // Of one element: there is one place to read.
    if (!isNumber(op->getOperand(0).getType()))
      return {};
  } else if (!isa<arith::ExtSIOp, arith::TruncIOp, arith::IndexCastOp,
                  tensor::FromElementsOp, tensor::CollapseShapeOp,
                  tensor::ExpandShapeOp>(op)) {
    return {};
  }
  return {first, step};
}

//===----------------------------------------------------------------------===//
// Iterations
//===----------------------------------------------------------------------===//

/// Evaluates what is around the loop. Returns what is carried at first.
SmallVector<IndexEvaluation::Number> IndexEvaluation::evaluateAround() {
  count = 1;
  for (Operation *op : operations)
    if (!isInLoop(op))
      evaluate(op);
  SmallVector<Number> initial;
  for (unsigned i : carried)
    initial.push_back(known.lookup(loop.getInitArgs()[i]));
  return initial;
}

/// Evaluates `iterations` of the loop from that of `number`, which begins with
/// `state`. Returns what they carry on.
SmallVector<IndexEvaluation::Number>
IndexEvaluation::evaluateBody(ArrayRef<Number> state, int64_t number,
                              int64_t iterations) {
  count = iterations;
  for (auto [value, i] : llvm::zip(state, carried))
    known[loop.getRegionIterArgs()[i]] = value;
  Value counter = loop.getInductionVar();
  Number counted = {
      import::getCounter(counter.getType(), bounds.low, bounds.step, number),
      count > 1 ? bounds.step : 0};
  known[counter] = getEnds(counter.getType(), counted) ? counted : Number();
  for (Operation *op : operations)
    if (isInLoop(op))
      evaluate(op);
  SmallVector<Number> next;
  for (unsigned i : carried)
    next.push_back(known.lookup(loop.getYieldedValues()[i]));
  return next;
}

std::optional<IndexEvaluation::Line> IndexEvaluation::proveLine() {
  SmallVector<Number> initial = evaluateAround();
  SmallVector<Number> second = evaluateBody(initial, 0, 1);
  for (auto [i, first, next] : llvm::enumerate(initial, second)) {
    Type type = loop.getRegionIterArgs()[carried[i]].getType();
    std::optional<Ends> from = getEnds(type, first), to = getEnds(type, next);
    // What is no known integer has to stay what it is.
    if (from && to ? llvm::SubOverflow(to->first, from->first, first.step)
                   : first.value != next.value)
      return std::nullopt;
  }
  SmallVector<Number> carriedOn = evaluateBody(initial, 0, bounds.trips);
  for (auto [first, next, on] : llvm::zip(initial, second, carriedOn))
    if (on.value != next.value || on.step != first.step)
      return std::nullopt;
  std::optional<Ends> ends = getEnds(index);
  if (!ends)
    return std::nullopt;
  return Line{ends->first, known.lookup(index).step};
}

Attribute IndexEvaluation::next() {
  state = evaluateBody(number == 0 ? evaluateAround() : state, number, 1);
  ++number;
  return known.lookup(index).value;
}
