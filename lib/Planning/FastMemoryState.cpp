//===- FastMemoryState.cpp - schedules under search -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMemoryState.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>
#include <set>

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;
using remat::planning::WorkMeter;

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

namespace {
struct CandidateTuning {
  /// Operations of a group. One of more would gain little, and takes memory for
  /// each that was looked at on the way to it.
  static constexpr size_t maxOps = 256;
  /// Groups that are remembered: some kilobytes each.
  static constexpr size_t maxGroups = 50000;
};
} // namespace

/// The position of each operation in an order in which they can run.
static std::vector<int> rankOps(const Problem &problem) {
  std::vector<int> ranks(problem.ops.size(), -1);
  int next = 0;
  // A stack: an operation stands twice on it, before and behind its operands.
  std::vector<int> stack;
  for (int root = 0, end = static_cast<int>(ranks.size()); root < end; ++root) {
    stack.push_back(root);
    while (!stack.empty()) {
      int op = stack.back();
      size_t size = stack.size();
      if (ranks[op] < 0)
        for (int input : problem.ops[op].inputs) {
          int producer = problem.producers[input];
          if (producer >= 0 && ranks[producer] < 0)
            stack.push_back(producer);
        }
      if (stack.size() > size)
        continue;
      stack.pop_back();
      if (ranks[op] < 0)
        ranks[op] = next++;
    }
  }
  return ranks;
}

Candidates::Candidates(const Problem &problem, const Rules &rules,
                       WorkMeter &meter)
    : problem(problem), rules(rules), meter(meter), ranks(rankOps(problem)) {}

Candidate *Candidates::get(std::vector<int> ops) {
  if (ops.size() > CandidateTuning::maxOps)
    return nullptr;
  sort(ops, [&](int left, int right) { return ranks[left] < ranks[right]; });
  auto [place, isNew] = groups.try_emplace(ops);
  if (!isNew)
    return place->second.get();
  meter.add(ops.size());
  Expected<GroupModel> model = GroupModel::create(problem, rules, ops);
  if (!model) {
    consumeError(model.takeError());
    return nullptr;
  }
  auto group = std::make_unique<Candidate>();
  group->ops = std::move(ops);
  group->model = std::make_unique<GroupModel>(std::move(*model));
  if (!getTiling(*group, {}, {}))
    return nullptr;
  place->second = std::move(group);
  return place->second.get();
}

void Candidates::forget(const GroupSet &kept, const GroupSet &alsoKept) {
  if (groups.size() < CandidateTuning::maxGroups)
    return;
  forms.clear();
  for (auto place = groups.begin(); place != groups.end();) {
    Candidate *group = place->second.get();
    bool isKept = is_contained(kept, group) || is_contained(alsoKept, group);
    place = isKept ? std::next(place) : groups.erase(place);
  }
}

/// The form of a group: the same for groups whose tilings are the same.
std::vector<int64_t> Candidates::describe(const Candidate &group,
                                          ArrayRef<int> found,
                                          ArrayRef<int> left) const {
  std::vector<int64_t> form;
  std::map<int, int64_t> numbers;
  auto addTensor = [&](int tensor) {
    auto [place, isNew] =
        numbers.try_emplace(tensor, static_cast<int64_t>(numbers.size()));
    form.push_back(place->second);
    if (!isNew)
      return;
    const Tensor &shape = problem.tensors[tensor];
    // Whether it is a result of the group follows from the form.
    form.insert(form.end(),
                {shape.width, shape.height, is_contained(found, tensor),
                 is_contained(left, tensor)});
  };
  for (int index : group.ops) {
    const Op &op = problem.ops[index];
    form.insert(form.end(),
                {op.isProduct, op.cost, static_cast<int64_t>(op.inputs.size()),
                 static_cast<int64_t>(op.outputs.size())});
    for_each(op.inputs, addTensor);
    for_each(op.outputs, addTensor);
  }
  // What is found and not read takes room.
  for (int tensor : found)
    if (numbers.find(tensor) == numbers.end())
      form.insert(form.end(), {-1, problem.tensors[tensor].size()});
  return form;
}

const std::optional<Tiling> &Candidates::getTiling(Candidate &group,
                                                   std::vector<int> found,
                                                   std::vector<int> left) {
  auto [place, isNew] = group.tilings.try_emplace(
      Candidate::Residents(std::move(found), std::move(left)));
  if (!isNew)
    return place->second;
  const auto &[foundKey, leftKey] = place->first;
  auto [form, isNewForm] =
      forms.try_emplace(describe(group, foundKey, leftKey));
  if (isNewForm)
    form->second =
        findTiling(problem, rules, *group.model, {foundKey, leftKey}, meter);
  place->second = form->second;
  return place->second;
}

//===----------------------------------------------------------------------===//
// Their order
//===----------------------------------------------------------------------===//

namespace {
struct SequenceTuning {
  /// Steps of work of a group that is put in order.
  static constexpr uint64_t stepsPerGroup = 20;
};

class Arranger {
public:
  Arranger(Candidates &candidates, const GroupSet &groups)
      : candidates(candidates), problem(candidates.getProblem()),
        groups(groups), readers(problem.tensors.size()) {
    for (auto [i, group] : enumerate(groups))
      for (int input : group->getInputs())
        readers[input].push_back(i);
  }

  std::optional<Sequence> run() {
    candidates.getMeter().add(SequenceTuning::stepsPerGroup * groups.size());
    if (!order())
      return std::nullopt;
    return chooseLeft();
  }

private:
  /// Whether a tensor may be left for a group that is the only one to read it.
  bool canBeLeft(int tensor) const {
    return !problem.isOutput(tensor) && readers[tensor].size() <= 1 &&
           problem.tensors[tensor].size() <= problem.capacity;
  }

