//===- LoopRun.cpp - runs loops -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a loop is a step of its own. What a caller's run would check has
// been checked when the table was loaded, so an iteration only sets addresses
// and walks the entries. A body is loaded once for all entries that run it: its
// arena goes to the workspace of the entry.
//
// The loop itself runs on this CPU, whatever runs its entries. A device gets
// the entries of all iterations and the copies between them, one behind the
// other. It is only waited for where it says how many iterations run.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Step.h"
#include "remat/Schedules/Revolve.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

using namespace remat;

remat_status remat_step::loadBodies(const remat_step_options &options,
                                    std::string &message) {
  for (Table &checked : table.bodyTables) {
    bodies.push_back(std::make_unique<remat_step>());
    remat_step &body = *bodies.back();
    remat_status status =
        body.loadBody(std::move(checked), *this, options, message);
    if (status != REMAT_OK) {
      message.insert(0, "body " + std::to_string(bodies.size() - 1) + ": ");
      return status;
    }
    stats.degraded_calls += body.stats.degraded_calls;
  }
  if (countsBodyRuns)
    prepareBodyRuns();
  bool hasHostSlots =
      std::any_of(table.loops.begin(), table.loops.end(),
                  [](const remat_loop &loop) { return loop.host_slots > 0; });
  // A device copies by itself.
  return hasHostSlots && !device && !loopCopies.start(message)
             ? REMAT_OUT_OF_MEMORY
             : REMAT_OK;
}

/// How many numbers say how often the bodies ran that this step's entries have.
uint64_t remat_step::countBodyRuns() const {
  uint64_t count = 0;
  for (const std::vector<uint64_t> &runs : bodyRuns)
    count += runs.size();
  return count;
}

/// How many times are taken of the loops among this step's entries.
uint64_t remat_step::countBodyTimes() const {
  uint64_t count = 0;
  for (const std::vector<int64_t> &inner : bodyTimes)
    count += inner.size();
  return count;
}

void remat_step::prepareBodyRuns() {
  bodyRuns.resize(table.entries.size());
  bodyTimes.resize(table.entries.size());
  for (size_t i = 0; i < table.entries.size(); ++i) {
    if (table.entries[i].kind != REMAT_ENTRY_LOOP)
      continue;
    const remat_loop &loop = table.loops[table.entries[i].callee];
    uint64_t runs = 2, times = 0;
    for (uint32_t number : {loop.body, loop.advance}) {
      if (number == REMAT_NONE)
        continue;
      const remat_step &body = *bodies[number];
      runs += body.countBodyRuns();
      times += body.iterationTimes.size() + body.countBodyTimes();
    }
    bodyRuns[i].assign(runs, 0);
    bodyTimes[i].assign(times, 0);
  }
  leastBodyTimes = bodyTimes;
}

/// The next iterations of all bodies are the first of a run of the step.
void remat_step::restartTimes() {
  for (std::unique_ptr<remat_step> &body : bodies) {
    body->iterationTimes.restart();
    body->restartTimes();
  }
}

remat_status remat_step::loadBody(Table checked, const remat_step &outer,
                                  const remat_step_options &options,
                                  std::string &message) {
  isBody = true;
  table = std::move(checked);
  threads = outer.threads;
  // Times and traces are those of the entry.
  flags = outer.flags & (unsigned(REMAT_STEP_POISON) | looksForAnomalies);
  countsBodyRuns = outer.countsBodyRuns;
  // What a device does is not waited for within a loop.
  if (countsBodyRuns && !outer.device)
    iterationTimes = IterationTimes(table.entries.size(), measureClock());
  kernels = outer.kernels;
  entryNames = Ranges(table);
  device = outer.device;
  if (device)
    if (remat_status status = device->loadTable(table, deviceTable, message))
      return status;
  if (!findLifetimes(table, lifetimes, message) ||
      !findRecomputations(options, message))
    return REMAT_INVALID_MODULE;
  boundArguments.resize(table.arguments.size());
  boundResults.resize(table.results.size());
  currentArguments = boundArguments.data();
  currentResults = boundResults.data();
  stateMemory = arena.get();
  hostMemory = host.get();
  for (const remat_signature &argument : table.arguments)
    argumentBytes.push_back(table.bytesOf(argument));
  for (const remat_signature &result : table.results)
    resultBytes.push_back(table.bytesOf(result));
  return prepare(options, message);
}

