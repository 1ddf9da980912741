//===- Evaluation.h - loss and gradients of a run ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_EVALUATION_H
#define REMAT_TOOLS_REMAT_RUN_EVALUATION_H

#include "Products.h"
#include "Report.h"

namespace remat::run {

/// Takes loss and gradients out of the results, and compares them with the
/// golden values of the manifest. The gradients are the last results, or were
/// used up by an optimizer.
llvm::Error evaluate(const remat_step *step, const tools::Manifest &manifest,
                     const Products &products,
                     llvm::ArrayRef<tools::Tensor> results, RunReport &report);

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_EVALUATION_H
