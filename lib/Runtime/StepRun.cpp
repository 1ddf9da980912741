//===- StepRun.cpp - runs a step ------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the schedule. Beside running the entries it counts the bytes that are
// live, which is what a plan's peak is compared with.
//
//===----------------------------------------------------------------------===//

#include "FloatScope.h"
#include "Step.h"
#include "Threads.h"

#include "remat/Runtime/KernelCalls.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <utility>

using namespace remat;

std::atomic<int> remat::debugMode{-1};

/// What no call has written yet is NaN: the scratch memory, and before the
/// first call all there is.
remat_status remat_step::poisonMemory() {
  uint64_t state = table.header.state_bytes;
  if (remat_status status =
          fill(arena.get() + state, 0xff, table.header.arena_bytes - state))
    return status;
  if (currentCall > 0)
    return REMAT_OK;
  // What a device has to do with the host's memory in a loop is under way.
  if (isBody && device) {
    if (remat_status status = fill(hostMemory, 0xff, table.header.host_bytes))
      return status;
  } else {
    std::memset(hostMemory, 0xff, table.header.host_bytes);
  }
  return fill(stateMemory, 0xff, state);
}

remat_status remat_step::run(size_t first, size_t end,
                             const remat_tensor *arguments,
                             size_t argumentCount, const remat_tensor *results,
                             size_t resultCount, remat_state *state) {
  error.clear();
  ranges.clear();
  follower = std::exchange(nextFollower, std::nullopt);
  currentArguments = arguments;
  currentResults = results;
  currentCall = first;
  currentEnd = end;
  // Of a step without backward calls, the forward call is not all the same.
  needsAllTensors = !state;
  currentState = state;
  beginTensorEvents(state, resultCount);
  if (!checkTensors("argument", arguments, argumentCount, table.arguments,
                    argumentUsage) ||
      !checkTensors("result", currentResults, resultCount, table.results,
                    resultUsage) ||
      !checkDonations() || !checkOverlaps() ||
      (state && !checkState(first, *state)) || !checkScratch() ||
      !std::all_of(ranges.begin(), ranges.end(), [&](const Range &range) {
        return checkBesideScratch(range);
      }))
    return REMAT_INVALID_ARGUMENT;
  if (flags & REMAT_STEP_PROFILE && first == 0)
    runBegin = now().wall;
  int mode = debugMode.load(std::memory_order_relaxed);
  isTraced = mode < 0 ? (flags & REMAT_STEP_DEBUG) != 0 : mode > 0;
  traceText.clear();
  beginAnomalies();
  bool isCallers = state && checkBytes() > 0;
  recomputeCheck->begin(isCallers ? static_cast<char *>(state->check) : nullptr,
                        isBitwise, isTraced, first == 0);
  bool isGiven = state && state->data, hostIsGiven = state && state->host;
  stateMemory = isGiven ? static_cast<char *>(state->data) : arena.get();
  hostMemory = hostIsGiven ? static_cast<char *>(state->host) : host.get();
  if (state)
    state->calls = 0;
  remat_status status = settle(/*waits=*/!follower || isSerial());
  if (status == REMAT_OK)
    status = device ? runOnDevice(first, end, state) : runHere(first, end);
  stats.check_bytes = recomputeCheck->writtenBytes();
  if (isTraced)
    traceText = recomputeCheck->trace();
  if (status != REMAT_OK)
    return status;
  if (state)
    state->calls = static_cast<uint32_t>(end);
  ++stats.runs;
  return REMAT_OK;
}

remat_status remat_step::runHere(size_t first, size_t end) {
  for (const Supplied &place : supplied)
    pointers[place.pointer] = address(table.buffers[place.buffer]);
  if (flags & REMAT_STEP_POISON)
    if (remat_status status = poisonMemory())
      return status;
  ThreadScope scope(threads);
  FloatScope floatScope;
  return runEntries(table.callBegins[first], table.callBegins[end]);
}