/// Lets the body's arena be in `memory`, and that on the host in `hosts`.
void remat_step::placeArena(void *memory, void *hosts) {
  if (memory == arena.get() && (!hosts || hosts == host.get()))
    return;
  arena.borrow(memory);
  host.borrow(hosts);
  stateMemory = arena.get();
  hostMemory = host.get();
  for (const Supplied &place : placed)
    pointers[place.pointer] = address(table.buffers[place.buffer]);
}

namespace {
/// Copies of a loop's states to the host and back, beside what iterations
/// compute: of a thread, which makes one after the other, or of the device.
class StateCopies {
public:
  /// Of a thread without a `device`. Failures are said in `error`.
  StateCopies(CopyQueue &queue, DeviceStep *device, std::string &error)
      : device(device), error(error) {
    if (!device)
      run.emplace(queue);
  }

  /// Passes a copy on, which begins behind the copies `after`. `number` says
  /// which it is; 0 is none.
  remat_status copy(char *to, const char *from, uint64_t bytes, bool isToHost,
                    std::array<uint64_t, 2> after, uint64_t &number) {
    if (run)
      number = run->copy(from, to, bytes);
    else if (!device->copyBeside(to, from, bytes, isToHost, after, number,
                                 error))
      return REMAT_DEVICE_ERROR;
    last[isToHost] = number;
    return REMAT_OK;
  }
  /// Lets what is computed from now on wait for a copy.
  remat_status wait(uint64_t number) {
    if (run)
      run->wait(number);
    else if (!device->waitBeside(number, error))
      return REMAT_DEVICE_ERROR;
    return REMAT_OK;
  }
  /// The same for all copies.
  remat_status waitForAll() {
    for (uint64_t number : last)
      if (remat_status status = wait(number))
        return status;
    return REMAT_OK;
  }

private:
  DeviceStep *device;
  std::string &error;
  /// Whatever ends the loop, no copy is left behind.
  std::optional<CopyQueue::Run> run;
  uint64_t last[2] = {};
};
} // namespace

/// One run of an entry that is a loop. Positions of iterations count down to
/// 0; an advance runs from position 0 on. Where the body says when the loop
/// ends they are not known.
class remat::LoopRunner {
public:
  LoopRunner(remat_step &step, uint32_t index);
  remat_status run();

private:
  remat_status runAll();
  remat_status placeFixed();
  void placeCarried(bool isFirst, bool writesResults);
  remat_status findTrips();
  remat_status runPosition(int64_t position);
  remat_status runIteration(int64_t iteration);
  remat_status runWhile();
  remat_status updateSlices();
  remat_status finish(bool isInResults);
  remat_status fail(const std::string &what);
  remat_status runReversal();
  remat_status reverseSegment(int64_t from, int64_t to, char *base);
  remat_status advance(int64_t from, int64_t to, char *target);
  remat_status placeStates(char *target, int64_t left, bool isFirst);
  void haveStates(char *states);
  remat_status runBody(remat_step &ran, int64_t iteration, const char *what);
  int64_t *ownTimes(bool ofAdvance);
  void addUntimed(remat_step &ran);
  void countRun(remat_step &ran);
  remat_status checkDevice(void *to = nullptr, const void *from = nullptr,
                           uint64_t bytes = 0);
  template <typename Number>
  remat_status read(const void *from, Number &number);
  void *const *placeParts(void *const *buffers, uint64_t firstPart,
                          uint64_t count, int64_t iteration,
                          const std::vector<uint64_t> &bytes,
                          std::vector<remat_tensor> &bound,
                          uint64_t firstBound);

  uint64_t stateCount() const {
    return advancing ? advancing->resultBytes.size() : 0;
  }
  int64_t iterationAt(int64_t position) const {
    return loop.flags & REMAT_LOOP_REVERSE ? position : trips - 1 - position;
  }

