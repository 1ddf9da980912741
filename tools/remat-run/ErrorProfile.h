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

/// A value in one of its packed forms.
struct ValueForm {
  mlir::OpResult value;
  ElementCodec codec;

  bool operator==(const ValueForm &other) const {
    return value == other.value && codec == other.codec;
  }
};

/// The values that `graph` offers to pack, with those of `codecs` that have a
/// form of them, from the most exact one on.
std::vector<ValueForm> findForms(GraphOp graph,
                                 llvm::ArrayRef<std::string> codecs);

/// Whether a more exact form of the value is beyond `bound` alone.
bool isHopeless(const GradientErrors &errors, const ValueForm &form,
                double bound);

/// Measures what the gradients lose when a value is rounded as a packed form
/// rounds it, in runs of a step that keeps all values.
class ErrorProfile {
public:
  /// Runs `step`, which was compiled from `graph`, once as it is. The arguments
  /// are to outlive the profile.
  static llvm::Expected<ErrorProfile>
  create(remat_step *step, GraphOp graph,
         llvm::ArrayRef<tools::Tensor> arguments);
  ErrorProfile(ErrorProfile &&);
  ~ErrorProfile();

  /// Adds to `errors` what each of `forms` does. The value is rounded when the
  /// backward computation begins, as in a plan that keeps the packed form, and
  /// in another run as soon as it is there, as if all that is made of it were
  /// made again from the packed form; the larger error counts. Where the
  /// forward computation does not read the value, both are one run. Errors that
  /// are known are not measured again, nor those of hopeless forms.
  llvm::Error measure(llvm::ArrayRef<ValueForm> forms, double bound,
                      GradientErrors &errors);

  /// The gradients of the first run; the last thing to ask for.
  ExactGradients takeExact();

private:
  struct State;
  explicit ErrorProfile(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_ERRORPROFILE_H
