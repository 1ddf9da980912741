//===- Auto.cpp - the portfolio that chooses by itself --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What fits as it is, is left alone. Small problems are searched exhaustively.
// Everything else gets a bound, first plans of the local search and of the
// classical algorithms, and a search from the best of them that stops where the
// bound is met.
//
//===----------------------------------------------------------------------===//

#include "Exact.h"
#include "ListSchedule.h"
#include "LocalSearch.h"
#include "SearchTuning.h"
#include "remat/Planning/LowerBound.h"
#include "remat/Planning/Releases.h"

#include <algorithm>
#include <thread>
#include <tuple>

using namespace llvm;

namespace remat::planning {

/// Algorithms whose plans the search may start from, cheap ones.
static constexpr Expected<Solution> (*starters[])(const Problem &,
                                                  const SolverOptions &) = {
    planChainDp, planMinCut, planKnapsack, planChenGreedy};
namespace {
/// The steps of the portfolio, on what they share.
class Portfolio {
public:
  Portfolio(const Problem &problem, const SolverOptions &options)
      : problem(problem), options(options), graph(problem),
        search(graph, options, watch, problem.baseCost()) {}

  Expected<Solution> run();

private:
  double limit() const {
    return options.timeLimitSeconds.value_or(options.effort);
  }
  /// Options for a part of the work.
  SolverOptions part(double share) const;
  std::function<void(const Progress &)> passOn();
  bool searchExhaustively(const SolverOptions &brief);
  void offerParts();
  void offerRival(Plan plan);
  Solution withReleases(Solution found) const;
  void offerOrder(const Problem &fixed, double share,
                  ArrayRef<OpId> order = {});
  void offerFixedOrders();
  bool refineBound(double effort, double seconds);
  double idleShare() const;
  void improveUntilStalled();
  void refineAfterSearch();
  void solveProgram();
  void offerLayers();
  void offerCutPoints();
  void offerStarts();
  void improve();
  void improveAgain();
  Error makeInfeasible() const;

  const Problem &problem;
  const SolverOptions &options;
  Stopwatch watch;
  Graph graph;
  LocalSearch search;
  /// Plans with fewer freedoms.
  std::vector<Plan> rivals;
  /// Where none fits, the plan with the lowest peak.
  Plan lowest;
};
} // namespace

SolverOptions Portfolio::part(double share) const {
  SolverOptions brief = options;
  brief.effort = options.effort * share;
  if (options.timeLimitSeconds)
    brief.timeLimitSeconds =
        std::clamp(*options.timeLimitSeconds - watch.seconds(), 0.0,
                   *options.timeLimitSeconds * share);
  brief.onProgress = nullptr;
  brief.start = nullptr;
  return brief;
}

/// Tells the caller of plans that a part of the work finds, so that what is
/// shown is what an interrupt would leave. What a part proves is about itself.
std::function<void(const Progress &)> Portfolio::passOn() {
  if (!options.onProgress)
    return nullptr;
  return [this, shown = std::numeric_limits<int64_t>::max()](
             const Progress &progress) mutable {
    if ((search.hasPlan() && progress.time >= search.time()) ||
        progress.time >= shown)
      return;
    shown = progress.time;
    Progress passed = progress;
    passed.seconds = watch.seconds();
    passed.lowerBound = std::min(search.lowerBound(), passed.time);
    passed.baseCost = problem.baseCost();
    options.onProgress(passed);
  };
}

/// A better lower bound, for which the plan at hand is taken into account.
/// Takes at most `seconds` where the clock is the limit. False if it proves
/// that there is no plan.
bool Portfolio::refineBound(double effort, double seconds) {
  if (search.isOptimal() || (search.hasPlan() && !options.provesBounds))
    return true;
  LowerBoundOptions brief;
  brief.effort = effort;
  brief.interrupt = options.interrupt;
  brief.deadline = options.deadline;
  if (options.timeLimitSeconds)
    brief.timeLimitSeconds =
        std::clamp(*options.timeLimitSeconds - watch.seconds(), 0.0, seconds);
  if (search.hasPlan())
    brief.knownTime = search.provenTime();
  LowerBound bound = lowerBound(problem, brief);
  if (bound.infeasible)
    return false;
  search.raiseBound(bound.time, bound.method);
  return true;
}

/// All plans of a small problem. False if there is none.
bool Portfolio::searchExhaustively(const SolverOptions &brief) {
  if (!isSmall(graph))
    return true;
  Expected<Solution> solution = planExact(problem, brief);
  if (solution) {
    search.offer(solution->plan);
    search.raiseBound(solution->lowerBound, solution->proof);
    return true;
  }
  bool infeasible = solution.errorIsA<InfeasibleBudgetError>();
  consumeError(solution.takeError());
  return !infeasible;
}

/// Where values may both be recomputed and offloaded, the plans of a portfolio
/// that does without the one and of one that does without the other, for the
/// same effort: so both together are never worse than either alone.
void Portfolio::offerParts() {
  bool mayOffload = false, mayRecompute = false;
  Problem parts[] = {problem, problem};
  auto &[recomputing, offloading] = parts;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (graph.isArgument(value) || problem.values[value].viewOf != noValue)
      continue;
    bool must = graph.policy(value) == Policy::MustCpuOffload;
    mayOffload |= graph.canOffload(value) && !must;
    if (!must)
      recomputing.values[value].offloadable = false;
    if (graph.canOffload(value) &&
        graph.policy(value) != Policy::MustRecompute) {
      mayRecompute |= !graph.runsOnce(graph.producer(value));
      offloading.values[value].recomputable = false;
    }
  }
  if (!mayOffload || !mayRecompute)
    return;
  for (const Problem &part : parts) {
    if (search.done())
      return;
    SolverOptions alone = options;
    alone.onProgress = passOn();
    alone.start = nullptr;
    if (options.timeLimitSeconds)
      alone.timeLimitSeconds =
          std::clamp(*options.timeLimitSeconds - watch.seconds(), 0.0,
                     *options.timeLimitSeconds / PortfolioTuning::partsOfTime);
    Expected<Solution> solution = planAuto(part, alone);
    if (solution)
      offerRival(std::move(solution->plan));
    else
      consumeError(solution.takeError());
  }
}

