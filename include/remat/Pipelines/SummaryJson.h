//===- SummaryJson.h - figures of a planned step as JSON --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys that reports of tools and summaries of the C API have in common.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_SUMMARYJSON_H
#define REMAT_PIPELINES_SUMMARYJSON_H

#include "remat/Pipelines/StepCompiler.h"

#include "llvm/Support/JSON.h"

namespace remat {

/// Adds the figures of `summary`; those of options that change the step only
/// where they have.
void addSummary(llvm::json::Object &object, const StepSummary &summary);

} // namespace remat

#endif // REMAT_PIPELINES_SUMMARYJSON_H
