//===- CudaStep.cpp - loads a step on a CUDA device -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include "../Descriptors.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

CudaStep::~CudaStep() {
  if (!context)
    return;
  driver.CtxPushCurrent(context);
  for (const Replay &replay : replays)
    if (replay.graph)
      driver.GraphExecDestroy(replay.graph);
  matmuls.clear();
  matmulLibrary.reset();
  convolutions.clear();
  convolutionLibrary.reset();
  code.unload();
  for (Stream stream : streams)
    if (stream)
      driver.StreamDestroy(stream);
  events.insert(events.end(), std::begin(borders), std::end(borders));
  events.insert(events.end(), std::begin(clocks), std::end(clocks));
  for (Event event : events)
    if (event)
      driver.EventDestroy(event);
  for (DevicePointer memory : allocations)
    driver.MemFree(memory);
  if (pinned)
    driver.MemFreeHost(pinned);
  Context popped;
  driver.CtxPopCurrent(&popped);
  driver.DevicePrimaryCtxRelease(device);
}

bool CudaStep::check(Result result, const char *what,
                     std::string &error) const {
  return driver.check(result, what, error);
}

bool CudaStep::allocate(void **memory, uint64_t bytes, std::string &error) {
  DevicePointer address = 0;
  // An empty buffer has an address, too.
  Result result = driver.MemAlloc(&address, std::max<uint64_t>(bytes, 1));
  if (result != 0) {
    size_t free = 0, total = 0;
    driver.MemGetInfo(&free, &total);
    error = "cannot allocate " + std::to_string(bytes) +
            " bytes on the device, of whose " + std::to_string(total) +
            " bytes " + std::to_string(free) +
            " are free: " + driver.describe(result);
    return false;
  }
  allocations.push_back(address);
  // Addresses are integers to the driver.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  *memory = reinterpret_cast<void *>(address);
  return true;
}

remat_status CudaStep::allocateAll(const remat_step_options &options,
                                   std::string &error) {
  const remat_step_header &header = table.header;
  void *memory = options.arena;
  if (options.arena && !isOnDevice(options.arena)) {
    error = "option 'arena' is no memory of the device";
    return REMAT_INVALID_ARGUMENT;
  }
  if (!options.arena && !allocate(&memory, header.arena_bytes, error))
    return REMAT_OUT_OF_MEMORY;
  arena = static_cast<char *>(memory);
  uint64_t constantBytes = header.constants.count;
  if (!allocate(&memory, constantBytes, error))
    return REMAT_OUT_OF_MEMORY;
  constants = static_cast<char *>(memory);
  uint64_t statusBytes = table.entries.size() * sizeof(remat_kernel_status);
  if (!allocate(&memory, statusBytes, error))
    return REMAT_OUT_OF_MEMORY;
  statuses = static_cast<remat_kernel_status *>(memory);
  uint64_t pinnedBytes = header.host_bytes + statusBytes;
  Result result = driver.MemHostAlloc(
      &pinned, std::max<uint64_t>(pinnedBytes, 1), hostAllocPortable);
  if (result != 0) {
    pinned = nullptr;
    error = "cannot allocate a host arena of " + std::to_string(pinnedBytes) +
            " bytes: " + driver.describe(result);
    return REMAT_OUT_OF_MEMORY;
  }
  host = static_cast<char *>(pinned);
  failures = reinterpret_cast<remat_kernel_status *>(host + header.host_bytes);
  if (constantBytes > 0 &&
      (!copy(constants, table.constants, constantBytes, error)))
    return REMAT_DEVICE_ERROR;
  return REMAT_OK;
}

bool CudaStep::createStreams(std::string &error) {
  auto create = [&](Event &event, unsigned flags) {
    return check(driver.EventCreate(&event, flags), "making an event", error);
  };
  for (Stream &stream : streams)
    if (!check(driver.StreamCreate(&stream, streamNonBlocking),
               "making a stream", error))
      return false;
  for (Event &border : borders)
    if (!create(border, eventDisableTiming))
      return false;
  for (Event &clock : clocks)
    if (!create(clock, 0))
      return false;
  events.assign(table.entries.size(), nullptr);
  for (uint32_t entry : table.waits)
    if (!events[entry] && !create(events[entry], eventDisableTiming))
      return false;
  return true;
}

