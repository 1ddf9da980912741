//===- GradPoint.cpp - where derivatives are compared ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GradPoint.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;
using namespace remat;
using namespace remat::run;
using namespace remat::tools;

static constexpr ValueRange allRanges[] = {
    ValueRange::Mixed,    ValueRange::Unit,     ValueRange::Positive,
    ValueRange::AboveOne, ValueRange::Negative, ValueRange::BelowMinusOne};

RandomNumbers::RandomNumbers(std::initializer_list<uint64_t> seed) {
  // The finalizer of SplitMix64: neighbouring seeds give unrelated numbers.
  uint64_t state = 0;
  for (uint64_t part : seed) {
    state = (state ^ part) + 0x9e3779b97f4a7c15;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
    state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
    state ^= state >> 31;
  }
  random.seed(state);
}

double RandomNumbers::getWeight() {
  double value = getUniform(0.1, 0.9);
  return getBit() ? -value : value;
}

static double draw(ValueRange range, RandomNumbers &random) {
  switch (range) {
  case ValueRange::Mixed: {
    double value = std::exp2(random.getUniform(-4, 2));
    return random.getBit() ? -value : value;
  }
  case ValueRange::Unit:
    return random.getWeight();
  case ValueRange::Positive:
    return random.getUniform(0.1, 0.9);
  case ValueRange::AboveOne:
    return random.getUniform(1.1, 1.9);
  case ValueRange::Negative:
    return -random.getUniform(0.1, 0.9);
  case ValueRange::BelowMinusOne:
    return -random.getUniform(1.1, 1.9);
  }
  llvm_unreachable("unknown range");
}

/// Whether the numbers of a widened step's argument are f64: those of floating
/// point, and the parts of complex ones.
static bool holdsReals(const Tensor &tensor) {
  return tensor.getDtype() == REMAT_F64 || tensor.getDtype() == REMAT_C128;
}

/// Fills a floating-point tensor, and others with zeros and ones.
static void fill(Tensor &tensor, ValueRange range, RandomNumbers random,
                 unsigned point, double scale) {
  size_t count = tensor.getNumScalars();
  if (!holdsReals(tensor)) {
    for (size_t i = 0; i < count; ++i)
      tensor.setInteger(i, random.getBit());
    return;
  }
  bool hasPositive = false, hasNegative = false;
  for (size_t i = 0; i < count; ++i) {
    double value = scale * draw(range, random);
    tensor.set(i, value);
    (value < 0 ? hasNegative : hasPositive) = true;
  }
  if (count == 0 || (range != ValueRange::Mixed && range != ValueRange::Unit))
    return;
  // A kink at zero has both sides: in each tensor, or at every other point.
  if (count == 1)
    tensor.set(0, std::copysign(tensor.get(0), point % 2 == 0 ? 1 : -1));
  else if (hasPositive != hasNegative) {
    size_t index = random.getBelow(count);
    tensor.set(index, -tensor.get(index));
  }
}

/// The steps of a search. Each keeps what leaves fewer results undefined.
struct PointSampler::Search {
  Search(PointSampler &sampler, MutableArrayRef<Tensor> arguments,
         unsigned point, function_ref<Expected<size_t>()> countUndefined)
      : sampler(sampler), arguments(arguments), point(point),
        countUndefined(countUndefined) {}

  void fillOne(size_t argument, ValueRange range) {
    fill(arguments[argument], range,
         RandomNumbers{sampler.seed, point, argument}, point,
         range == ValueRange::Mixed ? getScale(arguments[argument]) : 1);
  }
  double getScale(const Tensor &tensor) const {
    ArrayRef<int64_t> shape = tensor.getShape();
    if (!sampler.isShrunk || shape.size() < 2 || tensor.getNumElements() == 0)
      return 1;
    return 1 / std::sqrt(double(tensor.getNumElements()) / double(shape[0]));
  }
  void fillAll() {
    for (size_t i = 0; i < arguments.size(); ++i)
      fillOne(i, sampler.ranges[i]);
  }
  Error count() { return countUndefined().moveInto(numUndefined); }
  Error tryEach();
  Error tryAllAtOnce();
  Error widen();
  Error tryElements();

  PointSampler &sampler;
  MutableArrayRef<Tensor> arguments;
  unsigned point;
  function_ref<Expected<size_t>()> countUndefined;
  size_t numUndefined = 0;
};

/// For domains that several arguments must be in together.
Error PointSampler::Search::tryAllAtOnce() {
  if (numUndefined == 0)
    return Error::success();
  size_t least = numUndefined;
  std::vector<ValueRange> best = sampler.ranges;
  for (ValueRange range : allRanges) {
    sampler.ranges.assign(arguments.size(), range);
    fillAll();
    if (Error error = count())
      return error;
    if (numUndefined >= least)
      continue;
    least = numUndefined;
    best = sampler.ranges;
    if (least == 0)
      break;
  }
  numUndefined = least;
  sampler.ranges = best;
  fillAll();
  return widen();
}

/// Gives back both signs to arguments that need not be in a narrower range.
Error PointSampler::Search::widen() {
  size_t least = numUndefined;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (sampler.ranges[i] == ValueRange::Mixed)
      continue;
    fillOne(i, ValueRange::Mixed);
    if (Error error = count())
      return error;
    if (numUndefined <= least) {
      least = numUndefined;
      sampler.ranges[i] = ValueRange::Mixed;
    }
    fillOne(i, sampler.ranges[i]);
  }
  numUndefined = least;
  return Error::success();
}

Error PointSampler::Search::tryEach() {
  for (size_t i = 0; i < arguments.size() && numUndefined > 0; ++i) {
    if (arguments[i].getNumScalars() == 0)
      continue;
    size_t least = numUndefined;
    for (ValueRange range : allRanges) {
      fillOne(i, range);
      if (Error error = count())
        return error;
      if (numUndefined < least) {
        least = numUndefined;
        sampler.ranges[i] = range;
      }
    }
    fillOne(i, sampler.ranges[i]);
    numUndefined = least;
  }
  return Error::success();
}

/// Draws single elements anew, for domains that are about several arguments.
Error PointSampler::Search::tryElements() {
  SmallVector<size_t> floats;
  for (auto [number, argument] : enumerate(arguments))
    if (holdsReals(argument) && argument.getNumScalars() > 0)
      floats.push_back(number);
  RandomNumbers random{sampler.seed, point, ~uint64_t(0)};
  for (int i = 0; i < 256 && numUndefined > 0 && !floats.empty(); ++i) {
    Tensor &tensor = arguments[floats[random.getBelow(floats.size())]];
    size_t index = random.getBelow(tensor.getNumScalars());
    double old = tensor.get(index);
    size_t least = numUndefined;
    tensor.set(index, draw(ValueRange::Mixed, random));
    if (Error error = count())
      return error;
    if (numUndefined <= least)
      continue;
    tensor.set(index, old);
    numUndefined = least;
  }
  return Error::success();
}

Error PointSampler::sample(MutableArrayRef<Tensor> arguments, unsigned point,
                           function_ref<Expected<size_t>()> countUndefined) {
  Search search(*this, arguments, point, countUndefined);
  search.fillAll();
  if (Error error = search.count())
    return error;
  if (search.numUndefined <= leastUndefined)
    return Error::success();
  if (Error error = search.tryEach())
    return error;
  if (Error error = search.tryAllAtOnce())
    return error;
  if (Error error = search.tryElements())
    return error;
  leastUndefined = search.numUndefined;
  return Error::success();
}
