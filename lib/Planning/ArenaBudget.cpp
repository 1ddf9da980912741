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
//
//===----------------------------------------------------------------------===//

#include "SearchTuning.h"
#include "Solution.h"
#include "remat/Planning/PlanPacking.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace llvm;

namespace remat::planning {

namespace {
class ArenaPlanner {
public:
  ArenaPlanner(const Problem &problem, StringRef solver,
               const SolverOptions &options)
      : problem(problem), solver(solver), options(options),
        budget(*problem.deviceBudget), reserved(problem.ops.size(), 0),
        tooLittle(problem.ops.size(), 0) {}

  Expected<PackedSolution> run();

private:
  using Reserve = std::vector<int64_t>;

  double secondsLeft() const {
    return std::max(*options.timeLimitSeconds - watch.seconds(), 0.0);
  }
  bool isOver() const {
    return options.isInterrupted() ||
           (options.timeLimitSeconds && secondsLeft() <= 0);
  }
  static std::chrono::steady_clock::time_point after(double seconds) {
    using Clock = std::chrono::steady_clock;
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(seconds));
  }
  Expected<Solution> request(const Problem &asked, double share,
                             const Plan *start);
  Expected<bool> offer(Solution solution);
  Expected<bool> keep(Solution solution, ArrayRef<LiveRange> ranges,
                      const PackingOptions &packing);
  void collectOverhang(const Plan &plan, ArrayRef<LiveRange> ranges,
                       const Packing &packing);
  Error searchWithReserves();
  Error offerSmallest();
  Expected<PackedSolution> finish();

  const Problem &problem;
  StringRef solver;
  const SolverOptions &options;
  Stopwatch watch;
  int64_t budget;
  /// For each op, the room to leave free while it runs, and what was not
  /// enough.
  Reserve reserved, tooLittle;
  /// By how much the last packing stuck out while each op ran.
  Reserve overhang;
  std::optional<PackedSolution> best;
  int64_t smallestArena = std::numeric_limits<int64_t>::max();
  /// What is proven of the problem, not of one with reserves.
  int64_t bound = 0;
  std::string proof;
  bool cutShort = false;
};
} // namespace

/// A plan for a share of the effort, or of the time limit and at most for what
/// is left of it.
Expected<Solution> ArenaPlanner::request(const Problem &asked, double share,
                                         const Plan *start) {
  SolverOptions part = options;
  part.effort *= share;
  if (options.timeLimitSeconds)
    part.timeLimitSeconds =
        std::min(*options.timeLimitSeconds * share,
                 secondsLeft() * ArenaTuning::planningShare);
  part.start = start;
  part.explainInfeasible = false;
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
    packing.deadline = after(secondsLeft() * ArenaTuning::packingShare);
  return keep(std::move(solution), *ranges, packing);
}

Expected<bool> ArenaPlanner::keep(Solution solution, ArrayRef<LiveRange> ranges,
                                  const PackingOptions &packing) {
  Packing packed = packLiveRanges(ranges, packing);
  smallestArena = std::min(smallestArena, packed.totalBytes);
  if (packed.totalBytes > budget) {
    collectOverhang(solution.plan, ranges, packed);
    return false;
  }
  if (best && best->solution.time <= solution.time)
    return true;
  solution.secondsToBest = watch.seconds();
  best = PackedSolution{std::move(solution), std::move(packed)};
  return true;
}

void ArenaPlanner::collectOverhang(const Plan &plan, ArrayRef<LiveRange> ranges,
                                   const Packing &packing) {
  std::vector<int64_t> above(plan.actions.size() + 1, 0);
  for (auto [range, offset] : llvm::zip(ranges, packing.offsets))
    if (int64_t excess = offset + range.bytes - budget; excess > 0)
      for (uint32_t at = range.begin; at <= range.end; ++at)
        above[at] = std::max(above[at], excess);
  overhang.assign(problem.ops.size(), 0);
  for (auto [at, action] : enumerate(plan.actions))
    if (actsOnOp(action.kind))
      overhang[action.id] = std::max(overhang[action.id], above[at]);
}

