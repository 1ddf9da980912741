//===- Feasibility.cpp - how small the budget can get ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bisection over repairs, a bound from below, and the evidence.
//
//===----------------------------------------------------------------------===//

#include "Greedy.h"
#include "Residency.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace remat::planning {

/// Whether a value stays from its op to its last reader in every plan.
static bool staysThroughout(const Graph &graph, ValueId value) {
  return !graph.isArgument(value) && graph.runsOnce(graph.producer(value)) &&
         !graph.canOffload(value);
}

/// What each op needs alone, and what cannot leave while it runs for the first
/// time: values that must stay and are read later, and were made before, in
/// every plan that runs first copies in the given order.
static int64_t lowerBound(const Graph &graph) {
  const Problem &problem = graph.problem;
  std::vector<int64_t> staying(graph.numOps() + 1, 0);
  for (OpId op = 0; op < graph.numOps(); ++op)
    for (ValueId value : graph.results(op)) {
      if (!staysThroughout(graph, value))
        continue;
      ArrayRef<OpId> readers = graph.readers(value);
      uint32_t last = readers.empty() ? op : readers.back();
      if (graph.isOutput(value))
        last = graph.numOps() - 1;
      staying[op] += graph.bytes(value);
      staying[last + 1] -= graph.bytes(value);
    }
  int64_t bound = 0, across = 0, outputs = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    across += staying[op];
    int64_t need = across + problem.ops[op].workspace;
    for (ValueId value : graph.operands(op))
      if (!graph.isArgument(value) && !staysThroughout(graph, value))
        need += graph.bytes(value);
    for (ValueId value : graph.results(op))
      if (!staysThroughout(graph, value))
        need += graph.bytes(value);
    bound = std::max(bound, need);
  }
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isOutput(value) && !graph.isArgument(value))
      outputs += graph.bytes(value);
  return std::max(bound, outputs);
}

Expected<FeasibilityCertificate>
smallestFeasibleBudget(const Problem &problem, const SolverOptions &options) {
  Problem unbounded = problem;
  unbounded.deviceBudget.reset();
  Stopwatch watch;
  Graph graph(unbounded);
  WorkMeter work(options, watch);

  FeasibilityCertificate certificate;
  certificate.lowerBound = lowerBound(graph);
  certificate.plan = findLowestPeak(graph, saveAllPlan(graph),
                                    certificate.lowerBound, work, options.seed);
  Expected<Solution> solution =
      makeSolution(graph, certificate.plan, "greedy", watch);
  if (!solution)
    return solution.takeError();

  Simulation simulation;
  if (Error error = simulateInto(graph, certificate.plan, simulation))
    return std::move(error);
  certificate.smallestFeasible = simulation.peakBytes;
  if (certificate.plan.actions.empty())
    return certificate;
  uint32_t at = simulation.peakAction;
  while (at < certificate.plan.actions.size() &&
         certificate.plan.actions[at].kind != ActionKind::Run)
    ++at;
  if (at < certificate.plan.actions.size())
    certificate.bindingOp = certificate.plan.actions[at].id;
  for (ValueId value : simulation.residentAt(problem, simulation.peakAction)) {
    if (!graph.bytes(value))
      continue;
    certificate.residents.push_back(value);
    Policy policy = graph.policy(value);
    if (staysThroughout(graph, value) || policy == Policy::MustRecompute ||
        policy == Policy::MustCpuOffload)
      certificate.forced.push_back(value);
  }
  return certificate;
}

std::string FeasibilityCertificate::describe(const Problem &problem) const {
  std::string text;
  raw_string_ostream os(text);
  os << "no plan can need less than " << lowerBound << " bytes\n";
  if (bindingOp != noOp)
    os << "the peak of " << smallestFeasible << " bytes is reached at op '"
       << problem.ops[bindingOp].name << "'";
  else
    os << "the peak of " << smallestFeasible << " bytes is reached at the end";
  os << ", where are resident:\n";
  size_t shown = std::min<size_t>(residents.size(), 10);
  for (ValueId value : ArrayRef(residents).take_front(shown)) {
    os << "  '" << problem.values[value].name << "', "
       << problem.values[value].bytes << " bytes";
    if (is_contained(forced, value)) {
      Policy policy = problem.values[value].policy;
      os << (policy == Policy::None
                 ? StringRef(", which cannot be recomputed or offloaded")
                 : StringRef(", forced by "));
      if (policy != Policy::None)
        os << stringify(policy);
    }
    os << "\n";
  }
  if (shown < residents.size())
    os << "  and " << residents.size() - shown << " more\n";
  return text;
}

} // namespace remat::planning
