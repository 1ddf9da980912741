//===- FastMemorySearch.cpp - searches for schedules ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Groups are merged greedily first. Simulated annealing (Kirkpatrick, Gelatt,
// Vecchi, Science 1983) goes on from there, in rounds of twice the length of
// the one before, each from the best schedule so far. So more effort is never
// worse.
//
//===----------------------------------------------------------------------===//

#include "FastMemoryState.h"
#include "Solution.h"
#include "remat/Planning/SharedLimit.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

#include <cmath>
#include <random>
#include <set>

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;
using remat::planning::Progress;
using remat::planning::SolverOptions;
using remat::planning::Stopwatch;
using remat::planning::WorkMeter;

namespace {
struct SearchTuning {
  /// Moves of the first round of annealing.
  static constexpr size_t firstRound = 1000;
  /// Temperatures at the begin and the end of a round, as shares of the
  /// latency.
  static constexpr double hottest = 3e-3;
  static constexpr double coldest = 1e-6;
  /// The share of the largest gain that merges have which are made with it.
  static constexpr double nearlyBest = 0.9;
  /// Shares of a latency that are none.
  static constexpr double rounding = 1e-12;
  /// The share of a time limit that searches by stricter rules get.
  static constexpr double share = 0.5;
  /// Steps of work of a move, besides what is said of its groups.
  static constexpr uint64_t stepsPerMove = 100;
};

class Search {
public:
  Search(const Problem &problem, const Rules &rules,
         const SolverOptions &options)
      : problem(problem), rules(rules), options(options), meter(options, watch),
        candidates(problem, rules, meter), generator(options.seed) {
    found.lowerBound = computeLowerBound(problem, rules);
  }

  Expected<Found> run() {
    if (Error error = begin())
      return std::move(error);
    listPairs();
    mergeGreedily();
    for (size_t moves = SearchTuning::firstRound; !isOver() && !pairs.empty();
         moves *= 2)
      anneal(moves);
    return finish();
  }

private:
  bool isOver() {
    // What rounding leaves of a gap is none.
    return bestLatency - found.lowerBound <=
               std::max(options.gap, SearchTuning::rounding) * bestLatency ||
           meter.exhausted();
  }

  /// A group for each operation.
  Error begin() {
    GroupSet groups;
    for (int op = 0, end = static_cast<int>(problem.ops.size()); op < end;
         ++op) {
      Candidate *group = candidates.get({op});
      if (!group)
        return createStringError(
            "operation " + Twine(op) +
            " does not fit into fast memory, which has room for " +
            Twine(problem.capacity) +
            " elements, with any granularity that is allowed");
      groups.push_back(group);
    }
    current = groups;
    std::optional<Sequence> sequence = arrange(candidates, groups);
    currentLatency = sequence->latency;
    keep(current, currentLatency);
    return Error::success();
  }

  /// Takes groups that are better than all before.
  void keep(const GroupSet &groups, double latency) {
    best = groups;
    bestLatency = latency;
    found.secondsToBest = watch.seconds();
    if (options.onProgress) {
      Progress progress;
      progress.solver = "fast-memory";
      progress.seconds = found.secondsToBest;
      progress.time = static_cast<int64_t>(std::ceil(bestLatency));
      progress.lowerBound = static_cast<int64_t>(found.lowerBound);
      progress.baseCost = progress.lowerBound;
      options.onProgress(progress);
    }
  }

  /// The schedule of the best groups, checked.
  Expected<Found> finish() {
    found.isCutShort = meter.wasCutShort();
    found.schedule = toSchedule(candidates, *arrange(candidates, best));
    if (Error error = evaluate(problem, rules, found.schedule))
      return createStringError("internal error: " + toString(std::move(error)));
    found.seconds = watch.seconds();
    return std::move(found);
  }

  void listPairs() {
    for (size_t tensor = 0; tensor < problem.tensors.size(); ++tensor) {
      const std::vector<int> &consumers = problem.consumers[tensor];
      int producer = problem.producers[tensor];
      for (int consumer : consumers) {
        if (producer >= 0)
          pairs.push_back({producer, consumer});
        edges = pairs.size();
      }
    }
    for (const std::vector<int> &consumers : problem.consumers)
      for (auto [i, consumer] : enumerate(consumers))
        for (int other : drop_begin(consumers, i + 1))
          pairs.push_back({consumer, other});
  }

