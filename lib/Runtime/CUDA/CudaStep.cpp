//===- CudaStep.cpp - loads a step on a CUDA device -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include <algorithm>

using namespace remat;
using namespace remat::cuda;

/// The entries of a table and of all bodies in it.
static uint64_t countEntries(const Table &table) {
  uint64_t count = table.entries.size();
  for (const Table &body : table.bodyTables)
    count += countEntries(body);
  return count;
}

/// Whether a table has loops of which the host reads how often they run.
static bool findTrips(const Table &table) {
  return std::any_of(table.loops.begin(), table.loops.end(),
                     [](const remat_loop &loop) {
                       return (loop.flags & (unsigned(REMAT_LOOP_TRIPS) |
                                             REMAT_LOOP_WHILE)) != 0;
                     }) ||
         std::any_of(table.bodyTables.begin(), table.bodyTables.end(),
                     findTrips);
}

CudaStep::CudaStep(const Driver &driver, const Table &table, bool mayRecord)
    : driver(driver), table(table), code(driver),
      statusCount(countEntries(table)), readsTrips(findTrips(table)),
      mayCapture(mayRecord && !readsTrips) {}

CudaStep::~CudaStep() {
  if (!context)
    return;
  driver.CtxPushCurrent(context);
  // Runs may be under way, and streams wait for others if no run came after.
  for (Stream stream : streams)
    if (stream)
      driver.StreamSynchronize(stream);
  for (const Replay &replay : replays)
    if (replay.graph)
      driver.GraphExecDestroy(replay.graph);
  tables.clear();
  matmuls.clear();
  matmulLibrary.reset();
  convolutionLibrary.reset();
  code.unload();
  for (Stream stream : streams)
    if (stream)
      driver.StreamDestroy(stream);
  for (Event event : borders)
    if (event)
      driver.EventDestroy(event);
  for (Event event : clocks)
    if (event)
      driver.EventDestroy(event);
  if (computed)
    driver.EventDestroy(computed);
  for (const auto &ends : copyEnds)
    for (Event event : ends)
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
  uint64_t missing = givenStateBytes(table, options);
  if (!options.arena && !allocate(&memory, header.arena_bytes - missing, error))
    return REMAT_OUT_OF_MEMORY;
  // Addresses are integers to the driver.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  arena = reinterpret_cast<char *>(toDevice(memory) - missing);
  uint64_t statusBytes = statusCount * sizeof(remat_kernel_status);
  if (!allocate(&memory, statusBytes, error))
    return REMAT_OUT_OF_MEMORY;
  statuses = static_cast<remat_kernel_status *>(memory);
  uint64_t pinnedBytes = header.host_bytes + statusBytes + sizeof(int64_t);
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
  number = reinterpret_cast<int64_t *>(failures + statusCount);
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
  for (auto &ends : copyEnds)
    for (Event &end : ends)
      if (!create(end, eventDisableTiming))
        return false;
  return create(computed, eventDisableTiming);
}

remat_status CudaStep::load(const remat_module &module,
                            const remat_step_options &options,
                            std::string &error) {
  if (!driver.findDevice(device, capability, error))
    return REMAT_NO_DEVICE;
  ordinal = device;
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
  if (!code.load(module.device_code, capability,
                 static_cast<uint32_t>(sharedBytes), error) ||
      !createStreams(error))
    return REMAT_DEVICE_ERROR;
  if (remat_status status = allocateAll(options, error))
    return status;
  copies.resize(table.arguments.size() + table.results.size());
  return chooseMatmuls(options, error);
}

remat_status CudaStep::loadTable(const Table &loaded, DeviceTable *&result,
                                 std::string &error) {
  Scope scope(*this);
  tables.push_back(std::make_unique<CudaTable>(*this, loaded, usedStatuses,
                                               /*isBody=*/!tables.empty()));
  usedStatuses += loaded.entries.size();
  result = tables.back().get();
  return tables.back()->load(error);
}

int CudaStep::findDevice(const void *data) {
  Scope scope(*this);
  unsigned type = 0;
  int place = ordinal;
  int attributes[] = {pointerMemoryType, pointerDevice};
  void *values[] = {&type, &place};
  // Memory of the host that the driver does not know is no error to it.
  bool isOnOne =
      data &&
      driver.PointerGetAttributes(2, attributes, values, toDevice(data)) == 0 &&
      type == memoryOfDevice;
  return isOnOne ? place : -1;
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
                                 bool mayRecord,
                                 std::unique_ptr<DeviceStep> &step,
                                 std::string &message) {
  const Driver *driver = Driver::get(message);
  if (!driver)
    return REMAT_NO_DEVICE;
  auto loaded = std::make_unique<CudaStep>(*driver, table, mayRecord);
  remat_status status = loaded->load(module, options, message);
  if (status == REMAT_OK)
    step = std::move(loaded);
  return status;
}
