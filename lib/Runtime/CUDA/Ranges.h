//===- Ranges.h - names of entries in a profiler's timeline -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profiler, such as Nsight Systems, that starts a program names a library in
// the environment variable NVTX_INJECTION64_PATH. The library is given the
// addresses of function pointers (NVTX, version 3), and sets those that it
// wants to be called. Without a profiler nothing is called.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_RANGES_H
#define REMAT_LIB_RUNTIME_CUDA_RANGES_H

#include "Table.h"

namespace remat::cuda {

class Ranges {
public:
  /// Names the entries if there is a profiler.
  explicit Ranges(const Table &table);

  /// Whether a profiler is attached. Recorded runs would hide entries from it.
  bool areShown() const { return !names.empty(); }

  /// What the thread asks of the driver while this object lives is done for the
  /// entry.
  class Scope {
  public:
    Scope(const Ranges &ranges, uint32_t entry);
    ~Scope();
    Scope(const Scope &) = delete;

  private:
    bool isOpen = false;
  };

private:
  /// Of each entry, or empty.
  std::vector<std::string> names;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_RANGES_H
