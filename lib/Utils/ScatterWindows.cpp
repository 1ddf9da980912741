//===- ScatterWindows.cpp - scatters to places in windows -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/ScatterWindows.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Intervals.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/ScatterRows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

static std::optional<int64_t> getConstant(Value value) {
  IntegerAttr constant;
  if (!matchPattern(value, m_Constant(&constant)) ||
      constant.getValue().getSignificantBits() > 64)
    return std::nullopt;
  return constant.getValue().getSExtValue();
}

//===----------------------------------------------------------------------===//
// Coordinates
//===----------------------------------------------------------------------===//

/// Bounds beyond which no coordinate of a tensor is, far from overflows.
static constexpr Interval sane{-(int64_t(1) << 48), int64_t(1) << 48};

namespace {
/// stride * index of `loop` + rest, where rest = scale * varying + offset, if
/// that is known. There is no loop if it is -1.
struct PointCoordinate {
  int loop = -1;
  int64_t stride = 0;
  Interval rest{0, 0};
  Value varying;
  int64_t scale = 0, offset = 0;
  /// Whether `rest` is known as a function of `varying`.
  bool isKnown = true;

  bool isSane() const {
    return rest.isWithin(sane) && Interval{stride, stride}.isWithin(sane) &&
           Interval{scale, scale}.isWithin(sane) &&
           Interval{offset, offset}.isWithin(sane);
  }
};
} // namespace

/// a + sign * b, of which one has no loop.
static PointCoordinate combine(const PointCoordinate &a,
                               const PointCoordinate &b, int sign) {
  PointCoordinate sum = a;
  if (b.loop >= 0) {
    sum.loop = b.loop;
    sum.stride = b.stride;
  }
  sum.rest.low += sign > 0 ? b.rest.low : -b.rest.high;
  sum.rest.high += sign > 0 ? b.rest.high : -b.rest.low;
  sum.offset += sign * b.offset;
  sum.isKnown &= b.isKnown && !(a.varying && b.varying);
  if (b.varying) {
    sum.varying = b.varying;
    sum.scale = sign * b.scale;
  }
  return sum;
}

using Coordinates = DenseMap<Value, std::optional<PointCoordinate>>;
static std::optional<PointCoordinate> analyze(ScatterOp op, Value value,
                                              Coordinates &known);

/// What is known of a value of the body, if it has bounds.
static std::optional<PointCoordinate> analyzeNew(ScatterOp op, Value value,
                                                 Coordinates &known) {
  if (auto point = dyn_cast<BlockArgument>(value);
      point && point.getOwner() == &op.getBody().front() &&
      point.getArgNumber() < op.getNumLoops())
    return PointCoordinate{
        static_cast<int>(point.getArgNumber()), 1, {0, 0}, {}};
  if (std::optional<int64_t> constant = getConstant(value)) {
    PointCoordinate number{-1, 0, {*constant, *constant}, {}, 0, *constant};
    return number.isSane() ? std::optional(number) : std::nullopt;
  }
  auto whole = [&]() -> std::optional<PointCoordinate> {
    PointCoordinate rest{-1, 0, getInterval(value), value, 1};
    return rest.isSane() ? std::optional(rest) : std::nullopt;
  };
  Operation *maker = value.getDefiningOp();
  if (!isa_and_nonnull<arith::AddIOp, arith::SubIOp, arith::MulIOp>(maker))
    return whole();
  std::optional<PointCoordinate> a = analyze(op, maker->getOperand(0), known),
                                 sum;
  if (isa<arith::MulIOp>(maker)) {
    std::optional<int64_t> factor = getConstant(maker->getOperand(1));
    if (!a || !factor || *factor <= 0 || *factor > INT16_MAX)
      return whole();
    sum = *a;
    for (int64_t *number : {&sum->stride, &sum->rest.low, &sum->rest.high,
                            &sum->scale, &sum->offset})
      *number *= *factor;
  } else {
    std::optional<PointCoordinate> b = analyze(op, maker->getOperand(1), known);
    bool isSum = isa<arith::AddIOp>(maker);
    if (!a || !b || (b->loop >= 0 && (a->loop >= 0 || !isSum)))
      return whole();
    sum = combine(*a, *b, isSum ? 1 : -1);
  }
  return sum->isSane() ? sum : whole();
}

