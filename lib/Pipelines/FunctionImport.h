//===- FunctionImport.h - import of one function ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H
#define REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H

#include "remat/Pipelines/StepOptions.h"

#include "mlir/Pass/PassManager.h"

namespace remat {

/// Adds to `func`, which is nested on functions, the passes of the import
/// pipeline that bring a function without calls to its canonical form. A loop
/// may unroll to `unrollLimit` operations, or as many as it may in any case.
void buildFunctionImport(mlir::OpPassManager &func, int64_t unrollLimit = 0);

/// Adds to `pm` the pass that lets longer loops stay loops, if a step with
/// these options can have them.
void addKeepLoops(mlir::OpPassManager &pm, const StepOptions &options);

} // namespace remat

#endif // REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H