  remat_step &step;
  const uint32_t index;
  const remat_loop &loop;
  remat_step &body;
  /// Null without an advance.
  remat_step *advancing;
  void *const *operands;
  void *const *advanceOperands;
  void *const *results;
  LoopWorkspace parts;
  char *workspace = nullptr, *hostWorkspace = nullptr;
  /// How many iterations run, as far as that is known.
  int64_t trips = 0;
  /// Iterations of the body and of the advance that are not counted yet.
  int64_t untimed[2] = {};
};

/// Bytes that something has in a workspace. That these do not overflow was
/// checked when the table was loaded.
static uint64_t padded(uint64_t bytes) {
  uint64_t result = 0;
  alignBytes(bytes, result);
  return result;
}

/// The addresses of element `iteration` of slices and stacks.
static char *elementOf(void *first, uint64_t bytes, int64_t iteration) {
  return static_cast<char *>(first) + static_cast<uint64_t>(iteration) * bytes;
}

LoopRunner::LoopRunner(remat_step &step, uint32_t index)
    : step(step), index(index),
      loop(step.table.loops[step.table.entries[index].callee]),
      body(*step.bodies[loop.body]),
      advancing(loop.advance == REMAT_NONE ? nullptr
                                           : step.bodies[loop.advance].get()),
      operands(step.pointers.data() + step.prepared[index].firstPointer),
      advanceOperands(operands + firstState(loop) +
                      countBuffers(step.table, loop, 0, loop.slices)),
      results(operands + step.table.entries[index].operand_count) {
  const remat_entry &entry = step.table.entries[index];
  findLoopWorkspace(loop, body.table, advancing ? &advancing->table : nullptr,
                    parts);
  void *const *workspaces = results + entry.result_count;
  bool hasWorkspace = entry.workspace != REMAT_NONE;
  if (entry.host_workspace != REMAT_NONE)
    hostWorkspace = static_cast<char *>(workspaces[hasWorkspace]);
  // Without a workspace nothing is in the arena, wherever that is.
  if (!hasWorkspace && !hostWorkspace)
    return;
  if (hasWorkspace)
    workspace = static_cast<char *>(workspaces[0]);
  for (remat_step *run : {&body, advancing})
    if (run)
      run->placeArena(workspace ? workspace : run->arena.get(), hostWorkspace);
}

/// Places what is in the same place in all iterations, and brings what is
/// updated there to it.
remat_status LoopRunner::placeFixed() {
  for (uint32_t i = 0; i < loop.carried; ++i) {
    if (!isInPlace(body.table, i))
      continue;
    if (operands[i] != results[i])
      if (remat_status status =
              step.copy(operands[i], results[i], body.argumentBytes[i]))
        return status;
    body.boundArguments[i].data = body.boundResults[i].data = results[i];
  }
  for (uint64_t i = loop.carried; i < firstState(loop); ++i)
    body.boundArguments[i].data = operands[i];
  for (uint64_t i = 0; i < loop.advance_invariants; ++i)
    advancing->boundArguments[stateCount() + i].data =
        advanceOperands[stateCount() + i];
  return REMAT_OK;
}

/// Places what is carried, which is in the results and in their copies by
/// turns.
void LoopRunner::placeCarried(bool isFirst, bool writesResults) {
  char *copy = workspace + parts.copies;
  for (uint32_t i = 0; i < loop.carried; ++i) {
    if (isInPlace(body.table, i))
      continue;
    void *before = writesResults ? copy : results[i];
    body.boundArguments[i].data = isFirst ? operands[i] : before;
    body.boundResults[i].data = writesResults ? results[i] : copy;
    copy += padded(body.argumentBytes[i]);
  }
}

/// Lets `bound`, from number `firstBound` on, be the elements of `count` parts
/// whose first is in `buffers`. Returns what is behind the buffers of all.
void *const *LoopRunner::placeParts(void *const *buffers, uint64_t firstPart,
                                    uint64_t count, int64_t iteration,
                                    const std::vector<uint64_t> &bytes,
                                    std::vector<remat_tensor> &bound,
                                    uint64_t firstBound) {
  for (uint64_t i = 0; i < count; ++i) {
    void *&data = bound[firstBound + i].data;
    if (isList(step.table, loop, firstPart + i)) {
      data = buffers[iteration];
      buffers += loop.count;
    } else {
      data = elementOf(*buffers++, bytes[firstBound + i], iteration);
    }
  }
  return buffers;
}

