//===- OptimizerUpdates.cpp - what optimizers do with an element ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas are those of torch.optim, and for Lion those of its paper.
//
//===----------------------------------------------------------------------===//

#include "OptimizerUpdates.h"

using namespace mlir;
using namespace remat;

using Scalar = OptimizerScalar;

namespace {
/// What is known of an element and what becomes of it.
struct OptimizedElement {
  Scalar weight, gradient;
  SmallVector<Scalar, 2> state;
};
} // namespace

//===----------------------------------------------------------------------===//
// Numbers of a step
//===----------------------------------------------------------------------===//

static constexpr Scalar StepNumbers::*members[] = {
    &StepNumbers::rate,    &StepNumbers::decay,   &StepNumbers::rootCorrection,
    &StepNumbers::isFirst, &StepNumbers::share,   &StepNumbers::unscale,
    &StepNumbers::clip,    &StepNumbers::isFinite};

ArrayRef<Scalar StepNumbers::*> remat::getStepNumbers() { return members; }

void remat::addNumbers(const StepNumbers &numbers, Type element,
                       const OptimizerLoops &loops,
                       SmallVectorImpl<OptimizerOperand> &inputs) {
  for (Scalar StepNumbers::*member : members)
    if (Scalar number = numbers.*member)
      inputs.push_back(loops.number(convertNumber(number, element).value));
}

StepNumbers remat::readNumbers(const StepNumbers &added,
                               ArrayRef<Scalar> elements) {
  StepNumbers read;
  for (Scalar StepNumbers::*member : members)
    if (added.*member) {
      read.*member = elements.front();
      elements = elements.drop_front();
    }
  return read;
}

//===----------------------------------------------------------------------===//
// Formulas
//===----------------------------------------------------------------------===//

/// 1, -1 or, for what is neither above nor below it, 0.
static Scalar sign(Scalar a) {
  Scalar zero = a.constant(0);
  Scalar negative =
      a.compare(arith::CmpFPredicate::OLT, zero).select(a.constant(-1), zero);
  return a.compare(arith::CmpFPredicate::OGT, zero)
      .select(a.constant(1), negative);
}

bool remat::decaysWeights(const OptimizerOptions &options) {
  return options.weightDecay != 0 && options.kind != OptimizerKind::SGD &&
         options.kind != OptimizerKind::Adam;
}

static void updateBySGD(const OptimizerOptions &options,
                        OptimizedElement &element, const StepNumbers &numbers) {
  auto &[weight, gradient, state] = element;
  if (options.weightDecay != 0)
    gradient = gradient + options.weightDecay * weight;
  if (options.momentum != 0) {
    Scalar &momentum = state[0];
    Scalar next = options.momentum * momentum +
                  (options.dampening == 0 ? gradient
                                          : (1 - options.dampening) * gradient);
    if (options.dampening != 0)
      next = numbers.isFirst.select(gradient, next);
    momentum = next;
    gradient =
        options.nesterov ? gradient + options.momentum * momentum : momentum;
  }
  weight = weight - numbers.rate * gradient;
}

static void updateByAdam(const OptimizerOptions &options,
                         OptimizedElement &element,
                         const StepNumbers &numbers) {
  auto &[weight, gradient, state] = element;
  if (decaysWeights(options))
    weight = weight * numbers.decay;
  else if (options.weightDecay != 0)
    gradient = gradient + options.weightDecay * weight;
  Scalar &mean = state[0], &square = state[1];
  mean = mean + (1 - options.beta1) * (gradient - mean);
  square = options.beta2 * square + (1 - options.beta2) * (gradient * gradient);
  Scalar root = sqrt(square) / numbers.rootCorrection + options.epsilon;
  weight = weight - numbers.rate * (mean / root);
}

static void updateByLion(const OptimizerOptions &options,
                         OptimizedElement &element,
                         const StepNumbers &numbers) {
  auto &[weight, gradient, state] = element;
  Scalar &mean = state[0];
  if (decaysWeights(options))
    weight = weight * numbers.decay;
  weight = weight - numbers.rate * sign(options.beta1 * mean +
                                        (1 - options.beta1) * gradient);
  mean = options.beta2 * mean + (1 - options.beta2) * gradient;
}

Type remat::getComputedType(Type element) {
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(element.getContext())
             : element;
}

bool remat::countsSteps(const OptimizerOptions &options) {
  return options.dampening != 0 || options.masters ||
         (options.kind != OptimizerKind::SGD &&
          options.kind != OptimizerKind::Lion);
}

