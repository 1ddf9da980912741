//===- CudaRun.cpp - runs a step on a CUDA device -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A run gives the driver all entries at once and then waits. The second run
// with the same addresses is recorded as a graph, and later ones repeat it,
// which spares the time to launch each entry. A profiler sees them one by one.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include "../Descriptors.h"

#include <algorithm>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

/// Runs with different addresses that are kept.
static constexpr size_t mostReplays = 4;

static DevicePointer toDevice(const void *data) {
  return reinterpret_cast<DevicePointer>(data);
}

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
  uint64_t bytes = (end - first) * sizeof(remat_kernel_status);
  if (bytes > 0 && !check(driver.MemsetD8Async(toDevice(statuses + first), 0,
                                               bytes, streams[0]),
                          "clearing the status", error))
    return REMAT_DEVICE_ERROR;
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

remat_status CudaStep::run(uint32_t entry, void *const *buffers,
                           int64_t *nanoseconds, std::string &error) {
  if (mode == Mode::Replay)
    return REMAT_OK;
  Ranges::Scope range(ranges, entry);
  bool isSerial = mode == Mode::Serial;
  std::string reason;
  auto isOk = [&](Result result, const char *what) {
    return check(result, what, reason);
  };
  Stream stream = streamOf(entry);
  bool isDone = true;
  const remat_entry &record = table.entries[entry];
  for (uint32_t i = 0; !isSerial && isDone && i < record.wait_count; ++i) {
    uint32_t other = table.waits[record.first_wait + i];
    // What ran in an earlier call is done.
    if (other >= firstEntry)
      isDone = isOk(driver.StreamWaitEvent(stream, events[other], 0),
                    "waiting for another entry");
  }
  if (nanoseconds)
    isDone = isDone && isOk(driver.EventRecord(clocks[0], stream), "timing it");
  isDone = isDone && runEntry(entry, buffers, reason);
  if (nanoseconds)
    isDone = isDone && isOk(driver.EventRecord(clocks[1], stream), "timing it");
  if (isSerial)
    isDone = isDone && isOk(driver.StreamSynchronize(stream), "it");
  else if (events[entry])
    isDone = isDone && isOk(driver.EventRecord(events[entry], stream),
                            "recording its end");
  if (isDone && nanoseconds) {
    float milliseconds = 0;
    isDone = isOk(driver.EventElapsedTime(&milliseconds, clocks[0], clocks[1]),
                  "timing it");
    *nanoseconds = static_cast<int64_t>(milliseconds * 1e6);
  }
  if (isDone)
    return REMAT_OK;
  error = table.describe(entry) + ": " + reason;
  return REMAT_DEVICE_ERROR;
}

bool CudaStep::runEntry(uint32_t entry, void *const *buffers,
                        std::string &error) {
  switch (table.entries[entry].kind) {
  case REMAT_ENTRY_KERNEL:
    return runKernel(entry, buffers, error);
  case REMAT_ENTRY_MATMUL:
    return runMatmul(entry, buffers, error);
  case REMAT_ENTRY_CONVOLUTION:
    return runConvolution(entry, buffers, error);
  case REMAT_ENTRY_COPY:
    return runCopy(entry, buffers, error);
  default:
    return true;
  }
}

bool CudaStep::runKernel(uint32_t index, void *const *buffers,
                         std::string &error) {
  const remat_entry &entry = table.entries[index];
  const remat_device_kernel &kernel = table.kernels[entry.callee];
  uint32_t count = entry.operand_count + entry.result_count;
  std::vector<DevicePointer> values;
  for (uint32_t i = 0; i < count; ++i)
    values.push_back(toDevice(buffers[i]));
  for (uint32_t i = 0; i < kernel.scratch_count; ++i)
    values.push_back(toDevice(buffers[count]) +
                     table.scratch[kernel.first_scratch + i]);
  values.push_back(toDevice(statuses + index));
  std::vector<void *> parameters;
  for (DevicePointer &value : values)
    parameters.push_back(&value);
  for (uint32_t i = 0; i < kernel.launch_count; ++i) {
    const remat_launch &launch = table.launches[kernel.first_launch + i];
    if (!check(driver.LaunchKernel(code.functions[kernel.first_launch + i],
                                   launch.blocks, 1, 1, launch.threads, 1, 1,
                                   launch.shared_bytes, streamOf(index),
                                   parameters.data(), nullptr),
               table.string(launch.function), error))
      return false;
  }
  return true;
}

