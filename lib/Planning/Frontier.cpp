//===- Frontier.cpp - memory against time ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A sweep over budgets that keeps every plan it meets in one pool.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Frontier.h"
#include "SearchTuning.h"
#include "Solution.h"
#include "remat/Planning/PlanPacking.h"
#include "remat/Planning/Releases.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace remat::planning {

std::vector<int64_t> spaceBudgets(int64_t smallest, int64_t largest,
                                  unsigned points) {
  std::vector<int64_t> budgets = {smallest};
  int64_t steps = points - 1, range = std::max<int64_t>(largest - smallest, 0);
  for (int64_t i = 1; i <= steps; ++i) {
    int64_t budget = smallest + range / steps * i + range % steps * i / steps;
    if (budget != budgets.back())
      budgets.push_back(budget);
  }
  return budgets;
}

namespace {
class FrontierSweep {
public:
  FrontierSweep(const Problem &problem, const FrontierOptions &options)
      : problem(problem), options(options) {
    this->problem.deviceBudget.reset();
  }

  Expected<Frontier> run();

private:
  Error addEnds();
  Expected<FrontierPoint>
  findSmallest(const FeasibilityCertificate &certificate,
               const SolverOptions &search) const;
  Error plan(int64_t budget, size_t budgetsLeft);
  Expected<FrontierPoint> solveWithin(int64_t budget,
                                      const SolverOptions &search);
  Expected<int64_t> add(std::optional<int64_t> budget, FrontierPoint found);
  Expected<FrontierPoint> pack(FrontierPoint point) const;
  /// The bytes of a plan that budgets bound.
  static int64_t countBytes(const FrontierPoint &point) {
    return point.arenaBytes.value_or(point.solution.peakBytes);
  }
  bool isOver() const {
    return options.search.isInterrupted() ||
           (options.search.timeLimitSeconds &&
            watch.seconds() >= *options.search.timeLimitSeconds);
  }
  /// The best plan of the pool within the budget; null if none fits.
  const FrontierPoint *best(int64_t budget) const;
  /// No plan within the budget takes less time.
  int64_t lowerBound(int64_t budget) const;

  Problem problem;
  const FrontierOptions &options;
  Stopwatch watch;
  /// All plans, and the budgets that their lower bounds hold for.
  std::vector<FrontierPoint> pool;
  int64_t smallest = 0, largest = 0;
  bool cutShort = false;
};
} // namespace

/// The plan with the smallest peak, or with the smallest arena.
Expected<FrontierPoint>
FrontierSweep::findSmallest(const FeasibilityCertificate &certificate,
                            const SolverOptions &search) const {
  if (options.countsArena) {
    Expected<PackedSolution> packed =
        findSmallestArena(problem, certificate, search);
    if (!packed)
      return packed.takeError();
    return FrontierPoint{0, std::move(packed->solution),
                         packed->packing.totalBytes};
  }
  Expected<Solution> solution =
      evaluatePlan(problem, certificate.plan, "smallest");
  if (!solution)
    return solution.takeError();
  return FrontierPoint{0, std::move(*solution)};
}

/// Save-all, and the plan that shows the smallest feasible budget.
Error FrontierSweep::addEnds() {
  Expected<Solution> saveAll = solve(problem, "save-all", options.search);
  if (!saveAll)
    return saveAll.takeError();
  SolverOptions search = options.search;
  if (search.timeLimitSeconds)
    *search.timeLimitSeconds /= double(options.points);
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, search);
  if (!certificate)
    return certificate.takeError();
  Expected<FrontierPoint> tightest = findSmallest(*certificate, search);
  if (!tightest)
    return tightest.takeError();
  // Neither says anything of other plans than that all ops run.
  if (Error error = add(std::nullopt, std::move(*tightest)).moveInto(smallest))
    return error;
  if (Error error =
          add(std::nullopt, {0, std::move(*saveAll)}).moveInto(largest))
    return error;
  smallest = std::min(smallest, largest);
  return Error::success();
}

/// Where the arena counts, that of a point without one.
Expected<FrontierPoint> FrontierSweep::pack(FrontierPoint point) const {
  if (!options.countsArena || point.arenaBytes)
    return point;
  PackingOptions packing;
  packing.maxWork = ArenaTuning::packingWork;
  Expected<Packing> packed = packPlan(problem, point.solution.plan, packing);
  if (!packed)
    return packed.takeError();
  point.arenaBytes = packed->totalBytes;
  return point;
}

/// Adds what was found for `budget`, or for any that it fits. Without its
/// releases it may fit less. Returns the bytes that it takes.
Expected<int64_t> FrontierSweep::add(std::optional<int64_t> budget,
                                     FrontierPoint found) {
  Expected<FrontierPoint> point = pack(std::move(found));
  if (!point)
    return point.takeError();
  const Solution &solution = point->solution;
  if (countReleases(solution.plan) > 0) {
    Expected<Solution> bare =
        evaluatePlan(problem, keepReleases(solution.plan, 0), solution.solver);
    if (bare) {
      Expected<FrontierPoint> packed = pack({0, std::move(*bare)});
      if (!packed)
        return packed.takeError();
      pool.push_back(std::move(*packed));
    } else {
      consumeError(bare.takeError());
    }
  }
  int64_t bytes = countBytes(*point);
  point->budgetBytes = budget.value_or(bytes);
  pool.push_back(std::move(*point));
  return bytes;
}

