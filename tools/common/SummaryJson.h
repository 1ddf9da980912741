//===- SummaryJson.h - figures of a planned step as JSON --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The keys that reports of remat-run and remat-compile have in common.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_SUMMARYJSON_H
#define REMAT_TOOLS_COMMON_SUMMARYJSON_H

#include "remat/Pipelines/StepCompiler.h"

#include "llvm/Support/JSON.h"

namespace remat::tools {

/// Adds the figures of `summary`; those of options that change the step only
/// where they have.
void addSummary(llvm::json::Object &object, const StepSummary &summary);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_SUMMARYJSON_H
