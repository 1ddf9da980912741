//===- DeviceMemory.h - memory of a GPU for a step's tensors ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As a library would have it in which the step's tensors are: in the primary
// context of the first device, which becomes the thread's.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_BENCH_GPU_DEVICEMEMORY_H
#define REMAT_TOOLS_BENCH_GPU_DEVICEMEMORY_H

#include <cstddef>
#include <string>

class DeviceMemory {
public:
  /// Loads the driver. False with a message if there is none, or no device.
  bool open(std::string &error);
  /// Null with a message on failure. The process's end frees it.
  void *allocate(size_t bytes, std::string &error);
  /// Copies from or to memory of the host.
  bool copy(void *to, const void *from, size_t bytes, std::string &error);

private:
  using Address = unsigned long long;
  bool check(int result, const char *what, std::string &error);

  int (*getErrorName)(int, const char **) = nullptr;
  int (*memAlloc)(Address *, size_t) = nullptr;
  int (*memCopy)(Address, Address, size_t) = nullptr;
};

#endif // REMAT_TOOLS_BENCH_GPU_DEVICEMEMORY_H
