//===- MatmulParts.h - matmuls that are cut for the library -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fast kernels of cuBLASLt write lines of results whose lengths, and not
// only their distances, are multiples of 16 bytes: in bf16 on an H200, a matmul
// with 50,257 columns takes six times as long as one with 50,256. So the last
// elements of such lines are a second matmul, of some microseconds.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_MATMULPARTS_H
#define REMAT_LIB_RUNTIME_CUDA_MATMULPARTS_H

#include "CublasLt.h"

#include "remat/Runtime/StepTable.h"

#include <utility>
#include <vector>

namespace remat::cuda {

/// A part of a matmul, and how many bytes behind theirs its buffers begin.
struct MatmulPart {
  remat_matmul matmul;
  uint64_t a = 0, b = 0, c = 0;
  /// Of the vector that an epilogue adds, or of the sums that it writes.
  uint64_t vector = 0;
};

/// Matmuls of fewer operations are not cut: they take less time than one more
/// launch and what it saves, some tens of microseconds.
constexpr double minSplitFlops = 4e9;

/// The parts of a sound matmul, of which each makes elements of its own; the
/// matmul itself where nothing is gained by more.
std::vector<MatmulPart> splitMatmul(const remat_matmul &matmul, bool allowsTf32,
                                    double minFlops = minSplitFlops);

/// The elements that 16 bytes hold of factors that tensor cores multiply; 0 for
/// others.
int64_t getMatmulGranule(const remat_matmul &matmul, bool allowsTf32);

/// Matmuls by the library, one after the other, that make one.
class DividedMatmul {
public:
  void add(const MatmulPart &part, std::unique_ptr<PreparedMatmul> prepared) {
    parts.push_back({part, std::move(prepared)});
  }
  /// Runs all of them on the buffers of the whole, as PreparedMatmul::run.
  bool run(const MatmulBuffers &buffers, Stream stream,
           std::string &error) const;

private:
  std::vector<std::pair<MatmulPart, std::unique_ptr<PreparedMatmul>>> parts;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_MATMULPARTS_H
