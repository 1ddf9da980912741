//===- CudaRun.cpp - runs a step on a CUDA device -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run gives the driver all entries at once and then waits. The second run
// with the same addresses is recorded as a graph, and later ones repeat it,
// which spares the time to launch each entry. A profiler sees them one by one.
// What a loop runs is recorded, unless the device says how often it runs.
//
// Where a stream of the caller goes on behind the run, nobody waits. Kernels
// then leave their failed checks on the device until they are reported, and the
// next run sees those that have come to the host by then.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include <algorithm>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

/// Runs with different addresses that are kept.
static constexpr size_t mostReplays = 4;

/// Launches of a run that is recorded: each takes about a kilobyte of the
/// device's memory. The iterations of a loop are recorded one by one.
static constexpr uint64_t mostRecorded = 50'000;

remat_status CudaStep::begin(std::string &error) {
  bound.clear();
  if (!check(driver.CtxPushCurrent(context), "entering the context", error))
    return REMAT_DEVICE_ERROR;
  isPushed = true;
  // What the caller has given to the default stream may write its tensors.
  return check(driver.EventRecord(borders[0], nullptr), "beginning the run",
               error) &&
                 check(driver.StreamWaitEvent(streams[0], borders[0], 0),
                       "beginning the run", error)
             ? REMAT_OK
             : REMAT_DEVICE_ERROR;
}

bool CudaStep::waitFor(void *stream, std::string &error) {
  Scope scope(*this);
  return check(driver.EventRecord(borders[0], static_cast<Stream>(stream)),
               "asking how far a stream is", error) &&
         check(driver.StreamWaitEvent(streams[0], borders[0], 0),
               "waiting for a stream", error);
}

bool CudaStep::bind(size_t number, void *data, uint64_t bytes, bool isRead,
                    bool isWritten, char *&address, std::string &error) {
  address = static_cast<char *>(data);
  if (bytes == 0 ||
      (reinterpret_cast<uintptr_t>(data) % REMAT_DEVICE_ALIGNMENT == 0 &&
       isOnDevice(data)))
    return true;
  Copy &copy = copies[number];
  if (copy.bytes < bytes) {
    void *memory = nullptr;
    if (!allocate(&memory, bytes, error))
      return false;
    copy.memory = toDevice(memory);
    copy.bytes = bytes;
  }
  if (std::find(bound.begin(), bound.end(), number) == bound.end()) {
    bound.push_back(number);
    copy.isWritten = false;
  }
  copy.data = data;
  copy.isWritten |= isWritten;
  // Addresses are integers to the driver.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  address = reinterpret_cast<char *>(copy.memory);
  return !isRead || check(driver.MemcpyAsync(copy.memory, toDevice(data), bytes,
                                             streams[0]),
                          "copying an argument", error);
}

std::vector<std::pair<uint64_t, uint64_t>> CudaStep::findStatuses() const {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  uint64_t own = table.entries.size();
  for (auto [begin, end] : {std::pair<uint64_t, uint64_t>(firstEntry, endEntry),
                            std::pair<uint64_t, uint64_t>(own, statusCount)})
    if (begin < end)
      ranges.emplace_back(begin, end - begin);
  return ranges;
}

bool CudaStep::readStatuses(std::string &error) {
  for (auto [begin, count] : findStatuses())
    if (!check(driver.MemcpyAsync(
                   toDevice(failures + begin), toDevice(statuses + begin),
                   count * sizeof(remat_kernel_status), streams[0]),
               "reading the status", error))
      return false;
  return true;
}

bool CudaStep::hasFailed() const {
  return std::any_of(
      failures, failures + statusCount,
      [](const remat_kernel_status &status) { return status.failed != 0; });
}

bool CudaStep::countLaunch(std::string &error) {
  if (mode != Mode::Capture || ++recorded <= mostRecorded)
    return true;
  error = "the run has more than " + std::to_string(mostRecorded) +
          " launches, too many to record them";
  return false;
}

bool CudaStep::fork(std::string &error) {
  bool isDone = check(driver.EventRecord(borders[0], streams[0]),
                      "beginning the run", error);
  for (uint32_t i = 1; isDone && i < REMAT_STREAM_COUNT; ++i)
    isDone = check(driver.StreamWaitEvent(streams[i], borders[0], 0),
                   "beginning the run", error);
  return isDone;
}

