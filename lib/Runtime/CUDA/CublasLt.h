//===- CublasLt.h - matmuls by cuBLASLt -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUBLASLT_H
#define REMAT_LIB_RUNTIME_CUDA_CUBLASLT_H

#include "Algorithms.h"
#include "Driver.h"
#include "MatmulForm.h"

#include <memory>
#include <string>

namespace remat::cuda {

/// The buffers of a matmul; those of an epilogue may be null.
struct MatmulBuffers {
  const void *a, *b;
  void *c;
  /// What the matmul is added to; it may be where the result is.
  const void *before = nullptr;
  /// A bias, or where the gradient of one goes.
  const void *bias = nullptr;
  /// The input of an activation, which is written or, for a gradient, read.
  const void *input = nullptr;
  void *workspace = nullptr;
};

/// A matmul with its algorithm, which is chosen once, so that all entries with
/// the same description compute the same bits.
class PreparedMatmul {
public:
  virtual ~PreparedMatmul() = default;
  virtual MatmulAlgorithm getAlgorithm() const = 0;
  /// Computes C from A and B on `stream`. False with a message on failure. One
  /// thread at a time may call it.
  virtual bool run(const MatmulBuffers &buffers, Stream stream,
                   std::string &error) const = 0;
};

/// What is known of all entries with one description.
struct MatmulLimits {
  uint64_t workspaceBytes = 0;
  /// So many bytes that all entries share; null if each has its own.
  void *workspace = nullptr;
  /// That addresses are multiples of: of A, B and the result, of a bias and the
  /// input of an activation, and of what the matmul is added to.
  uint32_t alignments[6] = {256, 256, 256, 256, 256, 256};
  bool allowsTf32 = false;
  /// The algorithm to take, if the library still has it; null to choose one.
  const MatmulAlgorithm *stored = nullptr;
};

/// The library, in the current context.
class MatmulLibrary {
public:
  virtual ~MatmulLibrary() = default;
  /// The library's number of its version.
  virtual uint64_t getVersion() const = 0;
  /// Null with a message on failure.
  virtual std::unique_ptr<PreparedMatmul> prepare(const remat_matmul &matmul,
                                                  const MatmulLimits &limits,
                                                  std::string &error) = 0;

  /// Loads the library; null with a message if there is none.
  static std::unique_ptr<MatmulLibrary> load(std::string &error);
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CUBLASLT_H
