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

enum class OptimizerKind { SGD, Adam, AdamW, Lion };

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
  /// Of the others.
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  /// Gradients are cut off at this absolute value; 0 for no bound.
  double clipValue = 0;
  /// All gradients are scaled so that their common Euclidean norm is at most
  /// this; 0 for no bound.
  double clipNorm = 0;
};

/// The names of the optimizers.
std::vector<llvm::StringRef> getOptimizerNames();

/// Reads `NAME` or `NAME:KEY=VALUE,...`, such as "adamw:lr=1e-3,eps=1e-6". The
/// learning rate may be "argument". An unknown name or key, or a value out of
/// its range, is an error that names what is known.
llvm::Expected<OptimizerOptions> parseOptimizer(llvm::StringRef text);

} // namespace remat

#endif // REMAT_TRANSFORMS_OPTIMIZER_H
