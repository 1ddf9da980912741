//===- ArenaBudgetTest.cpp - plans whose arena is within a budget ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problems.h"
#include "remat/Planning/PlanPacking.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

/// What the plan that is found for the peak alone is packed into.
int64_t packPeakPlan(const Problem &problem) {
  Solution solution = cantFail(solve(problem, "auto", withEffort(0.05)));
  PackingOptions packing;
  packing.maxWork = 20'000'000;
  return packLiveRanges(cantFail(findLiveRanges(problem, solution.plan)),
                        packing)
      .totalBytes;
}

TEST(ArenaBudget, PlansArePackedIntoTheBudget) {
  unsigned planned = 0, repaired = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Problem problem = randomProblem(seed, 100);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {100, 90, 80}) {
      problem.deviceBudget = peak * percent / 100;
      llvm::Expected<PackedSolution> found =
          solveWithinArena(problem, "auto", withEffort(0.05));
      if (!found) {
        EXPECT_TRUE(found.errorIsA<InfeasibleBudgetError>());
        llvm::consumeError(found.takeError());
        continue;
      }
      ++planned;
      SCOPED_TRACE("seed " + std::to_string(seed) + " at " +
                   std::to_string(percent) + " %");
      EXPECT_LE(found->packing.totalBytes, *problem.deviceBudget);
      std::vector<LiveRange> ranges =
          cantFail(findLiveRanges(problem, found->solution.plan));
      EXPECT_EQ(findPackingFault(ranges, found->packing), std::nullopt);
      EXPECT_FALSE(bool(verify(problem, found->solution.plan)));
      EXPECT_LE(found->solution.lowerBound, found->solution.time);
      repaired += packPeakPlan(problem) > *problem.deviceBudget;
    }
  }
  EXPECT_GT(planned, 20u);
  // Of those, some whose first plan does not fit.
  EXPECT_GT(repaired, 1u);
}

TEST(ArenaBudget, TheSmallestArenaIsFeasibleForLargerBudgetsToo) {
  Problem problem = randomProblem(5, 40);
  SolverOptions options = withEffort(0.05);
  FeasibilityCertificate smallest =
      cantFail(smallestFeasibleBudget(problem, options));
  int64_t arena =
      packLiveRanges(cantFail(findLiveRanges(problem, smallest.plan)))
          .totalBytes;
  for (int64_t more : {0, 1, 7, 50}) {
    problem.deviceBudget = arena + more;
    PackedSolution found = cantFail(solveWithinArena(problem, "auto", options));
    EXPECT_LE(found.packing.totalBytes, arena + more);
  }
}

TEST(ArenaBudget, ErrorsNameAnArenaThatIsKnown) {
  Problem problem = randomProblem(5, 40);
  problem.deviceBudget = 1;
  llvm::Expected<PackedSolution> found =
      solveWithinArena(problem, "auto", withEffort(0.05));
  ASSERT_FALSE(found);
  int64_t arena = 0;
  llvm::handleAllErrors(found.takeError(),
                        [&](const InfeasibleBudgetError &error) {
                          arena = error.getSmallestFeasible();
                        });
  ASSERT_GT(arena, 1);
  problem.deviceBudget = arena;
  EXPECT_TRUE(bool(solveWithinArena(problem, "auto", withEffort(0.05))));
}

TEST(ArenaBudget, SamePlanTwice) {
  Problem problem = randomProblem(3, 60);
  problem.deviceBudget =
      cantFail(solve(problem, "save-all")).peakBytes * 85 / 100;
  PackedSolution first =
      cantFail(solveWithinArena(problem, "auto", withEffort(0.05)));
  PackedSolution second =
      cantFail(solveWithinArena(problem, "auto", withEffort(0.05)));
  EXPECT_EQ(first.solution.plan.actions, second.solution.plan.actions);
  EXPECT_EQ(first.packing.offsets, second.packing.offsets);
}

} // namespace
