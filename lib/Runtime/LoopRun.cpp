//===- LoopRun.cpp - runs loops -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a loop is a step of its own. What a caller's run would check has
// been checked when the table was loaded, so an iteration only sets addresses
// and walks the entries.
//
// The loop itself runs on this CPU, whatever runs its entries. A device gets
// the entries of all iterations and the copies between them, one behind the
// other. It is only waited for where it says how many iterations run.
//
//===----------------------------------------------------------------------===//

#include "LoopRunner.h"

#include <algorithm>
#include <cstring>

using namespace remat;

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