bool CudaStep::join(std::string &error) {
  bool isDone = true;
  for (uint32_t i = 1; isDone && i < REMAT_STREAM_COUNT; ++i)
    isDone = check(driver.EventRecord(borders[i], streams[i]), "ending the run",
                   error) &&
             check(driver.StreamWaitEvent(streams[0], borders[i], 0),
                   "ending the run", error);
  return isDone;
}

remat_status CudaStep::start(uint32_t first, uint32_t end,
                             const std::vector<void *> &pointers, bool isSerial,
                             std::string &error) {
  firstEntry = first;
  endEntry = end;
  mode = isSerial ? Mode::Serial : Mode::Direct;
  current = nullptr;
  recorded = 0;
  if (!areStatusesClear) {
    std::fill_n(failures, statusCount, remat_kernel_status());
    if (statusCount > 0 &&
        !check(driver.MemsetD8Async(toDevice(statuses), 0,
                                    statusCount * sizeof(remat_kernel_status),
                                    streams[0]),
               "clearing the status", error))
      return REMAT_DEVICE_ERROR;
    areStatusesClear = true;
  }
  if (isSerial)
    return REMAT_OK;
  for (Replay &replay : replays)
    if (replay.first == first && replay.end == end &&
        replay.pointers == pointers)
      current = &replay;
  if (!current && mayCapture) {
    if (replays.size() == mostReplays) {
      if (replays.front().graph)
        driver.GraphExecDestroy(replays.front().graph);
      replays.erase(replays.begin());
    }
    replays.push_back({first, end, pointers, nullptr});
  } else if (current && current->graph) {
    mode = Mode::Replay;
    return check(driver.GraphLaunch(current->graph, streams[0]),
                 "repeating the run", error)
               ? REMAT_OK
               : REMAT_DEVICE_ERROR;
  } else if (current && mayCapture) {
    mayCapture = driver.StreamBeginCapture(streams[0], captureRelaxed) == 0;
    if (mayCapture)
      mode = Mode::Capture;
  }
  return fork(error) ? REMAT_OK : REMAT_DEVICE_ERROR;
}

bool CudaStep::endCapture(std::string &error) {
  Graph graph = nullptr;
  bool isDone = check(driver.StreamEndCapture(streams[0], &graph),
                      "recording the run", error);
  mode = Mode::Direct;
  isDone = isDone &&
           check(driver.GraphInstantiateWithFlags(&current->graph, graph, 0),
                 "recording the run", error);
  if (graph)
    driver.GraphDestroy(graph);
  if (isDone)
    return check(driver.GraphLaunch(current->graph, streams[0]), "the run",
                 error);
  // It was nothing but recorded.
  current->graph = nullptr;
  mode = Mode::Capture;
  return false;
}

bool CudaStep::settle(std::string &error) {
  Scope scope(*this);
  isUnderWay = false;
  bool isDone =
      check(driver.StreamSynchronize(streams[0]), "an earlier run", error);
  areStatusesClear = isDone && !hasFailed();
  return isDone;
}

remat_status CudaStep::finish(const std::optional<void *> &follower,
                              std::string &error) {
  bool isDone = true;
  if (mode == Mode::Direct || mode == Mode::Capture)
    isDone = join(error);
  if (mode == Mode::Capture)
    isDone = isDone && endCapture(error);
  isDone = isDone && readStatuses(error);
  for (size_t number : bound) {
    const Copy &copy = copies[number];
    if (isDone && copy.isWritten)
      isDone = check(driver.MemcpyAsync(toDevice(copy.data), copy.memory,
                                        copy.bytes, streams[0]),
                     "copying a result", error);
  }
  bool isFollowed =
      follower && bound.empty() && !readsTrips && mode != Mode::Serial;
  if (isDone && isFollowed)
    isDone = check(driver.EventRecord(borders[0], streams[0]), "ending the run",
                   error) &&
             check(driver.StreamWaitEvent(static_cast<Stream>(*follower),
                                          borders[0], 0),
                   "letting a stream wait for the run", error);
  else if (isDone)
    isDone = check(driver.StreamSynchronize(streams[0]), "the run", error);
  if (!isDone && mode != Mode::Serial)
    error += "; with REMAT_STEP_PROFILE the message names the entry";
  if (!isDone)
    return REMAT_DEVICE_ERROR;
  isUnderWay = isFollowed;
  if (!isFollowed)
    areStatusesClear = !hasFailed();
  mode = Mode::Idle;
  isPushed = false;
  Context popped;
  driver.CtxPopCurrent(&popped);
  return REMAT_OK;
}

