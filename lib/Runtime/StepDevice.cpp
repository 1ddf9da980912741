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

using namespace remat;

remat_status remat_step::loadOnDevice(const remat_module &module,
                                      const remat_step_options &options,
                                      std::string &message) {
  if (remat_status status = loadCudaStep(
          module, table, options, !entryNames.areShown(), ownDevice, message))
    return status;
  device = ownDevice.get();
  arena.borrow(device->arena);
  host.borrow(device->host);
  return device->loadTable(table, deviceTable, message);
}

bool remat_step::isHostMemory(const void *data) {
  return !device || !device->isOnDevice(data);
}

/// Checks that the step can use the memory where it is, or copy it.
bool remat_step::checkPlace(const std::string &name, const void *data) {
  int place = device ? device->findDevice(data) : -1;
  if (place < 0 || place == device->ordinal)
    return true;
  error = name + " is in memory of device " + std::to_string(place) +
          ", expected memory of device " + std::to_string(device->ordinal) +
          ", which runs the step, or of the host";
  return false;
}

remat_status remat_step::wait(void *stream, std::string &message) {
  if (!device) {
    message = "step runs on a CPU, which has no streams to wait for";
    return REMAT_INVALID_ARGUMENT;
  }
  return device->waitFor(stream, message) ? REMAT_OK : REMAT_DEVICE_ERROR;
}

remat_status remat_step::follow(void *stream, std::string &message) {
  if (remat_status status = wait(stream, message))
    return status;
  nextFollower = stream;
  return REMAT_OK;
}

/// Tells what earlier calls failed with that returned before the device was
/// done: as far as it is known, or when they are done if it `waits`.
remat_status remat_step::settle(bool waits) {
  if (!device || !device->isUnderWay || !(waits || device->hasFailed()))
    return REMAT_OK;
  if (!device->settle(error))
    return REMAT_DEVICE_ERROR;
  remat_status status = REMAT_OK;
  auto count = static_cast<uint32_t>(table.entries.size());
  if (describeFailure(0, count, status))
    error.insert(0, "an earlier call of the step: ");
  return status;
}

remat_status remat_step::synchronize() {
  error.clear();
  return settle(/*waits=*/true);
}

size_t remat_step::countChecks() const {
  size_t count = table.checks.size();
  for (const std::unique_ptr<remat_step> &body : bodies)
    count += body->countChecks();
  return count;
}

/// Whether no memory of the host takes part in a call, but the step's own.
bool remat_step::isAllOnDevice(const remat_state *state, bool isCopied) const {
  auto isOfHost = [&](const std::vector<remat_signature> &signatures,
                      const std::vector<Usage> &usages) {
    for (size_t i = 0; i < signatures.size(); ++i)
      if (signatures[i].flags & REMAT_TENSOR_HOST && isNeeded(usages[i]))
        return true;
    return false;
  };
  return !isCopied && !(state && state->host && table.header.host_bytes > 0) &&
         !isOfHost(table.arguments, argumentUsage) &&
         !isOfHost(table.results, resultUsage);
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

/// Checks that a call has the state for which the arena has no room.
bool remat_step::checkGivenState(const remat_state *state) {
  bool isGiven = state && state->data && !isHostMemory(state->data);
  if (isGiven || !(flags & REMAT_STEP_STATE_IS_GIVEN) ||
      table.header.state_bytes == 0)
    return true;
  error =
      "the step was loaded with REMAT_STEP_STATE_IS_GIVEN, but the call has "
      "no state in memory of the device";
  return false;
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
  bool wasUnderWay = device->isUnderWay;
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
  remat_status status = REMAT_OK;
  if (flags & REMAT_STEP_POISON)
    status = poisonMemory();
  if (status == REMAT_OK)
    status = runEntries(begin, last);
  if (status == REMAT_OK)
    status = device->finish(
        isAllOnDevice(state, isCopied) ? follower : std::nullopt, error);
  // What a loop makes of the results of a failed check is not told.
  if (!device->isUnderWay && wasUnderWay)
    describeFailure(0, static_cast<uint32_t>(table.entries.size()), status);
  else if (!device->isUnderWay)
    describeFailure(begin, last, status);
  if (status != REMAT_OK)
    return status;
  if (isCopied &&
      !device->copy(state->data, stateMemory, table.header.state_bytes, error))
    return REMAT_DEVICE_ERROR;
  return REMAT_OK;
}

remat_status remat_step::runOnDevice(size_t first, size_t end,
                                     remat_state *state) {
  if (!checkGivenState(state))
    return REMAT_INVALID_ARGUMENT;
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
  if (device) {
    known.device_bytes = device->usedBytes();
    known.degraded_calls += device->degradedCalls;
  }
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

/// Tells of the first failed check of an entry in this range, or of an
/// iteration that one of them ran. False if none is known.
bool remat_step::describeFailure(uint32_t begin, uint32_t end,
                                 remat_status &status) {
  for (uint32_t i = begin; i < end; ++i) {
    CheckFailure failure;
    if (deviceTable->findFailure(i, i + 1, failure)) {
      status = reportFailure(failure);
      return true;
    }
    if (table.entries[i].kind == REMAT_ENTRY_LOOP &&
        describeLoopFailure(i, status))
      return true;
  }
  return false;
}

bool remat_step::describeLoopFailure(uint32_t index, remat_status &status) {
  const remat_loop &loop = table.loops[table.entries[index].callee];
  for (uint32_t number : {loop.advance, loop.body}) {
    if (number == REMAT_NONE)
      continue;
    remat_step &body = *bodies[number];
    auto count = static_cast<uint32_t>(body.table.entries.size());
    if (!body.describeFailure(0, count, status))
      continue;
    std::string iteration =
        body.failedIteration < 0
            ? std::string("an iteration")
            : "iteration " + std::to_string(body.failedIteration);
    error = table.describe(index) + ": " + iteration +
            (number == loop.advance ? " of its advance: " : ": ") + body.error;
    if (body.failedIteration < 0)
      error += "; with REMAT_STEP_PROFILE the message has its number";
    return true;
  }
  return false;
}

remat_status remat_step::executeOnDevice(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  Ranges::Scope range(entryNames, index);
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
  int64_t *measured = isTimed ? &time : nullptr;
  remat_status status = REMAT_OK;
  if (entry.kind == REMAT_ENTRY_LOOP) {
    status = deviceTable->enter(index, isTimed, error);
    if (status == REMAT_OK)
      status = runLoop(index);
    if (status == REMAT_OK)
      status = deviceTable->leave(index, measured, error);
  } else {
    status = deviceTable->run(index, buffers, measured, error);
  }
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
