//===- LinkSpeed.cpp - how fast copies to the host are --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The speed that a planner has to know to offload values: of the copies that a
// run makes, and no others. On a CPU, one thread copies beside the computation
// (CopyStreams.h), however many compute.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include "QuietThread.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

using namespace remat;

/// More than caches hold, so that it is memory that is measured.
static constexpr uint64_t measuredBytes = 64 << 20;
/// Of which the fastest counts: other processes only slow a copy down.
static constexpr int measuredCopies = 5;

static int64_t timeCopy(char *to, const char *from) {
  auto start = std::chrono::steady_clock::now();
  std::memcpy(to, from, measuredBytes);
  auto time = std::chrono::steady_clock::now() - start;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/// The same as DeviceStep::timeCopies, in memory of this machine.
static remat_status timeCopies(int64_t &toHost, int64_t &toDevice,
                               std::string &message) {
  Memory arena, host;
  if (!arena.allocate(measuredBytes) || !host.allocate(measuredBytes)) {
    message = "no memory to measure the speed of copies: " +
              std::to_string(2 * measuredBytes) + " bytes";
    return REMAT_OUT_OF_MEMORY;
  }
  toHost = toDevice = INT64_MAX;
  auto copy = [&] {
    // Pages that were never written are all the same one.
    std::memset(arena.get(), 1, measuredBytes);
    std::memset(host.get(), 1, measuredBytes);
    for (int i = 0; i < measuredCopies; ++i) {
      toHost = std::min(toHost, timeCopy(host.get(), arena.get()));
      toDevice = std::min(toDevice, timeCopy(arena.get(), host.get()));
    }
  };
  std::thread thread;
  if (!startCopies(thread, "remat-copies", copy, message))
    return REMAT_OUT_OF_MEMORY;
  thread.join();
  return REMAT_OK;
}

remat_status remat_step::measureLink(remat_link_speed &speed,
                                     std::string &message) {
  int64_t toHost = 0, toDevice = 0;
  remat_status status =
      device ? device->timeCopies(measuredBytes, toHost, toDevice, message)
             : timeCopies(toHost, toDevice, message);
  if (status != REMAT_OK)
    return status;
  auto perSecond = [](int64_t nanoseconds) {
    return static_cast<uint64_t>(
        static_cast<double>(measuredBytes) * 1e9 /
        static_cast<double>(std::max<int64_t>(nanoseconds, 1)));
  };
  speed = {perSecond(toHost), perSecond(toDevice)};
  return REMAT_OK;
}