static std::optional<PointCoordinate> analyze(ScatterOp op, Value value,
                                              Coordinates &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<PointCoordinate> made = analyzeNew(op, value, known);
  known[value] = made;
  return made;
}

/// The first and the last point along a loop that can have a coordinate.
static int64_t findFirst(const PointCoordinate &coordinate, int64_t place) {
  return llvm::divideCeilSigned(place - coordinate.rest.high,
                                coordinate.stride);
}
static int64_t findLast(const PointCoordinate &coordinate, int64_t place) {
  return llvm::divideFloorSigned(place - coordinate.rest.low,
                                 coordinate.stride);
}

/// What bounds a coordinate of the result. Limits that keep it within the
/// tensor are looked through, if what they move is near them.
static std::optional<ScatterWindow> findWindow(ScatterOp op, Value value) {
  SmallVector<int64_t, 2> lowest, highest, limits;
  while (Operation *bound = value.getDefiningOp()) {
    if (!isa<arith::MaxSIOp, arith::MinSIOp>(bound))
      break;
    std::optional<int64_t> limit = getConstant(bound->getOperand(1));
    if (!limit || !Interval{*limit, *limit}.isWithin(sane))
      break;
    (isa<arith::MaxSIOp>(bound) ? lowest : highest).push_back(*limit);
    limits.push_back(*limit);
    value = bound->getOperand(0);
  }
  Coordinates known;
  std::optional<PointCoordinate> found = analyze(op, value, known);
  if (!found || found->loop < 0 || found->stride <= 0)
    return std::nullopt;
  int64_t size = op.getSizes()[found->loop];
  for (int64_t limit : lowest)
    if (findFirst(*found, limit) > 0)
      return std::nullopt;
  for (int64_t limit : highest)
    if (findLast(*found, limit) < size - 1)
      return std::nullopt;
  int64_t reach = found->rest.high - found->rest.low;
  ScatterWindow window;
  window.loop = found->loop;
  window.stride = found->stride;
  window.low = found->rest.low;
  window.count = reach / found->stride + 1;
  if (found->isKnown && found->scale > 0) {
    window.digit = found->varying;
    window.scale = found->scale;
    window.offset = found->offset;
  }
  window.limits = std::move(limits);
  return window;
}

std::optional<ScatterWindows> remat::findScatterWindows(ScatterOp op) {
  auto type = cast<ShapedType>(op.getInit().getType());
  ArrayRef<int64_t> sizes = op.getSizes();
  // What is checked is checked at each point once.
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      llvm::is_contained(sizes, 0) ||
      llvm::any_of(op.getBody().front().without_terminator(),
                   [](Operation &op) { return !isPure(&op); }))
    return std::nullopt;
  ScatterWindows found;
  found.windows.resize(sizes.size());
  found.dims.assign(sizes.size(), -1);
  ValueRange yielded =
      op.getBody().front().getTerminator()->getOperands().drop_back();
  bool isOwned = true;
  for (auto [dim, value] : llvm::enumerate(yielded)) {
    std::optional<ScatterWindow> window = findWindow(op, value);
    if (!window || found.windows[window->loop])
      continue;
    isOwned &= window->isIndex();
    found.dims[window->loop] = dim;
    found.windows[window->loop] = window;
  }
  int64_t points = 1, inOrder = 1;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    const std::optional<ScatterWindow> &window = found.windows[loop];
    points = multiplyCounts(points, window ? window->count : size);
    if (!llvm::is_contained(yielded, Value(op.getPointArguments()[loop])))
      inOrder = multiplyCounts(inOrder, size);
  }
  if (isOwned || points > std::min(ScatterWindowsTuning::maxPoints, inOrder))
    return std::nullopt;
  return found;
}

bool remat::canRoundSums(ScatterOp op) {
  return findScatterRows(op) ||
         (getTargetFacts(op).getWindows() && findScatterWindows(op));
}
