//===- StepDevice.cpp - runs a step on a device ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is different in a run when entries are not executed here: tensors may
// have to be brought to the device, and what host code reads, back.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>
#include <cstring>

using namespace remat;

remat_status remat_step::loadOnDevice(const remat_module &module,
                                      const remat_step_options &options,
                                      std::string &message) {
  if (remat_status status =
          loadCudaStep(module, table, options, device, message))
    return status;
  arena.borrow(device->arena);
  host.borrow(device->host);
  return REMAT_OK;
}

bool remat_step::isHostMemory(const void *data) {
  return !device || !device->isOnDevice(data);
}

/// Whether entries must run one after the other, as the host looks at each.
bool remat_step::isSerial() const {
  return (flags & (unsigned(REMAT_STEP_PROFILE) | REMAT_STEP_POISON)) != 0 ||
         isBitwise || isTraced || anomalyCheck || !table.packedValues.empty();
}

/// Brings the tensors that the calls need to the device, but for those that
/// entries copy from and to host memory.
bool remat_step::bindTensors() {
  size_t argumentCount = table.arguments.size();
  boundArguments.assign(currentArguments, currentArguments + argumentCount);
  boundResults.assign(currentResults, currentResults + table.results.size());
  auto bind = [&](size_t number, remat_tensor &tensor, uint64_t bytes,
                  bool isRead, bool isWritten) {
    char *address = nullptr;
    if (!device->bind(number, tensor.data, bytes, isRead, isWritten, address,
                      error))
      return false;
    tensor.data = address;
    return true;
  };
  for (size_t i = 0; i < argumentCount; ++i)
    if (isNeeded(argumentUsage[i]) &&
        !(table.arguments[i].flags & REMAT_TENSOR_HOST) &&
        !bind(i, boundArguments[i], describeArgument(i).bytes, /*isRead=*/true,
              /*isWritten=*/false))
      return false;
  for (size_t i = 0; i < boundResults.size(); ++i) {
    if (!isNeeded(resultUsage[i]) || table.results[i].flags & REMAT_TENSOR_HOST)
      continue;
    // A later call reads what an earlier one has written.
    remat_tensor_info info = describeResult(i);
    size_t number =
        info.donation == REMAT_NONE ? argumentCount + i : info.donation;
    if (!bind(number, boundResults[i], info.bytes,
              /*isRead=*/currentCall > 0, isAmongCalls(resultUsage[i].written)))
      return false;
  }
  currentArguments = boundArguments.data();
  currentResults = boundResults.data();
  return true;
}

/// Finds the place of the state on the device: where it is, or in the arena.
bool remat_step::bindState(const remat_state *state, bool &isCopied) {
  uint64_t bytes = table.header.state_bytes;
  bool isGiven = state && state->data && bytes > 0;
  isCopied = isGiven && isHostMemory(state->data);
  stateMemory =
      isGiven && !isCopied ? static_cast<char *>(state->data) : arena.get();
  return !isCopied || currentCall == 0 ||
         device->copy(stateMemory, state->data, bytes, error);
}

remat_status remat_step::tryOnDevice(size_t first, size_t end,
                                     remat_state *state) {
  if (remat_status status = device->begin(error))
    return status;
  bool isCopied = false;
  if (!bindTensors() || !bindState(state, isCopied))
    return REMAT_DEVICE_ERROR;
  for (const Supplied &place : supplied)
    pointers[place.pointer] = address(table.buffers[place.buffer]);
  uint32_t begin = table.callBegins[first], last = table.callBegins[end];
  if (remat_status status =
          device->start(begin, last, pointers, isSerial(), error))
    return status;
  if ((flags & REMAT_STEP_POISON) && !poisonDevice())
    return REMAT_DEVICE_ERROR;
  if (remat_status status = runEntries(begin, last))
    return status;
  if (remat_status status = device->finish(error))
    return status;
  CheckFailure failure;
  if (device->findFailure(failure))
    return reportFailure(failure);
  if (isCopied &&
      !device->copy(state->data, stateMemory, table.header.state_bytes, error))
    return REMAT_DEVICE_ERROR;
  return REMAT_OK;
}

