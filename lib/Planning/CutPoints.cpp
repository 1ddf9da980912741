//===- CutPoints.cpp - parts that share one value -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where everything that comes later reads only one value of what came before,
// that value is an articulation point of the graph: what is done about the
// memory on one side does nothing for the other. Such parts are problems of
// their own.
//
//===----------------------------------------------------------------------===//

#include "Residency.h"
#include "SimulateInto.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

namespace {
/// When a root is needed: from before the op `first` to that of `last`,
/// inclusive; numOps() is the end.
struct Life {
  OpId first = noOp, last = 0;
};

class Splitter {
public:
  explicit Splitter(const Graph &graph) : graph(graph) { findLives(); }

  /// The first op of each part. A value that is still read where not everything
  /// fits is not shared: it may have to be made again there. `liveBytes` are
  /// those of the ops, once each.
  std::vector<OpId> findParts(llvm::ArrayRef<int64_t> liveBytes) const;
  /// The problem of the ops from `begin` to `end`, and the op ids of the whole.
  Problem partOf(OpId begin, OpId end) const;

private:
  void findLives();
  bool isRoot(ValueId value) const {
    return graph.problem.values[value].viewOf == noValue;
  }

  const Graph &graph;
  std::vector<Life> lives;
};
} // namespace

void Splitter::findLives() {
  lives.resize(graph.numValues());
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    ArrayRef<OpId> readers = graph.readers(value);
    bool isUnused = graph.isArgument(value) && readers.empty();
    if (!isRoot(value) || (isUnused && !graph.isOutput(value)))
      continue;
    lives[value].first = graph.isArgument(value) ? 0 : graph.producer(value);
    lives[value].last = graph.isOutput(value) ? OpId(graph.numOps())
                        : readers.empty()     ? lives[value].first
                                              : readers.back();
  }
}

std::vector<OpId> Splitter::findParts(ArrayRef<int64_t> liveBytes) const {
  // How many values of what ran before an op are read by it or later, and the
  // sum of their ids: if it is one value, which one.
  std::vector<int64_t> count(graph.numOps() + 1, 0);
  std::vector<int64_t> sum(graph.numOps() + 1, 0);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    ArrayRef<OpId> readers = graph.readers(value);
    if (!isRoot(value) || graph.isArgument(value) || readers.empty() ||
        graph.bytes(value) == 0)
      continue;
    OpId from = graph.producer(value) + 1, to = readers.back() + 1;
    ++count[from];
    --count[to];
    sum[from] += value;
    sum[to] -= value;
  }
  // The next op from each one on at which not everything fits.
  std::vector<OpId> nextExcess(graph.numOps() + 1, graph.numOps());
  for (OpId op = graph.numOps(); op-- > 0;)
    nextExcess[op] =
        liveBytes[op] > *graph.problem.deviceBudget ? op : nextExcess[op + 1];
  std::vector<OpId> begins = {0};
  int64_t crossing = 0, shared = 0;
  for (OpId op = 1; op < graph.numOps(); ++op) {
    crossing += count[op];
    shared += sum[op];
    if (crossing == 0 ||
        (crossing == 1 &&
         graph.readers(ValueId(shared)).back() < nextExcess[op]))
      begins.push_back(op);
  }
  return begins;
}