/// The largest power of two up to 256 that divides `bytes`.
static uint32_t alignmentOf(uint64_t bytes) {
  uint64_t bits = bytes | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

/// One choice for all entries with one description, under the least workspace
/// and the worst alignment that they have.
remat_status CudaStep::prepareMatmuls(const remat_step_options &options,
                                      std::string &error) {
  std::vector<MatmulLimits> limits(table.matmuls.size());
  std::vector<uint32_t> users(table.matmuls.size(), REMAT_NONE);
  auto lower = [](uint32_t &alignment, uint64_t offset) {
    alignment = std::min(alignment, alignmentOf(offset));
  };
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    const remat_entry &entry = table.entries[i];
    if (entry.kind != REMAT_ENTRY_MATMUL)
      continue;
    MatmulLimits &limit = limits[entry.callee];
    uint64_t room = entry.workspace == REMAT_NONE
                        ? 0
                        : table.buffers[entry.workspace].bytes;
    bool isFirst = users[entry.callee] == REMAT_NONE;
    limit.workspaceBytes =
        isFirst ? room : std::min(limit.workspaceBytes, room);
    users[entry.callee] = i;
    const remat_matmul &matmul = table.matmuls[entry.callee];
    const int64_t *strides[] = {matmul.a_batch_stride, matmul.b_batch_stride,
                                matmul.c_batch_stride};
    const int32_t dtypes[] = {matmul.a_dtype, matmul.b_dtype, matmul.c_dtype};
    MatmulExtras extras(matmul);
    if (extras.hasOperand())
      lower(limit.alignments[extras.readsBias ? 3 : 4],
            table.operand(entry, extras.getOperand()).offset);
    if (extras.hasResult())
      lower(limit.alignments[extras.writesSums ? 3 : 4],
            table.result(entry, 1).offset);
    if (extras.accumulates)
      lower(limit.alignments[5], table.operand(entry, 2).offset);
    for (uint32_t j = 0; j < 3; ++j) {
      uint64_t bits = j == 2 ? table.result(entry, 0).offset
                             : table.operand(entry, j).offset;
      for (int dim = 0; dim < 3; ++dim)
        if (matmul.batch[dim] > 1)
          bits |= static_cast<uint64_t>(strides[j][dim]) *
                  remat_dtype_bytes(dtypes[j]);
      lower(limit.alignments[j], bits);
    }
  }
  matmuls.resize(table.matmuls.size());
  Algorithms known;
  for (size_t i = 0; i < matmuls.size(); ++i) {
    if (users[i] == REMAT_NONE)
      continue;
    if (!matmulLibrary)
      if (remat_status status = loadMatmulLibrary(options, known, error))
        return status;
    if (remat_status status = prepareMatmul(i, limits[i], known, error)) {
      error.insert(0, table.describe(users[i]) + ": ");
      return status;
    }
  }
  if (matmulLibrary)
    algorithms = known.write();
  else if (options.algorithms)
    algorithms.assign(static_cast<const char *>(options.algorithms),
                      options.algorithm_bytes);
  return REMAT_OK;
}

remat_status CudaStep::load(const remat_module &module,
                            const remat_step_options &options,
                            std::string &error) {
  if (!driver.findDevice(device, capability, error))
    return REMAT_NO_DEVICE;
  if (!check(driver.DevicePrimaryCtxRetain(&context, device),
             "making a context", error))
    return REMAT_DEVICE_ERROR;
  Scope scope(*this);
  size_t total = 0, free = 0;
  driver.MemGetInfo(&free, &total);
  freeBytes = free;
  int sharedBytes = 0;
  if (!check(driver.DeviceGetAttribute(&sharedBytes, mostSharedBytes, device),
             "asking for shared memory", error))
    return REMAT_DEVICE_ERROR;
  if (!code.load(module.device_code, table, capability,
                 static_cast<uint32_t>(sharedBytes), error) ||
      !createStreams(error))
    return REMAT_DEVICE_ERROR;
  if (remat_status status = allocateAll(options, error))
    return status;
  if (remat_status status = prepareMatmuls(options, error))
    return status;
  if (!prepareConvolutions(error))
    return REMAT_LIBRARY_ERROR;
  copies.resize(table.arguments.size() + table.results.size());
  return REMAT_OK;
}

bool CudaStep::isOnDevice(const void *data) {
  Scope scope(*this);
  unsigned type = 0;
  return data &&
         driver.PointerGetAttribute(&type, pointerMemoryType,
                                    reinterpret_cast<DevicePointer>(data)) ==
             0 &&
         type == memoryOfDevice;
}

uint64_t CudaStep::usedBytes() {
  Scope scope(*this);
  size_t free = 0, total = 0;
  if (driver.MemGetInfo(&free, &total) != 0)
    return 0;
  return freeBytes - std::min<uint64_t>(free, freeBytes);
}

remat_status remat::loadCudaStep(const remat_module &module, const Table &table,
                                 const remat_step_options &options,
                                 std::unique_ptr<DeviceStep> &step,
                                 std::string &message) {
  const Driver *driver = Driver::get(message);
  if (!driver)
    return REMAT_NO_DEVICE;
  auto loaded = std::make_unique<CudaStep>(*driver, table);
  remat_status status = loaded->load(module, options, message);
  if (status == REMAT_OK)
    step = std::move(loaded);
  return status;
}
