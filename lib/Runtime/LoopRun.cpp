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
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Step.h"

using namespace remat;

remat_status remat_step::loadBodies(const remat_step_options &options,
                                    std::string &message) {
  for (Table &checked : table.bodyTables) {
    bodies.push_back(std::make_unique<remat_step>());
    remat_step &body = *bodies.back();
    remat_status status =
        body.loadBody(std::move(checked), *this, options, message);
    if (status != REMAT_OK) {
      message = "body " + std::to_string(bodies.size() - 1) + ": " + message;
      return status;
    }
    stats.degraded_calls += body.stats.degraded_calls;
  }
  return REMAT_OK;
}

remat_status remat_step::loadBody(Table checked, const remat_step &outer,
                                  const remat_step_options &options,
                                  std::string &message) {
  isBody = true;
  table = std::move(checked);
  threads = outer.threads;
  // Times and traces are those of the entry.
  flags = outer.flags & unsigned(REMAT_STEP_POISON);
  kernels = outer.kernels;
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

/// Lets the body's arena be in `memory`.
void remat_step::placeArena(void *memory) {
  if (memory == arena.get())
    return;
  arena.borrow(memory);
  stateMemory = arena.get();
  for (const Supplied &place : placed)
    pointers[place.pointer] = address(table.buffers[place.buffer]);
}

/// One run of an entry that is a loop.
class remat::LoopRunner {
public:
  LoopRunner(remat_step &step, uint32_t index);
  remat_status run();

private:
  void placeFixed();
  void placeCarried(int64_t left, bool isFirst);
  void placeElements(int64_t iteration);
  remat_status runIteration(int64_t iteration);

  remat_step &step;
  const uint32_t index;
  const remat_loop &loop;
  remat_step &body;
  void *const *operands;
  void *const *results;
  /// The copies of what is carried.
  char *copies = nullptr;
};

LoopRunner::LoopRunner(remat_step &step, uint32_t index)
    : step(step), index(index),
      loop(step.table.loops[step.table.entries[index].callee]),
      body(*step.bodies[loop.body]),
      operands(step.pointers.data() + step.prepared[index].firstPointer),
      results(operands + step.table.entries[index].operand_count) {
  const remat_entry &entry = step.table.entries[index];
  // Without a workspace nothing is in the arena, wherever that is.
  if (entry.workspace == REMAT_NONE)
    return;
  auto *workspace = static_cast<char *>(results[entry.result_count]);
  body.placeArena(workspace);
  uint64_t arenaBytes = 0;
  alignBytes(body.table.header.arena_bytes, arenaBytes);
  copies = workspace + arenaBytes;
}

/// Places what is in the same place in all iterations, and brings what is
/// updated there to it.
void LoopRunner::placeFixed() {
  for (uint32_t i = 0; i < loop.carried; ++i) {
    if (!isInPlace(body.table, i))
      continue;
    if (operands[i] != results[i])
      step.copy(operands[i], results[i], body.argumentBytes[i]);
    body.boundArguments[i].data = body.boundResults[i].data = results[i];
  }
  for (uint32_t i = 0; i < loop.invariants; ++i)
    body.boundArguments[loop.carried + i].data = operands[loop.carried + i];
}

/// Places what is carried into and out of an iteration with `left` behind it,
/// so that the last one writes the results.
void LoopRunner::placeCarried(int64_t left, bool isFirst) {
  char *copy = copies;
  for (uint32_t i = 0; i < loop.carried; ++i) {
    if (isInPlace(body.table, i))
      continue;
    void *before = left % 2 ? results[i] : copy;
    body.boundArguments[i].data = isFirst ? operands[i] : before;
    body.boundResults[i].data = left % 2 ? copy : results[i];
    uint64_t bytes = 0;
    alignBytes(body.argumentBytes[i], bytes);
    copy += bytes;
  }
}

/// Places the elements of slices and stacks.
void LoopRunner::placeElements(int64_t iteration) {
  auto element = [&](void *first, uint64_t bytes) {
    return static_cast<char *>(first) +
           static_cast<uint64_t>(iteration) * bytes;
  };
  for (size_t i = loop.carried + loop.invariants; i < body.argumentBytes.size();
       ++i)
    body.boundArguments[i].data = element(operands[i], body.argumentBytes[i]);
  for (size_t i = loop.carried; i < body.resultBytes.size(); ++i)
    body.boundResults[i].data = element(results[i], body.resultBytes[i]);
}

remat_status LoopRunner::runIteration(int64_t iteration) {
  for (const remat_step::Supplied &place : body.supplied)
    body.pointers[place.pointer] =
        body.address(body.table.buffers[place.buffer]);
  if (body.flags & REMAT_STEP_POISON)
    body.poisonMemory();
  if (body.isBitwise)
    body.recomputeCheck->begin(nullptr, /*comparesBits=*/true,
                               /*tracesRun=*/false, /*isFirst=*/true);
  remat_status status =
      body.runEntries(0, static_cast<uint32_t>(body.table.entries.size()));
  step.stats.executed_entries += body.stats.executed_entries;
  step.stats.recomputed_entries += body.stats.recomputed_entries;
  if (status != REMAT_OK)
    step.error = step.table.describe(index) + ": iteration " +
                 std::to_string(iteration) + ": " + body.error;
  return status;
}

remat_status LoopRunner::run() {
  placeFixed();
  bool isReverse = (loop.flags & REMAT_LOOP_REVERSE) != 0;
  for (int64_t left = loop.count; left-- > 0;) {
    int64_t iteration = isReverse ? left : loop.count - 1 - left;
    placeCarried(left, /*isFirst=*/left == loop.count - 1);
    placeElements(iteration);
    if (remat_status status = runIteration(iteration))
      return status;
  }
  return REMAT_OK;
}

remat_status remat_step::runLoop(uint32_t index) {
  return LoopRunner(*this, index).run();
}
