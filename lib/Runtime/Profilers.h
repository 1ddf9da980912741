//===- Profilers.h - profilers that are told of ranges ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVTX, which Nsight Systems knows, and ITT, which VTune knows. Neither is
// linked: a profiler names its library in an environment variable, and what is
// needed of the interfaces is declared where it is used.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_PROFILERS_H
#define REMAT_LIB_RUNTIME_PROFILERS_H

namespace remat {

/// Version 3: NVTX_INJECTION64_PATH.
namespace nvtx {
/// Attaches the profiler when it is first called. It stays.
bool isAttached();
/// Ranges of this thread, one in the other.
void push(const char *name);
void pop();
} // namespace nvtx

/// INTEL_LIBITTNOTIFY64.
namespace itt {
bool isAttached();
/// What stands for a name, for as long as the program runs.
void *getHandle(const char *name);
/// Tasks of this thread, one in the other.
void begin(void *handle);
void end();
} // namespace itt

} // namespace remat

#endif // REMAT_LIB_RUNTIME_PROFILERS_H
