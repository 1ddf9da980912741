//===- ArenaAnnealingTest.cpp - annealing of runs and addresses -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ArenaAnnealing.h"
#include "LayeredProblem.h"
#include "Problems.h"

#include "remat/Planning/PlanPacking.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

/// A plan with a low peak, packed with little work.
PackedSolution planLow(const Problem &problem) {
  FeasibilityCertificate low =
      cantFail(smallestFeasibleBudget(problem, withEffort(0.05)));
  PackingOptions packing;
  packing.maxWork = PackingOptions::briefWork;
  return {cantFail(evaluatePlan(problem, low.plan, "low")),
          cantFail(packPlan(problem, low.plan, packing))};
}

std::vector<OpId> firstRuns(const Plan &plan) {
  std::vector<OpId> order;
  for (const Action &action : plan.actions)
    if (!llvm::is_contained(order, action.id))
      order.push_back(action.id);
  return order;
}

class Annealing {
public:
  Annealing(const Problem &problem, double units)
      : problem(problem), options(withEffort(units)), graph(problem),
        work(options, watch), timeline(graph),
        evictor(graph, timeline, work, options.seed),
        annealing(graph, timeline, evictor, work) {}

  ArenaAnnealing *operator->() { return &annealing; }

  /// The plan, which must be legal, with addresses that must be free.
  PackedSolution check() {
    Solution solution =
        cantFail(evaluatePlan(problem, annealing.getPlan(), "annealed"));
    std::vector<LiveRange> ranges =
        cantFail(findLiveRanges(problem, solution.plan));
    Packing packing;
    packing.offsets = annealing.getOffsets();
    packing.totalBytes = annealing.getArena();
    EXPECT_EQ(findPackingFault(ranges, packing), std::nullopt);
    return {std::move(solution), std::move(packing)};
  }

private:
  const Problem &problem;
  SolverOptions options;
  Stopwatch watch;
  Graph graph;
  WorkMeter work;
  Timeline timeline;
  Evictor evictor;
  ArenaAnnealing annealing;
};

TEST(ArenaAnnealing, MakesArenasSmallerThanPacking) {
  int64_t packed = 0, annealed = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 12, 6);
    PackedSolution low = planLow(problem);
    Annealing annealing(problem, 0.3);
    annealing->load(low.solution.plan, low.packing.offsets);
    EXPECT_EQ(annealing.check().packing.offsets, low.packing.offsets);
    annealing->lowerArena(/*share=*/1, /*patience=*/4);
    PackedSolution found = annealing.check();
    EXPECT_LE(found.packing.totalBytes, low.packing.totalBytes);
    EXPECT_EQ(firstRuns(found.solution.plan), firstRuns(low.solution.plan));
    packed += low.packing.totalBytes;
    annealed += found.packing.totalBytes;
  }
  EXPECT_LT(annealed, packed - packed / 50);
}

TEST(ArenaAnnealing, WorkspacesHaveAddresses) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Problem problem = layered(seed, 8, 6);
    std::mt19937_64 random(seed);
    for (Op &op : problem.ops)
      if (random() % 2)
        op.workspace = random() % 50;
    PackedSolution low = planLow(problem);
    Annealing annealing(problem, 0.1);
    annealing->load(low.solution.plan, low.packing.offsets);
    annealing->lowerArena(/*share=*/1, /*patience=*/4);
    annealing.check();
  }
}

TEST(ArenaAnnealing, PlansBecomeFasterWithinTheirArena) {
  int64_t before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Problem problem = layered(seed, 12, 6);
    PackedSolution low = planLow(problem);
    Annealing annealing(problem, 0.3);
    annealing->load(low.solution.plan, low.packing.offsets);
    annealing->lowerCost(/*share=*/1);
    PackedSolution found = annealing.check();
    EXPECT_LE(found.packing.totalBytes, low.packing.totalBytes);
    before += low.solution.cost - problem.baseCost();
    after += found.solution.cost - problem.baseCost();
  }
  EXPECT_LT(after, before);
}

TEST(SmallestArena, HoldsAllBudgetsThatHoldIt) {
  Problem problem = layered(/*seed=*/1, 8, 6);
  SolverOptions options = withEffort(0.05);
  FeasibilityCertificate low =
      cantFail(smallestFeasibleBudget(problem, options));
  PackedSolution found = cantFail(findSmallestArena(problem, low, options));
  int64_t arena = found.packing.totalBytes;
  std::vector<LiveRange> ranges =
      cantFail(findLiveRanges(problem, found.solution.plan));
  EXPECT_EQ(findPackingFault(ranges, found.packing), std::nullopt);
  EXPECT_LE(arena, cantFail(packPlan(problem, low.plan)).totalBytes);
  problem.deviceBudget = arena + arena / 300;
  llvm::Expected<PackedSolution> within =
      solveWithinArena(problem, "auto", options);
  ASSERT_TRUE(bool(within)) << llvm::toString(within.takeError());
  EXPECT_LE(within->packing.totalBytes, *problem.deviceBudget);
  // What is known is not looked for again, and no slower plan is taken.
  problem.deviceBudget = arena;
  SmallestPlans known{low, found};
  within = solveWithinArena(problem, "auto", options, &known);
  ASSERT_TRUE(bool(within)) << llvm::toString(within.takeError());
  EXPECT_LE(within->solution.time, found.solution.time);
  EXPECT_LE(within->packing.totalBytes, arena);
}

TEST(SmallestArena, WithTransfersPlansAreOnlyPacked) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    Problem problem = layered(seed, 8, 5);
    problem.linkBytesPerSecond = 1'000'000'000;
    for (Value &value : problem.values)
      value.transferBytes = value.bytes;
    FeasibilityCertificate low =
        cantFail(smallestFeasibleBudget(problem, withEffort(0.05)));
    PackedSolution found =
        cantFail(findSmallestArena(problem, low, withEffort(0.05)));
    EXPECT_FALSE(bool(verify(problem, found.solution.plan)));
    EXPECT_LE(found.packing.totalBytes,
              cantFail(packPlan(problem, low.plan)).totalBytes);
  }
}

// Arenas of a few bytes come down by one byte, not by none.
TEST(SmallestArena, FewBytes) {
  unsigned numAbovePeak = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 9, 5);
    for (Value &value : problem.values)
      value.bytes = 1 + value.bytes / 30;
    FeasibilityCertificate low =
        cantFail(smallestFeasibleBudget(problem, withEffort(0.02)));
    PackedSolution found =
        cantFail(findSmallestArena(problem, low, withEffort(0.02)));
    EXPECT_FALSE(bool(verify(problem, found.solution.plan)));
    EXPECT_GE(found.packing.totalBytes, low.smallestFeasible);
    if (found.packing.totalBytes < 32)
      numAbovePeak += found.packing.totalBytes > low.smallestFeasible;
  }
  EXPECT_GT(numAbovePeak, 0u);
}

} // namespace
