//===- ArenaBudget.cpp - plans whose arena is within a budget -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A planner bounds the bytes that are live together; packing leaves gaps. Where
// a packing sticks out of the budget, the ops that run there are told to need
// that much more workspace, and the planner is asked again. So room is left
// free only where packing needs it, and the plan stays as it is elsewhere. What
// is too little grows; what is enough is halved back towards what was not.
// Where no plan is there to begin with, smaller budgets have one: as much
// smaller as the packing is too large, or any down to the smallest.
//
//===----------------------------------------------------------------------===//

#include "ArenaBudget.h"
#include "SearchTuning.h"
#include "Solution.h"
#include "remat/Planning/Releases.h"
#include "remat/Planning/SharedLimit.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>

using namespace llvm;

namespace remat::planning {

namespace {
class ArenaPlanner {
public:
  ArenaPlanner(const Problem &problem, StringRef solver,
               const SolverOptions &options, const SmallestPlans *known)
      : problem(problem), solver(solver), options(options), known(known),
        budget(*problem.deviceBudget), reserved(problem.ops.size(), 0),
        tooLittle(problem.ops.size(), 0) {
    if (known)
      certificate = std::make_shared<FeasibilityCertificate>(known->lowestPeak);
  }

  Expected<PackedSolution> run();
  /// The first plan that fits, of few that leave room free.
  Expected<std::optional<PackedSolution>> runBriefly();

private:
  using Reserve = std::vector<int64_t>;

  double secondsLeft() const {
    return std::max(*options.timeLimitSeconds - watch.seconds(), 0.0);
  }
  bool isOver() const {
    return options.isInterrupted() ||
           (options.timeLimitSeconds && secondsLeft() <= 0);
  }
  double firstPlanShare() const;
  Expected<Solution> request(const Problem &asked, double share,
                             const Plan *start);
  Expected<bool> offer(Solution solution);
  Expected<bool> offerTighter(const Problem &tighter, double share,
                              const Plan *start);
  void take(Solution solution, Packing packed);
  void report(const Progress &progress);
  Expected<bool> offerNext(double share);
  /// What is above the budget, or more: a few bytes less lead to the same plan.
  int64_t countExcess(int64_t bytes) const {
    return std::max(
        {bytes - budget, budget / ArenaTuning::leastExcess, int64_t(1)});
  }
  void collectOverhang(const Plan &plan, ArrayRef<LiveRange> ranges,
                       const Packing &packing);
  Error tighten();
  Error sweep();
  Error searchWithReserves(unsigned rounds, bool endsWithFirst);
  Error certify();
  Error offerSmallest();
  Error climb();
  void raiseBound(const Solution &solution);
  Expected<PackedSolution> finish();