const FrontierPoint *FrontierSweep::best(int64_t budget) const {
  const FrontierPoint *best = nullptr;
  auto key = [](const FrontierPoint &point) {
    return std::make_tuple(point.solution.time, countBytes(point),
                           point.solution.cost);
  };
  for (const FrontierPoint &entry : pool)
    if (countBytes(entry) <= budget && (!best || key(entry) <= key(*best)))
      best = &entry;
  return best;
}

int64_t FrontierSweep::lowerBound(int64_t budget) const {
  int64_t bound = 0;
  for (const FrontierPoint &entry : pool)
    if (entry.budgetBytes >= budget)
      bound = std::max(bound, entry.solution.lowerBound);
  return bound;
}

Error FrontierSweep::plan(int64_t budget, size_t budgetsLeft) {
  const FrontierPoint *known = best(budget);
  if (known && known->solution.time == lowerBound(budget))
    return Error::success();
  // Even a search without any time left takes some.
  if (isOver()) {
    cutShort = true;
    return Error::success();
  }
  SolverOptions search = options.search;
  // The plan for the budget before this one is what there is to start from.
  Plan start = keepReleases(pool.back().solution.plan, 0);
  search.start = &start;
  if (search.timeLimitSeconds)
    search.timeLimitSeconds =
        std::max(0.0, *search.timeLimitSeconds - watch.seconds()) /
        double(budgetsLeft);
  Expected<FrontierPoint> found = solveWithin(budget, search);
  if (found) {
    cutShort |= found->solution.cutShort;
    return add(budget, std::move(*found)).takeError();
  }
  // A plan for a smaller budget may still turn up; the smallest one has one.
  return handleErrors(found.takeError(), [](const InfeasibleBudgetError &) {});
}

Expected<FrontierPoint>
FrontierSweep::solveWithin(int64_t budget, const SolverOptions &search) {
  Problem bounded = problem;
  bounded.deviceBudget = budget;
  if (options.countsArena) {
    Expected<PackedSolution> packed =
        solveWithinArena(bounded, options.solver, search);
    if (!packed)
      return packed.takeError();
    return FrontierPoint{budget, std::move(packed->solution),
                         packed->packing.totalBytes};
  }
  Expected<Solution> solution = solve(bounded, options.solver, search);
  if (!solution)
    return solution.takeError();
  return FrontierPoint{budget, std::move(*solution)};
}

Expected<Frontier> FrontierSweep::run() {
  if (options.points < 2)
    return createStringError("a frontier needs at least 2 points, got " +
                             Twine(options.points));
  if (Error error = addEnds())
    return std::move(error);
  std::vector<int64_t> budgets =
      spaceBudgets(smallest, largest, options.points);
  for (size_t i = budgets.size(); i-- > 0;)
    if (Error error = plan(budgets[i], i + 1))
      return std::move(error);

  Frontier frontier;
  frontier.cutShort = cutShort;
  for (int64_t budget : budgets) {
    frontier.points.push_back(*best(budget));
    frontier.points.back().budgetBytes = budget;
    Solution &solution = frontier.points.back().solution;
    // An algorithm's bound is about the plans that it considers.
    solution.lowerBound = std::min(
        solution.time, std::max(solution.lowerBound, lowerBound(budget)));
  }
  return frontier;
}

Expected<Frontier> computeFrontier(const Problem &problem,
                                   const FrontierOptions &options) {
  return FrontierSweep(problem, options).run();
}

json::Value toJson(const Frontier &frontier) {
  json::Array points;
  for (const FrontierPoint &point : frontier.points) {
    const Solution &solution = point.solution;
    json::Object object{
        {"budget_bytes", point.budgetBytes},
        {"peak_bytes", solution.peakBytes},
        {"host_peak_bytes", solution.hostPeakBytes},
        {"tdi_percent", solution.overheadPercent()},
        {"recompute_percent", solution.recomputePercent()},
        {"time", solution.time},
        {"lower_bound_tdi_percent", solution.lowerBoundPercent()},
        {"optimal", solution.optimal()},
        {"planner", solution.solver}};
    if (point.arenaBytes)
      object["arena_bytes"] = *point.arenaBytes;
    points.push_back(std::move(object));
  }
  return points;
}

void print(const Frontier &frontier, raw_ostream &os) {
  bool hasArenas = !frontier.points.empty() && frontier.points[0].arenaBytes;
  os << "sizes in bytes\n        budget "
     << (hasArenas ? "         arena " : "")
     << "          peak     TDI %    work %   bound %  planner\n";
  for (const FrontierPoint &point : frontier.points) {
    const Solution &solution = point.solution;
    os << formatv("{0,14} ", point.budgetBytes);
    if (point.arenaBytes)
      os << formatv("{0,14} ", *point.arenaBytes);
    os << formatv("{0,14} {1,9:f4} {2,9:f4} {3,9:f4}  {4}{5}\n",
                  solution.peakBytes, solution.overheadPercent(),
                  solution.recomputePercent(), solution.lowerBoundPercent(),
                  solution.solver, solution.optimal() ? ", optimal" : "");
  }
}

} // namespace remat::planning