remat_status remat_step::runEntries(uint32_t begin, uint32_t end) {
  stats.measured_peak_bytes = stats.touched_bytes = stats.host_peak_bytes = 0;
  stats.offloaded_bytes = stats.executed_entries = 0;
  stats.recomputed_entries = 0;
  uint64_t live = 0, hostLive = 0;
  uint64_t callers = 0; // not counted
  auto counter = [&](uint32_t root) -> uint64_t & {
    int32_t space = table.buffers[root].space;
    return space == REMAT_SPACE_HOST    ? hostLive
           : space == REMAT_SPACE_ARENA ? live
                                        : callers;
  };
  for (uint32_t root : lifetimes.inherited[currentCall])
    counter(root) += table.buffers[root].bytes;
  isBeside = !device && copyStreams.begin(begin);
  // Whatever ends this function, no copy is left behind.
  struct Drain {
    remat_step &step;
    ~Drain() {
      if (step.isBeside)
        step.copyStreams.drain();
    }
  } drain{*this};
  for (uint32_t i = begin; i < end; ++i) {
    for (uint32_t root : lifetimes.births[i])
      counter(root) += table.buffers[root].bytes;
    stats.measured_peak_bytes = std::max(stats.measured_peak_bytes, live);
    stats.host_peak_bytes = std::max(stats.host_peak_bytes, hostLive);
    stats.touched_bytes = std::max(stats.touched_bytes, prepared[i].touched);
    if (events && !device)
      if (remat_status status = provideResults(i))
        return status;
    if (remat_status status = enterEntry(i))
      return status;
    if (remat_status status = execute(i))
      return status;
    if (remat_status status = leaveEntry(i))
      return status;
    if (observer)
      callObserver(i);
    bool isObserved = (isBitwise || isTraced) && recomputeCheck->observes(i);
    if (isObserved && isBeside)
      copyStreams.wait(i);
    if (isObserved && !observe(i)) {
      if (isTraced)
        error += "\n" + recomputeCheck->trace();
      return REMAT_NONDETERMINISTIC;
    }
    bool poisons = flags & REMAT_STEP_POISON && !lifetimes.deaths[i].empty();
    // What dies may be what a copy is about.
    if (poisons && isBeside)
      copyStreams.drain();
    for (uint32_t root : lifetimes.deaths[i]) {
      counter(root) -= table.buffers[root].bytes;
      if (poisons && !mayBeOverwritten(table, i, root))
        poison(root);
    }
    if (events && !device)
      releaseTensors(i);
  }
  stats.state_bytes = live;
  return REMAT_OK;
}

void remat_step::callObserver(uint32_t index) {
  // What a copy brings is there when its stream is done.
  if (isBeside)
    copyStreams.wait(index);
  const remat_entry &entry = table.entries[index];
  void *const *buffers =
      pointers.data() + prepared[index].firstPointer + entry.operand_count;
  std::vector<remat_observed> results;
  for (uint32_t i = 0; i < entry.result_count; ++i) {
    const remat_buffer &buffer = table.result(entry, i);
    results.push_back({buffers[i], buffer.bytes, buffer.dtype});
  }
  observer(observerUser, index, results.data(), results.size());
}

static int64_t readClock(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t(time.tv_sec) * 1000000000 + time.tv_nsec;
}

int64_t remat::measureClock() {
  int64_t least = 1000000;
  for (int i = 0; i < 16; ++i) {
    int64_t start = readClock(CLOCK_MONOTONIC);
    least = std::min(least, readClock(CLOCK_MONOTONIC) - start);
  }
  return least;
}

/// Nanoseconds: of this thread's work, if it is the only one, which other
/// processes do not disturb; else of the clock on the wall.
remat_step::Moment remat_step::now(bool isBeside) const {
  int64_t wall = readClock(CLOCK_MONOTONIC);
  bool isAlone = threads == 1 || isBeside;
  int64_t cpu =
      readClock(isAlone ? CLOCK_THREAD_CPUTIME_ID : CLOCK_PROCESS_CPUTIME_ID);
  return {threads == 1 ? cpu : wall, wall, cpu};
}

void remat_step::recordTime(uint32_t index, const Moment &start,
                            const Moment &end) {
  auto keepLeast = [&](std::vector<int64_t> &least, int64_t time) {
    least[index] = least[index] == 0 ? time : std::min(least[index], time);
  };
  if (index < bodyTimes.size() && !bodyTimes[index].empty() &&
      (times[index] == 0 || end.time - start.time < times[index]))
    leastBodyTimes[index] = bodyTimes[index];
  keepLeast(times, end.time - start.time);
  if (!cpuTimes.empty())
    keepLeast(cpuTimes, end.cpu - start.cpu);
  spans[index] = {start.wall - runBegin, end.wall - runBegin};
}

/// Runs an entry, or passes it on to the thread of its stream.
remat_status remat_step::execute(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  remat_status status = REMAT_OK;
  if (device) {
    status = executeOnDevice(index);
  } else if (isBeside && entry.stream != REMAT_STREAM_COMPUTE) {
    copyStreams.pass(index);
  } else {
    for (uint32_t i = 0; isBeside && i < entry.wait_count; ++i)
      copyStreams.wait(table.waits[entry.first_wait + i]);
    Ranges::Scope range(entryNames, index);
    if (isBody && iterationTimes.isTimed()) {
      // The CPU's clock takes longer than that on the wall.
      int64_t start = readClock(CLOCK_MONOTONIC);
      status = runEntry(index);
      iterationTimes.record(index, readClock(CLOCK_MONOTONIC) - start);
    } else {
      Moment start = flags & REMAT_STEP_PROFILE ? now() : Moment();
      status = runEntry(index);
      if (flags & REMAT_STEP_PROFILE)
        recordTime(index, start, now());
    }
  }
  ++stats.executed_entries;
  if (entry.flags & REMAT_ENTRY_RECOMPUTE)
    ++stats.recomputed_entries;
  if (entry.kind == REMAT_ENTRY_COPY &&
      !table.isOnHost(table.operand(entry, 0)) &&
      table.isOnHost(table.result(entry, 0)))
    stats.offloaded_bytes += table.operand(entry, 0).bytes;
  return status;
}

