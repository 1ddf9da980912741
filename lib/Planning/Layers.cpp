//===- Layers.cpp - parts of a graph that repeat --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing here trusts a hash with more than a guess: before layers are left
// out, their ops are compared one by one.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "Residency.h"
#include "SearchTuning.h"
#include "SimulateInto.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace llvm;

namespace remat::planning {

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15;
  return hash ^ (hash >> 29);
}

/// What an op is by itself.
static uint64_t ownColour(const Graph &graph, OpId op) {
  const Op &data = graph.problem.ops[op];
  uint64_t hash = mix(mix(data.cost, data.workspace), data.hostWorkspace);
  hash = mix(hash, data.absorbedCost.value_or(-1));
  for (OpId absorber : data.absorbers)
    hash = mix(hash, absorber - op);
  hash = mix(hash, data.backward + 2 * data.recomputable);
  for (ValueId result : graph.results(op)) {
    hash = mix(hash, graph.bytes(result));
    hash = mix(hash, graph.isOutput(result) + 2 * graph.runsOnce(op) +
                         4 * uint64_t(graph.policy(result)));
  }
  return mix(hash, graph.operands(op).size());
}

/// Colours of ops: refined by those of what they read, in order, and of what
/// reads them, in any.
static std::vector<uint64_t> findColours(const Graph &graph) {
  std::vector<uint64_t> colours(graph.numOps());
  for (OpId op = 0; op < graph.numOps(); ++op)
    colours[op] = ownColour(graph, op);
  for (unsigned round = 0; round < LayersTuning::radius; ++round) {
    std::vector<uint64_t> refined(graph.numOps());
    for (OpId op = 0; op < graph.numOps(); ++op) {
      uint64_t hash = colours[op];
      for (ValueId operand : graph.operands(op))
        hash = mix(hash, graph.isArgument(operand)
                             ? graph.bytes(operand)
                             : colours[graph.producer(operand)]);
      uint64_t readers = 0;
      for (ValueId result : graph.results(op))
        for (OpId reader : graph.readers(result))
          readers += mix(1, colours[reader]);
      refined[op] = mix(hash, readers);
    }
    colours = std::move(refined);
  }
  return colours;
}

namespace {
/// Ops from `begin`, of which each looks like the one `period` later, for
/// `count` periods.
struct Run {
  OpId begin = 0;
  uint32_t period = 0, count = 0;
  size_t covered() const { return size_t(period) * count; }
};
} // namespace

