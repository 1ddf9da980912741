//===- StepPage.h - a step as a page to look at -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_STEPPAGE_H
#define REMAT_PIPELINES_STEPPAGE_H

#include "remat/Pipelines/StepPlans.h"

#include "llvm/Support/raw_ostream.h"

namespace remat {

/// Writes a page in HTML that shows a step under several plans, one of which
/// was chosen: memory over time and over addresses, each value with what was
/// decided and why, and the plans beside each other. The page loads nothing:
/// scripts and data (schema "remat.report/1") are inside.
void writePage(llvm::ArrayRef<PlannedStep> plans, llvm::StringRef title,
               llvm::raw_ostream &os);

} // namespace remat

#endif // REMAT_PIPELINES_STEPPAGE_H