  /// A group that can run, by the position of its first operation.
  using Ready = std::set<std::pair<int, size_t>>;

  Ready::value_type getKey(size_t group) const {
    int first = groups[group]->getOps().front();
    return {candidates.getRanks()[first], group};
  }

  /// Of the groups that are ready, the one that reads most of what the last one
  /// may leave, or else the first one.
  Ready::iterator preferReader(const Candidate &last,
                               const Ready &ready) const {
    std::map<size_t, int64_t> kept;
    for (int result : last.getResults())
      if (canBeLeft(result))
        for (size_t reader : readers[result])
          kept[reader] += problem.tensors[result].size();
    auto best = ready.begin();
    int64_t most = 0;
    for (auto [reader, elements] : kept) {
      auto place = ready.find(getKey(reader));
      if (place != ready.end() &&
          (elements > most || (elements == most && *place < *best))) {
        best = place;
        most = elements;
      }
    }
    return best;
  }

  /// Orders groups behind what they read. One that reads what the last one made
  /// comes next, if that could stay in fast memory; else the one whose first
  /// operation is first.
  bool order() {
    std::vector<size_t> missing(groups.size());
    std::vector<bool> isMade(problem.tensors.size());
    Ready ready;
    for (auto [i, group] : enumerate(groups)) {
      missing[i] = count_if(group->getInputs(),
                            [&](int input) { return !problem.isInput(input); });
      if (missing[i] == 0)
        ready.insert(getKey(i));
    }
    while (!ready.empty()) {
      auto next = ready.begin();
      if (!sequence.groups.empty())
        next = preferReader(*sequence.groups.back(), ready);
      Candidate *group = groups[next->second];
      ready.erase(next);
      sequence.groups.push_back(group);
      for (int result : group->getResults()) {
        if (isMade[result])
          continue;
        isMade[result] = true;
        for (size_t reader : readers[result])
          if (--missing[reader] == 0)
            ready.insert(getKey(reader));
      }
    }
    return sequence.groups.size() == groups.size();
  }

  /// What a group may leave for the next one: nothing, single tensors, or all.
  std::vector<std::vector<int>> listLeft(size_t index) const {
    std::vector<std::vector<int>> choices(1);
    if (index + 1 == sequence.groups.size())
      return choices;
    std::vector<int> all;
    const Candidate *next = sequence.groups[index + 1];
    for (int result : sequence.groups[index]->getResults())
      // A result that nothing reads is left only for it not to be written.
      if (canBeLeft(result) &&
          (readers[result].empty() || is_contained(next->getInputs(), result)))
        all.push_back(result);
    if (all.empty())
      return choices;
    if (all.size() > 1)
      for (int tensor : all)
        choices.push_back({tensor});
    choices.push_back(std::move(all));
    return choices;
  }

  /// The least time over all choices of what is left, by dynamic programming
  /// over the sequence.
  std::optional<Sequence> chooseLeft() {
    struct Step {
      std::vector<std::vector<int>> choices;
      std::vector<double> latencies;
      std::vector<size_t> before;
    };
    constexpr double infinity = std::numeric_limits<double>::infinity();
    std::vector<Step> steps(sequence.groups.size() + 1);
    steps[0] = {{{}}, {0}, {0}};
    for (size_t i = 0; i < sequence.groups.size(); ++i) {
      Step &step = steps[i + 1];
      step.choices = listLeft(i);
      for (const std::vector<int> &left : step.choices) {
        double best = infinity;
        size_t bestBefore = 0;
        for (auto [before, found] : enumerate(steps[i].choices)) {
          double latency = steps[i].latencies[before];
          if (latency == infinity)
            continue;
          const std::optional<Tiling> &tiling =
              candidates.getTiling(*sequence.groups[i], found, left);
          if (tiling && latency + tiling->latency < best) {
            best = latency + tiling->latency;
            bestBefore = before;
          }
        }
        step.latencies.push_back(best);
        step.before.push_back(bestBefore);
      }
    }
    sequence.latency = steps.back().latencies.front();
    if (sequence.latency == infinity)
      return std::nullopt;
    sequence.left.resize(sequence.groups.size());
    size_t choice = 0;
    for (size_t i = sequence.groups.size(); i-- > 0;) {
      sequence.left[i] = steps[i + 1].choices[choice];
      choice = steps[i + 1].before[choice];
    }
    return std::move(sequence);
  }

  Candidates &candidates;
  const Problem &problem;
  const GroupSet &groups;
  /// The groups that read each tensor.
  std::vector<SmallVector<size_t, 2>> readers;
  Sequence sequence;
};
} // namespace

std::optional<Sequence> fastmemory::arrange(Candidates &candidates,
                                            const GroupSet &groups) {
  return Arranger(candidates, groups).run();
}

Schedule fastmemory::toSchedule(Candidates &candidates,
                                const Sequence &sequence) {
  Schedule schedule;
  std::vector<int> found;
  for (auto [candidate, left] : zip(sequence.groups, sequence.left)) {
    const Tiling &tiling = *candidates.getTiling(*candidate, found, left);
    Group group;
    group.ops = candidate->getOps();
    group.granularity = tiling.granularity;
    group.retained = left;
    group.latency = tiling.latency;
    if (tiling.traversal != Traversal::Raster) {
      const Tensor &shape =
          candidates.getProblem().tensors[candidate->getResults().front()];
      group.order = listTiles(
          tiling.traversal, divideCeil(shape.height, tiling.granularity.height),
          divideCeil(shape.width, tiling.granularity.width));
    }
    schedule.groups.push_back(std::move(group));
    found = left;
  }
  return schedule;
}
