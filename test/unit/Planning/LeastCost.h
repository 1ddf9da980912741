//===- LeastCost.h - exhaustive search on tiny problems ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The best plan of a tiny problem, by a shortest path over what is resident.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_PLANNING_LEASTCOST_H
#define REMAT_TEST_UNIT_PLANNING_LEASTCOST_H

#include "Problems.h"

#include <map>
#include <set>

namespace remat::planning {

/// Whether an op may not run again.
inline bool runsOnce(const Problem &problem, OpId op) {
  bool once = !problem.ops[op].recomputable;
  for (ValueId value : problem.ops[op].results)
    once |= problem.values[value].policy == Policy::MustSave;
  return once;
}

/// The least cost of any plan within the device budget; nothing if there is
/// none. Dijkstra over (which ops have run, resident values); in the given
/// order unless the problem's order is free.
inline std::optional<int64_t> leastCost(const Problem &problem) {
  using State = std::pair<uint32_t, uint32_t>;
  std::map<State, int64_t> best;
  std::set<std::pair<int64_t, State>> queue;
  uint32_t arguments = 0, outputs = 0;
  uint32_t all = (1u << problem.ops.size()) - 1;
  for (ValueId v = 0; v < problem.values.size(); ++v) {
    arguments |= uint32_t(problem.values[v].isArgument) << v;
    if (problem.values[v].isOutput)
      outputs |= 1u << problem.rootOf(v);
  }
  auto bytes = [&](uint32_t set) {
    int64_t sum = 0;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      sum += set >> v & 1 ? problem.values[v].bytes : 0;
    return sum;
  };
  auto push = [&](State state, int64_t cost) {
    auto [it, added] = best.try_emplace(state, cost);
    if (!added && it->second <= cost)
      return;
    it->second = cost;
    queue.insert({cost, state});
  };
  push({0, arguments}, 0);
  while (!queue.empty()) {
    auto [cost, state] = *queue.begin();
    queue.erase(queue.begin());
    if (best[state] < cost)
      continue;
    auto [done, resident] = state;
    if (done == all && (resident & outputs) == outputs)
      return cost;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      if (resident >> v & 1)
        push({done, resident & ~(1u << v)}, cost);
    for (OpId op = 0; op < problem.ops.size(); ++op) {
      bool again = done >> op & 1;
      uint32_t before = (1u << op) - 1;
      if (again && runsOnce(problem, op))
        continue;
      if (!again && !problem.freeOrder && (done & before) != before)
        continue;
      // Effects keep their order.
      bool late = false;
      for (OpId other = 0; other < op; ++other)
        late |= !problem.ops[op].recomputable &&
                !problem.ops[other].recomputable && !(done >> other & 1);
      if (late)
        continue;
      uint32_t operands = 0, results = 0;
      for (ValueId v : problem.ops[op].operands)
        operands |= 1u << problem.rootOf(v);
      for (ValueId v : problem.ops[op].results)
        results |= 1u << v;
      uint32_t during = resident | results;
      if ((resident & operands) != operands ||
          bytes(during) + problem.ops[op].workspace > *problem.deviceBudget)
        continue;
      push({done | 1u << op, during}, cost + problem.ops[op].cost);
    }
  }
  return std::nullopt;
}

/// The same within `budget`.
inline std::optional<int64_t> leastCost(Problem problem, int64_t budget) {
  problem.deviceBudget = budget;
  return leastCost(problem);
}

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_LEASTCOST_H