SmallVector<StateTensor> remat::getState(const OptimizerOptions &options,
                                         ArrayRef<int64_t> shape) {
  SmallVector<int64_t> whole(shape);
  switch (options.kind) {
  case OptimizerKind::SGD:
    if (options.momentum == 0)
      return {};
    return {{"momentum_buffer", whole}};
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return {{"exp_avg", whole}, {"exp_avg_sq", whole}};
  case OptimizerKind::Lion:
    return {{"exp_avg", whole}};
  case OptimizerKind::Adafactor: {
    if (shape.size() < 2)
      return {{"variance", whole}};
    SmallVector<int64_t> rows = whole, columns = whole;
    rows.pop_back();
    columns.erase(columns.end() - 2);
    return {{"row_var", rows}, {"col_var", columns}};
  }
  }
  llvm_unreachable("unknown optimizer");
}

Scalar remat::prepareGradient(const OptimizerOptions &options, Scalar gradient,
                              const StepNumbers &numbers) {
  if (numbers.unscale)
    gradient = gradient * numbers.unscale;
  if (numbers.clip)
    gradient = gradient * numbers.clip;
  if (options.clipValue != 0)
    gradient = atMost(atLeast(gradient, -options.clipValue), options.clipValue);
  return gradient;
}

/// Makes weight and state of an element the new ones.
static void updateElement(const OptimizerOptions &options,
                          OptimizedElement &element,
                          const StepNumbers &numbers) {
  switch (options.kind) {
  case OptimizerKind::SGD:
    return updateBySGD(options, element, numbers);
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return updateByAdam(options, element, numbers);
  case OptimizerKind::Lion:
    return updateByLion(options, element, numbers);
  case OptimizerKind::Adafactor:
    break;
  }
  llvm_unreachable("an optimizer that updates no element by itself");
}

//===----------------------------------------------------------------------===//
// The update of a weight
//===----------------------------------------------------------------------===//

void remat::emitUpdate(OpBuilder &builder, Location loc,
                       const OptimizerOptions &options, WeightUpdate &update,
                       const StepNumbers &numbers) {
  if (options.kind == OptimizerKind::Adafactor)
    return updateByAdafactor(builder, loc, options, update, numbers);
  auto type = cast<RankedTensorType>(update.weight.getType());
  Type element = type.getElementType(), computed = getComputedType(element);
  OptimizerLoops loops(builder, loc, type.getShape());
  // Weight, gradient, state, master and numbers; results in the same order.
  SmallVector<OptimizerOperand> inputs = {loops.whole(update.weight),
                                          loops.whole(update.gradient)};
  SmallVector<Type> types = {element};
  SmallVector<Value> kept = llvm::to_vector<6>(update.state);
  if (update.master)
    kept.push_back(update.master);
  for (Value value : kept) {
    inputs.push_back(loops.whole(value));
    types.push_back(computed);
  }
  unsigned firstNumber = inputs.size();
  // Only masters and momenta ask for the first step.
  StepNumbers used = numbers;
  if (!update.master && options.dampening == 0)
    used.isFirst = {};
  addNumbers(used, computed, loops, inputs);
  SmallVector<Value> results = loops.map(
      inputs, types, [&](ArrayRef<Scalar> elements) -> SmallVector<Scalar> {
        StepNumbers read = readNumbers(used, elements.drop_front(firstNumber));
        OptimizedElement old = {convertNumber(elements[0], computed),
                                convertNumber(elements[1], computed),
                                {}};
        llvm::append_range(old.state, elements.slice(2, update.state.size()));
        if (update.master)
          old.weight =
              read.isFirst.select(old.weight, elements[firstNumber - 1]);
        OptimizedElement next = old;
        next.gradient = prepareGradient(options, old.gradient, read);
        updateElement(options, next, read);
        auto choose = [&](Scalar updated, Scalar before) {
          return read.isFinite ? read.isFinite.select(updated, before)
                               : updated;
        };
        Scalar weight = choose(next.weight, old.weight);
        SmallVector<Scalar> made = {convertNumber(weight, element)};
        for (auto [updated, before] : llvm::zip_equal(next.state, old.state))
          made.push_back(choose(updated, before));
        if (update.master)
          made.push_back(weight);
        return made;
      });
  update.weight = results[0];
  for (unsigned i = 0; i < update.state.size(); ++i)
    update.state[i] = results[1 + i];
  if (update.master)
    update.master = results.back();
}
