//===- OptimizerOptions.cpp - optimizers by their names -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Optimizer.h"

#include "remat/Utils/OptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <cmath>

using namespace llvm;
using namespace remat;

namespace {

/// What a hyperparameter may be.
enum class Range {
  NotNegative,
  NotPositive,
  Positive,
  AtLeastOne,
  Fraction,
  Flag
};

struct Hyperparameter {
  StringLiteral name;
  Range range;
  void (*set)(OptimizerOptions &, double);
  /// The optimizers that have it, bits by OptimizerKind.
  unsigned kinds;
  /// What 'argument' makes an argument of the step, if it can.
  std::optional<double> OptimizerOptions::*argument = nullptr;
};

struct Optimizer {
  StringLiteral name;
  OptimizerOptions defaults;
};

} // namespace

static constexpr unsigned bit(OptimizerKind kind) {
  return 1u << static_cast<unsigned>(kind);
}
static constexpr unsigned sgd = bit(OptimizerKind::SGD);
static constexpr unsigned adams =
    bit(OptimizerKind::Adam) | bit(OptimizerKind::AdamW);
static constexpr unsigned lion = bit(OptimizerKind::Lion);
static constexpr unsigned adafactor = bit(OptimizerKind::Adafactor);
static constexpr unsigned all = sgd | adams | lion | adafactor;

#define MEMBER(NAME)                                                           \
  [](OptimizerOptions &options, double value) { options.NAME = value; }

static constexpr Hyperparameter hyperparameters[] = {
    {"lr", Range::NotNegative, MEMBER(learningRate), all,
     &OptimizerOptions::learningRate},
    {"weight_decay", Range::NotNegative, MEMBER(weightDecay), all},
    {"momentum", Range::NotNegative, MEMBER(momentum), sgd},
    {"dampening", Range::Fraction, MEMBER(dampening), sgd},
    {"nesterov", Range::Flag, MEMBER(nesterov), sgd},
    {"beta1", Range::Fraction, MEMBER(beta1), adams | lion},
    {"beta2", Range::Fraction, MEMBER(beta2), adams | lion},
    {"eps", Range::NotNegative, MEMBER(epsilon), adams},
    {"beta2_decay", Range::NotPositive, MEMBER(beta2Decay), adafactor},
    {"eps1", Range::NotNegative, MEMBER(epsilon1), adafactor},
    {"eps2", Range::NotNegative, MEMBER(epsilon2), adafactor},
    {"d", Range::AtLeastOne, MEMBER(updateBound), adafactor},
    {"clip_value", Range::Positive, MEMBER(clipValue), all},
    {"clip_norm", Range::Positive, MEMBER(clipNorm), all},
    {"loss_scale", Range::Positive, MEMBER(lossScale), all,
     &OptimizerOptions::lossScale},
    {"skip_nonfinite", Range::Flag, MEMBER(skipNonfinite), all},
    {"masters", Range::Flag, MEMBER(masters), all},
    {"offload_state", Range::Flag, MEMBER(offloadState), all},
};
#undef MEMBER

static const std::vector<Optimizer> &getOptimizers() {
  static const std::vector<Optimizer> optimizers = [] {
    std::vector<Optimizer> known;
    auto add = [&](StringLiteral name, OptimizerKind kind) -> auto & {
      known.push_back({name, {}});
      known.back().defaults.kind = kind;
      known.back().defaults.learningRate = 1e-3;
      return known.back().defaults;
    };
    add("sgd", OptimizerKind::SGD);
    add("adam", OptimizerKind::Adam);
    add("adamw", OptimizerKind::AdamW).weightDecay = 0.01;
    OptimizerOptions &lion = add("lion", OptimizerKind::Lion);
    lion.learningRate = 1e-4;
    lion.beta2 = 0.99;
    add("adafactor", OptimizerKind::Adafactor).learningRate = 1e-2;
    return known;
  }();
  return optimizers;
}

std::vector<StringRef> remat::getOptimizerNames() {
  std::vector<StringRef> names;
  for (const Optimizer &optimizer : getOptimizers())
    names.push_back(optimizer.name);
  return names;
}

static Expected<double> parseNumber(StringRef text, Range range) {
  if (range == Range::Flag) {
    if (text == "true" || text == "false")
      return text == "true";
    return makeExpectedError("'true' or 'false'", text);
  }
  double value = 0;
  bool isNumber = !text.getAsDouble(value) && std::isfinite(value);
  if (range == Range::Fraction && !(isNumber && value >= 0 && value < 1))
    return makeExpectedError("a number from 0 to less than 1", text);
  if (range == Range::NotPositive && !(isNumber && value <= 0))
    return makeExpectedError("a number that is not positive", text);
  if (range == Range::Positive && !(isNumber && value > 0))
    return makeExpectedError("a positive number", text);
  if (range == Range::AtLeastOne && !(isNumber && value >= 1))
    return makeExpectedError("a number that is at least 1", text);
  if (range == Range::NotNegative && !(isNumber && value >= 0))
    return makeExpectedError("a number that is not negative", text);
  return value;
}

Expected<OptimizerOptions> remat::parseOptimizer(StringRef text) {
  StringRef name, rest;
  std::tie(name, rest) = text.split(':');
  auto optimizer = find_if(getOptimizers(), [&](const Optimizer &known) {
    return known.name == name;
  });
  if (optimizer == getOptimizers().end())
    return makeUnknownNameError("optimizer", name, getOptimizerNames());
  OptimizerOptions options = optimizer->defaults;
  SmallVector<StringRef> parts, known, seen;
  for (const Hyperparameter &hyperparameter : hyperparameters)
    if (hyperparameter.kinds & bit(options.kind))
      known.push_back(hyperparameter.name);
  if (!rest.empty())
    rest.split(parts, ',');
  for (StringRef part : parts) {
    StringRef key, value;
    std::tie(key, value) = part.split('=');
    if (!is_contained(known, key))
      return makeUnknownNameError(("hyperparameter of " + name).str(), key,
                                  known);
    if (is_contained(seen, key))
      return createStringError("'" + key + "' is given twice");
    seen.push_back(key);
    const Hyperparameter *hyperparameter = find_if(
        hyperparameters, [&](const auto &row) { return row.name == key; });
    if (hyperparameter->argument && value == "argument") {
      options.*hyperparameter->argument = std::nullopt;
      continue;
    }
    Expected<double> number = parseNumber(value, hyperparameter->range);
    if (!number)
      return prefixError(key, number.takeError());
    hyperparameter->set(options, *number);
  }
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
    return createStringError(
        "'nesterov' needs a 'momentum' and no 'dampening'");
  return options;
}