  //===--------------------------------------------------------------------===//
  // Greedy merges
  //===--------------------------------------------------------------------===//

  double getLatency(Candidate *group) {
    return candidates.getTiling(*group, {}, {})->latency;
  }

  Candidate *unite(const Candidate *left, const Candidate *right) {
    std::vector<int> ops(left->getOps());
    for (int op : right->getOps())
      if (!is_contained(ops, op))
        ops.push_back(op);
    return candidates.get(std::move(ops));
  }

  using Pair = std::pair<Candidate *, Candidate *>;

  /// Merges groups that gain most, as long as that gains. Pairs that gain
  /// nearly as much as the best one are merged at once, if they share no group.
  void mergeGreedily() {
    while (!isOver()) {
      std::vector<std::pair<double, Pair>> merges = listMerges();
      if (merges.empty())
        return;
      // Merges that cannot stand together, or one that cannot stand at all.
      while (!tryMerges(merges))
        if (merges.size() > 1) {
          merges.resize(merges.size() / 2);
        } else {
          refused.insert(merges.front().second);
          break;
        }
    }
  }

  /// The best merges, each group in one of them at most.
  std::vector<std::pair<double, Pair>> listMerges() {
    meter.add(pairs.size());
    std::vector<Candidate *> groupOf(problem.ops.size());
    for (Candidate *group : current)
      for (int op : group->getOps())
        groupOf[op] = group;
    std::vector<std::pair<double, Pair>> merges;
    for (auto [first, second] : pairs) {
      Pair pair(groupOf[first], groupOf[second]);
      if (pair.first == pair.second || refused.count(pair) > 0)
        continue;
      auto [place, isNew] = gains.try_emplace(pair);
      if (isNew) {
        if (isOver())
          break;
        Candidate *merged = unite(pair.first, pair.second);
        place->second = merged
                            ? getLatency(pair.first) + getLatency(pair.second) -
                                  getLatency(merged)
                            : 0;
      }
      if (place->second > 0)
        merges.push_back({place->second, pair});
    }
    llvm::stable_sort(merges, [](const auto &left, const auto &right) {
      return left.first > right.first;
    });
    std::set<Candidate *> isTaken;
    double least =
        merges.empty() ? 0 : SearchTuning::nearlyBest * merges.front().first;
    erase_if(merges, [&](const auto &merge) {
      auto [left, right] = merge.second;
      if (merge.first < least || isTaken.count(left) || isTaken.count(right))
        return true;
      isTaken.insert({left, right});
      return false;
    });
    return merges;
  }

  bool tryMerges(ArrayRef<std::pair<double, Pair>> merges) {
    std::set<Candidate *> isMerged;
    GroupSet next;
    for (const auto &[gain, pair] : merges) {
      isMerged.insert({pair.first, pair.second});
      next.push_back(unite(pair.first, pair.second));
    }
    for (Candidate *group : current)
      if (!isMerged.count(group))
        next.push_back(group);
    return take(next, /*temperature=*/0);
  }

  //===--------------------------------------------------------------------===//
  // Annealing
  //===--------------------------------------------------------------------===//

  size_t draw(size_t count) { return generator() % count; }
  double drawUnit() { return static_cast<double>(generator() >> 11) * 0x1p-53; }

  /// Goes to other groups if they are better, or by chance.
  bool take(const GroupSet &groups, double temperature) {
    std::optional<Sequence> sequence = arrange(candidates, groups);
    if (!sequence)
      return false;
    double increase = sequence->latency - currentLatency;
    if (increase > 0 &&
        (temperature <= 0 || drawUnit() >= std::exp(-increase / temperature)))
      return false;
    current = groups;
    currentLatency = sequence->latency;
    if (currentLatency < bestLatency * (1 - SearchTuning::rounding))
      keep(current, currentLatency);
    return true;
  }