remat_status remat_step::runEntry(uint32_t index) {
  switch (table.entries[index].kind) {
  case REMAT_ENTRY_KERNEL:
    return runKernel(index);
  case REMAT_ENTRY_COPY: {
    void *const *buffers = pointers.data() + prepared[index].firstPointer;
    return copy(buffers[0], buffers[1], copiedBytes(index));
  }
  case REMAT_ENTRY_RELEASE:
    return REMAT_OK;
  case REMAT_ENTRY_PACK:
  case REMAT_ENTRY_UNPACK:
    return runCodec(index, pointers.data() + prepared[index].firstPointer);
  case REMAT_ENTRY_LOOP:
    return runLoop(index);
  default:
    return runCall(index);
  }
}

/// On a thread of copies, which is beside the pool of threads that compute.
void remat_step::runBeside(uint32_t index) {
  Ranges::Scope range(entryNames, index);
  Moment start = flags & REMAT_STEP_PROFILE ? now(/*isBeside=*/true) : Moment();
  void *const *buffers = pointers.data() + prepared[index].firstPointer;
  std::memcpy(buffers[1], buffers[0], copiedBytes(index));
  if (flags & REMAT_STEP_PROFILE)
    recordTime(index, start, now(/*isBeside=*/true));
}

remat_status remat_step::runKernel(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  remat_kernel_status none = {};
  none.calls = &remat_calls_of_kernels;
  std::fill(statuses.begin(), statuses.end(), none);
  void *const *buffers = pointers.data() + prepared[index].firstPointer;
  remat_kernel_fn kernel = kernels[entry.callee];
  parallelFor(threads, entry.extent, entry.grain,
              [&](int64_t begin, int64_t end, int part) {
                kernel(buffers, begin, end, &statuses[part]);
              });
  // Parts are in the order of their ranges: the first failure is reported,
  // whichever thread was faster.
  for (const remat_kernel_status &status : statuses) {
    if (!status.failed)
      continue;
    return reportFailure({index, status.check, status.index, status.bound});
  }
  return REMAT_OK;
}

remat_status remat_step::runCall(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  const Prepared &ways = prepared[index];
  LibraryCall *chosen = ways.call;
  if (ways.call->threads > 1 && !mayHaveThreads())
    chosen = callOnOneThread(index);
  else if (ways.call != ways.alone && coresAreBusy())
    chosen = ways.alone;
  if (!chosen) {
    error = table.describe(index) + ": cannot be prepared for one thread";
    return REMAT_LIBRARY_ERROR;
  }
  LibraryCall &call = *chosen;
  void **buffers = pointers.data() + prepared[index].firstPointer;
  uint32_t count = entry.operand_count + entry.result_count;
  void *workspace =
      entry.workspace == REMAT_NONE ? arena.get() : buffers[count];
  // What a matmul is added to, if it is not where the result is.
  bool isAdded = entry.kind == REMAT_ENTRY_MATMUL &&
                 table.matmuls[entry.callee].accumulate;
  void *result = buffers[entry.operand_count];
  if (isAdded && buffers[2] != result)
    if (remat_status status = copy(buffers[2], result,
                                   std::min(table.operand(entry, 2).bytes,
                                            table.result(entry, 0).bytes)))
      return status;
  ThreadScope scope(call.threads);
  std::string reason;
  if (call.run(buffers, result, workspace, reason))
    return REMAT_OK;
  error = table.describe(index) + ": " + reason;
  return REMAT_LIBRARY_ERROR;
}

uint64_t remat_step::copiedBytes(uint32_t index) const {
  const remat_entry &entry = table.entries[index];
  return std::min(table.operand(entry, 0).bytes, table.result(entry, 0).bytes);
}

remat_status remat_step::copy(const void *from, void *to, uint64_t bytes) {
  if (device)
    return device->move(to, from, bytes, error) ? REMAT_OK : REMAT_DEVICE_ERROR;
  // A thread moves a megabyte in less time than it takes to wake another.
  parallelFor(threads, static_cast<int64_t>(bytes), 1 << 20,
              [&](int64_t begin, int64_t end, int) {
                std::memcpy(static_cast<char *>(to) + begin,
                            static_cast<const char *>(from) + begin,
                            static_cast<size_t>(end - begin));
              });
  return REMAT_OK;
}

remat_status remat_step::fill(void *data, unsigned char value, uint64_t bytes) {
  if (device)
    return device->fill(data, value, bytes, error) ? REMAT_OK
                                                   : REMAT_DEVICE_ERROR;
  std::memset(data, value, bytes);
  return REMAT_OK;
}

void remat_step::poison(uint32_t root) {
  const remat_buffer &buffer = table.buffers[root];
  // A failure of the device ends the run at the next entry.
  if (buffer.space != REMAT_SPACE_HOST)
    fill(address(buffer), 0xff, buffer.bytes);
  else
    std::memset(address(buffer), 0xff, buffer.bytes);
}
