//===- ScatterWindows.cpp - threads that look for what reaches an element -===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where few windows contain an element, each thread has an element of the
// result, or a vector of them, goes over these windows in the order of the
// points, and adds where the coordinates are those of its element. Nothing is
// filled before, no thread waits for memory that it has written, and sums are
// rounded as they are written, if the result is narrower.
//
//===----------------------------------------------------------------------===//

#include "ScatterPoints.h"

#include "remat/Codegen/Reduction.h"
#include "remat/Utils/Intervals.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Points whose code is repeated rather than put into a loop.
static constexpr int64_t maxRepeated = 16;

/// The number that `window.digit` is a digit of.
static Value findNumber(ScatterWindow &window) {
  Value value = window.digit;
  window.digits = getInterval(value).high + 1;
  if (auto remainder = value.getDefiningOp<arith::RemUIOp>()) {
    std::optional<int64_t> digits = getConstantIntValue(remainder.getRhs());
    if (!digits || *digits <= 0)
      return {};
    window.digits = *digits;
    value = remainder.getLhs();
  }
  while (auto quotient = value.getDefiningOp<arith::DivUIOp>()) {
    std::optional<int64_t> unit = getConstantIntValue(quotient.getRhs());
    if (!unit || *unit <= 0 || *unit > INT32_MAX)
      return {};
    window.unit = multiplyCounts(window.unit, *unit);
    value = quotient.getLhs();
  }
  return value;
}

/// Sets `plan.number`, if the digits of all windows are those of one number,
/// and no two numbers have the same.
static void planNumber(ScatterPlan &plan) {
  SmallVector<const ScatterWindow *> digits;
  SmallVector<bool> isKnown(plan.result.shape.size());
  Value number;
  for (auto [window, dim] : llvm::zip(plan.windows, plan.windowDims)) {
    if (!window)
      continue;
    isKnown[dim] = true;
    if (window->isIndex())
      continue;
    Value found = window->digit ? findNumber(*window) : Value();
    if (!found || (number && found != number))
      return;
    number = found;
    digits.push_back(&*window);
  }
  llvm::sort(digits, [](const ScatterWindow *a, const ScatterWindow *b) {
    return a->unit < b->unit;
  });
  int64_t unit = 1;
  for (const ScatterWindow *window : digits) {
    if (window->unit != unit)
      return;
    unit = multiplyCounts(unit, window->digits);
  }
  if (llvm::all_of(isKnown, [](bool known) { return known; }) &&
      getInterval(number).isWithin({0, std::min<int64_t>(unit - 1, INT32_MAX)}))
    plan.number = number;
}

void remat::cuda::planWindows(ScatterPlan &plan) {
  std::optional<ScatterWindows> found = findScatterWindows(plan.op);
  if (!found)
    return;
  plan.windows = std::move(found->windows);
  plan.windowDims = std::move(found->dims);
  planNumber(plan);
  plan.threads = 1;
  for (int64_t extent : plan.result.shape)
    plan.threads = multiplyCounts(plan.threads, extent);
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Adds what reaches the thread's elements.
class WindowedScatter {
public:
  WindowedScatter(const ScatterPlan &plan, LaunchBuilder &launch)
      : plan(plan), op(plan.op), launch(launch), builder(launch.builder),
        loc(op.getLoc()), first(op.getNumLoops()) {}
  LogicalResult run(Value thread);

private:
  Value index(int64_t value) { return emitIndex(builder, loc, value); }
  Value add(Value a, int64_t b) {
    return arith::AddIOp::create(builder, loc, a, index(b), nsw);
  }
  Value isAnd(Value a, Value b) {
    return a ? arith::AndIOp::create(builder, loc, a, b).getResult() : b;
  }
  Value isBelow(Value a, int64_t b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, a,
                                 index(b));
  }
  /// A window that is looked at: whether there is one, or null if there always
  /// is, and what its place must have as a number to be the thread's element.
  struct Candidate {
    Value isThere, number;
  };

  void findElement(Value thread);
  Value emitFirst(const ScatterWindow &window, Value place);
  Value isAwayFromLimits();
  LogicalResult addAll(SmallVector<Value> &sums);
  LogicalResult addLoop(unsigned loop, int64_t repeated, Candidate candidate,
                        SmallVector<Value> &sums);
  LogicalResult addIndex(unsigned loop, Value number, int64_t repeated,
                         Candidate candidate, SmallVector<Value> &sums);
  void addDigit(const ScatterWindow &window, Value number,
                Candidate &candidate);
  LogicalResult addPoint(Candidate candidate, SmallVector<Value> &sums);
  Value isMine(ScatterPoints &points, unsigned lane);

  const ScatterPlan &plan;
  ScatterOp op;
  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  /// Whether numbers of places are compared rather than coordinates.
  bool comparesNumbers = false;
  /// Where the thread's first element is, by dimension, and the point that is
  /// looked at, by loop.
  SmallVector<Value> place, first;
};

} // namespace

