//===- CostProfile.h - what tasks take on this machine ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_COSTPROFILE_H
#define REMAT_TOOLS_REMAT_RUN_COSTPROFILE_H

#include "StepRunner.h"

namespace remat::run {

/// Adds what the tasks of `step`, compiled from `tasks`, took to the file of
/// costs. Then runs the step with the other implementation of every
/// contraction, library call or generated code, and adds what these took, and
/// measures copies to and from the host.
llvm::Error profileCosts(remat_step *step, mlir::ModuleOp tasks,
                         llvm::StringRef budget,
                         llvm::ArrayRef<tools::Tensor> arguments);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_COSTPROFILE_H