/// Rounds of reserving, planning and packing.
Error ArenaPlanner::searchWithReserves() {
  int64_t growth = 1;
  reserved = overhang;
  unsigned rounds = options.timeLimitSeconds ? ArenaTuning::mostRounds
                                             : ArenaTuning::effortRounds;
  for (unsigned round = 0; round < rounds && !isOver(); ++round) {
    // What is left without a plan is for the one with the lowest peak.
    if (!best && options.timeLimitSeconds &&
        secondsLeft() < ArenaTuning::lowestShare * *options.timeLimitSeconds)
      break;
    Problem asked = problem;
    for (auto [op, bytes] : enumerate(reserved))
      asked.ops[op].workspace += bytes;
    Expected<Solution> solution = request(
        asked, ArenaTuning::roundShare, best ? &best->solution.plan : nullptr);
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
    } else if (solution.errorIsA<InfeasibleBudgetError>()) {
      consumeError(solution.takeError());
      tooMuch = true;
    } else {
      return solution.takeError();
    }
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

/// The plan with the lowest peak that the heuristics reach, packed in the same
/// way for every budget: without a clock, what holds one budget holds all
/// larger ones.
Error ArenaPlanner::offerSmallest() {
  SolverOptions last = options;
  if (options.timeLimitSeconds)
    last.timeLimitSeconds = secondsLeft();
  Expected<FeasibilityCertificate> certificate =
      smallestFeasibleBudget(problem, last);
  if (!certificate)
    return certificate.takeError();
  Problem unbounded = problem;
  unbounded.deviceBudget.reset();
  Expected<Solution> lowest =
      evaluatePlan(unbounded, std::move(certificate->plan), solver);
  if (!lowest)
    return lowest.takeError();
  Expected<std::vector<LiveRange>> ranges =
      findLiveRanges(problem, lowest->plan);
  if (!ranges)
    return ranges.takeError();
  PackingOptions packing;
  if (options.timeLimitSeconds)
    packing.deadline = after(secondsLeft());
  return keep(std::move(*lowest), *ranges, packing).takeError();
}

/// The best plan; that with the lowest peak if there is none.
Expected<PackedSolution> ArenaPlanner::finish() {
  if (!best)
    if (Error error = offerSmallest())
      return std::move(error);
  if (!best)
    return make_error<InfeasibleBudgetError>(
        budget, smallestArena,
        "no plan was found whose copies can be packed into the budget");
  Solution &solution = best->solution;
  solution.lowerBound = std::clamp(bound, solution.lowerBound, solution.time);
  solution.proof = proof;
  solution.seconds = watch.seconds();
  solution.cutShort = cutShort;
  return std::move(*best);
}

Expected<PackedSolution> ArenaPlanner::run() {
  Expected<Solution> first = request(problem, ArenaTuning::firstShare, nullptr);
  if (!first && !first.errorIsA<InfeasibleBudgetError>())
    return first.takeError();
  if (!first) {
    consumeError(first.takeError());
    return finish();
  }
  bound = first->lowerBound;
  proof = first->proof;
  bool isOptimal = first->optimal();
  Expected<bool> fits = offer(std::move(*first));
  if (!fits)
    return fits.takeError();
  if (*fits && !isOptimal && !isOver()) {
    // The rest of the effort is for this plan.
    Expected<Solution> second =
        request(problem, 1 - ArenaTuning::firstShare, &best->solution.plan);
    if (!second)
      return second.takeError();
    bound = std::max(bound, second->lowerBound);
    proof = bound == second->lowerBound ? second->proof : proof;
    if (second->time < best->solution.time)
      if (Error error = offer(std::move(*second)).takeError())
        return std::move(error);
    if (!overhang.empty() && !isOver())
      if (Error error = searchWithReserves())
        return std::move(error);
  } else if (!*fits) {
    if (Error error = searchWithReserves())
      return std::move(error);
  }
  return finish();
}

Expected<PackedSolution> solveWithinArena(const Problem &problem,
                                          StringRef solver,
                                          const SolverOptions &options) {
  return ArenaPlanner(problem, solver, options).run();
}

} // namespace remat::planning