/// Neighbouring threads have elements that are next to each other.
void WindowedScatter::findElement(Value thread) {
  SmallVector<unsigned> dims =
      llvm::to_vector(llvm::seq<unsigned>(plan.result.shape.size()));
  llvm::stable_sort(dims, [&](unsigned a, unsigned b) {
    return plan.result.strides[a] > plan.result.strides[b];
  });
  int vectorDim = plan.vectorLoop < 0 ? -1 : plan.windowDims[plan.vectorLoop];
  SmallVector<int64_t> sizes;
  for (unsigned dim : dims)
    sizes.push_back(plan.result.shape[dim] /
                    (static_cast<int>(dim) == vectorDim ? plan.width : 1));
  place.resize(dims.size());
  for (auto [dim, value] :
       llvm::zip(dims, splitNumber(builder, loc, thread, sizes)))
    place[dim] =
        static_cast<int>(dim) == vectorDim
            ? arith::MulIOp::create(builder, loc, value, index(plan.width), nsw)
                  .getResult()
            : value;
}

/// The number of the first window that can reach `place`, which may be
/// negative.
Value WindowedScatter::emitFirst(const ScatterWindow &window, Value place) {
  // floor((place - low) / stride) - (count - 1), of a numerator that is not
  // negative.
  int64_t before =
      window.low > 0 ? llvm::divideCeil(window.low, window.stride) : 0;
  Value distance = add(place, before * window.stride - window.low);
  Value last =
      arith::DivUIOp::create(builder, loc, distance, index(window.stride));
  return add(last, -before - (window.count - 1));
}

/// Adds the points of all loops from `loop` on. `repeated` is how often the
/// code of a point is there already.
LogicalResult WindowedScatter::addLoop(unsigned loop, int64_t repeated,
                                       Candidate candidate,
                                       SmallVector<Value> &sums) {
  if (loop == op.getNumLoops())
    return addPoint(candidate, sums);
  const std::optional<ScatterWindow> &window = plan.windows[loop];
  int64_t size = op.getSizes()[loop], count = window ? window->count : size;
  Value begin =
      window ? emitFirst(*window, place[plan.windowDims[loop]]) : index(0);
  // Elements at limits are few: their code is small rather than fast.
  bool isRepeated = plan.number && !comparesNumbers
                        ? count == 1
                        : repeated * count <= maxRepeated;
  if (isRepeated) {
    for (int64_t i = 0; i < count; ++i)
      if (failed(
              addIndex(loop, add(begin, i), repeated * count, candidate, sums)))
        return failure();
    return success();
  }
  auto forOp =
      scf::ForOp::create(builder, loc, index(0), index(count), index(1), sums);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(forOp.getBody());
  SmallVector<Value> inside(forOp.getRegionIterArgs());
  Value number =
      arith::AddIOp::create(builder, loc, begin, forOp.getInductionVar(), nsw);
  if (failed(addIndex(loop, number, repeated, candidate, inside)))
    return failure();
  scf::YieldOp::create(builder, loc, inside);
  sums = SmallVector<Value>(forOp.getResults());
  return success();
}

LogicalResult WindowedScatter::addIndex(unsigned loop, Value number,
                                        int64_t repeated, Candidate candidate,
                                        SmallVector<Value> &sums) {
  int64_t size = op.getSizes()[loop];
  const std::optional<ScatterWindow> &window = plan.windows[loop];
  bool isInside = !window || (window->isIndex() &&
                              plan.result.shape[plan.windowDims[loop]] <= size);
  if (!isInside) {
    Value isThere = isBelow(number, size);
    candidate.isThere = isAnd(candidate.isThere, isThere);
    // What is read for windows that are not there is not added.
    number = arith::SelectOp::create(builder, loc, isThere, number, index(0));
  }
  if (comparesNumbers && window && !window->isIndex())
    addDigit(*window, number, candidate);
  first[loop] = number;
  return addLoop(loop + 1, repeated, candidate, sums);
}

/// Adds what the digit along the loop of `window`, of which `number` is looked
/// at, must be.
void WindowedScatter::addDigit(const ScatterWindow &window, Value number,
                               Candidate &candidate) {
  Value begin =
      arith::MulIOp::create(builder, loc, number, index(window.stride), nsw);
  Value digit = arith::SubIOp::create(
      builder, loc, place[plan.windowDims[window.loop]], begin, nsw);
  digit = add(digit, -window.offset);
  Value isThere = isBelow(digit, window.digits * window.scale);
  if (window.scale != 1) {
    Value rest =
        arith::RemUIOp::create(builder, loc, digit, index(window.scale));
    isThere = isAnd(isThere, isBelow(rest, 1));
    digit = arith::DivUIOp::create(builder, loc, digit, index(window.scale));
  }
  candidate.isThere = isAnd(candidate.isThere, isThere);
  digit = arith::MulIOp::create(builder, loc, digit, index(window.unit), nsw);
  candidate.number =
      candidate.number
          ? arith::AddIOp::create(builder, loc, candidate.number, digit, nsw)
                .getResult()
          : digit;
}