/// The search knows of no releases.
void Portfolio::offerRival(Plan plan) {
  plan = keepReleases(plan, 0);
  search.offer(plan);
  rivals.push_back(std::move(plan));
}

/// `found`, or a plan with fewer freedoms that releases make faster.
Solution Portfolio::withReleases(Solution found) const {
  found = addReleases(problem, std::move(found));
  for (const Plan &plan : rivals) {
    Expected<Solution> rival = evaluatePlan(problem, plan, found.solver);
    if (!rival) {
      consumeError(rival.takeError());
      continue;
    }
    *rival = addReleases(problem, std::move(*rival));
    if (rival->time < found.time)
      std::tie(found.plan, found.peakBytes, found.hostPeakBytes, found.cost,
               found.time) =
          std::tie(rival->plan, rival->peakBytes, rival->hostPeakBytes,
                   rival->cost, rival->time);
  }
  return found;
}

/// The plan of a portfolio that keeps the order of `fixed`, in which op i is
/// order[i] of the problem, or i.
void Portfolio::offerOrder(const Problem &fixed, double share,
                           ArrayRef<OpId> order) {
  if (search.done())
    return;
  // It is not told of a plan to start from, which may have another order.
  SolverOptions alone = part(share);
  alone.effort = options.effort;
  alone.onProgress = passOn();
  Expected<Solution> solution = planAuto(fixed, alone);
  if (!solution)
    return consumeError(solution.takeError());
  for (Action &action : solution->plan.actions)
    if (actsOnOp(action.kind) && !order.empty())
      action.id = order[action.id];
  offerRival(std::move(solution->plan));
}

/// Where the order is free, the plans of portfolios that keep the given one and
/// one with a lower peak, for the same effort each: so a free order is never
/// worse than either, but for lossy packed forms, which it does not have. Of a
/// time limit, they get a part.
void Portfolio::offerFixedOrders() {
  if (!problem.freeOrder)
    return;
  Problem fixed = inGivenOrder(problem);
  ArrayRef<OpId> order = search.findLowOrder().ops;
  if (order.empty())
    return offerOrder(fixed, PortfolioTuning::fixedOrderShare);
  offerOrder(withOrder(problem, order), PortfolioTuning::lowOrderShare, order);
  offerOrder(fixed, PortfolioTuning::givenOrderShare);
}

/// A few layers for all, where the search would take long to go through all.
void Portfolio::offerLayers() {
  if (problem.ops.size() < PortfolioTuning::layeredOps || search.done())
    return;
  Expected<Solution> solution =
      planLayers(problem, part(PortfolioTuning::layersShare));
  if (solution)
    search.offer(solution->plan);
  else
    consumeError(solution.takeError());
}

/// Parts of their own, each planned by itself.
void Portfolio::offerCutPoints() {
  if (search.done())
    return;
  Expected<Solution> solution =
      planCutPoints(problem, part(PortfolioTuning::cutPointsShare));
  if (solution)
    search.offer(solution->plan);
  else
    consumeError(solution.takeError());
}

