//===- SmallestArena.cpp - how small the arena can get --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plan with the smallest peak seldom has the smallest arena: it repeats
// most, and what lives for a short time is hard to pack. So the fastest plan
// with that peak and plans for budgets a little above it are packed, too, and
// runs and addresses are annealed together from each of them, and longer from
// the best. From there on, plans that leave room free are searched for in
// arenas that come down, and the last of them is annealed, too. None of it
// depends on a budget, so that what one budget holds all larger ones hold, too.
//
//===----------------------------------------------------------------------===//

#include "ArenaAnnealing.h"
#include "ArenaBudget.h"
#include "SearchTuning.h"
#include "Solution.h"
#include "remat/Planning/Releases.h"
#include "remat/Planning/SharedLimit.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

/// Whether runs are all that there is to plan, and may be inserted wherever
/// their operands were there before.
static bool mayAnneal(const Graph &graph) {
  const Problem &problem = graph.problem;
  if (!problem.regions.empty() || problem.linkBytesPerSecond > 0)
    return false;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.mustLeaveForward(value) || problem.values[value].packed)
      return false;
  return llvm::none_of(problem.ops,
                       [](const Op &op) { return op.absorbedCost; });
}

static bool isSmaller(const PackedSolution &a, const PackedSolution &b) {
  return std::pair(a.packing.totalBytes, a.solution.time) <
         std::pair(b.packing.totalBytes, b.solution.time);
}

namespace {
class ArenaDescent {
public:
  ArenaDescent(const Problem &bounded, const SolverOptions &options)
      : problem(unbound(bounded)), options(options), graph(problem) {}

  Expected<PackedSolution> run(const FeasibilityCertificate &certificate);

private:
  static Problem unbound(Problem problem) {
    problem.deviceBudget.reset();
    return problem;
  }
  /// Of the time limit, if there is one.
  double secondsLeft() const {
    return std::max(*options.timeLimitSeconds - watch.seconds(), 0.0);
  }
  bool isOver() const {
    return options.isInterrupted() ||
           (options.timeLimitSeconds && secondsLeft() <= 0);
  }
  Error offer(Plan plan, int64_t packingWork);
  Error offer(Plan plan, Packing packing);
  Error offerFastest(const FeasibilityCertificate &certificate);
  Error offerLarger(int64_t least);
  Expected<bool> descend(int64_t least);
  Error anneal(size_t firstStart);

  const Problem problem;
  const SolverOptions &options;
  Graph graph;
  Stopwatch watch;
  std::vector<PackedSolution> plans;
};
} // namespace

Error ArenaDescent::offer(Plan plan, Packing packing) {
  Expected<Solution> solution =
      evaluatePlan(problem, std::move(plan), "smallest");
  if (!solution)
    return solution.takeError();
  plans.push_back({std::move(*solution), std::move(packing)});
  return Error::success();
}

Error ArenaDescent::offer(Plan plan, int64_t packingWork) {
  PackingOptions packing;
  packing.maxWork = packingWork;
  packing.interrupt = options.interrupt;
  if (options.timeLimitSeconds)
    packing.deadline =
        deadlineAfter(secondsLeft() * ArenaTuning::certificateShare);
  Expected<Packing> packed = packPlan(problem, plan, packing);
  if (!packed)
    return packed.takeError();
  return offer(std::move(plan), std::move(*packed));
}

/// The fastest plan with the smallest peak: the fewer ranges there are, the
/// more tightly they are packed.
Error ArenaDescent::offerFastest(const FeasibilityCertificate &certificate) {
  SolverOptions rest = options;
  rest.start = &certificate.plan;
  rest.explainInfeasible = false;
  rest.onProgress = nullptr;
  if (rest.timeLimitSeconds)
    rest.timeLimitSeconds = secondsLeft() * ArenaTuning::fastestShare;
  Problem asked = problem;
  asked.deviceBudget = certificate.smallestFeasible;
  Expected<Solution> solution = solve(asked, "auto", rest);
  if (!solution)
    return handleErrors(solution.takeError(),
                        [](const InfeasibleBudgetError &) {});
  return offer(keepReleases(solution->plan, 0), PackingOptions::usualWork);
}

/// Plans for budgets from the smallest one up to its arena.
Error ArenaDescent::offerLarger(int64_t least) {
  const int64_t most = plans.front().packing.totalBytes;
  Problem asked = problem;
  for (unsigned i = 0; i < ArenaTuning::candidates && !isOver(); ++i) {
    SolverOptions part = options;
    part.effort *= ArenaTuning::candidateShare;
    part.overdraft *= ArenaTuning::candidateShare;
    part.explainInfeasible = false;
    part.annealCost = false;
    part.onProgress = nullptr;
    if (part.timeLimitSeconds)
      *part.timeLimitSeconds *= ArenaTuning::candidateShare;
    double above = double(i) / ArenaTuning::candidates;
    asked.deviceBudget = least + int64_t(above * double(most - least));
    Expected<Solution> solution = solve(asked, "auto", part);
    if (!solution) {
      if (!solution.errorIsA<InfeasibleBudgetError>())
        return solution.takeError();
      consumeError(solution.takeError());
      continue;
    }
    if (Error error =
            offer(keepReleases(solution->plan, 0), PackingOptions::briefWork))
      return error;
  }
  return Error::success();
}

