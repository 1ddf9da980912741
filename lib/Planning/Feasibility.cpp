//===- Feasibility.cpp - how small the budget can get ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bisection over repairs, a bound from below, and the evidence.
//
//===----------------------------------------------------------------------===//

#include "Exact.h"
#include "LocalSearch.h"
#include "PeakBound.h"
#include "Regions.h"
#include "Residency.h"
#include "SearchTuning.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

/// Whether a value stays from its op to its last reader in every plan.
static bool staysThroughout(const Graph &graph, ValueId value) {
  return !graph.isArgument(value) && graph.runsOnce(graph.producer(value)) &&
         !graph.canOffload(value);
}

/// The peak of `plan`, or nothing if it is not legal.
static std::optional<int64_t> findPeak(const Graph &graph, const Plan &plan) {
  Stopwatch watch;
  Expected<Solution> solution = makeSolution(graph, plan, "start", watch);
  if (solution)
    return solution->peakBytes;
  consumeError(solution.takeError());
  return std::nullopt;
}

/// The next smaller power of two, as long as it is worth anything. None where
/// the clock counts, or where no runs are annealed: that is where more effort
/// may lead to less.
static std::optional<double> getLessEffort(const SolverOptions &options) {
  if (options.timeLimitSeconds || !options.anneal ||
      options.effort <= FeasibilityTuning::leastEffort)
    return std::nullopt;
  return std::exp2(std::ceil(std::log2(options.effort)) - 1);
}

/// What the effort leads to, from `options.start` if its peak is lower.
static Expected<FeasibilityCertificate> certify(const Problem &problem,
                                                const SolverOptions &options,
                                                LowPeakPlans *made) {
  Expected<Problem> limited = limitRegions(problem);
  if (!limited)
    return limited.takeError();
  Problem &unbounded = *limited;
  unbounded.deviceBudget.reset();
  Stopwatch watch;
  Graph graph(unbounded);
  LocalSearch search(graph, options, watch, unbounded.baseCost());

  WorkMeter clock(options, watch);
  // The bound is the lesser half: a plan is what the caller can use.
  auto isOver = [&] {
    return options.isInterrupted() ||
           (options.timeLimitSeconds && clock.spent(0.5));
  };

  FeasibilityCertificate certificate;
  certificate.lowerBound =
      peakBound(Graph(problem),
                uint64_t(std::clamp(options.effort, 0.0,
                                    FeasibilityTuning::mostEffort) *
                         FeasibilityTuning::quickSteps),
                isOver)
          .bytes;
  certificate.plan = search.findLowPeak(
      certificate.lowerBound, FeasibilityTuning::lowPeakShare,
      options.timeLimitSeconds ? FeasibilityTuning::annealingShare
                               : FeasibilityTuning::annealingEffort,
      made);
  certificate.cutShort = search.isOverdrawn();
  // Whoever asks may have got further, with more time.
  if (options.start)
    if (std::optional<int64_t> known = findPeak(graph, *options.start);
        known &&
        *known < findPeak(graph, certificate.plan).value_or(*known + 1))
      certificate.plan = *options.start;
  WorkMeter work(options, watch);
  bool proven =
      isSmall(graph) && lowerPeakExactly(graph, certificate.plan, work);
  Problem ofRegions = problem;
  ofRegions.deviceBudget.reset();
  if (!fitRegions(Graph(ofRegions), certificate.plan))
    return createStringError(inconvertibleErrorCode(),
                             "found no plan within the budgets of the regions "
                             "and of the host");
  Expected<Solution> solution =
      makeSolution(graph, certificate.plan, "greedy", watch);
  if (!solution)
    return solution.takeError();
  // Whether there is a plan for the budget is worth a closer look.
  if (problem.deviceBudget && *problem.deviceBudget < solution->peakBytes &&
      *problem.deviceBudget >= certificate.lowerBound)
    certificate.lowerBound = std::max(
        certificate.lowerBound,
        peakBound(Graph(problem), FeasibilityTuning::closeSteps, isOver).bytes);
  // Proven for this choice of what the regions keep, not for all.
  if (proven && problem.regions.empty())
    certificate.lowerBound = solution->peakBytes;

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

/// With what the powers of two below the effort lead to: so it does not lead to
/// more bytes than one of these.
Expected<FeasibilityCertificate>
smallestFeasibleBudget(const Problem &problem, const SolverOptions &options,
                       LowPeakPlans *made) {
  std::optional<double> less = getLessEffort(options);
  if (!less || options.isInterrupted())
    return certify(problem, options, made);
  // Whether the device budget has a plan is looked at once.
  Problem unbounded = problem;
  unbounded.deviceBudget.reset();
  SolverOptions lower = options;
  lower.effort = *less;
  Expected<FeasibilityCertificate> known =
      smallestFeasibleBudget(unbounded, lower, made);
  if (!known || known->smallestFeasible <= known->lowerBound)
    return known;
  Expected<FeasibilityCertificate> certificate =
      certify(problem, options, made);
  if (!certificate)
    return certificate;
  known->lowerBound = certificate->lowerBound =
      std::max(certificate->lowerBound, known->lowerBound);
  known->cutShort = certificate->cutShort |= known->cutShort;
  return known->smallestFeasible < certificate->smallestFeasible
             ? std::move(known)
             : std::move(certificate);
}

std::string FeasibilityCertificate::describe(const Problem &problem) const {
  std::string text;
  raw_string_ostream os(text);
  os << "no plan can need less than " << lowerBound << " bytes";
  if (lowerBound == smallestFeasible)
    os << ", which is what this one needs";
  os << "\n";
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
  if (arenaBytes)
    os << "the smallest arena that copies of a plan were packed into has "
       << *arenaBytes << " bytes\n";
  if (cutShort && lowerBound < smallestFeasible)
    os << "the search for a smaller budget was cut short; more effort may find "
          "one\n";
  return text;
}

} // namespace remat::planning