  void anneal(size_t moves) {
    current = best;
    currentLatency = bestLatency;
    for (size_t i = 0; i < moves && !isOver(); ++i) {
      double progress = static_cast<double>(i) / static_cast<double>(moves);
      double temperature =
          bestLatency * SearchTuning::hottest *
          std::pow(SearchTuning::coldest / SearchTuning::hottest, progress);
      candidates.forget(best, current);
      std::optional<GroupSet> next = change();
      if (next)
        take(*next, temperature);
      meter.add(SearchTuning::stepsPerMove);
    }
  }

  Candidate *drawGroupOf(int op) {
    SmallVector<Candidate *, 4> groups;
    for (Candidate *group : current)
      if (is_contained(group->getOps(), op))
        groups.push_back(group);
    return groups[draw(groups.size())];
  }

  /// Replaces groups by sets of operations, each of which becomes as many
  /// groups as it has parts that share nothing.
  std::optional<GroupSet> replace(ArrayRef<Candidate *> old,
                                  ArrayRef<std::vector<int>> sets) {
    GroupSet groups;
    for (Candidate *group : current)
      if (!is_contained(old, group))
        groups.push_back(group);
    for (const std::vector<int> &set : sets)
      for (std::vector<int> &part : findParts(set)) {
        Candidate *group = candidates.get(std::move(part));
        if (!group)
          return std::nullopt;
        if (!is_contained(groups, group))
          groups.push_back(group);
      }
    return groups;
  }

