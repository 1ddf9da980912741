//===- TransformScript.h - scripts of the transform dialect -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_TRANSFORMSCRIPT_H
#define REMAT_PIPELINES_TRANSFORMSCRIPT_H

#include "remat/Pipelines/StepOptions.h"

#include "mlir/Pass/PassManager.h"

namespace remat {

/// Runs the script in the module, if there is one, then that of
/// `options.script`. No script is left in the module.
void addTransformScript(mlir::OpPassManager &pm, const StepOptions &options);

/// Whether `op` is a part of a script: an operation of the transform dialect,
/// or a module of only these.
bool isTransformScript(mlir::Operation &op);

} // namespace remat

#endif // REMAT_PIPELINES_TRANSFORMSCRIPT_H
