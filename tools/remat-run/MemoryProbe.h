//===- MemoryProbe.h - the process's resident memory ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_MEMORYPROBE_H
#define REMAT_TOOLS_REMAT_RUN_MEMORYPROBE_H

#include <cstdint>

namespace remat::run {

/// Measures how far the resident set rises above its size at construction.
class MemoryProbe {
public:
  /// Resets the kernel's high-water mark of this process.
  MemoryProbe();

  /// High-water mark minus the resident set at construction, in bytes; -1 when
  /// the system does not say.
  int64_t getGrowth() const;

private:
  int64_t before;
};

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_MEMORYPROBE_H