/// Runs an iteration of the body, which has the states already.
remat_status LoopRunner::runPosition(int64_t position) {
  // The last iteration writes the results.
  placeCarried(position == trips - 1, position % 2 == 0);
  return runIteration(iterationAt(position));
}

/// Runs an iteration that has what is carried.
remat_status LoopRunner::runIteration(int64_t iteration) {
  placeParts(operands + firstState(loop), 0, loop.slices, iteration,
             body.argumentBytes, body.boundArguments,
             firstState(loop) + stateCount());
  placeParts(results + loop.carried, loop.slices, loop.stacks, iteration,
             body.resultBytes, body.boundResults, loop.carried);
  if (remat_status status = updateSlices())
    return status;
  return runBody(body, iteration, ": ");
}

/// Lets elements of slices be where the iteration writes over them.
remat_status LoopRunner::updateSlices() {
  uint64_t first = firstState(loop) + stateCount();
  for (uint64_t i = first; i < first + loop.slices; ++i) {
    uint32_t result = body.table.arguments[i].donation;
    if (result == REMAT_NONE)
      continue;
    void *&from = body.boundArguments[i].data;
    void *to = body.boundResults[result].data;
    if (from != to)
      if (remat_status status = step.copy(from, to, body.argumentBytes[i]))
        return status;
    from = to;
  }
  return REMAT_OK;
}

/// Lets the body have the states that begin at `states`, or, if it is null,
/// those at first.
void LoopRunner::haveStates(char *states) {
  for (uint64_t i = 0; i < stateCount(); ++i) {
    body.boundArguments[firstState(loop) + i].data =
        states ? states : advanceOperands[i];
    if (states)
      states += padded(advancing->resultBytes[i]);
  }
}

/// Places the states for an iteration of the advance with `left` behind it, the
/// last of which writes to `target`. The first reads what the body has, which
/// is not overwritten: it may be a checkpoint.
remat_status LoopRunner::placeStates(char *target, int64_t left, bool isFirst) {
  char *even = workspace + parts.states, *odd = workspace + parts.otherStates;
  for (uint32_t i = 0; i < stateCount(); ++i) {
    void *current = body.boundArguments[firstState(loop) + i].data;
    void *&from = advancing->boundArguments[i].data;
    void *&to = advancing->boundResults[i].data;
    uint64_t bytes = padded(advancing->resultBytes[i]);
    if (isInPlace(advancing->table, i)) {
      if (isFirst)
        if (remat_status status =
                step.copy(current, target, advancing->resultBytes[i]))
          return status;
      from = to = target;
    } else {
      from = isFirst ? current : left % 2 ? even : odd;
      to = left == 0 ? target : left % 2 ? odd : even;
      odd += bytes;
    }
    target += bytes;
    even += bytes;
  }
  return REMAT_OK;
}

/// Makes the states before position `to` from those before `from`, at `target`.
remat_status LoopRunner::advance(int64_t from, int64_t to, char *target) {
  for (int64_t position = from; position < to; ++position) {
    int64_t iteration = iterationAt(position);
    if (remat_status status =
            placeStates(target, to - 1 - position, position == from))
      return status;
    uint64_t first = stateCount() + loop.advance_invariants;
    placeParts(advanceOperands + first, uint64_t(loop.slices) + loop.stacks,
               loop.advance_slices, iteration, advancing->argumentBytes,
               advancing->boundArguments, first);
    if (remat_status status =
            runBody(*advancing, iteration, " of its advance: "))
      return status;
  }
  haveStates(target);
  return REMAT_OK;
}

