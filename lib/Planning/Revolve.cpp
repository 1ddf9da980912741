//===- Revolve.cpp - binomial checkpoints ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Griewank and Walther, "Algorithm 799: revolve: an implementation of
// checkpointing for the reverse or adjoint mode of computational
// differentiation", 2000. With s checkpoints and no op run more than r times
// again, a chain of C(s + r, s) steps can be reversed. A segment of `length`
// levels whose first value is stored takes its next checkpoint after `advance`
// ops, the rest is reversed with one checkpoint less, then the first part with
// as many as before; the split keeps both within what their checkpoints and
// r reverse.
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "SimulateInto.h"
#include "Solution.h"

using namespace llvm;

namespace remat::planning {

/// C(s + r, s), or `most` if that is less.
static uint64_t reach(uint32_t s, uint32_t r, uint64_t most) {
  uint64_t value = 1;
  for (uint32_t k = 1, small = std::min(s, r), large = std::max(s, r);
       k <= small; ++k) {
    value = value * (large + k) / k;
    if (value >= most)
      return most;
  }
  return value;
}

/// How many ops to run before the next checkpoint, for a segment of `length` >
/// 1 levels and `slots` > 0 checkpoints.
static uint32_t advance(uint32_t length, uint32_t slots) {
  uint32_t r = 1;
  while (reach(slots, r, length) < length)
    ++r;
  // The rest, with a slot less and r runs, and the part before, with all slots
  // and r - 1 runs, have to be within reach.
  uint64_t rest = reach(slots - 1, r, length - 1);
  uint64_t least = length - rest;
  uint64_t most = reach(slots, r - 1, length - 1);
  // Nothing is gained by leaving the part before less than it can have with
  // one run less.
  uint64_t wanted = r >= 2 ? reach(slots, r - 2, length - 1) : 1;
  return std::clamp<uint64_t>(std::max(least, wanted), 1, most);
}

/// The actions of a plan with `slots` checkpoints; false if they are more than
/// `mostActions`.
static bool reverse(const Chain &chain, uint32_t slots, size_t mostActions,
                    Plan &plan) {
  // Levels [first, last] with f_{first - 1} stored, and f_last if `hasLast`.
  struct Segment {
    uint32_t first, last, slots;
    bool hasLast;
  };
  plan.actions.clear();
  std::vector<Segment> stack = {{1, chain.top(), slots, false}};
  while (!stack.empty()) {
    Segment segment = stack.back();
    stack.pop_back();
    auto run = [&](uint32_t first, uint32_t last) {
      for (uint32_t k = first; k <= last; ++k)
        plan.run(chain.levels[k].op);
    };
    uint32_t length = segment.last - segment.first + 1;
    if (plan.actions.size() > mostActions)
      return false;
    if (length == 1) {
      const Chain::Level &level = chain.levels[segment.last];
      if (level.readsOwn && !segment.hasLast)
        run(segment.first, segment.last);
      for (OpId op : level.sweep)
        plan.run(op);
      continue;
    }
    // Without a slot everything up to the level is run again for it.
    uint32_t ops = segment.slots ? advance(length, segment.slots) : length - 1;
    uint32_t border = segment.first + ops;
    run(segment.first, border - 1);
    uint32_t rest = segment.slots ? segment.slots - 1 : 0;
    stack.push_back({segment.first, border - 1, segment.slots, true});
    stack.push_back({border, segment.last, rest, segment.hasLast});
  }
  return true;
}

Expected<Solution> planRevolve(const Problem &problem,
                               const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  Expected<Chain> chain = findChain(graph, "revolve");
  if (!chain)
    return chain.takeError();
  for (const Chain::Level &level : chain->levels)
    if (!level.again)
      return createStringError(inconvertibleErrorCode(),
                               "planner 'revolve' cannot handle op '" +
                                   problem.ops[level.op].name +
                                   "', which may run only once");
  WorkMeter work(options, watch);
  Plan plan, best;
  Simulation simulation;
  int64_t bestPeak = 0;
  bool bestFits = false;
  // Few checkpoints make long plans.
  size_t mostActions = 200 * graph.numOps() + 1000;
  auto tryWith = [&](uint32_t slots) {
    if (!reverse(*chain, slots, mostActions, plan))
      return false;
    if (Error error = simulateInto(graph, plan, simulation)) {
      consumeError(std::move(error));
      return false;
    }
    work.add(plan.actions.size() + simulation.reads.size());
    bool fits =
        problem.deviceBudget && simulation.peakBytes <= *problem.deviceBudget;
    if (best.actions.empty() || fits > bestFits ||
        (fits == bestFits && !fits && simulation.peakBytes < bestPeak) ||
        (fits && bestFits)) {
      best = plan;
      bestFits = fits;
      bestPeak = simulation.peakBytes;
    }
    return fits;
  };
  // More checkpoints never cost more. On unequal chains peaks need not grow
  // with them, but mostly do.
  uint32_t low = 0, high = chain->numForward();
  if (!tryWith(high)) {
    tryWith(low);
    while (low + 1 < high && !work.overdrawn()) {
      uint32_t middle = (low + high) / 2;
      // A plan that is too long has too few checkpoints.
      bool tooLong = !reverse(*chain, middle, mostActions, plan);
      (tooLong || tryWith(middle) ? low : high) = middle;
    }
  }
  if (best.actions.empty() && graph.numOps())
    return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0),
                                             0, std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(best), "revolve", watch);
  if (solution)
    solution->cutShort = work.wasCutShort();
  return solution;
}

} // namespace remat::planning
