//===- KernelInfo.h - what a kernel needs -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How a kernel will be carried out, and what it needs, before any plan is made:
// the planner counts the workspace, the cost model the arithmetic and traffic.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_KERNELINFO_H
#define REMAT_CODEGEN_KERNELINFO_H

#include "remat/Codegen/LibraryCall.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat::codegen {

/// What one run of a kernel takes.
struct KernelInfo {
  /// What carries the kernel out, or null for generated code.
  LibraryCallRef call;
  /// Scratch bytes while the kernel runs, a multiple of bufferAlignment.
  int64_t workspaceBytes = 0;
  /// Arithmetic in units of one addition; a transcendental counts as many.
  int64_t flops = 0;
  /// How fast that is, compared with other loops of the target.
  double loopSpeed = 1;
  /// Arithmetic of contractions in the midst of a kernel, beside `flops`.
  int64_t contractionFlops = 0;
  /// How much of that has a factor of f16 or bf16.
  int64_t narrowFlops = 0;
  /// Memory traffic if nothing is in a cache.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// Analyzes a kernel, a func.func on tensors of static shape. `threads` (0: all
/// cores) is what the workspace of library calls is sized for. Fails with a
/// diagnostic at an op that code generation does not support.
mlir::FailureOr<KernelInfo> analyzeKernel(mlir::FunctionOpInterface kernel,
                                          int threads);

/// The same for code that is generated, whatever library there is.
mlir::FailureOr<KernelInfo>
analyzeGeneratedKernel(mlir::FunctionOpInterface kernel);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELINFO_H