/// Plans that leave room free, in arenas that come down in steps that get
/// smaller. Whether there are any; the last one is the smallest plan then.
Expected<bool> ArenaDescent::descend(int64_t least) {
  int64_t arena = llvm::min_element(plans, isSmaller)->packing.totalBytes;
  const size_t before = plans.size();
  Problem asked = problem;
  for (int64_t part = ArenaTuning::coarsestDescent;
       part <= ArenaTuning::finestDescent && !isOver();) {
    int64_t wanted = arena - std::max<int64_t>(1, arena / part);
    // What is this close to the smallest peak is left to annealing.
    if (wanted < least) {
      part *= 2;
      continue;
    }
    SolverOptions rest = options;
    rest.onProgress = nullptr;
    if (rest.timeLimitSeconds)
      rest.timeLimitSeconds = secondsLeft() * ArenaTuning::descentShare;
    asked.deviceBudget = wanted;
    Expected<std::optional<PackedSolution>> found =
        leaveRoomWithinArena(asked, rest);
    if (!found)
      return found.takeError();
    if (!*found) {
      part *= 2;
      continue;
    }
    arena = (*found)->packing.totalBytes;
    if (Error error = offer(std::move((*found)->solution.plan),
                            std::move((*found)->packing)))
      return std::move(error);
  }
  return plans.size() > before;
}

/// From each plan from `firstStart` on for a little while, and then from the
/// best of these.
Error ArenaDescent::anneal(size_t firstStart) {
  SolverOptions whole = options;
  whole.effort *= ArenaTuning::annealingEffort;
  WorkMeter work(whole, watch);
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, options.seed);
  ArenaAnnealing annealing(graph, timeline, evictor, work);
  std::optional<Plan> best;
  std::vector<int64_t> offsets;
  int64_t arena = std::numeric_limits<int64_t>::max();
  const size_t numStarts = plans.size() - firstStart;
  for (size_t i = 0; i < numStarts && !isOver(); ++i) {
    const PackedSolution &start = plans[firstStart + i];
    annealing.load(start.solution.plan, start.packing.offsets);
    annealing.lowerArena(ArenaTuning::startsShare * double(i + 1) /
                             double(numStarts),
                         /*patience=*/1);
    if (annealing.getArena() >= arena)
      continue;
    best = annealing.getPlan();
    offsets = annealing.getOffsets();
    arena = annealing.getArena();
  }
  if (!best)
    return Error::success();
  annealing.load(*best, offsets);
  annealing.lowerArena(ArenaTuning::arenaShare, ArenaAnnealingTuning::patience);
  annealing.lowerCost(1);
  Packing packing;
  packing.offsets = annealing.getOffsets();
  packing.totalBytes = annealing.getArena();
  Expected<std::vector<LiveRange>> ranges =
      findLiveRanges(problem, annealing.getPlan());
  if (!ranges)
    return ranges.takeError();
  PackingOptions brief;
  brief.maxWork = PackingOptions::briefWork;
  brief.enoughBytes = packing.totalBytes - 1;
  Packing other = packLiveRanges(*ranges, brief);
  packing.peakBytes = other.peakBytes;
  packing.lowerBytes = other.lowerBytes;
  if (other.totalBytes < packing.totalBytes)
    packing = std::move(other);
  if (std::optional<std::string> fault = findPackingFault(*ranges, packing))
    return createStringError("internal error: " + *fault);
  return offer(annealing.getPlan(), std::move(packing));
}

Expected<PackedSolution>
ArenaDescent::run(const FeasibilityCertificate &certificate) {
  if (Error error = offer(certificate.plan, PackingOptions::usualWork))
    return std::move(error);
  // Where the peak can be had, hardly anything is smaller.
  if (!plans.front().packing.optimal() && options.anneal) {
    const bool anneals = mayAnneal(graph);
    if (anneals && !isOver())
      if (Error error = offerFastest(certificate))
        return std::move(error);
    if (Error error = offerLarger(certificate.smallestFeasible))
      return std::move(error);
    if (anneals && !isOver())
      if (Error error = anneal(/*firstStart=*/0))
        return std::move(error);
    Expected<bool> descended = descend(certificate.smallestFeasible);
    if (!descended)
      return descended.takeError();
    if (*descended && anneals && !isOver())
      if (Error error = anneal(/*firstStart=*/plans.size() - 1))
        return std::move(error);
  }
  return std::move(*llvm::min_element(plans, isSmaller));
}

Expected<PackedSolution>
findSmallestArena(const Problem &problem,
                  const FeasibilityCertificate &certificate,
                  const SolverOptions &options) {
  return ArenaDescent(problem, options).run(certificate);
}

} // namespace remat::planning