/// Reverses the positions [from, to), which begin with the states at `base`:
/// runs the actions of Revolve. States are made where they are to be kept, so
/// that storing them is no action of its own.
remat_status LoopRunner::reverseSegment(int64_t from, int64_t to, char *base) {
  auto placeOf = [&](int64_t slot) {
    return slot == 0 ? base
                     : workspace + parts.slots +
                           static_cast<uint64_t>(slot - 1) * parts.slotBytes;
  };
  LoopReversal reversal(to - from, std::min(loop.slots, to - from));
  LoopAction action, ahead;
  for (bool hasMore = reversal.next(action, cutOfRevolve); hasMore;
       action = ahead) {
    int64_t slot = reversal.getSlot();
    hasMore = reversal.next(ahead, cutOfRevolve);
    remat_status status = REMAT_OK;
    if (action.kind == LoopActionKind::Restore)
      haveStates(placeOf(slot));
    else if (action.kind == LoopActionKind::Advance)
      status = advance(from + action.from, from + action.to,
                       ahead.kind == LoopActionKind::Store
                           ? placeOf(reversal.getSlot())
                           : workspace + parts.states);
    else if (action.kind == LoopActionKind::Backward)
      status = runPosition(from + action.from);
    if (status != REMAT_OK)
      return status;
  }
  return REMAT_OK;
}

/// Reverses all, segment by segment. The states that a segment begins with are
/// in one of two stages: from where they leave for the host while the next
/// segment advances, and where they arrive while the one behind is reversed.
remat_status LoopRunner::runReversal() {
  haveStates(nullptr);
  int64_t period = loop.host_slots > 0 ? std::min(loop.period, trips) : trips;
  int64_t segments = trips > 0 ? segmentsOf(trips, period) : 0;
  auto placeOf = [&](int64_t slot) {
    return hostWorkspace + parts.hostSlots +
           static_cast<uint64_t>(slot - 1) * parts.slotBytes;
  };
  auto stageAt = [&](unsigned stage) {
    return workspace + parts.stages + stage * parts.slotBytes;
  };
  // The last copy to or from each stage and to each slot, and the stage in
  // which the states are.
  uint64_t copies[2] = {};
  std::vector<uint64_t> offloads(static_cast<size_t>(loop.host_slots) + 1);
  unsigned stage = 0;
  char *base = nullptr;
  StateCopies moving(step.loopCopies, step.device, step.error);
  LoopReversal reversal(segments, std::min(loop.host_slots + 1, segments));
  LoopAction action, ahead;
  for (bool hasMore = reversal.next(action, cutOfRevolve); hasMore;
       action = ahead) {
    int64_t slot = reversal.getSlot();
    hasMore = reversal.next(ahead, cutOfRevolve);
    remat_status status = REMAT_OK;
    if (action.kind == LoopActionKind::Store && slot > 0) {
      status =
          moving.copy(placeOf(slot), base, parts.slotBytes, /*isToHost=*/true,
                      {copies[stage], 0}, copies[stage]);
      offloads[static_cast<size_t>(slot)] = copies[stage];
      step.stats.offloaded_bytes += parts.slotBytes;
    } else if (action.kind == LoopActionKind::Restore) {
      base = slot == 0 ? nullptr : stageAt(stage);
      status = moving.wait(copies[stage]);
      haveStates(base);
    } else if (action.kind == LoopActionKind::Advance) {
      stage ^= 1;
      base = stageAt(stage);
      status = moving.wait(copies[stage]);
      if (status == REMAT_OK)
        status = advance(action.from * period, action.to * period, base);
    } else if (action.kind == LoopActionKind::Backward) {
      stage ^= 1;
      if (int64_t next = hasMore ? reversal.getSlot() : 0; next > 0)
        status = moving.copy(
            stageAt(stage), placeOf(next), parts.slotBytes, /*isToHost=*/false,
            {copies[stage], offloads[static_cast<size_t>(next)]},
            copies[stage]);
      if (status == REMAT_OK)
        status =
            reverseSegment(action.from * period,
                           std::min((action.from + 1) * period, trips), base);
    }
    if (status != REMAT_OK)
      return status;
  }
  return moving.waitForAll();
}

/// Where the times of the body's own entries are, or of the advance's.
int64_t *LoopRunner::ownTimes(bool ofAdvance) {
  return step.bodyTimes[index].data() +
         (ofAdvance ? body.iterationTimes.size() : 0);
}

/// Adds the iterations that were not timed, and what they took.
void LoopRunner::addUntimed(remat_step &ran) {
  bool isAdvance = &ran == advancing;
  int64_t &count = untimed[isAdvance];
  step.bodyRuns[index][isAdvance] += static_cast<uint64_t>(count);
  int64_t *sums = ownTimes(isAdvance);
  for (int64_t time : ran.iterationTimes.getTypical())
    *sums++ += count * time;
  count = 0;
}

