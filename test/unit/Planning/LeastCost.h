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

/// The least cost of any plan within `budget` whose ops run for the first time
/// in their given order; nothing if there is none. Dijkstra over (next first
/// run, resident values).
inline std::optional<int64_t> leastCost(const Problem &problem,
                                        int64_t budget) {
  using State = std::pair<unsigned, uint32_t>;
  std::map<State, int64_t> best;
  std::set<std::pair<int64_t, State>> queue;
  uint32_t arguments = 0, outputs = 0;
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
    auto [next, resident] = state;
    if (next == problem.ops.size() && (resident & outputs) == outputs)
      return cost;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      if ((resident & ~arguments) >> v & 1)
        push({next, resident & ~(1u << v)}, cost);
    for (OpId op = 0; op <= next && op < problem.ops.size(); ++op) {
      if (op < next && !problem.ops[op].recomputable)
        continue;
      uint32_t operands = 0, results = 0;
      for (ValueId v : problem.ops[op].operands)
        operands |= 1u << problem.rootOf(v);
      for (ValueId v : problem.ops[op].results)
        results |= 1u << v;
      uint32_t during = resident | results;
      if ((resident & operands) != operands ||
          bytes(during) + problem.ops[op].workspace > budget)
        continue;
      push({next + (op == next), during}, cost + problem.ops[op].cost);
    }
  }
  return std::nullopt;
}

} // namespace remat::planning

#endif // REMAT_TEST_UNIT_PLANNING_LEASTCOST_H
