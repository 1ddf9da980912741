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

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;

using Scalar = OptimizerScalar;

static Scalar operator+(Scalar a, Scalar b) {
  return a.apply<arith::AddFOp>(b);
}
static Scalar operator-(Scalar a, Scalar b) {
  return a.apply<arith::SubFOp>(b);
}
static Scalar operator*(Scalar a, Scalar b) {
  return a.apply<arith::MulFOp>(b);
}
static Scalar operator/(Scalar a, Scalar b) {
  return a.apply<arith::DivFOp>(b);
}
static Scalar operator*(double a, Scalar b) { return b.constant(a) * b; }
static Scalar operator+(Scalar a, double b) { return a + a.constant(b); }

static Scalar sqrt(Scalar a) {
  return {a.builder,
          math::SqrtOp::create(*a.builder, a.value.getLoc(), a.value)};
}

/// 1, -1 or, for what is neither above nor below it, 0.
static Scalar sign(Scalar a) {
  OpBuilder &builder = *a.builder;
  Location loc = a.value.getLoc();
  Scalar zero = a.constant(0);
  Value result = zero.value;
  for (auto [predicate, number] :
       {std::pair(arith::CmpFPredicate::OGT, 1.0),
        std::pair(arith::CmpFPredicate::OLT, -1.0)}) {
    Value holds =
        arith::CmpFOp::create(builder, loc, predicate, a.value, zero.value);
    result = arith::SelectOp::create(builder, loc, holds,
                                     a.constant(number).value, result);
  }
  return {a.builder, result};
}

static Scalar clamp(Scalar a, double bound) {
  return a.apply<arith::MaximumFOp>(a.constant(-bound))
      .apply<arith::MinimumFOp>(a.constant(bound));
}

bool remat::decaysWeights(const OptimizerOptions &options) {
  return options.weightDecay != 0 && (options.kind == OptimizerKind::AdamW ||
                                      options.kind == OptimizerKind::Lion);
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
      next.value = arith::SelectOp::create(*next.builder, next.value.getLoc(),
                                           numbers.isFirst.value,
                                           gradient.value, next.value);
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

SmallVector<StringRef> remat::getStateNames(const OptimizerOptions &options) {
  switch (options.kind) {
  case OptimizerKind::SGD:
    if (options.momentum == 0)
      return {};
    return {"momentum_buffer"};
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return {"exp_avg", "exp_avg_sq"};
  case OptimizerKind::Lion:
    return {"exp_avg"};
  }
  llvm_unreachable("unknown optimizer");
}

void remat::updateElement(const OptimizerOptions &options,
                          OptimizedElement &element,
                          const StepNumbers &numbers) {
  if (options.clipNorm != 0)
    element.gradient = element.gradient * numbers.clip;
  if (options.clipValue != 0)
    element.gradient = clamp(element.gradient, options.clipValue);
  switch (options.kind) {
  case OptimizerKind::SGD:
    return updateBySGD(options, element, numbers);
  case OptimizerKind::Adam:
  case OptimizerKind::AdamW:
    return updateByAdam(options, element, numbers);
  case OptimizerKind::Lion:
    return updateByLion(options, element, numbers);
  }
}