/// Adds a run of the body or the advance, and those of what is in it, and what
/// these took.
void LoopRunner::countRun(remat_step &ran) {
  std::vector<uint64_t> &runs = step.bodyRuns[index];
  bool isAdvance = &ran == advancing;
  auto add = [](int64_t *&sums, const std::vector<int64_t> &times) {
    for (int64_t time : times)
      *sums++ += time;
  };
  if (ran.iterationTimes.isTimed()) {
    addUntimed(ran);
    ran.iterationTimes.end();
    ++runs[isAdvance];
    int64_t *own = ownTimes(isAdvance);
    add(own, ran.iterationTimes.getLatest());
  } else {
    ++untimed[isAdvance];
  }
  if (ran.bodies.empty())
    return;
  uint64_t *next = runs.data() + 2 + (isAdvance ? body.countBodyRuns() : 0);
  for (const std::vector<uint64_t> &inner : ran.bodyRuns)
    for (uint64_t count : inner)
      *next++ += count;
  // Those of all loops are behind those of the entries.
  int64_t *inner = ownTimes(/*ofAdvance=*/false) + body.iterationTimes.size();
  if (advancing)
    inner += advancing->iterationTimes.size();
  if (isAdvance)
    inner += body.countBodyTimes();
  for (const std::vector<int64_t> &times : ran.bodyTimes)
    add(inner, times);
}

/// Waits for the device, for `bytes` bytes of it, and for its checks. Whoever
/// runs the step makes a message of those that have failed.
remat_status LoopRunner::checkDevice(void *to, const void *from,
                                     uint64_t bytes) {
  if (!step.device->read(to, from, bytes, step.error))
    return REMAT_DEVICE_ERROR;
  return step.device->hasFailed() ? REMAT_ASSERTION_FAILED : REMAT_OK;
}

/// Reads a number that entries have made. On a device, none is taken of those
/// with failed checks: a loop might never end.
template <typename Number>
remat_status LoopRunner::read(const void *from, Number &number) {
  if (step.device)
    return checkDevice(&number, from, sizeof(number));
  std::memcpy(&number, from, sizeof(number));
  return REMAT_OK;
}

remat_status LoopRunner::runBody(remat_step &ran, int64_t iteration,
                                 const char *what) {
  for (const remat_step::Supplied &place : ran.supplied)
    ran.pointers[place.pointer] = ran.address(ran.table.buffers[place.buffer]);
  remat_status status = REMAT_OK;
  if (step.countsBodyRuns)
    ran.iterationTimes.begin();
  if (ran.flags & REMAT_STEP_POISON)
    status = ran.poisonMemory();
  if (ran.isBitwise)
    ran.recomputeCheck->begin(nullptr, /*comparesBits=*/true,
                              /*tracesRun=*/false, /*isFirst=*/true);
  if (status == REMAT_OK)
    status = ran.runEntries(0, static_cast<uint32_t>(ran.table.entries.size()));
  bool isSerial = step.device && step.device->isSerial();
  if (status == REMAT_OK && isSerial)
    status = checkDevice();
  // Else the check may have failed in an iteration before this one.
  if (status != REMAT_OK && (isSerial || (loop.flags & REMAT_LOOP_WHILE)))
    ran.failedIteration = iteration;
  step.stats.offloaded_bytes += ran.stats.offloaded_bytes;
  step.stats.executed_entries += ran.stats.executed_entries;
  step.stats.recomputed_entries += ran.stats.recomputed_entries;
  if (step.countsBodyRuns)
    countRun(ran);
  bool hasAnomalies = ran.anomalyCheck && ran.anomalyCheck->hasNews();
  if (status == REMAT_OK && !hasAnomalies)
    return status;
  std::string place = step.table.describe(index) + ": iteration " +
                      std::to_string(iteration) + what;
  if (status != REMAT_OK)
    step.error = place + ran.error;
  if (hasAnomalies)
    step.anomalyCheck->passOn(*ran.anomalyCheck, place);
  return status;
}