/// Distances between ops of the same colour, the most frequent first.
static std::vector<uint32_t> findPeriods(ArrayRef<uint64_t> colours) {
  DenseMap<uint64_t, OpId> last;
  std::map<uint32_t, size_t> votes;
  for (auto [op, colour] : enumerate(colours)) {
    // The map keeps two keys for itself.
    auto [it, isNew] = last.try_emplace(colour >> 2, op);
    if (!isNew)
      ++votes[op - it->second];
    it->second = op;
  }
  std::vector<std::pair<uint32_t, size_t>> order(votes.begin(), votes.end());
  llvm::sort(order, [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::vector<uint32_t> periods;
  for (const auto &[period, count] :
       ArrayRef(order).take_front(LayersTuning::mostPeriods))
    periods.push_back(period);
  return periods;
}

/// The run that covers the most ops of which none is taken.
static Run findRun(ArrayRef<uint64_t> colours, ArrayRef<uint32_t> periods,
                   const std::vector<bool> &taken) {
  Run best;
  for (uint32_t period : periods) {
    size_t length = 0;
    for (OpId op = 0; op + period < colours.size(); ++op) {
      bool repeats = colours[op] == colours[op + period] && !taken[op] &&
                     !taken[op + period];
      length = repeats ? length + 1 : 0;
      Run run{OpId(op + 1 - length), period, uint32_t(length / period + 1)};
      if (length && run.count >= LayersTuning::leastLayers &&
          (run.covered() > best.covered() ||
           (run.covered() == best.covered() && period < best.period)))
        best = run;
    }
  }
  return best;
}

/// How the layers of a run are numbered, by the edges between it and what has
/// its number: `offset` + or - the number in the run. False if no edge tells.
static bool match(const Graph &graph, const Run &run, ArrayRef<int64_t> layerOf,
                  int64_t &offset, int64_t &sign) {
  std::map<std::pair<int64_t, int64_t>, size_t> votes;
  for (size_t i = 0; i < run.covered(); ++i) {
    int64_t number = int64_t(i / run.period);
    auto vote = [&](OpId other) {
      if (other == noOp || layerOf[other] == Layering::none)
        return;
      ++votes[{1, layerOf[other] - number}];
      ++votes[{-1, layerOf[other] + number}];
    };
    OpId op = run.begin + i;
    for (ValueId operand : graph.operands(op))
      vote(graph.producer(operand));
    for (ValueId result : graph.results(op))
      for (OpId reader : graph.readers(result))
        vote(reader);
  }
  size_t most = 0;
  for (const auto &[key, count] : votes)
    if (count > most) {
      most = count;
      std::tie(sign, offset) = key;
    }
  return most >= run.count / 2;
}

Layering findLayers(const Graph &graph) {
  Layering layering;
  layering.layerOf.assign(graph.numOps(), Layering::none);
  layering.roleOf.assign(graph.numOps(), Layering::none);
  std::vector<uint64_t> colours = findColours(graph);
  std::vector<uint32_t> periods = findPeriods(colours);
  std::vector<bool> taken(graph.numOps(), false);
  std::vector<int64_t> layerOf(graph.numOps(), Layering::none);
  int64_t first = 0, end = 0;
  for (size_t i = 0; i < LayersTuning::mostRuns; ++i) {
    Run run = findRun(colours, periods, taken);
    if (run.count == 0)
      break;
    std::fill_n(taken.begin() + run.begin, run.covered(), true);
    int64_t offset = 0, sign = 1;
    if (end == 0)
      end = run.count;
    else if (!match(graph, run, layerOf, offset, sign))
      continue;
    int64_t lowest = sign > 0 ? offset : offset - run.count + 1;
    int64_t from = std::max(first, lowest);
    int64_t to = std::min(end, lowest + run.count);
    // A run that hardly overlaps is something else.
    if (to - from <
        std::max<int64_t>(LayersTuning::leastLayers, (end - first) / 2))
      continue;
    first = from;
    end = to;
    uint32_t role = layering.ops.size();
    layering.ops.resize(role + run.period);
    for (size_t j = 0; j < run.covered(); ++j) {
      layerOf[run.begin + j] = offset + sign * int64_t(j / run.period);
      layering.roleOf[run.begin + j] = role + j % run.period;
    }
  }
  layering.count = uint32_t(end - first);
  for (std::vector<OpId> &ops : layering.ops)
    ops.resize(layering.count, noOp);
  for (OpId op = 0; op < graph.numOps(); ++op) {
    if (layerOf[op] == Layering::none || layerOf[op] < first ||
        layerOf[op] >= end) {
      layering.roleOf[op] = Layering::none;
      continue;
    }
    layering.layerOf[op] = uint32_t(layerOf[op] - first);
    layering.ops[layering.roleOf[op]][layering.layerOf[op]] = op;
  }
  return layering;
}

//===----------------------------------------------------------------------===//
// Leaving out
//===----------------------------------------------------------------------===//

namespace {
/// Builds a reduced problem.
class Reducer {
public:
  Reducer(const Graph &graph, const Layering &layering, uint32_t keep)
      : graph(graph), layering(layering), keep(keep), front((keep + 1) / 2),
        skipped(layering.count - keep) {}

  bool isRegular() const;
  std::optional<ReducedProblem> build();

private:
  bool areAlike(OpId op, OpId next) const;
  bool areAlike(ValueId operand, ValueId next, OpId op) const;
  /// The layer of the reduced problem; `none` if it was left out.
  uint32_t reducedLayer(uint32_t layer) const {
    if (layer < front)
      return layer;
    return layer < front + skipped ? Layering::none : layer - skipped;
  }
  OpId opFor(OpId reader, OpId producer) const;
  bool addOp(OpId op);
  std::optional<int64_t> shareBudget() const;

  const Graph &graph;
  const Layering &layering;
  uint32_t keep, front, skipped;
  ReducedProblem result;
  std::vector<ValueId> values;
};
} // namespace

/// Whether two operands of the same role in neighbouring layers are the same
/// from there: both outside, or as many layers away.
bool Reducer::areAlike(ValueId operand, ValueId next, OpId op) const {
  if (graph.isArgument(operand) || graph.isArgument(next))
    return graph.isArgument(operand) == graph.isArgument(next) &&
           graph.bytes(operand) == graph.bytes(next);
  OpId from = graph.producer(operand), to = graph.producer(next);
  if (layering.roleOf[from] != layering.roleOf[to])
    return false;
  if (layering.roleOf[from] == Layering::none)
    return operand == next;
  int64_t layer = layering.layerOf[op];
  return layering.layerOf[to] == layering.layerOf[from] + 1 &&
         std::abs(int64_t(layering.layerOf[from]) - layer) <=
             int64_t(keep / 2) &&
         llvm::find(graph.results(from), operand) -
                 graph.results(from).begin() ==
             llvm::find(graph.results(to), next) - graph.results(to).begin();
}

bool Reducer::areAlike(OpId op, OpId next) const {
  const Op &a = graph.problem.ops[op], &b = graph.problem.ops[next];
  ArrayRef<ValueId> reads = graph.operands(op), others = graph.operands(next);
  if (a.cost != b.cost || a.workspace != b.workspace ||
      a.hostWorkspace != b.hostWorkspace || a.backward != b.backward ||
      a.results.size() != b.results.size() ||
      graph.runsOnce(op) != graph.runsOnce(next) ||
      reads.size() != others.size())
    return false;
  for (auto [result, other] : zip(a.results, b.results))
    if (graph.bytes(result) != graph.bytes(other) ||
        graph.isOutput(result) != graph.isOutput(other) ||
        graph.policy(result) != graph.policy(other))
      return false;
  for (auto [operand, other] : zip(reads, others))
    if (!areAlike(operand, other, op))
      return false;
  return true;
}

/// Whether all layers that are left out, and their neighbours, are equal.
bool Reducer::isRegular() const {
  for (const std::vector<OpId> &ops : layering.ops)
    for (uint32_t layer = front - 1; layer < front + skipped; ++layer)
      if (!areAlike(ops[layer], ops[layer + 1]))
        return false;
  return true;
}

/// The op whose results take the place of those of `producer` in what `reader`
/// reads; `noOp` if nothing does.
OpId Reducer::opFor(OpId reader, OpId producer) const {
  if (layering.roleOf[producer] == Layering::none)
    return producer;
  uint32_t layer = layering.layerOf[producer];
  if (layering.roleOf[reader] == Layering::none)
    return reducedLayer(layer) == Layering::none ? noOp : producer;
  int64_t wanted = int64_t(reducedLayer(layering.layerOf[reader])) +
                   int64_t(layer) - int64_t(layering.layerOf[reader]);
  if (wanted < 0 || wanted >= keep)
    return noOp;
  return layering.ops[layering.roleOf[producer]][result.layers[wanted]];
}

/// False if something that it reads is not there.
bool Reducer::addOp(OpId op) {
  Op copy = graph.problem.ops[op];
  bool isOutside = layering.roleOf[op] == Layering::none;
  copy.operands.clear();
  for (ValueId operand : graph.operands(op)) {
    if (graph.isArgument(operand)) {
      copy.operands.push_back(values[operand]);
      continue;
    }
    OpId producer = graph.producer(operand);
    OpId found = opFor(op, producer);
    if (found == noOp && isOutside)
      continue;
    if (found == noOp || result.reduced[found] == noOp)
      return false;
    size_t index = llvm::find(graph.results(producer), operand) -
                   graph.results(producer).begin();
    copy.operands.push_back(values[graph.results(found)[index]]);
  }
  copy.results.clear();
  result.reduced[op] = result.problem.ops.size();
  result.original.push_back(op);
  for (ValueId value : graph.results(op)) {
    values[value] = result.problem.values.size();
    copy.results.push_back(values[value]);
    Value made = graph.problem.values[value];
    // Views are not needed: roots have what theirs say.
    made.policy = graph.policy(value);
    made.isOutput = graph.isOutput(value);
    made.producer = result.reduced[op];
    result.problem.values.push_back(std::move(made));
  }
  result.problem.ops.push_back(std::move(copy));
  return true;
}

/// Of what the layers have for what they keep, the part of those that are kept.
std::optional<int64_t> Reducer::shareBudget() const {
  if (!graph.problem.deviceBudget)
    return std::nullopt;
  Graph reduced(result.problem);
  Simulation whole, part;
  Error error = simulateInto(graph, saveAllPlan(graph), whole);
  if (!error)
    error = simulateInto(reduced, saveAllPlan(reduced), part);
  if (error) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  int64_t over = whole.peakBytes - *graph.problem.deviceBudget;
  if (part.peakBytes >= whole.peakBytes || over <= 0)
    return std::nullopt;
  return part.peakBytes - int64_t(__int128(over) * keep / layering.count);
}

std::optional<ReducedProblem> Reducer::build() {
  const Problem &problem = graph.problem;
  for (uint32_t layer = 0; layer < layering.count; ++layer)
    if (reducedLayer(layer) != Layering::none)
      result.layers.push_back(layer);
  result.problem.name = problem.name;
  result.reduced.assign(graph.numOps(), noOp);
  values.assign(graph.numValues(), noValue);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (!graph.isArgument(value))
      continue;
    values[value] = result.problem.values.size();
    result.problem.values.push_back(problem.values[value]);
  }
  for (OpId op = 0; op < graph.numOps(); ++op) {
    uint32_t layer = layering.layerOf[op];
    if (layer != Layering::none && reducedLayer(layer) == Layering::none)
      continue;
    if (!addOp(op))
      return std::nullopt;
  }
  for (Op &op : result.problem.ops)
    renumberAbsorbers(op,
                      [&](OpId absorber) { return result.reduced[absorber]; });
  std::optional<int64_t> budget = shareBudget();
  if (!budget || *budget < 0)
    return std::nullopt;
  result.problem.deviceBudget = budget;
  if (Error error = check(result.problem)) {
    consumeError(std::move(error));
    return std::nullopt;
  }
  return std::move(result);
}

std::optional<ReducedProblem>
leaveLayersOut(const Graph &graph, const Layering &layering, uint32_t keep) {
  if (keep < 2 || keep >= layering.count)
    return std::nullopt;
  Reducer reducer(graph, layering, keep);
  if (!reducer.isRegular())
    return std::nullopt;
  return reducer.build();
}

} // namespace remat::planning
