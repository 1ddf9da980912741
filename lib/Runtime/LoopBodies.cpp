//===- LoopBodies.cpp - loads the bodies of loops -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body is a step of its own. It is loaded once for all entries that run it:
// its arena goes to the workspace of the entry.
//
//===----------------------------------------------------------------------===//

#include "Step.h"

#include <algorithm>

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
