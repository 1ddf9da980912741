//===- GradientErrors.h - what packed forms do to gradients -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// By how much the gradients of a model change when one value is rounded as a
// packed form rounds it. `remat-run` measures that; the file is JSON:
//
//   {"schema": "remat.gradient-errors/1",
//    "values": {"<graph>:<task>:<result>:<kernel>:<type>":
//                 {"bf16": <relative error>, ...}, ...}}
//
// The error of gradients is the largest one of them, relative to its norm:
// ||g' - g|| / ||g||, in 2-norms over all elements of a gradient.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_GRADIENTERRORS_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_GRADIENTERRORS_H

#include "remat/Dialect/Remat/IR/Codecs.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <string>

namespace remat {

/// What is promised is the sum of the measured errors of all packed values,
/// which a sum of their effects does not exceed, times this: errors of other
/// arguments than those that were measured, and of values that are made of
/// rounded ones, are others.
constexpr double gradientErrorMargin = 2;

/// The relative errors of gradients when one value is packed and all others are
/// not, as they were measured.
struct GradientErrors {
  /// By the names of values.
  std::map<std::string, std::map<ElementCodec, double>> values;

  /// The name of a task's result.
  static std::string getName(mlir::OpResult value);

  /// The error when `codec` packs `value`; nothing if that was not measured.
  std::optional<double> find(mlir::OpResult value, ElementCodec codec) const;

  /// Fails if the file cannot be read or is no such file.
  static llvm::Expected<GradientErrors> load(llvm::StringRef path);
  /// Writes such a file.
  void print(llvm::raw_ostream &os) const;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_GRADIENTERRORS_H