  std::vector<std::vector<int>> findParts(ArrayRef<int> ops) {
    std::vector<std::vector<int>> parts;
    std::vector<int> rest(ops);
    while (!rest.empty()) {
      std::vector<int> part = {rest.back()};
      rest.pop_back();
      for (size_t i = 0; i < part.size(); ++i)
        for (size_t j = rest.size(); j-- > 0;)
          if (shareTensor(part[i], rest[j])) {
            part.push_back(rest[j]);
            rest.erase(rest.begin() + static_cast<ptrdiff_t>(j));
          }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  bool shareTensor(int left, int right) const {
    const Op &a = problem.ops[left], &b = problem.ops[right];
    return any_of(a.inputs,
                  [&](int tensor) {
                    return is_contained(b.inputs, tensor) ||
                           is_contained(b.outputs, tensor);
                  }) ||
           any_of(a.outputs,
                  [&](int tensor) { return is_contained(b.inputs, tensor); });
  }

  static std::vector<int> without(ArrayRef<int> ops, int op) {
    std::vector<int> rest(ops);
    erase(rest, op);
    return rest;
  }

  static std::vector<int> with(ArrayRef<int> ops, int op) {
    std::vector<int> more(ops);
    if (!is_contained(more, op))
      more.push_back(op);
    return more;
  }

  std::optional<GroupSet> change() {
    size_t kind = draw(10);
    if (kind < 2)
      return split(kind == 0);
    if (kind == 2)
      return dropRepetition();
    if (kind == 3)
      return mergeReaders();
    size_t siblings = pairs.size() - edges;
    bool isEdge = siblings == 0 || (edges > 0 && draw(3) > 0);
    auto [first, second] = pairs[isEdge ? draw(edges) : edges + draw(siblings)];
    Candidate *left = drawGroupOf(first), *right = drawGroupOf(second);
    if (left == right)
      return std::nullopt;
    if (kind < 6) {
      std::vector<int> all(left->getOps());
      for (int op : right->getOps())
        all = with(all, op);
      // Others may still read what the first one makes.
      if (draw(4) == 0)
        return replace({right}, {all});
      return replace({left, right}, {all});
    }
    if (kind == 6)
      return replace({right}, {with(right->getOps(), first)});
    if (kind == 7)
      return replace({left, right}, {with(left->getOps(), second),
                                     without(right->getOps(), second)});
    if (kind == 8)
      return replace({left, right}, {without(left->getOps(), first),
                                     with(right->getOps(), first)});
    // Swaps which operations go with the pair.
    return replace({left, right}, {std::vector<int>{first, second},
                                   without(left->getOps(), first),
                                   without(right->getOps(), second)});
  }

  /// Takes an operation out of a group, or cuts the group in two.
  std::optional<GroupSet> split(bool isCut) {
    Candidate *group = current[draw(current.size())];
    ArrayRef<int> ops = group->getOps();
    if (ops.size() == 1)
      return std::nullopt;
    if (isCut) {
      size_t place = 1 + draw(ops.size() - 1);
      return replace({group}, {std::vector<int>(ops.take_front(place)),
                               std::vector<int>(ops.drop_front(place))});
    }
    int op = ops[draw(ops.size())];
    return replace({group}, {without(ops, op), {op}});
  }

  /// Takes an operation out of a group that others run, too.
  std::optional<GroupSet> dropRepetition() {
    std::vector<int> counts(problem.ops.size());
    std::vector<std::pair<Candidate *, int>> repeated;
    for (Candidate *group : current)
      for (int op : group->getOps())
        ++counts[op];
    for (Candidate *group : current)
      for (int op : group->getOps())
        if (counts[op] > 1)
          repeated.push_back({group, op});
    if (repeated.empty())
      return std::nullopt;
    auto [group, op] = repeated[draw(repeated.size())];
    return replace({group}, {without(group->getOps(), op)});
  }

  /// Merges the groups of several operations that read the same tensor.
  std::optional<GroupSet> mergeReaders() {
    const std::vector<int> &consumers =
        problem.consumers[draw(problem.tensors.size())];
    if (consumers.size() < 3)
      return std::nullopt;
    size_t count = 2 + draw(consumers.size() - 1);
    size_t first = draw(consumers.size());
    SmallVector<Candidate *, 8> groups;
    std::vector<int> all;
    for (size_t i = 0; i < count; ++i) {
      int op = consumers[(first + i) % consumers.size()];
      Candidate *group = drawGroupOf(op);
      if (is_contained(groups, group))
        continue;
      groups.push_back(group);
      for (int member : group->getOps())
        all = with(all, member);
    }
    if (groups.size() < 2)
      return std::nullopt;
    return replace(groups, {all});
  }

  const Problem &problem;
  const Rules &rules;
  const SolverOptions &options;
  Stopwatch watch;
  WorkMeter meter;
  Candidates candidates;
  std::mt19937_64 generator;
  /// Operations that share a tensor: first the pairs of one that makes it and
  /// one that reads it, so many as `edges` says, then those of two that read
  /// it.
  std::vector<std::pair<int, int>> pairs;
  size_t edges = 0;
  /// What merges gain, and those that cannot stand.
  std::map<Pair, double> gains;
  std::set<Pair> refused;
  GroupSet current;
  double currentLatency = 0;
  GroupSet best;
  double bestLatency = 0;
  Found found;
};
} // namespace

/// The rules with the most tiles whose schedules all stand by `rules` as well,
/// and take no longer.
static std::optional<Rules> getStricter(Rules rules) {
  switch (rules.tiles) {
  case TileRule::Native:
    return std::nullopt;
  case TileRule::AnyDepth:
    rules.tiles = TileRule::Native;
    return rules;
  case TileRule::Passes:
    rules.tiles = TileRule::AnyDepth;
    return rules;
  case TileRule::OnePass:
    rules.tiles = TileRule::Passes;
    return rules;
  }
  llvm_unreachable("all rules are covered");
}

Expected<Found> fastmemory::findSchedule(const Problem &problem,
                                         const Rules &rules,
                                         const SolverOptions &options) {
  std::optional<Rules> stricter = getStricter(rules);
  if (!stricter)
    return Search(problem, rules, options).run();
  // A search among more tiles may end with a slower schedule.
  Stopwatch watch;
  SharedLimit limit(options);
  Expected<Found> few = findSchedule(problem, *stricter,
                                     limit.give(options, SearchTuning::share));
  double begin = watch.seconds();
  Expected<Found> all = Search(problem, rules, limit.give(options)).run();
  if (!few || !all) {
    consumeError(few.takeError());
    return all;
  }
  if (Error error = evaluate(problem, rules, few->schedule))
    return std::move(error);
  all->secondsToBest += begin;
  all->isCutShort |= few->isCutShort;
  if (few->schedule.getLatency() < all->schedule.getLatency()) {
    all->schedule = std::move(few->schedule);
    all->secondsToBest = few->secondsToBest;
  }
  all->seconds = watch.seconds();
  return all;
}