void Portfolio::offerStarts() {
  offerCutPoints();
  offerLayers();
  if (problem.ops.size() > PortfolioTuning::starterOps)
    return;
  SolverOptions brief = part(PortfolioTuning::starterShare);
  for (auto *starter : starters) {
    if (search.done())
      return;
    Expected<Solution> solution = starter(problem, brief);
    // One that does not apply, or finds nothing, is not needed.
    if (solution)
      search.offer(solution->plan);
    else
      consumeError(solution.takeError());
  }
}

/// The integer program, where it has a chance: a better plan, or a proof.
void Portfolio::solveProgram() {
  if (!search.hasPlan() || search.done() || problem.freeOrder ||
      problem.ops.size() > milpOpLimit)
    return;
  double overhead = double(search.time() - problem.baseCost());
  if (double(search.time() - search.lowerBound()) >
      PortfolioTuning::programGap * overhead)
    return;
  SolverOptions brief = part(PortfolioTuning::programShare);
  brief.start = &search.bestPlan();
  Expected<Solution> solution = planMilp(problem, brief);
  if (!solution)
    return consumeError(solution.takeError());
  // What the program proves is about plans of its kind only.
  search.offer(solution->plan);
}

/// Where the clock is the limit, the share of the time so far since the best
/// plan was found.
double Portfolio::idleShare() const {
  if (!options.timeLimitSeconds || !search.hasPlan())
    return 0;
  double now = watch.seconds();
  return now > 0 ? 1 - std::min(search.secondsOfBest() / now, 1.0) : 0;
}

/// The search in the share before the bound, or less of it if it finds nothing
/// for long.
void Portfolio::improveUntilStalled() {
  if (options.timeLimitSeconds)
    for (double share : PortfolioTuning::stallShares) {
      search.improve(share);
      if (idleShare() >= PortfolioTuning::stall)
        return;
    }
  search.improve(PortfolioTuning::searchShare);
}

/// The bound against the plan of the search. Begun once with much time it gets
/// further than twice with less.
void Portfolio::refineAfterSearch() {
  double least = PortfolioTuning::boundSecondsPerOp * problem.ops.size();
  double effort = std::max(limit() * PortfolioTuning::boundShare, least);
  double seconds = 2 * effort;
  if (double idle = idleShare(); idle > 0) {
    double share = PortfolioTuning::stalledBoundShare *
                   std::min(idle / PortfolioTuning::stall, 1.0);
    seconds = std::max(seconds, share * (limit() - watch.seconds()));
    effort = std::max(effort, seconds);
  }
  refineBound(effort, seconds);
}

/// The search, with pauses for the bound: what is optimal needs no more, and
/// where the search has found nothing for long, a bound is what is left to do.
void Portfolio::improve() {
  if (search.mayReorder()) {
    search.improveInFreeOrder(1.0);
  } else {
    // A search that may end at a gap must know what is proven.
    if (options.gap > 0)
      refineBound(limit() * PortfolioTuning::earlyBoundShare,
                  2 * limit() * PortfolioTuning::earlyBoundShare);
    search.diversify(PortfolioTuning::firstShare);
    improveUntilStalled();
    refineAfterSearch();
    solveProgram();
  }
  // Only the clock ends a search that has a time limit.
  search.improve(1.0, options.timeLimitSeconds
                          ? LocalSearchTuning::tireless
                          : LocalSearchTuning::usualPatience);
}

/// Once more, for a plan that most of the effort was spent to find at all. All
/// of it is there again, also for first plans: one that keeps most values
/// leads elsewhere than one with a low peak.
void Portfolio::improveAgain() {
  if (!options.improveAgain || !search.hasPlan() || search.isOptimal())
    return;
  search.restartEffort();
  double effort = std::max(options.effort, 1e-6);
  search.findFirstPlans(std::clamp(PortfolioTuning::leastFirstPlans / effort,
                                   PortfolioTuning::firstPlansShare,
                                   PortfolioTuning::mostFirstPlansShare));
  improve();
  search.lowerCost(PortfolioTuning::costEffort);
}

/// That no plan was found, and how far the search has got.
Error Portfolio::makeInfeasible() const {
  auto certificate = std::make_shared<FeasibilityCertificate>();
  certificate->plan = lowest;
  return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0), 0,
                                           std::string(), certificate);
}