  const Problem &problem;
  StringRef solver;
  const SolverOptions &options;
  const SmallestPlans *known;
  Stopwatch watch;
  int64_t budget;
  /// For each op, the room to leave free while it runs, and what was not
  /// enough.
  Reserve reserved, tooLittle;
  /// By how much the last packing stuck out while each op ran.
  Reserve overhang;
  std::optional<PackedSolution> best;
  /// Whether a plan within the budget had a larger arena.
  bool wasTooLarge = false;
  /// Whether the best plan is one for a smaller budget.
  bool wasTightened = false;
  /// The last plan for the problem itself.
  std::optional<Plan> last;
  /// Of the last plan that was packed.
  int64_t lastArena = 0, lastPeak = 0;
  int64_t smallestArena = std::numeric_limits<int64_t>::max();
  /// How small the peak can get; if nothing else fits.
  std::shared_ptr<FeasibilityCertificate> certificate;
  /// What is proven of the problem, not of one with reserves.
  int64_t bound = 0;
  std::string proof;
  /// Whether the last plan for the problem itself is proven optimal.
  bool isOptimal = false;
  bool cutShort = false;
};
} // namespace

/// The share of a time limit in which a first plan is found: of many ops, a
/// large one. A plan that comes late may not fit, and others no more be looked
/// for.
double ArenaPlanner::firstPlanShare() const {
  if (!options.timeLimitSeconds)
    return 0;
  return std::min(ArenaTuning::mostFirstPlanShare,
                  ArenaTuning::firstPlanSecondsPerOp *
                      double(problem.ops.size()) /
                      std::max(*options.timeLimitSeconds, 1e-3));
}

/// A plan for a share of the effort, or of the time limit and at most for what
/// is left of it.
Expected<Solution> ArenaPlanner::request(const Problem &asked, double share,
                                         const Plan *start) {
  SolverOptions part = options;
  part.effort *= share;
  // The whole of it is for a request that there is nothing else for.
  part.overdraft *= share;
  if (options.timeLimitSeconds)
    part.timeLimitSeconds =
        std::min(*options.timeLimitSeconds * share,
                 secondsLeft() * ArenaTuning::planningShare);
  part.start = start ? start : options.start;
  part.explainInfeasible = false;
  part.annealCost = false;
  part.onProgress = nullptr;
  if (options.onProgress && &asked == &problem)
    part.onProgress = [this](const Progress &progress) { report(progress); };
  Expected<Solution> solution = solve(asked, solver, part);
  if (solution)
    cutShort |= solution->cutShort;
  return solution;
}

/// Packs a plan. Whether it fits; if so, the faster plan is kept.
Expected<bool> ArenaPlanner::offer(Solution solution) {
  Expected<std::vector<LiveRange>> ranges =
      findLiveRanges(problem, solution.plan);
  if (!ranges)
    return ranges.takeError();
  PackingOptions packing;
  packing.enoughBytes = budget;
  packing.maxWork = ArenaTuning::packingWork;
  if (options.timeLimitSeconds)
    packing.deadline = deadlineAfter(secondsLeft() * ArenaTuning::packingShare);
  Packing packed = packLiveRanges(*ranges, packing);
  if (std::optional<std::string> fault = findPackingFault(*ranges, packed))
    return createStringError("internal error: " + *fault);
  lastArena = packed.totalBytes;
  lastPeak = solution.peakBytes;
  smallestArena = std::min(smallestArena, lastArena);
  if (lastArena > budget) {
    wasTooLarge = true;
    collectOverhang(solution.plan, *ranges, packed);
    return false;
  }
  overhang.clear();
  if (!best || solution.time < best->solution.time)
    take(std::move(solution), std::move(packed));
  return true;
}

/// The best plan so far.
void ArenaPlanner::take(Solution solution, Packing packed) {
  solution.secondsToBest = watch.seconds();
  best = PackedSolution{std::move(solution), std::move(packed)};
  report({});
}

/// Of plans that may not fit, nobody hears; of bounds, everybody does.
void ArenaPlanner::report(const Progress &progress) {
  if (!options.onProgress || !best)
    return;
  const Solution &found = best->solution;
  bound = std::max(bound, progress.lowerBound);
  options.onProgress({solver, watch.seconds(), found.time, found.peakBytes,
                      std::min(bound, found.time), problem.baseCost()});
}

void ArenaPlanner::collectOverhang(const Plan &plan, ArrayRef<LiveRange> ranges,
                                   const Packing &packing) {
  std::vector<int64_t> above(plan.actions.size() + 1, 0);
  for (auto [range, offset] : llvm::zip(ranges, packing.offsets))
    if (int64_t top = offset + range.bytes; top > budget)
      for (uint32_t at = range.begin; at <= range.end; ++at)
        above[at] = std::max(above[at], countExcess(top));
  overhang.assign(problem.ops.size(), 0);
  for (auto [at, action] : enumerate(plan.actions))
    if (actsOnOp(action.kind))
      overhang[action.id] = std::max(overhang[action.id], above[at]);
}

/// A plan for a smaller budget. Whether it fits; the error says if there is
/// none.
Expected<bool> ArenaPlanner::offerTighter(const Problem &tighter, double share,
                                          const Plan *start) {
  Expected<Solution> solution = request(tighter, share, start);
  if (!solution)
    return solution.takeError();
  // What was proven is of the smaller budget.
  Expected<Solution> real =
      evaluatePlan(problem, std::move(solution->plan), solution->solver);
  if (!real)
    return real.takeError();
  return offer(std::move(*real));
}

/// A plan that fits, for budgets that come down.
Error ArenaPlanner::tighten() {
  Problem tighter = problem;
  int64_t &asked = *tighter.deviceBudget;
  bool fits = false;
  for (unsigned i = 0; i < ArenaTuning::tightenings && !fits && !isOver();
       ++i) {
    asked = std::min(asked, lastPeak) - countExcess(lastArena);
    if (asked <= 0)
      break;
    if (Error error =
            offerTighter(tighter,
                         std::max(ArenaTuning::quickShare, firstPlanShare()),
                         last ? &*last : nullptr)
                .moveInto(fits))
      return handleErrors(std::move(error),
                          [](const InfeasibleBudgetError &) {});
  }
  return Error::success();
}

/// Plans for budgets between the smallest one and the one at hand, each from
/// scratch. Which of them has the smallest arena is a matter of luck; most
/// often it is not the one with the smallest peak.
Error ArenaPlanner::sweep() {
  // The smallest budget may take all of the time; rounds go on for that, too.
  if (options.timeLimitSeconds)
    return Error::success();
  if (Error error = certify())
    return error;
  int64_t least = certificate->smallestFeasible;
  if (least > budget)
    return Error::success();
  const Plan lowest = keepReleases(certificate->plan, 0);
  Problem tighter = problem;
  for (unsigned i = 0; i < ArenaTuning::sweptBudgets && !isOver(); ++i) {
    double part = double(i) / ArenaTuning::sweptBudgets;
    tighter.deviceBudget = least + int64_t(part * double(budget - least));
    Expected<Solution> solution =
        request(tighter, ArenaTuning::roundShare, nullptr);
    if (!solution && solution.errorIsA<InfeasibleBudgetError>()) {
      consumeError(solution.takeError());
      solution = request(tighter, ArenaTuning::roundShare, &lowest);
    }
    if (!solution) {
      if (!solution.errorIsA<InfeasibleBudgetError>())
        return solution.takeError();
      consumeError(solution.takeError());
      continue;
    }
    Expected<Solution> real =
        evaluatePlan(problem, std::move(solution->plan), solution->solver);
    if (!real)
      return real.takeError();
    if (best && real->time >= best->solution.time)
      continue;
    if (Error error = offer(std::move(*real)).takeError())
      return error;
  }
  return Error::success();
}

/// Rounds of reserving, planning and packing. After some of them, others begin
/// with more room: which plan it leads to depends on what is reserved first.
Error ArenaPlanner::searchWithReserves(unsigned rounds, bool endsWithFirst) {
  int64_t growth = 1;
  const Reserve first = overhang;
  // A plan for a smaller budget is none to start from: it has little in common
  // with one that leaves room where packing needs it.
  const bool beginsFromBest = best && !wasTightened;
  bool startsFromBest = beginsFromBest;
  for (unsigned round = 0; round < rounds && !isOver(); ++round) {
    // What is left without a plan is for the one with the lowest peak.
    if (!best && options.timeLimitSeconds &&
        secondsLeft() < ArenaTuning::lowestShare * *options.timeLimitSeconds)
      break;
    if (round % ArenaTuning::roundsPerStart == 0) {
      double scale = std::pow(ArenaTuning::startScale,
                              double(round / ArenaTuning::roundsPerStart));
      for (auto [bytes, wanted] : llvm::zip(reserved, first))
        bytes = int64_t(std::min(double(wanted) * scale, double(budget)));
      tooLittle.assign(tooLittle.size(), 0);
      growth = 1;
      startsFromBest = beginsFromBest;
    }
    Problem asked = problem;
    for (auto [op, bytes] : enumerate(reserved))
      asked.ops[op].workspace += bytes;
    Expected<Solution> solution =
        request(asked, ArenaTuning::roundShare,
                startsFromBest ? &best->solution.plan : nullptr);
    bool tooMuch = false, fits = false;
    if (solution) {
      // Without the reserves; and what was proven was of those.
      Expected<Solution> real =
          evaluatePlan(problem, std::move(solution->plan), solver);
      if (!real)
        return real.takeError();
      Expected<bool> packed = offer(std::move(*real));
      if (!packed)
        return packed.takeError();
      fits = *packed;
      startsFromBest |= fits;
    } else if (solution.errorIsA<InfeasibleBudgetError>()) {
      consumeError(solution.takeError());
      tooMuch = true;
    } else {
      return solution.takeError();
    }
    if (fits && endsWithFirst)
      break;
    if (fits || tooMuch) {
      growth = 1;
      for (auto [bytes, little] : llvm::zip(reserved, tooLittle))
        bytes = little + (bytes - little) / 2;
      continue;
    }
    tooLittle = reserved;
    for (auto [bytes, more] : llvm::zip(reserved, overhang))
      bytes = std::min(bytes + growth * more, budget);
    growth = std::min<int64_t>(growth + 1, ArenaTuning::mostGrowth);
  }
  return Error::success();
}

/// The plan with the lowest peak that the heuristics reach.
Error ArenaPlanner::certify() {
  if (certificate)
    return Error::success();
  SolverOptions rest = options;
  if (options.timeLimitSeconds)
    rest.timeLimitSeconds = secondsLeft();
  Expected<FeasibilityCertificate> found =
      smallestFeasibleBudget(problem, rest);
  if (!found)
    return found.takeError();
  certificate = std::make_shared<FeasibilityCertificate>(std::move(*found));
  return Error::success();
}

/// The plan with the smallest arena that is known, which is the same for every
/// budget: without a clock, what holds one budget holds all larger ones.
Error ArenaPlanner::offerSmallest() {
  if (Error error = certify())
    return error;
  std::optional<PackedSolution> smallest;
  if (known) {
    smallest = known->smallestArena;
  } else {
    SolverOptions rest = options;
    rest.onProgress = nullptr;
    if (options.timeLimitSeconds)
      rest.timeLimitSeconds = secondsLeft();
    Expected<PackedSolution> found =
        findSmallestArena(problem, *certificate, rest);
    if (!found)
      return found.takeError();
    smallest = std::move(*found);
  }
  int64_t arena = smallest->packing.totalBytes;
  certificate->arenaBytes = arena;
  smallestArena = std::min(smallestArena, arena);
  // Other algorithms are asked for what they can do.
  if (solver == "auto" && arena <= budget &&
      (!best || smallest->solution.time < best->solution.time))
    take(std::move(smallest->solution), std::move(smallest->packing));
  return Error::success();
}

/// Plans that go on from the best one, for budgets from the whole one down to
/// its peak, until one fits.
Error ArenaPlanner::climb() {
  const Plan start = best->solution.plan;
  const int64_t least = best->solution.peakBytes;
  Problem tighter = problem;
  bool fits = false;
  for (unsigned i = ArenaTuning::climbedBudgets; i > 0 && !fits && !isOver();
       --i) {
    double part = double(i) / ArenaTuning::climbedBudgets;
    tighter.deviceBudget = least + int64_t(part * double(budget - least));
    if (Error error = offerTighter(tighter, ArenaTuning::roundShare, &start)
                          .moveInto(fits))
      return handleErrors(std::move(error),
                          [](const InfeasibleBudgetError &) {});
  }
  return Error::success();
}

/// The best plan; that with the smallest arena if there is none.
Expected<PackedSolution> ArenaPlanner::finish() {
  if (!best || known)
    if (Error error = offerSmallest())
      return std::move(error);
  if (!best)
    return make_error<InfeasibleBudgetError>(
        budget, smallestArena, certificate->describe(problem), certificate);
  for (int64_t before = std::numeric_limits<int64_t>::max();
       solver == "auto" && wasTooLarge && best->solution.time < before;) {
    before = best->solution.time;
    if (Error error = climb())
      return std::move(error);
  }
  Solution &solution = best->solution;
  solution.lowerBound = std::clamp(bound, solution.lowerBound, solution.time);
  solution.proof = proof;
  solution.seconds = watch.seconds();
  solution.cutShort = cutShort;
  return std::move(*best);
}

void ArenaPlanner::raiseBound(const Solution &solution) {
  isOptimal = solution.optimal();
  if (solution.lowerBound <= bound)
    return;
  bound = solution.lowerBound;
  proof = solution.proof;
}

/// A plan for the problem itself, from the best one on. Whether it fits; no
/// plan is none that does.
Expected<bool> ArenaPlanner::offerNext(double share) {
  Expected<Solution> solution =
      request(problem, share, best ? &best->solution.plan : nullptr);
  if (!solution) {
    if (!solution.errorIsA<InfeasibleBudgetError>())
      return solution.takeError();
    consumeError(solution.takeError());
    return false;
  }
  raiseBound(*solution);
  last = solution->plan;
  return offer(std::move(*solution));
}

Expected<PackedSolution> ArenaPlanner::run() {
  // A first plan is there soon, however long the search is.
  if (solver == "auto" || options.timeLimitSeconds) {
    double longest =
        options.timeLimitSeconds ? *options.timeLimitSeconds : options.effort;
    double share = std::min(ArenaTuning::quickShare,
                            ArenaTuning::quickSeconds / std::max(longest, 1.0));
    if (Error error = offerNext(std::max(share, firstPlanShare())).takeError())
      return std::move(error);
  }
  // Where the plan fits, the rest of the effort is for it.
  for (double share : {ArenaTuning::firstShare, ArenaTuning::fittingShare}) {
    if ((best && isOptimal) || isOver())
      return finish();
    // The clock must not end the search for a plan that takes long to find.
    bool isLate = !last && options.timeLimitSeconds;
    Expected<bool> fits = offerNext(isLate ? 1 : share);
    if (!fits)
      return fits.takeError();
    if (!*fits && last)
      break;
  }
  if (overhang.empty())
    return finish();
  Reserve wanted = overhang;
  // What fits by now may be a plan for which there was little effort.
  std::optional<int64_t> before;
  if (best)
    before = best->solution.time;
  if (Error error = tighten())
    return std::move(error);
  if (!isOver())
    if (Error error = sweep())
      return std::move(error);
  wasTightened = best && (!before || best->solution.time < *before);
  overhang = std::move(wanted);
  unsigned rounds = options.timeLimitSeconds ? ArenaTuning::mostRounds
                                             : ArenaTuning::effortRounds;
  if (!isOver())
    if (Error error = searchWithReserves(rounds, /*endsWithFirst=*/false))
      return std::move(error);
  return finish();
}

Expected<std::optional<PackedSolution>> ArenaPlanner::runBriefly() {
  Expected<bool> fits = offerNext(ArenaTuning::roundShare);
  if (!fits)
    return fits.takeError();
  if (!*fits && !overhang.empty())
    if (Error error = searchWithReserves(ArenaTuning::roundsPerStart,
                                         /*endsWithFirst=*/true))
      return std::move(error);
  return std::move(best);
}

Expected<PackedSolution> solveWithinArena(const Problem &problem,
                                          StringRef solver,
                                          const SolverOptions &options,
                                          const SmallestPlans *known) {
  return ArenaPlanner(problem, solver, options, known).run();
}

Expected<std::optional<PackedSolution>>
leaveRoomWithinArena(const Problem &problem, const SolverOptions &options) {
  return ArenaPlanner(problem, "auto", options, /*known=*/nullptr).runBriefly();
}

} // namespace remat::planning
