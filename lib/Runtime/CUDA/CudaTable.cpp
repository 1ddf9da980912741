//===- CudaTable.cpp - runs entries on a CUDA device ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaTable.h"
#include "CudaStep.h"

#include "../Descriptors.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

CudaTable::~CudaTable() {
  for (Event event : events)
    if (event)
      step.driver.EventDestroy(event);
}

bool CudaTable::createEvents(std::string &error) {
  if (isBody)
    return true;
  events.assign(table.entries.size(), nullptr);
  // Only what entries wait for has been checked.
  for (const remat_entry &entry : table.entries)
    for (uint32_t i = 0; i < entry.wait_count; ++i) {
      Event &event = events[table.waits[entry.first_wait + i]];
      if (!event &&
          !step.check(step.driver.EventCreate(&event, eventDisableTiming),
                      "making an event", error))
        return false;
    }
  return true;
}

void CudaTable::findMatmuls() {
  matmuls.assign(table.matmuls.size(), nullptr);
  for (const remat_entry &entry : table.entries)
    if (entry.kind == REMAT_ENTRY_MATMUL)
      matmuls[entry.callee] = step.findMatmul(table.matmuls[entry.callee]);
}

remat_status CudaTable::load(std::string &error) {
  if (!step.code.find(table, functions, error) || !createEvents(error))
    return REMAT_DEVICE_ERROR;
  void *memory = nullptr;
  uint64_t bytes = table.header.constants.count;
  if (!step.allocate(&memory, bytes, error))
    return REMAT_OUT_OF_MEMORY;
  constants = static_cast<char *>(memory);
  if (!step.copy(constants, table.constants, bytes, error))
    return REMAT_DEVICE_ERROR;
  findMatmuls();
  return prepareConvolutions(error) ? REMAT_OK : REMAT_LIBRARY_ERROR;
}

Stream CudaTable::streamOf(uint32_t entry) const {
  bool isSerial = step.mode == CudaStep::Mode::Serial;
  return step.streams[isSerial ? 0 : table.entries[entry].stream];
}

bool CudaTable::begin(uint32_t entry, bool isTimed, std::string &error) {
  const remat_entry &record = table.entries[entry];
  Stream stream = streamOf(entry);
  bool isSerial = step.mode == CudaStep::Mode::Serial, isDone = true;
  for (uint32_t i = 0; !isBody && !isSerial && isDone && i < record.wait_count;
       ++i) {
    uint32_t other = table.waits[record.first_wait + i];
    // What ran in an earlier call is done.
    if (other >= step.firstEntry)
      isDone = step.check(step.driver.StreamWaitEvent(stream, events[other], 0),
                          "waiting for another entry", error);
  }
  return isDone && (!isTimed ||
                    step.check(step.driver.EventRecord(step.clocks[0], stream),
                               "timing it", error));
}

bool CudaTable::end(uint32_t entry, int64_t *nanoseconds, std::string &error) {
  Stream stream = streamOf(entry);
  bool isDone = !nanoseconds ||
                step.check(step.driver.EventRecord(step.clocks[1], stream),
                           "timing it", error);
  if (step.mode == CudaStep::Mode::Serial)
    isDone = isDone &&
             step.check(step.driver.StreamSynchronize(stream), "it", error);
  else if (!isBody && events[entry])
    isDone =
        isDone && step.check(step.driver.EventRecord(events[entry], stream),
                             "recording its end", error);
  if (isDone && nanoseconds) {
    float milliseconds = 0;
    isDone = step.check(step.driver.EventElapsedTime(
                            &milliseconds, step.clocks[0], step.clocks[1]),
                        "timing it", error);
    *nanoseconds = static_cast<int64_t>(milliseconds * 1e6);
  }
  return isDone;
}

remat_status CudaTable::enter(uint32_t entry, bool isTimed,
                              std::string &error) {
  if (step.mode == CudaStep::Mode::Replay || begin(entry, isTimed, error))
    return REMAT_OK;
  error.insert(0, table.describe(entry) + ": ");
  return REMAT_DEVICE_ERROR;
}

remat_status CudaTable::leave(uint32_t entry, int64_t *nanoseconds,
                              std::string &error) {
  if (step.mode == CudaStep::Mode::Replay || end(entry, nanoseconds, error))
    return REMAT_OK;
  error.insert(0, table.describe(entry) + ": ");
  return REMAT_DEVICE_ERROR;
}

remat_status CudaTable::run(uint32_t entry, void *const *buffers,
                            int64_t *nanoseconds, std::string &error) {
  if (step.mode == CudaStep::Mode::Replay ||
      (begin(entry, nanoseconds != nullptr, error) &&
       runEntry(entry, buffers, error) && end(entry, nanoseconds, error)))
    return REMAT_OK;
  error.insert(0, table.describe(entry) + ": ");
  return REMAT_DEVICE_ERROR;
}

bool CudaTable::findFailure(uint32_t first, uint32_t end,
                            CheckFailure &failure) const {
  for (uint32_t i = first; i < end; ++i) {
    const remat_kernel_status &status = step.failures[firstStatus + i];
    if (!status.failed)
      continue;
    failure = {i, status.check, status.index, status.bound};
    return true;
  }
  return false;
}

bool CudaTable::runEntry(uint32_t entry, void *const *buffers,
                         std::string &error) {
  switch (table.entries[entry].kind) {
  case REMAT_ENTRY_KERNEL:
    return runKernel(entry, table.entries[entry].callee, buffers, error);
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

bool CudaTable::runKernel(uint32_t index, uint32_t callee, void *const *buffers,
                          std::string &error) {
  const remat_entry &entry = table.entries[index];
  const remat_device_kernel &kernel = table.kernels[callee];
  uint32_t count = entry.operand_count + entry.result_count;
  std::vector<DevicePointer> values;
  for (uint32_t i = 0; i < count; ++i)
    values.push_back(toDevice(buffers[i]));
  for (uint32_t i = 0; i < kernel.scratch_count; ++i)
    values.push_back(toDevice(buffers[count]) +
                     table.scratch[kernel.first_scratch + i]);
  values.push_back(toDevice(step.statuses + firstStatus + index));
  std::vector<void *> parameters;
  for (DevicePointer &value : values)
    parameters.push_back(&value);
  for (uint32_t i = 0; i < kernel.launch_count; ++i) {
    const remat_launch &launch = table.launches[kernel.first_launch + i];
    if (!step.launch(step.driver.LaunchKernel(
                         functions[kernel.first_launch + i], launch.blocks, 1,
                         1, launch.threads, 1, 1, launch.shared_bytes,
                         streamOf(index), parameters.data(), nullptr),
                     table.string(launch.function), error))
      return false;
  }
  return true;
}

bool CudaTable::runMatmul(uint32_t index, void *const *buffers,
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
  return step.countLaunch(error) &&
         matmuls[entry.callee]->run(given, stream, error);
}

bool CudaTable::runCopy(uint32_t index, void *const *buffers,
                        std::string &error) {
  const remat_entry &entry = table.entries[index];
  uint64_t bytes =
      std::min(table.operand(entry, 0).bytes, table.result(entry, 0).bytes);
  return bytes == 0 ||
         step.launch(step.driver.MemcpyAsync(toDevice(buffers[1]),
                                             toDevice(buffers[0]), bytes,
                                             streamOf(index)),
                     "the copy", error);
}
