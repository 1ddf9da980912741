//===- Manifest.h - models with reproducible inputs -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A manifest stands beside an exported model: how to make each argument, which
// are parameters, and what PyTorch computed from them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_MANIFEST_H
#define REMAT_TOOLS_COMMON_MANIFEST_H

#include "common/Tensor.h"

#include <optional>
#include <string>
#include <vector>

namespace remat::tools {

/// How to make an argument without storing it. With i the flat index and
/// h = splitmix64(seed * 2^32 + i):
///   uniform: lo + (hi - lo) * (h >> 40) / 2^24, in f64, rounded
///   index:   (h >> 33) % below
struct Fill {
  bool isIndex = false;
  uint64_t seed = 0;
  double lo = 0, hi = 0;
  uint64_t below = 1;

  void apply(Tensor &tensor) const;
};

struct ManifestArgument {
  std::string name;
  remat_dtype dtype;
  std::vector<int64_t> shape;
  bool isParameter = false;
  /// Part of a batch, as far as it has rows.
  bool isData = false;
  bool isCotangent = false;
  /// Where its elements come from: numbers that are made, or a .npy file or one
  /// of safetensors, which has it under its name.
  std::optional<Fill> fill;
  std::string file;
};

struct ManifestResult {
  std::string name;
  /// "loss" or "output"; of a model that is differentiated already, also
  /// "gradient" or "update".
  std::string role;
  /// Of a gradient, the name of the argument.
  std::string of;
};

/// What is known of a gradient: its L2 norm, its sum, and some elements.
struct GradientSummary {
  double l2 = 0, sum = 0;
  std::vector<std::pair<int64_t, double>> samples;
};

struct Manifest {
  std::string model;
  std::string function;
  std::vector<ManifestArgument> arguments;
  /// What the gradients are multiplied with, `logits.cotangent` for the result
  /// `logits`. A model that is differentiated already has them as arguments.
  std::vector<ManifestArgument> cotangents;
  /// Whether the model has computed its gradients itself.
  bool isDifferentiated = false;
  std::vector<ManifestResult> results;
  /// What updates the parameters, as `--optimizer` says it; empty if nothing.
  std::string optimizer;
  /// What an optimizer with `lr=argument` is given: for each step, or if there
  /// is one, for all of them.
  std::vector<double> learningRates;
  /// Golden values, where the manifest has them.
  std::optional<double> loss;
  std::vector<std::pair<std::string, GradientSummary>> gradients;

  const GradientSummary *findGradient(llvm::StringRef name) const;
  const ManifestArgument *findCotangent(llvm::StringRef name) const;
};

/// Fails with the file and the key when something is missing or malformed.
llvm::Expected<Manifest> loadManifest(llvm::StringRef path);

/// Makes an argument.
llvm::Expected<Tensor> makeArgument(const ManifestArgument &argument);

/// Summarizes a computed gradient, with samples at the golden's indices.
GradientSummary summarize(const Tensor &gradient,
                          const GradientSummary *golden);

/// The gradient of so many equal steps together.
GradientSummary multiply(const GradientSummary &gradient, double steps);

/// The largest error of a gradient against its golden: of the norm, relative to
/// the norm, and of each sample, relative to the larger of the sample and the
/// norm.
double compare(const GradientSummary &gradient, const GradientSummary &golden);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_MANIFEST_H
