//===- LoopTimes.cpp - how often bodies ran, and how long -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body counts its own runs and times; an entry that is a loop has the sums,
// in the order: body, advance, and then those of the loops within them.
//
//===----------------------------------------------------------------------===//

#include "LoopRunner.h"

#include <algorithm>

using namespace remat;

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
