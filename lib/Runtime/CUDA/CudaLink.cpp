//===- CudaLink.cpp - how fast copies to and from a device are ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

/// Of which the fastest counts: the first ones may find the link asleep.
static constexpr int measuredCopies = 5;

bool CudaStep::timeCopy(Stream stream, const void *from, void *to,
                        uint64_t bytes, int64_t &nanoseconds,
                        std::string &error) {
  constexpr const char *what = "timing a copy";
  float best = 0;
  for (int i = 0; i < measuredCopies; ++i) {
    float milliseconds = 0;
    if (!check(driver.EventRecord(clocks[0], stream), what, error) ||
        !check(driver.MemcpyAsync(reinterpret_cast<DevicePointer>(to),
                                  reinterpret_cast<DevicePointer>(from), bytes,
                                  stream),
               what, error) ||
        !check(driver.EventRecord(clocks[1], stream), what, error) ||
        !check(driver.StreamSynchronize(stream), what, error) ||
        !check(driver.EventElapsedTime(&milliseconds, clocks[0], clocks[1]),
               what, error))
      return false;
    best = i == 0 ? milliseconds : std::min(best, milliseconds);
  }
  nanoseconds = static_cast<int64_t>(best * 1e6);
  return true;
}

remat_status CudaStep::timeCopies(uint64_t bytes, int64_t &toHost,
                                  int64_t &toDevice, std::string &error) {
  Scope scope(*this);
  DevicePointer address = 0;
  void *memory = nullptr;
  if (!check(driver.MemAlloc(&address, bytes),
             "allocating memory of the device to measure copies", error))
    return REMAT_OUT_OF_MEMORY;
  if (!check(driver.MemHostAlloc(&memory, bytes, hostAllocPortable),
             "allocating memory of the host to measure copies", error)) {
    driver.MemFree(address);
    return REMAT_OUT_OF_MEMORY;
  }
  // Addresses are integers to the driver.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  void *data = reinterpret_cast<void *>(address);
  bool isDone = timeCopy(streams[REMAT_STREAM_TO_HOST], data, memory, bytes,
                         toHost, error) &&
                timeCopy(streams[REMAT_STREAM_TO_DEVICE], memory, data, bytes,
                         toDevice, error);
  driver.MemFreeHost(memory);
  driver.MemFree(address);
  return isDone ? REMAT_OK : REMAT_DEVICE_ERROR;
}