Expected<Solution> Portfolio::run() {
  if (!searchExhaustively(part(PortfolioTuning::exactShare)))
    return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0),
                                             0, std::string());
  // Where another order fits, nothing is recomputed.
  if (!search.findLowOrder().ops.empty())
    search.offer(runOnce(search.findLowOrder().ops));
  offerParts();
  offerFixedOrders();
  if (!search.hasPlan())
    search.findFirstPlans(PortfolioTuning::firstPlansShare);
  if (!refineBound(PortfolioTuning::quickBound,
                   2 * PortfolioTuning::quickBound))
    return make_error<InfeasibleBudgetError>(problem.deviceBudget.value_or(0),
                                             0, std::string());
  bool hasFirst = search.hasPlan();
  if (options.start)
    search.offer(*options.start);
  bool fitsAtAnyCost = search.hasPlan() && !hasFirst;
  // What the starters have to say, the portfolio that keeps the order has said.
  if (!search.mayReorder())
    offerStarts();
  if (!search.hasPlan()) {
    lowest = search.findLowPeak(
        problem.deviceBudget.value_or(0), PortfolioTuning::lowPeakShare,
        options.timeLimitSeconds ? PortfolioTuning::annealingShare
                                 : PortfolioTuning::annealingEffort);
    search.offer(lowest);
    fitsAtAnyCost = true;
  }
  // What gets the peak low makes much again. A clock leaves nothing for later;
  // else what comes last can only make the plan better.
  if (fitsAtAnyCost && options.timeLimitSeconds)
    search.lowerCost(PortfolioTuning::costShare);
  improve();
  if (fitsAtAnyCost && !options.timeLimitSeconds) {
    search.lowerCost(PortfolioTuning::costEffort);
    improveAgain();
  }
  // A little effort is for plans that are good enough, not for none.
  if (!search.hasPlan()) {
    SolverOptions last = part(1.0);
    last.effort = std::max(last.effort, PortfolioTuning::lastEffort);
    searchExhaustively(last);
  }
  if (!search.hasPlan())
    return makeInfeasible();
  Expected<Solution> found = search.takeSolution("auto");
  if (found)
    found = withReleases(std::move(*found));
  return found;
}

/// The best of several portfolios, each on a thread and from a seed of its own.
/// All end with the first, which is the one that the caller sees progress of.
static Expected<Solution> planInParallel(const Problem &problem,
                                         const SolverOptions &options) {
  unsigned count = std::min(options.threads, PortfolioTuning::mostThreads);
  std::atomic<bool> stop = false;
  std::vector<std::optional<Expected<Solution>>> results(count);
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < count; ++i)
    threads.emplace_back([&, i] {
      SolverOptions own = options;
      own.seed = options.seed + i;
      own.onProgress = nullptr;
      own.interrupt = &stop;
      results[i].emplace(Portfolio(problem, own).run());
    });
  results[0].emplace(Portfolio(problem, options).run());
  stop = true;
  for (std::thread &thread : threads)
    thread.join();

  Expected<Solution> best = std::move(*results[0]);
  for (unsigned i = 1; i < count; ++i) {
    Expected<Solution> &other = *results[i];
    if (!other) {
      consumeError(other.takeError());
      continue;
    }
    // A bound holds for all.
    Solution strongest = std::move(*other);
    if (best && best->lowerBound > strongest.lowerBound) {
      strongest.lowerBound = best->lowerBound;
      strongest.proof = best->proof;
    } else if (best) {
      best->lowerBound = strongest.lowerBound;
      best->proof = strongest.proof;
    }
    if (best && best->time <= strongest.time)
      continue;
    consumeError(best.takeError());
    best = std::move(strongest);
  }
  return best;
}

/// The plan in a free order with a lower peak, if there is one: without a
/// budget, of two plans that take the same time the smaller one is better.
static Expected<Solution> withLowOrder(const Graph &graph,
                                       const SolverOptions &options,
                                       Solution saveAll) {
  if (graph.problem.deviceBudget || !graph.mayReorder())
    return saveAll;
  Stopwatch watch;
  WorkMeter work(options, watch);
  LowOrder low = findLowPeakOrder(graph, 1.0, work);
  if (low.peak >= saveAll.peakBytes)
    return saveAll;
  Expected<Solution> solution =
      makeSolution(graph, runOnce(low.ops), "auto", watch);
  if (solution)
    solution->cutShort = work.wasCutShort();
  return solution;
}

Expected<Solution> planAuto(const Problem &problem,
                            const SolverOptions &options) {
  // Nothing is recomputed when everything fits, but for what waits for a link.
  Expected<Solution> saveAll = planSaveAll(problem, options);
  Graph graph(problem);
  if (saveAll && saveAll->optimal())
    return withLowOrder(graph, options, std::move(*saveAll));
  consumeError(saveAll.takeError());
  // What the clock ends depends on the machine anyway; what counted work ends
  // is the same for any number of threads.
  if (options.timeLimitSeconds && options.threads > 1)
    return planInParallel(problem, options);
  return Portfolio(problem, options).run();
}

} // namespace remat::planning
