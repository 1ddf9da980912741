//===- LoopBounds.cpp - what an scf.for counts ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/ShapedOpInterfaces.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Intervals.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;
using import::LoopBounds;

unsigned import::getCounterWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

std::optional<int64_t> import::countIterations(scf::ForOp loop, int64_t low,
                                               int64_t high, int64_t step) {
  uint64_t mask =
      llvm::maxUIntN(getCounterWidth(loop.getInductionVar().getType()));
  if (loop.getUnsignedCmp() ? (low & mask) >= (high & mask) : low >= high)
    return 0;
  uint64_t distance =
      (static_cast<uint64_t>(high) - static_cast<uint64_t>(low)) & mask;
  uint64_t trips = llvm::divideCeil(distance, static_cast<uint64_t>(step));
  return trips <= INT64_MAX ? std::optional<int64_t>(trips) : std::nullopt;
}

std::optional<import::LoopBounds> import::getConstantBounds(scf::ForOp loop) {
  if (getCounterWidth(loop.getInductionVar().getType()) > 64)
    return std::nullopt;
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                         high = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  if (!low || !high || !step || *step <= 0)
    return std::nullopt;
  std::optional<int64_t> trips = countIterations(loop, *low, *high, *step);
  if (!trips)
    return std::nullopt;
  return LoopBounds{*low, *step, *trips};
}

//===----------------------------------------------------------------------===//
// Bounds that are known at run time
//===----------------------------------------------------------------------===//

/// Adds to `next` what decides whether `value` is known at run time only,
/// whatever is unrolled. Returns true if it is.
static bool findDeciding(Value value, SmallVectorImpl<Value> &next) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop)
      return true;
    if (unsigned number = argument.getArgNumber(); number == 0)
      next.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
    else
      next.append({loop.getInitArgs()[number - 1],
                   loop.getYieldedValues()[number - 1]});
    return false;
  }
  // Shapes are constants, at the latest when it is known what a function is
  // called with.
  Operation *op = value.getDefiningOp();
  if (isa<ShapedDimOpInterface>(op))
    return false;
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    next.append({loop.getUpperBound(), loop.getInitArgs()[number],
                 loop.getYieldedValues()[number]});
    return false;
  }
  next.append(op->operand_begin(), op->operand_end());
  return op->getNumRegions() != 0;
}

/// Whether one of `values` is known at run time only.
static bool isKnownAtRunTime(ArrayRef<Value> values) {
  DenseSet<Value> seen;
  SmallVector<Value> next(values);
  while (!next.empty()) {
    Value value = next.pop_back_val();
    if (seen.insert(value).second && !matchPattern(value, m_Constant()) &&
        findDeciding(value, next))
      return true;
  }
  return false;
}

bool import::hasRunTimeBounds(scf::ForOp loop) {
  std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  if (getCounterWidth(loop.getInductionVar().getType()) > 64 || !step ||
      *step <= 0)
    return false;
  return isKnownAtRunTime({loop.getLowerBound(), loop.getUpperBound()});
}

int64_t import::getMaxTripCount(Operation *op, int64_t limit) {
  auto most =
      op->getAttrOfType<IntegerAttr>(RematDialect::maxTripCountAttrName);
  return most ? most.getInt() : limit;
}

/// The most iterations that the program lets `loop` have; 0 for any number.
static int64_t findMostIterations(scf::ForOp loop) {
  Interval low = getInterval(loop.getLowerBound()),
           high = getInterval(loop.getUpperBound());
  if (low.low == INT64_MIN || high.high == INT64_MAX ||
      (loop.getUnsignedCmp() && (low.low < 0 || high.low < 0)))
    return 0;
  std::optional<int64_t> most = import::countIterations(
      loop, low.low, high.high, *getConstantIntValue(loop.getStep()));
  // What all numbers of a type allow is no limit.
  return most && *most < INT32_MAX ? std::max<int64_t>(*most, 1) : 0;
}

LoopBounds import::getRunTimeBounds(scf::ForOp loop, int64_t limit) {
  int64_t declared = getMaxTripCount(loop, limit),
          most = findMostIterations(loop);
  if (declared != 0 && (most == 0 || declared < most))
    most = declared;
  return {0, 1, most, /*isRunTime=*/true};
}

scf::ForOp import::countFromZero(scf::ForOp loop) {
  Location loc = loop.getLoc();
  OpBuilder builder(loop);
  Type type = loop.getInductionVar().getType();
  auto constant = [&](int64_t number) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  Value low = loop.getLowerBound(), high = loop.getUpperBound(),
        step = loop.getStep(), zero = constant(0), one = constant(1);
  if (isConstantIntValue(low, 0) && isConstantIntValue(step, 1) &&
      !loop.getUnsignedCmp())
    return loop;
  // The distance fits the type if it is read without a sign.
  Value distance = arith::SubIOp::create(builder, loc, high, low), trips;
  if (isConstantIntValue(step, 1)) {
    trips = distance;
  } else {
    trips = arith::SubIOp::create(builder, loc, distance, one);
    trips = arith::DivUIOp::create(builder, loc, trips, step);
    trips = arith::AddIOp::create(builder, loc, trips, one);
  }
  Value any =
      arith::CmpIOp::create(builder, loc,
                            loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                                  : arith::CmpIPredicate::slt,
                            low, high);
  trips = arith::SelectOp::create(builder, loc, any, trips, zero);
  auto counted =
      scf::ForOp::create(builder, loc, zero, trips, one, loop.getInitArgs(),
                         nullptr, /*unsignedCmp=*/true);
  counted->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  counted.getRegion().takeBody(loop.getRegion());
  builder.setInsertionPointToStart(counted.getBody());
  Value number = counted.getInductionVar();
  Value scaled = arith::MulIOp::create(builder, loc, number, step);
  Value counter = arith::AddIOp::create(builder, loc, scaled, low);
  number.replaceAllUsesExcept(counter, scaled.getDefiningOp());
  loop.replaceAllUsesWith(counted.getResults());
  loop.erase();
  return counted;
}

IntegerAttr import::getCounter(Type type, int64_t low, int64_t step,
                               int64_t number) {
  uint64_t counter =
      static_cast<uint64_t>(low) +
      static_cast<uint64_t>(number) * static_cast<uint64_t>(step);
  return IntegerAttr::get(type,
                          llvm::SignExtend64(counter, getCounterWidth(type)));
}
