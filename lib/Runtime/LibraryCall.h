//===- LibraryCall.h - a prepared matmul or convolution ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A call of the library with everything that can be decided beforehand decided:
// which implementation, which layouts, where things lie in the workspace.
// Running it allocates nothing of size.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_LIBRARYCALL_H
#define REMAT_LIB_RUNTIME_LIBRARYCALL_H

#include "remat/Runtime/StepTable.h"

#include <memory>
#include <string>

namespace remat {

class LibraryCall {
public:
  virtual ~LibraryCall() = default;

  /// Computes `result` from two operands, and the bias of a convolution. A
  /// matmul with an epilogue has all of its operands, and behind them its
  /// results. `workspace` has
  /// workspaceBytes bytes aligned to REMAT_ALIGNMENT. False on failure, with a
  /// message.
  virtual bool run(const void *const *operands, void *result, void *workspace,
                   std::string &error) = 0;

  /// Multiple of REMAT_ALIGNMENT.
  uint64_t workspaceBytes = 0;
  /// Of operands and results that are not as the call wants them, so that it
  /// copies them; without a convolution's filter.
  uint64_t copiedBytes = 0;
  int threads = 1;
  std::string implementation;
};

/// Prepares a call on `threads` threads of a sound description.
std::unique_ptr<LibraryCall> prepareMatmul(const remat_matmul &descriptor,
                                           int threads);
std::unique_ptr<LibraryCall>
prepareConvolution(const remat_convolution &descriptor, int threads);
/// A convolution whose filter has one point as a matmul of its operands where
/// they are; null where that would not be better.
std::unique_ptr<LibraryCall>
preparePointConvolution(const remat_convolution &descriptor, int threads);
/// A convolution as a matmul of copied windows; null where that would not be
/// better.
std::unique_ptr<LibraryCall>
prepareWindowMatmul(const remat_convolution &descriptor, int threads);
/// The gradient of the filter of a convolution whose groups read one channel
/// each; null for any other.
std::unique_ptr<LibraryCall>
prepareDepthwise(const remat_convolution &descriptor, int threads);
/// The gradient of a filter by our own loops; null where oneDNN's may be
/// better.
std::unique_ptr<LibraryCall>
prepareFilterGradient(const remat_convolution &descriptor, int threads);
/// A convolution of f16 or bf16 by that of f32; null for any other.
std::unique_ptr<LibraryCall>
prepareWidenedConvolution(const remat_convolution &descriptor, int threads);
/// A matmul of bf16 with long sums on a matrix unit; null for any other.
std::unique_ptr<LibraryCall> prepareLongMatmul(const remat_matmul &descriptor,
                                               int threads);
/// Our own loops: they take everything, and need no workspace.
std::unique_ptr<LibraryCall> prepareTiledMatmul(const remat_matmul &descriptor,
                                                int threads);
std::unique_ptr<LibraryCall>
referenceConvolution(const remat_convolution &descriptor, int threads);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_LIBRARYCALL_H