Problem Splitter::partOf(OpId begin, OpId end) const {
  const Problem &problem = graph.problem;
  Problem part;
  part.name = problem.name;
  part.linkBytesPerSecond = problem.linkBytesPerSecond;
  int64_t held = 0;
  std::vector<ValueId> ids(graph.numValues(), noValue);
  auto add = [&](ValueId value) {
    ids[value] = part.values.size();
    Value copy = problem.values[value];
    copy.policy = graph.policy(value);
    copy.isOutput = lives[value].last >= end;
    part.values.push_back(std::move(copy));
  };
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    const Life &life = lives[value];
    bool isFromBefore =
        life.first != noOp && (graph.isArgument(value) || life.first < begin);
    if (!isFromBefore || life.last < begin)
      continue;
    ArrayRef<OpId> readers = graph.readers(value);
    auto reader = llvm::lower_bound(readers, begin);
    if (reader == readers.end() || *reader >= end) {
      held += graph.bytes(value);
      continue;
    }
    add(value);
    Value &argument = part.values.back();
    argument.isArgument = true;
    argument.producer = noOp;
    argument.policy = Policy::None;
    argument.packed.reset();
  }
  for (OpId op = begin; op < end; ++op) {
    Op copy = problem.ops[op];
    copy.operands.clear();
    for (ValueId operand : graph.operands(op))
      copy.operands.push_back(ids[operand]);
    copy.results.clear();
    for (ValueId result : graph.results(op)) {
      add(result);
      part.values.back().producer = op - begin;
      copy.results.push_back(ids[result]);
    }
    renumberAbsorbers(copy, [&](OpId absorber) {
      return absorber < end ? absorber - begin : noOp;
    });
    part.ops.push_back(std::move(copy));
  }
  part.deviceBudget = *problem.deviceBudget - held;
  return part;
}

Expected<Solution> planCutPoints(const Problem &problem,
                                 const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  auto inapplicable = [](const char *why) {
    return createStringError(inconvertibleErrorCode(),
                             Twine("planner 'cut-points' needs ") + why);
  };
  if (!problem.deviceBudget)
    return inapplicable("a budget");
  if (!graph.recomputesOnly())
    return inapplicable("recomputation as the only way to save memory");
  // What a MUST says of the phases holds for the whole.
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.mustLeaveForward(value))
      return inapplicable("values that may stay for the backward phase");
  Simulation simulation;
  Plan plan = saveAllPlan(graph);
  if (Error error = simulateInto(graph, plan, simulation))
    return std::move(error);
  Splitter splitter(graph);
  std::vector<OpId> begins = splitter.findParts(simulation.liveBytes);
  if (begins.size() < 2)
    return inapplicable("ops between which only one value is read later");
  begins.push_back(graph.numOps());

  // Only what does not fit is planned, and gets its part of the effort.
  auto exceeds = [&](size_t part) {
    auto bytes = ArrayRef(simulation.liveBytes)
                     .slice(begins[part], begins[part + 1] - begins[part]);
    return any_of(bytes, [&](int64_t b) { return b > *problem.deviceBudget; });
  };
  size_t opsToPlan = 0, partsToPlan = 0;
  for (size_t part = 0; part + 1 < begins.size(); ++part)
    if (exceeds(part)) {
      opsToPlan += begins[part + 1] - begins[part];
      ++partsToPlan;
    }
  if (partsToPlan == 1)
    return inapplicable("more than one part that exceeds the budget");
  plan.actions.clear();
  bool cutShort = false;
  for (size_t part = 0; part + 1 < begins.size(); ++part) {
    OpId begin = begins[part], end = begins[part + 1];
    if (!exceeds(part)) {
      for (OpId op = begin; op < end; ++op)
        plan.run(op);
      continue;
    }
    Problem own = splitter.partOf(begin, end);
    if (*own.deviceBudget < 0)
      return make_error<InfeasibleBudgetError>(*problem.deviceBudget, 0,
                                               std::string());
    double share = double(end - begin) / double(opsToPlan);
    SolverOptions brief = options;
    brief.effort *= share;
    if (brief.timeLimitSeconds)
      *brief.timeLimitSeconds *= share;
    brief.start = nullptr;
    brief.onProgress = nullptr;
    Expected<Solution> solution = planAuto(own, brief);
    if (!solution)
      return solution.takeError();
    cutShort |= solution->cutShort;
    for (Action action : solution->plan.actions) {
      action.id += begin;
      plan.actions.push_back(action);
    }
  }
  Expected<Solution> solution =
      makeSolution(graph, std::move(plan), "cut-points", watch);
  if (solution)
    solution->cutShort = cutShort;
  return solution;
}

} // namespace remat::planning
