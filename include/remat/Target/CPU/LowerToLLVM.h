//===- LowerToLLVM.h - placed graphs to machine code for CPU ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The step from level L4 to L5: a placed remat.graph and its kernels become a
// module of the LLVM dialect that defines one `remat_module` (StepTable.h).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_LOWERTOLLVM_H
#define REMAT_TARGET_CPU_LOWERTOLLVM_H

#include "remat/Target/Target.h"

namespace remat::cpu {

/// Replaces the contents of `module`, one placed remat.graph and the kernels
/// that it calls, by functions and globals of the LLVM dialect. Each distinct
/// kernel becomes one function of type remat_kernel_fn, and one more for each
/// way in which its results are written over operands, unless it is a
/// contraction or a convolution, which the step table describes to the runtime.
/// Fails with a diagnostic at what cannot be compiled.
mlir::LogicalResult lowerToLLVM(mlir::ModuleOp module,
                                const LoweringOptions &options);

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_LOWERTOLLVM_H