remat_status LoopRunner::fail(const std::string &what) {
  step.error = step.table.describe(index) + ": " + what;
  return REMAT_ASSERTION_FAILED;
}

/// What is said of `trips` iterations that are too many.
static std::string describeExcess(const std::string &trips, int64_t most) {
  return "runs " + trips + " iterations, expected at most " +
         std::to_string(most) +
         ", the maximum that the step was compiled for: compile it with a "
         "larger one (remat.max_trip_count, or the option max-trip-count)";
}

/// Finds out how many iterations run, of a loop whose body does not say that.
remat_status LoopRunner::findTrips() {
  trips = loop.count;
  if (!(loop.flags & REMAT_LOOP_TRIPS))
    return REMAT_OK;
  const remat_entry &entry = step.table.entries[index];
  if (remat_status status = read(operands[entry.operand_count - 1], trips))
    return status;
  trips = std::max<int64_t>(trips, 0);
  if (loop.count != 0 && trips > loop.count)
    return fail(describeExcess(std::to_string(trips), loop.count));
  return REMAT_OK;
}

/// Brings what is carried to the results, if it is not there, and zeros to the
/// elements of stacks whose iterations did not run.
remat_status LoopRunner::finish(bool isInResults) {
  char *copy = workspace + parts.copies;
  for (uint32_t i = 0; i < loop.carried && !isInResults; ++i) {
    if (isInPlace(body.table, i))
      continue;
    if (remat_status status = step.copy(trips == 0 ? operands[i] : copy,
                                        results[i], body.argumentBytes[i]))
      return status;
    copy += padded(body.argumentBytes[i]);
  }
  // Where fewer may run, there are no lists.
  for (size_t i = loop.carried; i < body.resultBytes.size(); ++i)
    if (trips < loop.count)
      if (remat_status status = step.fill(
              elementOf(results[i], body.resultBytes[i], trips), 0,
              static_cast<uint64_t>(loop.count - trips) * body.resultBytes[i]))
        return status;
  return REMAT_OK;
}

/// Runs iterations until the body says that there is none.
remat_status LoopRunner::runWhile() {
  uint8_t goesOn = 0;
  remat_status status = read(operands[0], goesOn);
  for (; goesOn && status == REMAT_OK; ++trips) {
    if (loop.count != 0 && trips == loop.count)
      return fail(
          describeExcess("more than " + std::to_string(trips), loop.count));
    placeCarried(trips == 0, trips % 2 == 0);
    if (remat_status failed = runIteration(trips))
      return failed;
    status = read(body.boundResults[0].data, goesOn);
    if (status != REMAT_OK)
      body.failedIteration = trips;
  }
  if (status == REMAT_OK)
    status = finish(trips % 2 == 1);
  int64_t counted = 0;
  if (status == REMAT_OK)
    status = read(results[1], counted);
  if (status == REMAT_OK && counted != trips)
    return fail("counts " + std::to_string(counted) + " iterations, expected " +
                std::to_string(trips) + ", which have run");
  return status;
}

remat_status LoopRunner::run() {
  if (!step.countsBodyRuns)
    return runAll();
  std::fill(step.bodyRuns[index].begin(), step.bodyRuns[index].end(), 0);
  std::fill(step.bodyTimes[index].begin(), step.bodyTimes[index].end(), 0);
  if (!step.isBody)
    step.restartTimes();
  remat_status status = runAll();
  addUntimed(body);
  if (advancing)
    addUntimed(*advancing);
  return status;
}

/// Runs all iterations.
remat_status LoopRunner::runAll() {
  body.failedIteration = -1;
  if (advancing)
    advancing->failedIteration = -1;
  if (remat_status status = placeFixed())
    return status;
  if (loop.flags & REMAT_LOOP_WHILE)
    return runWhile();
  remat_status status = findTrips();
  if (status == REMAT_OK && advancing)
    status = runReversal();
  else
    for (int64_t position = trips; position-- > 0 && status == REMAT_OK;)
      status = runPosition(position);
  return status == REMAT_OK ? finish(/*isInResults=*/trips > 0) : status;
}

remat_status remat_step::runLoop(uint32_t index) {
  return LoopRunner(*this, index).run();
}