bool CudaStep::runMatmul(uint32_t index, void *const *buffers,
                         std::string &error) {
  const remat_entry &entry = table.entries[index];
  uint32_t count = entry.operand_count + entry.result_count;
  void *result = buffers[entry.operand_count];
  Stream stream = streamOf(index);
  const remat_matmul &matmul = table.matmuls[entry.callee];
  MatmulExtras extras(matmul);
  MatmulBuffers given = {buffers[0], buffers[1], result};
  if (extras.accumulates)
    given.before = buffers[2];
  if (extras.readsBias)
    given.bias = buffers[extras.getOperand()];
  if (extras.writesSums)
    given.bias = buffers[extras.getResult()];
  if (extras.readsInput)
    given.input = buffers[extras.getOperand()];
  if (extras.writesInput)
    given.input = buffers[extras.getResult()];
  if (entry.workspace != REMAT_NONE)
    given.workspace = buffers[count];
  return matmuls[entry.callee]->run(given, stream, error);
}

bool CudaStep::runCopy(uint32_t index, void *const *buffers,
                       std::string &error) {
  const remat_entry &entry = table.entries[index];
  uint64_t bytes =
      std::min(table.operand(entry, 0).bytes, table.result(entry, 0).bytes);
  return bytes == 0 ||
         check(driver.MemcpyAsync(toDevice(buffers[1]), toDevice(buffers[0]),
                                  bytes, streamOf(index)),
               "the copy", error);
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

remat_status CudaStep::finish(std::string &error) {
  bool isDone = true;
  if (mode == Mode::Direct || mode == Mode::Capture)
    isDone = join(error);
  if (mode == Mode::Capture)
    isDone = isDone && endCapture(error);
  uint64_t bytes = (endEntry - firstEntry) * sizeof(remat_kernel_status);
  if (isDone && bytes > 0)
    isDone = check(driver.MemcpyAsync(toDevice(failures + firstEntry),
                                      toDevice(statuses + firstEntry), bytes,
                                      streams[0]),
                   "reading the status", error);
  for (size_t number : bound) {
    const Copy &copy = copies[number];
    if (isDone && copy.isWritten)
      isDone = check(driver.MemcpyAsync(toDevice(copy.data), copy.memory,
                                        copy.bytes, streams[0]),
                     "copying a result", error);
  }
  isDone =
      isDone && check(driver.StreamSynchronize(streams[0]), "the run", error);
  if (!isDone && mode != Mode::Serial)
    error += "; with REMAT_STEP_PROFILE the message names the entry";
  if (!isDone)
    return REMAT_DEVICE_ERROR;
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
  mode = Mode::Idle;
  if (isPushed) {
    Context popped;
    driver.CtxPopCurrent(&popped);
  }
  isPushed = false;
  return wasCapture;
}

bool CudaStep::findFailure(CheckFailure &failure) const {
  for (uint32_t i = firstEntry; i < endEntry; ++i) {
    const remat_kernel_status &status = failures[i];
    if (!status.failed)
      continue;
    failure = {i, status.check, status.index, status.bound};
    return true;
  }
  return false;
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

bool CudaStep::poison(void *data, uint64_t bytes, std::string &error) {
  return bytes == 0 ||
         check(driver.MemsetD8Async(toDevice(data), 0xff, bytes, streams[0]),
               "overwriting a buffer", error);
}
