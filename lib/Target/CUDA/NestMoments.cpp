//===- NestMoments.cpp - sums with the squares about their mean -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two groups of n and m terms with the sums S and T, and with the squares about
// their means Q and R, are a group with the sum S + T and the squares
//
//   Q + R + (m S - n T)^2 / (n m (n + m)).
//
// See Chan, Golub and LeVeque, Algorithms for Computing the Sample Variance,
// The American Statistician 37, 1983. A thread takes the terms that it reads
// together as a group, whose squares it adds up about the group's own mean.
// What is lost in the difference of two sums grows with the mean beside the
// deviation, where that of squares, the mean of x^2 without that of x, grows
// with the square of it. Here, it does not: a thread has the sums of what is
// left of its terms without the first of them, which are about as large as the
// deviation, and threads put together what they have in f64. A first term that
// is near the largest number stays in them.
//
// Of what is added up here, there are for all results of a thread their sums,
// then their squares, then the terms that each of them has so far, as a float,
// and while a thread adds up its own, the first of these for each result.
// Counts of up to 2^24 terms are exact in f32; longer sums are in f64.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static Value emitFloat(OpBuilder &builder, Location loc, Type type,
                       double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(type, value));
}

/// 1 / `value`, which is from 1 to 2^126. A division would look for other
/// numbers, and take longer than the terms do. In f32, the device's own inverse
/// is as near as the sums are. For f64 it is a beginning, of which each step
/// doubles the bits.
static Value emitInverse(OpBuilder &builder, Location loc, Value value) {
  Type type = value.getType(), single = builder.getF32Type();
  Value one = emitFloat(builder, loc, type, 1);
  if (matchPattern(value, m_Constant()))
    return builder.createOrFold<arith::DivFOp>(loc, one, value);
  Value inverse = arith::DivFOp::create(
      builder, loc, emitFloat(builder, loc, single, 1),
      convertFloat(builder, loc, value, single),
      arith::FastMathFlags::afn | arith::FastMathFlags::arcp);
  inverse = convertFloat(builder, loc, inverse, type);
  for (int step = 0; step < 2 && type != single; ++step) {
    Value product = arith::MulFOp::create(builder, loc, value, inverse);
    Value rest = arith::SubFOp::create(builder, loc, one, product);
    rest = arith::MulFOp::create(builder, loc, rest, inverse);
    inverse = arith::AddFOp::create(builder, loc, inverse, rest);
  }
  return inverse;
}

void NestEmitter::addSquares(const Access &access, const NestPlan &sum) {
  squares = access;
  divided = sum;
  accumulators.front().type = builder.getF64Type();
}

/// Sums, squares and the count of no terms.
SmallVector<Value> NestEmitter::emitNoMoments() {
  Value zero = emitFloat(builder, loc, accumulators.front().type, 0);
  return SmallVector<Value>(2 * plan.resultWidth() + 1, zero);
}

/// Puts two groups together, by the formula above.
void NestEmitter::combineMoments(MutableArrayRef<Value> sums,
                                 ArrayRef<Value> terms) {
  // What is made of known counts alone is a constant.
  auto add = [&](Value a, Value b) {
    return builder.createOrFold<arith::AddFOp>(loc, a, b);
  };
  auto multiply = [&](Value a, Value b) {
    return builder.createOrFold<arith::MulFOp>(loc, a, b);
  };
  int64_t width = plan.resultWidth();
  Value mine = sums[2 * width], others = terms[2 * width];
  Value count = add(mine, others);
  // Of nothing, sums and squares are zero, and so is the difference.
  Value one = emitFloat(builder, loc, count.getType(), 1);
  Value divisor = builder.createOrFold<arith::MaxNumFOp>(
      loc, multiply(multiply(mine, others), count), one);
  Value weight = emitInverse(builder, loc, divisor);
  for (int64_t number = 0; number < width; ++number) {
    Value &sum = sums[number], &square = sums[width + number];
    Value difference = arith::SubFOp::create(
        builder, loc, multiply(others, sum), multiply(mine, terms[number]));
    square = add(add(square, terms[width + number]),
                 multiply(multiply(difference, weight), difference));
    sum = add(sum, terms[number]);
  }
  sums[2 * width] = count;
}

/// Says that each result of each thread has `count` terms, so that no thread
/// needs to divide by what others have.
void NestEmitter::setCount(SmallVectorImpl<Value> &sums, int64_t count) {
  Value &known = sums[2 * plan.resultWidth()];
  known = emitFloat(builder, loc, known.getType(), count);
}

/// What a thread begins to add its terms to.
void NestEmitter::addOrigins(SmallVectorImpl<Value> &sums) {
  sums.append(plan.resultWidth(),
              emitFloat(builder, loc, nest.outputs.front().elementType, 0));
}

/// Makes the sums of the thread's terms of those without the first one.
void NestEmitter::removeOrigins(SmallVectorImpl<Value> &sums) {
  int64_t width = plan.resultWidth();
  Value count = sums[2 * width];
  for (auto [sum, origin] : llvm::zip(MutableArrayRef(sums).take_front(width),
                                      ArrayRef(sums).take_back(width))) {
    Value all = arith::MulFOp::create(builder, loc, count, origin);
    sum = arith::AddFOp::create(builder, loc, sum, all);
  }
  sums.truncate(2 * width + 1);
}