remat_status remat_step::runOnDevice(size_t first, size_t end,
                                     remat_state *state) {
  if (remat_status status = provideAll())
    return status;
  const remat_tensor *arguments = currentArguments, *results = currentResults;
  remat_status status = tryOnDevice(first, end, state);
  if (status != REMAT_OK && device->cancel()) {
    currentArguments = arguments;
    currentResults = results;
    status = tryOnDevice(first, end, state);
    if (status != REMAT_OK)
      device->cancel();
  }
  if (status == REMAT_OK)
    releaseAll();
  return status;
}

remat_step_stats remat_step::getStats() const {
  remat_step_stats known = stats;
  if (device)
    known.device_bytes = device->usedBytes();
  return known;
}

/// A message about a failed check; the step's error.
remat_status remat_step::reportFailure(const CheckFailure &failure) {
  bool isAssertion = failure.bound < 0;
  error = table.describe(failure.entry);
  if (!isAssertion)
    error += ": index " + std::to_string(failure.index) +
             " is out of bounds, expected 0 to " +
             std::to_string(failure.bound - 1);
  if (failure.check >= 0 &&
      static_cast<size_t>(failure.check) < table.checks.size())
    error += std::string(": ") +
             table.string(table.checks[static_cast<size_t>(failure.check)]);
  return isAssertion ? REMAT_ASSERTION_FAILED : REMAT_INDEX_OUT_OF_BOUNDS;
}

remat_status remat_step::executeOnDevice(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  void *const *buffers = pointers.data() + prepared[index].firstPointer;
  if (entry.kind == REMAT_ENTRY_PACK || entry.kind == REMAT_ENTRY_UNPACK) {
    const remat_buffer &from = table.operand(entry, 0);
    const remat_buffer &to = table.result(entry, 0);
    std::vector<char> read(from.bytes), written(to.bytes);
    if (!device->copy(read.data(), buffers[0], from.bytes, error))
      return REMAT_DEVICE_ERROR;
    void *const copies[] = {read.data(), written.data()};
    if (remat_status status = runCodec(index, copies))
      return status;
    return device->copy(buffers[1], written.data(), to.bytes, error)
               ? REMAT_OK
               : REMAT_DEVICE_ERROR;
  }
  int64_t time = 0;
  bool isTimed = (flags & REMAT_STEP_PROFILE) != 0;
  // Entries that are timed are waited for, so the device's time lies within.
  Moment start = isTimed ? now() : Moment();
  remat_status status =
      device->run(index, buffers, isTimed ? &time : nullptr, error);
  if (isTimed)
    recordTime(index, start, {start.time + time, start.wall + time});
  return status;
}

/// Shows the check of recomputations what an entry has written.
bool remat_step::observe(uint32_t index) {
  void *const *buffers = pointers.data() + prepared[index].firstPointer;
  if (!device)
    return recomputeCheck->observe(index, buffers, error);
  const remat_entry &entry = table.entries[index];
  std::vector<std::vector<char>> results(entry.result_count);
  std::vector<void *> copies(entry.operand_count, nullptr);
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    results[i].resize(table.result(entry, i).bytes);
    copies.push_back(results[i].data());
    if (!device->copy(results[i].data(), buffers[entry.operand_count + i],
                      results[i].size(), error))
      return false;
  }
  return recomputeCheck->observe(index, copies.data(), error);
}

/// As poisonMemory.
bool remat_step::poisonDevice() {
  uint64_t state = table.header.state_bytes;
  if (!device->poison(arena.get() + state, table.header.arena_bytes - state,
                      error))
    return false;
  if (currentCall > 0)
    return true;
  std::memset(hostMemory, 0xff, table.header.host_bytes);
  return device->poison(stateMemory, state, error);
}