/// Whether points have the thread's coordinate in `dim` without being asked.
static bool isIndexDim(const ScatterPlan &plan, int dim) {
  for (auto [window, owner] : llvm::zip(plan.windows, plan.windowDims))
    if (window && window->isIndex() && owner == dim)
      return true;
  return false;
}

/// Whether the point of `lane` has the coordinates of the thread's element.
Value WindowedScatter::isMine(ScatterPoints &points, unsigned lane) {
  Value isMine;
  for (auto [dim, found] : llvm::enumerate(points.getCoordinates(lane)))
    if (!isIndexDim(plan, dim))
      isMine = isAnd(isMine, arith::CmpIOp::create(builder, loc,
                                                   arith::CmpIPredicate::eq,
                                                   found, place[dim]));
  return isMine;
}

LogicalResult WindowedScatter::addPoint(Candidate candidate,
                                        SmallVector<Value> &sums) {
  ScatterPoints points(plan, launch, first,
                       comparesNumbers ? ScatterPoints::Values
                                       : ScatterPoints::Both,
                       comparesNumbers ? plan.number : Value());
  if (failed(points.emitCoordinates()) || failed(points.emitValues()))
    return failure();
  SmallVector<Value> values = points.getValues(), numbers;
  Type word = builder.getI32Type();
  Value wanted;
  if (comparesNumbers) {
    // No place has the number -1.
    numbers = points.getOthers();
    wanted = arith::SelectOp::create(builder, loc, candidate.isThere,
                                     candidate.number, index(-1));
    wanted = arith::IndexCastOp::create(builder, loc, word, wanted);
  }
  for (int64_t lane = 0; lane < plan.width; ++lane) {
    Value takes;
    if (comparesNumbers)
      takes = arith::CmpIOp::create(
          builder, loc, arith::CmpIPredicate::eq,
          arith::IndexCastOp::create(builder, loc, word, numbers[lane]),
          wanted);
    else
      takes = isAnd(candidate.isThere, isMine(points, lane));
    Value sum = op.combine(builder, sums[lane], values[lane]);
    sums[lane] = arith::SelectOp::create(builder, loc, takes, sum, sums[lane]);
  }
  return success();
}

/// Whether no coordinate is one that others are moved to, or null if there are
/// no such coordinates.
Value WindowedScatter::isAwayFromLimits() {
  Value isAway;
  for (auto [window, dim] : llvm::zip(plan.windows, plan.windowDims))
    if (window)
      for (int64_t limit : window->limits)
        isAway = isAnd(isAway, arith::CmpIOp::create(builder, loc,
                                                     arith::CmpIPredicate::ne,
                                                     place[dim], index(limit)));
  return isAway;
}

LogicalResult WindowedScatter::addAll(SmallVector<Value> &sums) {
  Value isAway = plan.number ? isAwayFromLimits() : Value();
  comparesNumbers = static_cast<bool>(plan.number);
  if (!isAway)
    return addLoop(0, 1, {}, sums);
  auto ifOp = scf::IfOp::create(builder, loc, ValueRange(sums).getTypes(),
                                isAway, /*withElseRegion=*/true);
  for (Block *block : {ifOp.thenBlock(), ifOp.elseBlock()}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    comparesNumbers = block == ifOp.thenBlock();
    SmallVector<Value> inside = sums;
    if (failed(addLoop(0, 1, {}, inside)))
      return failure();
    scf::YieldOp::create(builder, loc, inside);
  }
  sums = SmallVector<Value>(ifOp.getResults());
  return success();
}

LogicalResult WindowedScatter::run(Value thread) {
  findElement(thread);
  Value address =
      emitLinear(builder, loc, plan.result.offset, plan.result.strides, place);
  SmallVector<Value> sums;
  auto convert = [&](Value value, Type type) {
    return plan.sums ? convertFloat(builder, loc, value, type) : value;
  };
  if (plan.init) {
    Value init = arith::ConstantOp::create(builder, loc, plan.init);
    sums.assign(plan.width, convert(init, plan.sums));
  } else {
    sums = loadResults(plan, launch, address);
  }
  if (failed(addAll(sums)))
    return failure();
  for (Value &sum : sums)
    sum = convert(sum, getElementTypeOrSelf(op.getInit()));
  storeResults(plan, launch, sums, address);
  return success();
}

LogicalResult remat::cuda::emitWindowedScatter(const ScatterPlan &plan,
                                               LaunchBuilder &launch,
                                               Value thread) {
  return WindowedScatter(plan, launch).run(thread);
}
