//===- RunningMaxima.cpp - sweeps that a maximum need not end -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sum of exponentials of differences to a maximum can be added up beside the
// maximum: where it grows, what was added up is multiplied with the exponential
// of what it grew by (Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018). So can products of such exponentials with a factor.
//
//===----------------------------------------------------------------------===//

#include "RegisterTileEmission.h"
#include "WarpOps.h"

#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Whether a step finds the maxima of rows, from minus infinity on.
static bool isMaximum(const RowStep &step) {
  const LoopNest &nest = step.nest;
  if (step.isContraction || nest.outputs.size() != 1 ||
      !nest.outputs[0].elementType.isF32())
    return false;
  SmallVector<Accumulator> found = findAccumulators(nest);
  auto init = dyn_cast_or_null<FloatAttr>(nest.inits[0]);
  return found.size() == 1 &&
         isa_and_nonnull<arith::MaximumFOp>(found[0].combiner) && init &&
         init.getValue().isInfinity() && init.getValue().isNegative();
}

/// Whether a value is the exponential of a difference to `maximum`, which
/// nothing else in the body reads.
static bool isPower(Value value, Value maximum) {
  auto power = value.getDefiningOp<math::ExpOp>();
  auto difference =
      power ? power.getOperand().getDefiningOp<arith::SubFOp>() : nullptr;
  return difference && difference.getRhs() == maximum && maximum.hasOneUse() &&
         power->hasOneUse() && power.getType().isF32();
}

/// What is rounded to `value`, or the value itself.
static Value getUnrounded(Value value) {
  auto rounding = value.getDefiningOp<arith::TruncFOp>();
  return rounding ? rounding.getIn() : value;
}

/// Whether a step makes such exponentials for each element, rounded or not.
static bool makesPowers(const RowStep &step, Value maximum) {
  return !step.isContraction && step.nest.outputs.size() == 1 &&
         isPower(getUnrounded(step.nest.body->getTerminator()->getOperand(0)),
                 maximum);
}

/// Whether a step does nothing but to round its only input.
static bool isRounding(const RowStep &step) {
  const LoopNest &nest = step.nest;
  return !step.isContraction && nest.inputs.size() == 1 &&
         nest.outputs.size() == 1 &&
         nest.outputs[0].elementType != nest.inputs[0].elementType &&
         getUnrounded(nest.body->getTerminator()->getOperand(0)) ==
             nest.body->getArgument(0);
}

/// Whether a step adds them up.
static bool addsPowers(const RowStep &step, Value maximum) {
  if (step.isContraction || step.nest.outputs.size() != 1)
    return false;
  SmallVector<Accumulator> found = findAccumulators(step.nest);
  return found.size() == 1 &&
         isa_and_nonnull<arith::AddFOp>(found[0].combiner) &&
         llvm::any_of(found[0].combiner->getOperands(),
                      [&](Value operand) { return isPower(operand, maximum); });
}

/// Whether a step adds up what it reads of `root` as it is, or its products.
static bool isLinear(const RowStep &step, Value root) {
  const LoopNest &nest = step.nest;
  if (step.isContraction)
    return true;
  for (const Accumulator &sum : findAccumulators(nest)) {
    if (!isa_and_nonnull<arith::AddFOp>(sum.combiner))
      return false;
    Value output = getOutputArguments(nest)[sum.output];
    for (Value operand : sum.combiner->getOperands())
      if (operand != output) {
        auto argument = dyn_cast<BlockArgument>(operand);
        if (!argument || argument.getOwner() != nest.body ||
            argument.getArgNumber() >= nest.inputs.size() ||
            nest.inputs[argument.getArgNumber()].root != root)
          return false;
      }
  }
  return true;
}

namespace {

/// Joins a pass with the one behind it.
class PassJoiner {
public:
  PassJoiner(const RowSchedule &schedule, const TiledRows &plan,
             const TilePass &first, const TilePass &second)
      : schedule(schedule), plan(plan), first(first), second(second) {
    for (auto [number, step] : llvm::enumerate(schedule.steps))
      for (const Access &output : step.nest.outputs)
        writers.try_emplace(output.root, number);
  }
  std::optional<RunningMaximum> run();

private:
  bool mayReadEarly(unsigned number, unsigned input);
  bool addPower(unsigned number);

  const RowSchedule &schedule;
  const TiledRows &plan;
  const TilePass &first, &second;
  DenseMap<Value, unsigned> writers;
  RunningMaximum found;
  int maximum = -1;
};

} // namespace

/// Whether an input is there before the first pass, or is its maximum.
bool PassJoiner::mayReadEarly(unsigned number, unsigned input) {
  const Access &access = schedule.steps[number].nest.inputs[input];
  auto writer = writers.find(access.root);
  if (!access.isRead || writer == writers.end() ||
      plan.steps[writer->second].kind == TiledStep::Tile)
    return true;
  const TiledStep &tiled = plan.steps[writer->second];
  unsigned sweep = plan.steps[first.ends.front()].sweep;
  if (!llvm::is_contained(first.ends, writer->second))
    return tiled.kind == TiledStep::RowsOnly ? tiled.sweep <= sweep
                                             : tiled.sweep < sweep;
  const RowStep &step = schedule.steps[number];
  Value argument = step.nest.body->getArgument(input);
  if ((maximum >= 0 && maximum != int(writer->second)) ||
      !isMaximum(schedule.steps[writer->second]) || step.isContraction)
    return false;
  maximum = writer->second;
  if (llvm::is_contained(second.ends, number)) {
    found.sums.push_back(number);
    return addsPowers(step, argument);
  }
  return makesPowers(step, argument) && addPower(number);
}

