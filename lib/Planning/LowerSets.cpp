//===- LowerSets.cpp - dynamic program over lower sets --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kusumoto, Inoue, Watanabe, Akiba, Koyama, "A Graph Theoretic Framework of
// Recomputation Algorithms for Memory-Efficient Backpropagation", NeurIPS 2019.
//
// A lower set is a set of forward ops that contains what its ops read. An
// ascending chain of them, from nothing to everything, cuts the forward phase
// into segments; the canonical strategy of a chain keeps the values on its
// sets' boundaries (those with a reader outside) and recomputes a segment when
// the backward phase gets there. The dynamic program finds chains that need
// little memory for each overhead: over all lower sets where they are few, over
// those that one op generates where they are not (the paper's approximate
// version).
//
// The paper bounds the memory of a segment by what is kept up to there and
// twice the segment: its values and their gradients. Problems here contain
// their backward ops, so the bound is only a guide: it is swept, and the
// simulator says what each chain really needs.
//
//===----------------------------------------------------------------------===//

#include "SavedSet.h"
#include "SearchTuning.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <set>

using namespace llvm;

namespace remat::planning {

namespace {
class LowerSets {
public:
  LowerSets(const Graph &graph, OpId end, WorkMeter &work)
      : graph(graph), end(end), work(work) {
    if (!enumerateAll())
      enumerateGenerated();
    describe();
    connect();
  }

  /// The saved set of the cheapest chain whose segments need at most `limit`
  /// bytes; nothing if there is no chain or the work ran out.
  std::optional<std::vector<bool>> solve(int64_t limit);
  /// The range in which limits make a difference.
  int64_t lowestLimit() const { return 2 * largestOp; }
  int64_t highestLimit() const { return 2 * sets.back().bytes; }

private:
  struct Set {
    BitVector ops;
    std::vector<OpId> boundary;
    int64_t bytes = 0, cost = 0;
    uint32_t size = 0, number = 0;
  };
  /// From a set to a larger one.
  struct Step {
    uint32_t from;
    /// Of the segment between them, and of what of its boundary is new.
    int64_t segmentBytes, keptBytes, overhead;
  };
  /// A chain that ends in a set.
  struct Chain {
    int64_t kept, overhead;
    uint32_t from, fromChain;
  };

  bool enumerateAll();
  void enumerateGenerated();
  void describe();
  void connect();

  int64_t opBytes(OpId op) const {
    int64_t bytes = 0;
    for (ValueId value : graph.results(op))
      bytes += graph.bytes(value);
    return bytes;
  }
  bool contains(const BitVector &set, OpId op) const {
    return all_of(graph.operands(op), [&](ValueId operand) {
      return graph.isArgument(operand) || set[graph.producer(operand)];
    });
  }