/// What a thread leaves out of its terms, of which `first` is the first one:
/// that, unless it is so large, infinite or NaN that sums of what is left are
/// none of numbers although those of the terms are.
Value NestEmitter::emitOrigin(Value first) {
  auto type = cast<FloatType>(first.getType());
  const llvm::fltSemantics &semantics = type.getFloatSemantics();
  // Times the count, and beside the largest number, it rounds to no infinity.
  llvm::APFloat limit =
      llvm::scalbn(llvm::APFloat::getLargest(semantics),
                   -int(llvm::APFloat::semanticsPrecision(semantics)) - 2,
                   llvm::APFloat::rmTowardZero);
  Value size = math::AbsFOp::create(builder, loc, first);
  Value isUsual = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OLT, size,
      arith::ConstantOp::create(builder, loc,
                                builder.getFloatAttr(type, limit)));
  return arith::SelectOp::create(builder, loc, isUsual, first,
                                 emitFloat(builder, loc, type, 0));
}

/// Adds the terms of the points, of which each result has as many.
void NestEmitter::addPoints(MutableArrayRef<Value> sums) {
  // They are few, so that the type of the terms does for them.
  Accumulator accumulator = accumulators.front();
  accumulator.type = nest.outputs[accumulator.output].elementType;
  int64_t width = plan.resultWidth(), count = numActive / width;
  Value inverse = emitFloat(builder, loc, accumulator.type, 1.0 / count);
  Value before = sums[2 * width];
  Value isBegin =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, before,
                            emitFloat(builder, loc, before.getType(), 0));
  SmallVector<Value> group(2 * width + 1);
  for (int64_t number = 0; number < width; ++number) {
    SmallVector<Value> terms;
    for (int64_t point = number; point < numActive; point += width)
      terms.push_back(emitTerm(builder, nest, points[point].body, accumulator));
    auto subtract = [&](Value value) {
      for (Value &term : terms)
        term = arith::SubFOp::create(builder, loc, term, value);
    };
    auto addUp = [&] {
      Value sum = terms.front();
      for (Value term : ArrayRef(terms).drop_front())
        sum = arith::AddFOp::create(builder, loc, sum, term);
      return sum;
    };
    Value &origin = sums[2 * width + 1 + number];
    origin = arith::SelectOp::create(builder, loc, isBegin,
                                     emitOrigin(terms.front()), origin);
    subtract(origin);
    group[number] = addUp();
    subtract(arith::MulFOp::create(builder, loc, group[number], inverse));
    for (Value &term : terms)
      term = arith::MulFOp::create(builder, loc, term, term);
    group[width + number] = addUp();
  }
  group.back() = emitFloat(builder, loc, accumulator.type, count);
  for (auto [value, sum] : llvm::zip(group, sums))
    value = convertFloat(builder, loc, value, sum.getType());
  combineMoments(sums, group);
}

/// How many terms each result has in each block of those that share it, if all
/// blocks have as many.
std::optional<int64_t> NestEmitter::countSplitTerms() const {
  if (divided.splitSteps() * divided.splits != divided.steps() ||
      divided.tail != 0)
    return std::nullopt;
  return divided.splitSteps() * divided.termWidth();
}

/// How many terms each result has in the block `split` of those that share it,
/// as a float.
Value NestEmitter::emitCount(Type type, Value split) {
  if (std::optional<int64_t> each = countSplitTerms())
    return emitFloat(builder, loc, type, *each);
  int64_t each = divided.splitSteps() * divided.termWidth();
  int64_t all = divided.steps() * divided.termWidth();
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  // The last block has fewer, and the first has the terms behind all vectors.
  Value before = arith::MulIOp::create(builder, loc, split, index(each), nsw);
  Value count = arith::MinSIOp::create(
      builder, loc, index(each),
      arith::SubIOp::create(builder, loc, index(all), before, nsw));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        split, index(0));
  count = arith::AddIOp::create(builder, loc, count,
                                arith::SelectOp::create(builder, loc, isFirst,
                                                        index(divided.tail),
                                                        index(0)),
                                nsw);
  return arith::SIToFPOp::create(
      builder, loc, type,
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), count));
}

/// Stores sums and squares, for all results of the thread.
void NestEmitter::emitMoments(ArrayRef<Value> sums) {
  const Access &output = nest.outputs.front();
  int64_t width = plan.resultWidth();
  SmallVector<Value> totals, moments;
  for (int64_t number = 0; number < width; ++number) {
    Value sum = convertFloat(builder, loc, sums[number], output.elementType);
    Value square =
        convertFloat(builder, loc, sums[width + number], output.elementType);
    // About a mean that is infinite or NaN, there is no sum of squares.
    Value nothing = arith::SubFOp::create(builder, loc, sum, sum);
    totals.push_back(sum);
    moments.push_back(arith::AddFOp::create(builder, loc, square, nothing));
  }
  emitStore(output, totals);
  emitStore(*squares, moments);
}