/// Finds what is added up of the exponentials that a step makes.
bool PassJoiner::addPower(unsigned number) {
  if (plan.steps[number].kind != TiledStep::Tile || plan.steps[number].isResult)
    return false;
  Value root = schedule.steps[number].getRoot();
  for (auto [reader, step] : llvm::enumerate(schedule.steps)) {
    if (!second.steps[reader] ||
        llvm::none_of(step.nest.inputs, [&](const Access &input) {
          return input.root == root && input.isRead;
        }))
      continue;
    if (plan.steps[reader].kind == TiledStep::Tile && isRounding(step)) {
      if (!addPower(reader))
        return false;
      continue;
    }
    if (!llvm::is_contained(second.ends, reader) || !isLinear(step, root))
      return false;
    found.sums.push_back(reader);
  }
  return true;
}

std::optional<RunningMaximum> PassJoiner::run() {
  for (auto [number, step] : llvm::enumerate(schedule.steps)) {
    if (!second.steps[number])
      continue;
    if (plan.steps[number].kind == TiledStep::RowsOnly)
      return std::nullopt;
    for (unsigned input = 0; input < step.nest.inputs.size(); ++input)
      if (!mayReadEarly(number, input))
        return std::nullopt;
  }
  if (maximum < 0)
    return std::nullopt;
  found.step = maximum;
  return std::move(found);
}

void remat::cuda::joinSweeps(const RowSchedule &schedule, const TiledRows &plan,
                             int64_t maxSums, RegisterTiles &tiles) {
  // What is multiplied again when a maximum grows is rounded once more.
  if (!tiles.areRounded())
    return;
  auto countSums = [&](const TilePass &pass) {
    int64_t count = 0;
    for (unsigned number : pass.ends)
      for (int factor : tiles.factorOf[number])
        if (factor >= 0 && plan.steps[number].kind != TiledStep::Tile)
          count += countThreadSums(tiles.factors[factor].side);
    return count;
  };
  for (unsigned sweep = 0; sweep + 1 < tiles.sweeps.size(); ++sweep) {
    SmallVector<TilePass> &passes = tiles.sweeps[sweep],
                          &next = tiles.sweeps[sweep + 1];
    if (passes.size() != 1 || next.size() != 1 || passes[0].ends.empty() ||
        next[0].ends.empty() ||
        countSums(passes[0]) + countSums(next[0]) > maxSums)
      continue;
    std::optional<RunningMaximum> maximum =
        PassJoiner(schedule, plan, passes[0], next[0]).run();
    if (!maximum)
      continue;
    for (unsigned number = 0; number < next[0].steps.size(); ++number)
      passes[0].steps[number] =
          passes[0].steps[number] || next[0].steps[number];
    llvm::append_range(passes[0].ends, next[0].ends);
    llvm::sort(passes[0].ends);
    passes[0].maximum = std::move(maximum);
    next.clear();
  }
}

/// Gives all threads of a row its maximum so far, and multiplies what was added
/// up by the exponential of what it grew by. `before` is the maximum of the
/// tiles before this one.
void RegisterTileEmission::updateMaximum(const TilePass &pass,
                                         ArrayRef<Value> before,
                                         MutableArrayRef<Value> sums) {
  auto constant = [&](double number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getF32FloatAttr(float(number)));
  };
  Value root = schedule.steps[pass.maximum->step].getRoot();
  DenseMap<unsigned, MutableArrayRef<Value>> sumsOf;
  for (unsigned number : pass.ends) {
    sumsOf[number] = sums.take_front(countSums(number));
    sums = sums.drop_front(countSums(number));
  }
  std::array<Value, 2> growth;
  for (unsigned h = 0; h < 2; ++h) {
    Value &maximum = sumsOf[pass.maximum->step][h];
    for (int64_t distance : {1, 2})
      maximum = arith::MaximumFOp::create(
          builder, loc, maximum,
          emitShuffleXor(builder, loc, maximum, distance));
    // Of rows that have nothing else so far, all exponentials are zero.
    Value least = constant(-std::numeric_limits<float>::infinity());
    Value isNone = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, maximum, least);
    Value finite =
        arith::SelectOp::create(builder, loc, isNone, constant(0.0), maximum);
    runningMaxima[root][h] = finite;
    growth[h] = emitGrowth(builder, loc, before[h], finite);
  }
  for (unsigned number : pass.maximum->sums)
    for (auto [place, sum] : llvm::enumerate(sumsOf[number])) {
      unsigned h = schedule.steps[number].isContraction ? getElement(place).h
                                                        : place % 2;
      sum = arith::MulFOp::create(
          builder, loc, sum,
          convertFloat(builder, loc, growth[h], sum.getType()));
    }
}
