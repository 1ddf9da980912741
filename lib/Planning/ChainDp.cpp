//===- ChainDp.cpp - optimal recomputation of chains ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dynamic programming over segments of a chain (see Chain.h), after Griewank
// and Walther, "Algorithm 799: revolve", 2000, and Beaumont, Eyraud-Dubois,
// Herrmann, Joly, Shilova, "Optimal checkpointing for heterogeneous chains",
// 2019, with two differences: memory is not cut into slots, and a checkpoint
// that the sweep reads itself may stay until then.
//
//   A(i, j)  f_{i-1} is resident, levels j .. i are still to be swept
//   B(i, j)  f_j is resident too
//
// Both are costs of running forward ops, as step functions of the memory that
// is left, f_{i-1} not counted, f_j and the sweep's own values counted. With c
// the first value that the next forward pass keeps, i <= c < j,
//
//   A(i, j)(m) = min over c of cost(i .. c) + A(c+1, j)(m - |f_c|) + B(i, c)(m)
//   B(i, j)(m) = min over c of cost(i .. c) + B(c+1, j)(m - |f_c|) + B(i, c)(m)
//                or A(i, j)(m), which drops f_j
//
// where m must hold what the pass needs at its most demanding op. A level that
// does not read f_{j-1} can also be swept first: A or B(i, j) = A(i, j-1), plus
// the cost of f_i .. f_j in A if it reads f_j.
//
// Among which plans the result is optimal: those that run the sweep's ops once
// and in order, run no forward op between two ops of one level, and keep what
// they have kept until its level has been swept ("persistent"), except that it
// may be dropped right after the level above. For chains of equal ops no plan
// with the same order is known to be better [Griewank and Walther].
//
// Points that cannot be part of a better plan than the best one known are left
// out; the first such plans come from saved sets. Tables are built coarsely at
// first, with few points per function: those still stand for real plans, and
// their cost bounds the next, finer table.
//
//===----------------------------------------------------------------------===//

#include "Chain.h"
#include "SearchTuning.h"
#include "Solution.h"

#include "llvm/ADT/Twine.h"

#include <limits>

using namespace llvm;

namespace remat::planning {

namespace {
constexpr int64_t infinite = std::numeric_limits<int64_t>::max() / 4;

/// With at least `memory` bytes it can be done at `cost`.
struct Point {
  int64_t memory, cost;
};
/// Ascending memory, descending cost.
using Steps = ArrayRef<Point>;

/// The point that holds at `memory`; null if it is too little.
const Point *lookup(Steps steps, int64_t memory) {
  const Point *next = partition_point(
      steps, [&](const Point &point) { return point.memory <= memory; });
  return next == steps.begin() ? nullptr : next - 1;
}

int64_t costAt(Steps steps, int64_t memory) {
  const Point *point = lookup(steps, memory);
  return point ? point->cost : infinite;
}

enum class State : uint8_t { A, B };

class Table {
public:
  /// Plans for at most `budget` bytes that run forward ops for at most
  /// `mostCost`. With a `precision` there is one point for each range of costs
  /// that is 1 / precision wide, relative to what is run again; 0 keeps all.
  /// Passes keep only every `stride`-th value first.
  Table(const Chain &chain, int64_t budget, int64_t mostCost,
        uint32_t precision, uint32_t stride, WorkMeter &work)
      : levels(chain.levels), budget(budget), precision(precision),
        stride(stride), work(work), top(chain.top()) {
    prefix.assign(top + 1, 0);
    for (uint32_t k = 1; k <= top; ++k)
      prefix[k] = prefix[k - 1] + levels[k].cost;
    mostAgain = mostCost >= infinite ? infinite : mostCost - prefix[top];
  }

  /// Whether it was finished. `mustFinish` only heeds interrupts.
  bool build(bool mustFinish);
  bool isExact() const { return stride == 1 && !thinned; }
  /// What the forward ops cost in the best plan; infinite if there is none.
  int64_t cost() const { return costAt(get(State::A, 1, top), budget); }
  Plan plan() const;

private:
  struct Option {
    enum Kind { Leaf, Split, SweepFirst, DropOwn } kind;
    uint32_t checkpoint = 0;
    int64_t need = 0, cost = 0;
  };