bool CudaStep::cancel() {
  bool wasCapture = mode == Mode::Capture;
  if (wasCapture) {
    Graph graph = nullptr;
    driver.StreamEndCapture(streams[0], &graph);
    if (graph)
      driver.GraphDestroy(graph);
    mayCapture = false;
    replays.clear();
  }
  // Nothing may go on in the caller's memory.
  for (Stream stream : streams)
    driver.StreamSynchronize(stream);
  // What earlier runs failed with is still to be told.
  areStatusesClear = isUnderWay;
  mode = Mode::Idle;
  if (isPushed) {
    Context popped;
    driver.CtxPopCurrent(&popped);
  }
  isPushed = false;
  return wasCapture;
}

bool CudaStep::move(void *to, const void *from, uint64_t bytes,
                    std::string &error) {
  return bytes == 0 || mode == Mode::Replay ||
         launch(driver.MemcpyAsync(toDevice(to), toDevice(from), bytes,
                                   streams[0]),
                "copying", error);
}

bool CudaStep::fill(void *data, unsigned char value, uint64_t bytes,
                    std::string &error) {
  return bytes == 0 || mode == Mode::Replay ||
         launch(driver.MemsetD8Async(toDevice(data), value, bytes, streams[0]),
                "overwriting a buffer", error);
}

bool CudaStep::waitForCopy(Stream stream, uint64_t number, std::string &error) {
  return number == 0 ||
         check(
             driver.StreamWaitEvent(
                 stream, copyEnds[number % 2][number / 2 % copiesInFlight], 0),
             "waiting for a copy", error);
}

bool CudaStep::copyBeside(void *to, const void *from, uint64_t bytes,
                          bool isToHost, std::array<uint64_t, 2> after,
                          uint64_t &number, std::string &error) {
  number = 0;
  if (bytes == 0 || mode == Mode::Replay)
    return true;
  constexpr const char *what = "copying states of a loop";
  bool isBeside = mode != Mode::Serial;
  Stream stream = streams[!isBeside  ? REMAT_STREAM_COMPUTE
                          : isToHost ? REMAT_STREAM_TO_HOST
                                     : REMAT_STREAM_TO_DEVICE];
  if (isBeside &&
      (!check(driver.EventRecord(computed, streams[0]), what, error) ||
       !check(driver.StreamWaitEvent(stream, computed, 0), what, error) ||
       !waitForCopy(stream, after[0], error) ||
       !waitForCopy(stream, after[1], error)))
    return false;
  if (!launch(driver.MemcpyAsync(toDevice(to), toDevice(from), bytes, stream),
              what, error))
    return false;
  if (!isBeside)
    return true;
  uint64_t count = ++passedCopies[isToHost];
  number = 2 * count + isToHost;
  return check(
      driver.EventRecord(copyEnds[isToHost][count % copiesInFlight], stream),
      what, error);
}

bool CudaStep::waitBeside(uint64_t number, std::string &error) {
  return waitForCopy(streams[0], number, error);
}

bool CudaStep::copy(void *to, const void *from, uint64_t bytes,
                    std::string &error) {
  Scope scope(*this);
  return bytes == 0 ||
         (check(driver.MemcpyAsync(toDevice(to), toDevice(from), bytes,
                                   streams[0]),
                "copying", error) &&
          check(driver.StreamSynchronize(streams[0]), "copying", error));
}

bool CudaStep::read(void *to, const void *from, uint64_t bytes,
                    std::string &error) {
  constexpr const char *what = "reading a number";
  if (bytes > 0 && !check(driver.MemcpyAsync(toDevice(number), toDevice(from),
                                             bytes, streams[0]),
                          what, error))
    return false;
  if (!readStatuses(error) ||
      !check(driver.StreamSynchronize(streams[0]), what, error))
    return false;
  if (bytes > 0)
    std::memcpy(to, number, bytes);
  return true;
}
