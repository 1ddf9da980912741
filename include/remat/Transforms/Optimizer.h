//===- Optimizer.h - what a training step does with gradients ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_OPTIMIZER_H
#define REMAT_TRANSFORMS_OPTIMIZER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace remat {

enum class OptimizerKind { SGD, Adam, AdamW, Lion, Adafactor };

/// An optimizer with its hyperparameters, which have the names and meanings
/// that they have in torch.optim.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::SGD;
  /// Not set: one more argument of the step, an f32 of rank 0.
  std::optional<double> learningRate;
  double weightDecay = 0;
  /// Of SGD.
  double momentum = 0, dampening = 0;
  bool nesterov = false;
  /// Of Adam, AdamW and Lion.
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  /// Of Adafactor; `epsilon1` is the epsilon of the weight's type if not set.
  double beta2Decay = -0.8, epsilon2 = 1e-3, updateBound = 1;
  std::optional<double> epsilon1;
  /// Gradients are cut off at this absolute value; 0 for no bound.
  double clipValue = 0;
  /// All gradients are scaled so that their common Euclidean norm is at most
  /// this; 0 for no bound.
  double clipNorm = 0;
  /// What the loss is multiplied by before it is differentiated, and gradients
  /// are divided by before anything else. Not set: one more argument of the
  /// step, of the loss's type.
  std::optional<double> lossScale = 1;
  /// Leave weights and state as they are where a gradient is not finite.
  bool skipNonfinite = false;
  /// Keep weights that are narrower than f32 in f32, too, as state.
  bool masters = false;
  /// Keep the state of weights in host memory.
  bool offloadState = false;

  bool scalesLoss() const { return lossScale != 1.0; }
};

/// The names of the optimizers.
std::vector<llvm::StringRef> getOptimizerNames();

/// Reads `NAME` or `NAME:KEY=VALUE,...`, such as "adamw:lr=1e-3,eps=1e-6". The
/// learning rate may be "argument". An unknown name or key, or a value out of
/// its range, is an error that names what is known.
llvm::Expected<OptimizerOptions> parseOptimizer(llvm::StringRef text);

} // namespace remat

#endif // REMAT_TRANSFORMS_OPTIMIZER_H
