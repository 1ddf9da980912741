//===- ErrorProfile.h - what packed forms do to gradients -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Measures what --max-gradient-error bounds.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_ERRORPROFILE_H
#define REMAT_TOOLS_REMAT_RUN_ERRORPROFILE_H

#include "StepRunner.h"

#include "remat/Dialect/Remat/Transforms/GradientErrors.h"

namespace remat::run {

/// The gradients of a step that keeps all values as they are.
struct ExactGradients {
  /// The numbers of the results that are gradients.
  std::vector<size_t> numbers;
  /// All results.
  std::vector<tools::Tensor> results;

  /// The largest error of a gradient among `others`, relative to its norm:
  /// infinite if one is not a number where the exact one is, or is not zero
  /// where that is.
  double compare(llvm::ArrayRef<tools::Tensor> others) const;
};

/// Runs `step`, which was compiled from `tasks` and keeps all values, and adds
/// to `errors` what the gradients lose when one of the values that `tasks`
/// offers to pack is rounded as one of `codecs` does. It is rounded when the
/// backward computation begins, as in a plan that keeps the packed form, and in
/// another run as soon as it is there, as if all that is made of it were made
/// again from the packed form; the larger error counts. Errors that are known
/// are not measured again, nor those of forms of a value of which a more exact
/// one is beyond `bound` alone.
llvm::Expected<ExactGradients>
profileErrors(remat_step *step, mlir::ModuleOp tasks,
              llvm::ArrayRef<std::string> codecs, double bound,
              llvm::ArrayRef<tools::Tensor> arguments, GradientErrors &errors);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_ERRORPROFILE_H
