//===- ExactTest.cpp - the algorithms against exhaustive search -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On tiny problems the best plan is found by a shortest path over what is
// resident. The integer program has to find it too, and nothing may claim to be
// better.
//
//===----------------------------------------------------------------------===//

#include "LeastCost.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

bool hasMilp() {
  return !message(solve(chain(2), "milp").takeError()).empty() ? false : true;
}

TEST(Exact, SearchKnowsASmallChain) {
  // Four values suffice for a chain of six, at the price of recomputations.
  EXPECT_EQ(leastCost(chain(3), 4), 6);
  EXPECT_EQ(leastCost(chain(3), 3), std::nullopt);
  EXPECT_GT(*leastCost(chain(5), 4), 10);
}

TEST(Exact, MilpIsOptimalAndGreedyIsNoBetter) {
  if (!hasMilp())
    GTEST_SKIP() << "built without HiGHS";
  unsigned solved = 0, missed = 0, greedyOptimal = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = randomProblem(seed, 9);
    if (problem.values.size() > 20)
      continue;
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {95, 85, 75, 65}) {
      problem.deviceBudget = peak * percent / 100;
      std::optional<int64_t> least = leastCost(problem, *problem.deviceBudget);
      SolverOptions options;
      options.effort = 1;
      llvm::Expected<Solution> exact = solve(problem, "milp", options);
      options.effort = 0.02;
      llvm::Expected<Solution> greedy = solve(problem, "greedy", options);
      if (greedy) {
        ASSERT_TRUE(least.has_value());
        EXPECT_GE(greedy->cost, *least);
        greedyOptimal += greedy->cost == *least;
      } else {
        llvm::consumeError(greedy.takeError());
      }
      if (!exact) {
        llvm::consumeError(exact.takeError());
        missed += least.has_value();
        continue;
      }
      ++solved;
      ASSERT_TRUE(least.has_value());
      EXPECT_TRUE(exact->optimal());
      EXPECT_GE(exact->cost, *least) << seed << " " << percent;
      missed += exact->cost != *least;
    }
  }
  EXPECT_GE(solved, 40u);
  // Its plans keep the given order between two first runs; rarely that costs.
  EXPECT_LE(missed, 1u);
  // The heuristic is not meant to be far off.
  EXPECT_GE(greedyOptimal * 10, solved * 8);
}

TEST(Exact, BoundsFromBelowHold) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Problem problem = randomProblem(seed, 9);
    if (problem.values.size() > 20)
      continue;
    FeasibilityCertificate certificate =
        cantFail(smallestFeasibleBudget(problem));
    EXPECT_LE(certificate.lowerBound, certificate.smallestFeasible);
    EXPECT_EQ(leastCost(problem, certificate.lowerBound - 1), std::nullopt);
    EXPECT_NE(leastCost(problem, certificate.smallestFeasible), std::nullopt);
  }
}

TEST(Exact, MilpHonoursMusts) {
  if (!hasMilp())
    GTEST_SKIP() << "built without HiGHS";
  Problem problem = chain(5);
  problem.values[2].policy = Policy::MustRecompute;
  EXPECT_EQ(cantFail(solve(problem, "milp")).cost, 11);
  problem.values[2].policy = Policy::MustCpuOffload;
  problem.linkBytesPerSecond = 1;
  EXPECT_TRUE(mentions(message(solve(problem, "milp").takeError()),
                       "cannot offload, and value 'f2'"));
}

TEST(Exact, MilpRefusesWhatIsTooLarge) {
  if (!hasMilp())
    GTEST_SKIP() << "built without HiGHS";
  EXPECT_TRUE(mentions(message(solve(chain(100), "milp").takeError()),
                       "takes at most 150 ops, got 200"));
}

TEST(Exact, StoppedEarlyItKeepsABoundAndAPlan) {
  if (!hasMilp())
    GTEST_SKIP() << "built without HiGHS";
  Problem problem = chain(25);
  problem.deviceBudget = 8;
  SolverOptions options;
  options.effort = 0.05;
  Solution solution = cantFail(solve(problem, "milp", options));
  EXPECT_LE(solution.peakBytes, 8);
  EXPECT_GE(solution.lowerBound, solution.baseCost);
  EXPECT_LE(solution.lowerBound, solution.cost);
}

} // namespace