  size_t index(uint32_t i, uint32_t j) const {
    return size_t(j) * (j - 1) / 2 + (i - 1);
  }
  Steps get(State state, uint32_t i, uint32_t j) const {
    // Without a reader f_j is as good as gone.
    bool isB = state == State::B && levels[j].readsOwn;
    return tables[isB][index(i, j)];
  }

  /// Calls `visit` with every way to go on from a state, cheapest to check
  /// first, until it returns true.
  template <typename Visit>
  void forEachOption(State state, uint32_t i, uint32_t j, Visit visit) const;
  /// The functions that an option adds up: the first is shifted by `shift`.
  void operandsOf(const Option &option, State state, uint32_t i, uint32_t j,
                  Steps &first, Steps &second, int64_t &shift) const;

  void fill(State state, uint32_t i, uint32_t j);
  void include(const Option &option, Steps first, Steps second, int64_t shift,
               int64_t mostCost);
  void thin();

  const std::vector<Chain::Level> &levels;
  int64_t budget, mostAgain;
  uint32_t precision, stride;
  bool thinned = false;
  WorkMeter &work;
  uint32_t top;
  /// Costs of f_1 .. f_k.
  std::vector<int64_t> prefix;
  std::vector<std::vector<Point>> tables[2];
  size_t points = 0;
  std::vector<Point> best, merged;
};
} // namespace

template <typename Visit>
void Table::forEachOption(State state, uint32_t i, uint32_t j,
                          Visit visit) const {
  const Chain::Level &last = levels[j];
  bool hasOwn = state == State::B;
  int64_t held = last.before + (hasOwn ? last.bytes : 0);
  // The first pass runs every op for the first time.
  bool firstPass = j == top && !hasOwn;
  int64_t before = prefix[i - 1];
  int64_t passNeed = 0;
  if (!hasOwn && !last.readsOwn && !last.readsPrevious) {
    visit(Option{i == j ? Option::Leaf : Option::SweepFirst, 0, last.peak, 0});
    return;
  }
  if (i == j && (hasOwn || !last.readsOwn)) {
    visit(Option{Option::Leaf, 0, last.peak, 0});
    return;
  }
  if (hasOwn && !last.readsPrevious &&
      visit(Option{Option::SweepFirst, 0, last.peak, 0}))
    return;
  for (uint32_t c = i; c <= j && c < top; ++c) {
    const Chain::Level &level = levels[c];
    if (!firstPass && !level.again)
      break;
    passNeed = std::max(passNeed, (c > i ? levels[c - 1].bytes : 0) +
                                      level.bytes + level.scratch);
    if (held + passNeed > budget)
      break;
    int64_t cost = prefix[c] - before;
    if (c < j) {
      if (c != i && c + 1 != j && c % stride)
        continue;
      if (visit(Option{Option::Split, c, held + passNeed, cost}))
        return;
    } else if (!hasOwn && last.readsOwn && (i == j || !last.readsPrevious)) {
      if (visit(Option{i == j ? Option::Leaf : Option::SweepFirst, c,
                       std::max(held + passNeed, last.peak), cost}))
        return;
    }
  }
  if (hasOwn)
    visit(Option{Option::DropOwn, 0, 0, 0});
}

void Table::operandsOf(const Option &option, State state, uint32_t i,
                       uint32_t j, Steps &first, Steps &second,
                       int64_t &shift) const {
  static const Point nothing[] = {{0, 0}};
  first = second = nothing;
  shift = 0;
  switch (option.kind) {
  case Option::Leaf:
    return;
  case Option::Split:
    first = get(state, option.checkpoint + 1, j);
    shift = levels[option.checkpoint].bytes;
    second = get(State::B, i, option.checkpoint);
    return;
  case Option::SweepFirst:
    first = get(State::A, i, j - 1);
    return;
  case Option::DropOwn:
    first = get(State::A, i, j);
    return;
  }
}

/// Lowers `best` to what `option` reaches.
void Table::include(const Option &option, Steps first, Steps second,
                    int64_t shift, int64_t mostCost) {
  if (first.empty() || second.empty() ||
      option.cost + first.back().cost + second.back().cost > mostCost)
    return;
  int64_t memory = std::max(
      {option.need, first.front().memory + shift, second.front().memory});
  if (memory > budget)
    return;
  // Is it worse everywhere?
  int64_t lowestCost = option.cost + first.back().cost + second.back().cost;
  if (costAt(best, memory) <= lowestCost)
    return;
  const Point *a = lookup(first, memory - shift), *b = lookup(second, memory);
  merged.clear();
  const Point *old = best.data(), *oldEnd = old + best.size();
  int64_t lowest = infinite;
  auto add = [&](Point point) {
    if (point.cost >= lowest)
      return;
    lowest = point.cost;
    if (!merged.empty() && merged.back().memory == point.memory)
      merged.back() = point;
    else
      merged.push_back(point);
  };
  while (memory <= budget) {
    int64_t cost = option.cost + a->cost + b->cost;
    if (cost <= mostCost) {
      while (old != oldEnd && old->memory <= memory)
        add(*old++);
      add({memory, cost});
    }
    int64_t nextA = a + 1 == first.end() ? infinite : (a + 1)->memory + shift;
    int64_t nextB = b + 1 == second.end() ? infinite : (b + 1)->memory;
    memory = std::min(nextA, nextB);
    a += nextA == memory && nextA != infinite;
    b += nextB == memory && nextB != infinite;
  }
  while (old != oldEnd)
    add(*old++);
  // Four of these take as long as an action in a simulation.
  work.add((first.size() + second.size() + best.size()) / 4);
  best.swap(merged);
}

/// Keeps one point of each range of costs, the one with the least memory. A
/// range is `1 / precision` of the cost above the cheapest wide: so errors are
/// relative to what is recomputed at all.
void Table::thin() {
  if (!precision || best.empty())
    return;
  int64_t cheapest = best.back().cost, limit = 0;
  size_t kept = best.size();
  for (size_t p = best.size(); p-- > 0;) {
    int64_t excess = best[p].cost - cheapest;
    if (excess > limit || kept == best.size()) {
      --kept;
      while (limit < excess)
        limit += std::max<int64_t>(1, limit / precision);
    } else {
      thinned = true;
    }
    best[kept] = best[p];
  }
  best.erase(best.begin(), best.begin() + kept);
}

void Table::fill(State state, uint32_t i, uint32_t j) {
  best.clear();
  int64_t mostCost = mostAgain;
  if (j == top && mostAgain < infinite)
    mostCost += prefix[top] - prefix[i - 1];
  forEachOption(state, i, j, [&](const Option &option) {
    Steps first, second;
    int64_t shift;
    operandsOf(option, state, i, j, first, second, shift);
    include(option, first, second, shift, mostCost);
    return false;
  });
  thin();
  work.add((j - i) / 4 + 1);
  points += best.size();
  tables[state == State::B][index(i, j)] = best;
}

bool Table::build(bool mustFinish) {
  for (auto &table : tables)
    table.resize(index(1, top + 1));
  for (uint32_t length = 1; length <= top; ++length)
    for (uint32_t i = 1; i + length - 1 <= top; ++i) {
      uint32_t j = i + length - 1;
      fill(State::A, i, j);
      if (levels[j].readsOwn)
        fill(State::B, i, j);
      if (points > ChainTuning::mostPoints ||
          (mustFinish ? work.overdrawn() : work.exhausted()))
        return false;
    }
  return true;
}

Plan Table::plan() const {
  struct Task {
    enum { Solve, Forward, Sweep } kind;
    State state = State::A;
    uint32_t i = 0, j = 0;
    int64_t memory = 0;
  };
  Plan result;
  std::vector<Task> stack = {{Task::Solve, State::A, 1, top, budget}};
  while (!stack.empty()) {
    Task task = stack.back();
    stack.pop_back();
    State state = task.state;
    uint32_t i = task.i, j = task.j;
    if (task.kind == Task::Forward) {
      for (uint32_t k = i; k <= j; ++k)
        result.run(levels[k].op);
      continue;
    }
    if (task.kind == Task::Sweep) {
      for (OpId op : levels[j].sweep)
        result.run(op);
      continue;
    }
    if (!levels[j].readsOwn)
      state = State::A;
    const Point point = *lookup(get(state, i, j), task.memory);
    forEachOption(state, i, j, [&](const Option &option) {
      Steps first, second;
      int64_t shift;
      operandsOf(option, state, i, j, first, second, shift);
      if (option.need > point.memory ||
          option.cost + costAt(first, point.memory - shift) +
                  costAt(second, point.memory) !=
              point.cost)
        return false;
      // Last in, first out.
      uint32_t c = option.checkpoint;
      if (option.kind == Option::Split) {
        stack.push_back({Task::Solve, State::B, i, c, point.memory});
        stack.push_back({Task::Solve, state, c + 1, j, point.memory - shift});
      } else if (option.kind == Option::DropOwn) {
        stack.push_back({Task::Solve, State::A, i, j, point.memory});
      } else {
        if (option.kind == Option::SweepFirst)
          stack.push_back({Task::Solve, State::A, i, j - 1, point.memory});
        stack.push_back({Task::Sweep, state, i, j, 0});
      }
      if (c)
        stack.push_back({Task::Forward, state, i, c, 0});
      return true;
    });
  }
  return result;
}

Expected<Solution> planChainDp(const Problem &problem,
                               const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  Expected<Chain> chain = findChain(graph, "chain-dp");
  if (!chain)
    return chain.takeError();
  if (chain->numForward() > chainDpLimit)
    return createStringError(inconvertibleErrorCode(),
                             "planner 'chain-dp' takes at most " +
                                 Twine(chainDpLimit) + " forward ops, got " +
                                 Twine(chain->numForward()));
  // Nothing is recomputed when everything fits.
  Expected<Solution> saveAll = planSaveAll(problem, options);
  if (saveAll) {
    saveAll->solver = "chain-dp";
    return saveAll;
  }
  if (!saveAll.errorIsA<InfeasibleBudgetError>())
    return saveAll.takeError();
  consumeError(saveAll.takeError());
  int64_t budget = *problem.deviceBudget;
  budget -= std::min(budget, chain->argumentBytes);

  WorkMeter work(options, watch);
  Plan best;
  int64_t bestCost = infinite;
  // A saved set is a quick plan that is often close.
  for (auto *planQuickly : {planMinCut, planKnapsack}) {
    Expected<Solution> quick = planQuickly(problem, options);
    if (!quick) {
      consumeError(quick.takeError());
      continue;
    }
    int64_t cost = quick->cost;
    for (const Chain::Level &level : chain->levels)
      for (OpId op : level.sweep)
        cost -= problem.ops[op].cost;
    if (cost < bestCost) {
      bestCost = cost;
      best = std::move(quick->plan);
    }
  }

  // Coarse tables first: what one finds bounds what the next one looks at.
  for (auto [precision, stride] : ChainTuning::passes) {
    Table table(*chain, budget, bestCost, precision, stride, work);
    if (!table.build(/*mustFinish=*/best.actions.empty()))
      break;
    if (table.cost() >= infinite) {
      // A coarse table may miss what is cheap enough; without a bound on the
      // cost, only leaving values out makes it miss what is feasible.
      if (bestCost == infinite && stride == 1)
        break;
      continue;
    }
    bestCost = table.cost();
    best = table.plan();
    if (table.isExact())
      break;
  }
  if (bestCost == infinite && work.wasCutShort())
    return createStringError(inconvertibleErrorCode(),
                             "planner 'chain-dp' was stopped before it had a "
                             "plan");
  if (bestCost == infinite)
    return make_error<InfeasibleBudgetError>(*problem.deviceBudget, 0,
                                             std::string());
  Expected<Solution> solution =
      makeSolution(graph, std::move(best), "chain-dp", watch);
  if (solution)
    solution->cutShort = work.wasCutShort();
  return solution;
}

} // namespace remat::planning
