//===- ErrorSearch.h - the packed forms that plans take ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which errors of gradients are worth measuring.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_ERRORSEARCH_H
#define REMAT_TOOLS_REMAT_RUN_ERRORSEARCH_H

#include "ErrorProfile.h"

#include "remat/Pipelines/StepOptions.h"

namespace remat::run {

/// Measures the packed forms that plans of `model`, a module of functions, take
/// at one of `budgets`, and adds them to `errors`. Where measuring all forms
/// takes less time than a plan may, by the costs of tasks, all are measured.
///
/// Else there are first two plans for each budget, as if all forms had the
/// error that such forms typically have: one that may pack each value in any
/// form that is within the bound alone, and one that packs within the bound.
/// What these pack is offered; a form that is not measured is guessed from
/// those that are. What plans take of it is measured, and they are made again,
/// until all that they take is known. All that does not depend on the
/// arguments: a second search that begins with the errors of the first one
/// measures nothing. `kept` is the graph of which `profile` is. Budgets within
/// which there is no plan are left out.
llvm::Error searchErrors(mlir::ModuleOp model, GraphOp kept,
                         const StepOptions &options,
                         llvm::ArrayRef<std::string> budgets,
                         ErrorProfile &profile, GradientErrors &errors);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_ERRORSEARCH_H
