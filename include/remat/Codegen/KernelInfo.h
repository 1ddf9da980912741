//===- KernelInfo.h - what a kernel costs on CPU ----------------*- C++ -*-===//
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

#include "remat/Dialect/Remat/IR/KernelForm.h"
#include "remat/Runtime/StepTable.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <optional>

namespace remat {
class ConvOp;
} // namespace remat

namespace remat::codegen {

/// A kernel that is one call of the runtime's library.
struct LibraryCall {
  remat_entry_kind kind;
  /// Which of the two counts, depends on `kind`.
  remat_matmul matmul;
  remat_convolution convolution;
  /// The arguments of the kernel that are the call's operands.
  unsigned lhs, rhs;
  /// The argument that a product is added to, if there is one.
  std::optional<unsigned> init;
};

struct KernelInfo {
  std::optional<LibraryCall> call;
  /// Scratch bytes while the kernel runs, a multiple of bufferAlignment.
  int64_t workspaceBytes = 0;
  /// Arithmetic in units of one addition; a transcendental counts as many.
  int64_t flops = 0;
  /// Arithmetic of products in the midst of a kernel, beside `flops`.
  int64_t productFlops = 0;
  /// Memory traffic if nothing is in a cache.
  int64_t bytesRead = 0;
  int64_t bytesWritten = 0;
};

/// Analyzes a kernel, a func.func on tensors of static shape. `threads` (0: all
/// cores) is what the workspace of library calls is sized for. Fails with a
/// diagnostic at an op that CPU code generation does not support.
mlir::FailureOr<KernelInfo> analyzeKernel(mlir::FunctionOpInterface kernel,
                                          int threads);

/// The library call that `kernel` could be, or nothing: a contraction of two of
/// its arguments with one batch of at most three dimensions and one dimension
/// each for rows, columns and sum (dimensions that are contiguous in all
/// operands count as one), which may be added to a third, or a remat.conv of two
/// arguments.
std::optional<LibraryCall>
describeLibraryCall(mlir::FunctionOpInterface kernel);

/// A convolution as the runtime's library describes it; nothing if the library
/// has none of that element type or rank.
std::optional<remat_convolution> describeConvolution(ConvOp op);

/// The library call that carries `kernel` out, or nothing if code is generated
/// for it: the kernel's form decides (KernelForm.h), or, where it has none and
/// both are possible, the shape.
std::optional<LibraryCall> matchLibraryCall(mlir::FunctionOpInterface kernel);

/// Whether code can be generated for what `call` does: a product in the
/// precision of its factors, f32 or f64. Others would have to add up in a wider
/// type, as the library does.
bool mayBeGenerated(const LibraryCall &call);

/// Arithmetic of a library call; a multiplication and an addition count two.
int64_t countCallFlops(const LibraryCall &call);

/// The runtime's number for an element type, or nothing for types that it does
/// not have. An index is a 64-bit integer.
std::optional<remat_dtype> getDtype(mlir::Type elementType);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_KERNELINFO_H