  const Graph &graph;
  OpId end;
  WorkMeter &work;
  std::vector<Set> sets;
  int64_t largestOp = 0;
  /// The steps into each set.
  std::vector<std::vector<Step>> steps;
  std::vector<std::vector<Chain>> chains;
};
} // namespace

/// All lower sets, smallest first, if they are few.
bool LowerSets::enumerateAll() {
  std::set<std::vector<OpId>> seen;
  std::vector<std::vector<OpId>> queue = {{}};
  BitVector members(end);
  for (size_t at = 0; at < queue.size(); ++at) {
    members.reset();
    for (OpId op : queue[at])
      members.set(op);
    work.add(end);
    for (OpId op = 0; op < end; ++op) {
      if (members[op] || !contains(members, op))
        continue;
      std::vector<OpId> larger = queue[at];
      larger.insert(upper_bound(larger, op), op);
      if (!seen.insert(larger).second)
        continue;
      queue.push_back(std::move(larger));
      if (queue.size() > SavedSetTuning::mostSets)
        return false;
    }
  }
  for (const std::vector<OpId> &list : queue) {
    sets.emplace_back();
    sets.back().ops.resize(end);
    for (OpId op : list)
      sets.back().ops.set(op);
  }
  return true;
}

/// The empty set, the full one, and for each op all that it is computed from.
void LowerSets::enumerateGenerated() {
  sets.resize(end + 2);
  for (Set &set : sets)
    set.ops.resize(end);
  for (OpId op = 0; op < end; ++op) {
    BitVector &ops = sets[op + 1].ops;
    for (ValueId operand : graph.operands(op))
      if (!graph.isArgument(operand))
        ops |= sets[graph.producer(operand) + 1].ops;
    ops.set(op);
  }
  sets.back().ops.set();
  work.add(end * (end / 64 + 1));
}

void LowerSets::describe() {
  for (OpId op = 0; op < end; ++op)
    largestOp = std::max(largestOp, opBytes(op));
  for (Set &set : sets) {
    set.size = set.ops.count();
    for (unsigned op : set.ops.set_bits()) {
      set.bytes += opBytes(op);
      set.cost += graph.problem.ops[op].cost;
      bool crosses = false;
      for (ValueId value : graph.results(op))
        for (OpId reader : graph.readers(value))
          crosses |= reader < end && !set.ops[reader];
      if (crosses)
        set.boundary.push_back(op);
    }
    work.add(set.size);
  }
  for (auto [number, set] : enumerate(sets))
    set.number = number;
  llvm::sort(sets, [](const Set &a, const Set &b) {
    return std::tie(a.size, a.number) < std::tie(b.size, b.number);
  });
}

void LowerSets::connect() {
  steps.resize(sets.size());
  for (uint32_t to = 0; to < sets.size(); ++to) {
    const Set &larger = sets[to];
    for (uint32_t from = 0; from < to && sets[from].size < larger.size;
         ++from) {
      const Set &smaller = sets[from];
      if (smaller.ops.test(larger.ops))
        continue;
      Step step = {from, larger.bytes - smaller.bytes, 0,
                   larger.cost - smaller.cost};
      for (OpId op : larger.boundary) {
        if (smaller.ops[op])
          continue;
        step.keptBytes += opBytes(op);
        step.overhead -= graph.problem.ops[op].cost;
      }
      // The last segment is still there when the backward phase begins.
      if (larger.size == end)
        step.overhead = 0;
      steps[to].push_back(step);
    }
    work.add(to * (end / 64 + 1));
  }
}

std::optional<std::vector<bool>> LowerSets::solve(int64_t limit) {
  constexpr size_t mostChains = SavedSetTuning::mostChains;
  chains.assign(sets.size(), {});
  chains[0].push_back({0, 0, 0, 0});
  for (uint32_t to = 1; to < sets.size(); ++to) {
    std::vector<Chain> found;
    for (const Step &step : steps[to]) {
      for (auto [index, chain] : enumerate(chains[step.from]))
        if (chain.kept + 2 * step.segmentBytes <= limit)
          found.push_back({chain.kept + step.keptBytes,
                           chain.overhead + step.overhead, step.from,
                           uint32_t(index)});
      work.add(chains[step.from].size());
    }
    if (work.overdrawn())
      return std::nullopt;
    llvm::sort(found, [](const Chain &a, const Chain &b) {
      return std::tie(a.kept, a.overhead, a.from, a.fromChain) <
             std::tie(b.kept, b.overhead, b.from, b.fromChain);
    });
    std::vector<Chain> &list = chains[to];
    for (const Chain &chain : found)
      if (list.empty() || chain.overhead < list.back().overhead)
        list.push_back(chain);
    if (list.size() > mostChains) {
      for (size_t c = 0; c < mostChains; ++c)
        list[c] = list[c * (list.size() - 1) / (mostChains - 1)];
      list.resize(mostChains);
    }
  }
  if (chains.back().empty())
    return std::nullopt;

  // The cheapest is the last.
  std::vector<bool> saved(graph.numValues(), false);
  uint32_t at = sets.size() - 1, chain = chains.back().size() - 1;
  bool last = true;
  while (at != 0) {
    const Chain &link = chains[at][chain];
    auto save = [&](OpId op) {
      for (ValueId value : graph.results(op))
        saved[value] = true;
    };
    if (last) {
      for (OpId op = 0; op < end; ++op)
        if (!sets[link.from].ops[op])
          save(op);
    } else {
      for_each(sets[at].boundary, save);
    }
    last = false;
    at = link.from;
    chain = link.fromChain;
  }
  return saved;
}

Expected<Solution> planLowerSets(const Problem &problem,
                                 const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  OpId end = savePosition(graph);
  if (end > lowerSetOpLimit)
    return createStringError(inconvertibleErrorCode(),
                             "planner 'lower-sets' takes at most " +
                                 Twine(lowerSetOpLimit) + " forward ops, got " +
                                 Twine(end));
  WorkMeter work(options, watch);
  BestPlan best(graph, work);
  if (best.consider(saveAllResidency(graph)) || end == 0)
    return best.finish("lower-sets", watch);

  LowerSets lowerSets(graph, end, work);
  // From the loosest limit to the tightest, in equal ratios.
  double low = std::max(1.0, double(lowerSets.lowestLimit()));
  double high = std::max(low, double(lowerSets.highestLimit()));
  constexpr unsigned rounds = SavedSetTuning::limitRounds;
  std::optional<std::vector<bool>> previous;
  for (unsigned round = 0; round <= rounds && !work.overdrawn(); ++round) {
    double limit = high * std::pow(low / high, double(round) / rounds);
    std::optional<std::vector<bool>> saved =
        lowerSets.solve(int64_t(std::ceil(limit)));
    if (!saved || saved == previous)
      continue;
    best.consider(end, *saved);
    previous = std::move(saved);
  }
  return best.finish("lower-sets", watch);
}

} // namespace remat::planning
