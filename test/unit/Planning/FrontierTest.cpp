//===- FrontierTest.cpp - memory against time -----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The promises of the frontier: its ends, its budgets, monotonicity, plans.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Frontier.h"
#include "Problems.h"

using namespace llvm;
using namespace remat::planning;

static FrontierOptions makeOptions(unsigned points) {
  FrontierOptions options;
  options.points = points;
  options.search.effort = 0.01;
  return options;
}

/// Every promise that does not depend on the problem.
static void expectFrontier(Problem problem, const Frontier &frontier) {
  for (const FrontierPoint &point : frontier.points) {
    problem.deviceBudget = point.budgetBytes;
    EXPECT_EQ(message(verify(problem, point.solution.plan)), "");
    EXPECT_LE(point.solution.peakBytes, point.budgetBytes);
    EXPECT_LE(point.solution.lowerBound, point.solution.time);
  }
  for (size_t i = 1; i < frontier.points.size(); ++i) {
    const FrontierPoint &less = frontier.points[i - 1];
    const FrontierPoint &more = frontier.points[i];
    EXPECT_LT(less.budgetBytes, more.budgetBytes);
    EXPECT_LE(less.solution.peakBytes, more.solution.peakBytes);
    EXPECT_GE(less.solution.time, more.solution.time);
    EXPECT_GE(less.solution.lowerBound, more.solution.lowerBound);
  }
}

TEST(FrontierTest, EndsAtSaveAllAndTheSmallest) {
  Problem problem = chain(12);
  Frontier frontier = cantFail(computeFrontier(problem, makeOptions(6)));
  expectFrontier(problem, frontier);
  Solution saveAll = cantFail(solve(problem, "save-all"));
  FeasibilityCertificate smallest = cantFail(smallestFeasibleBudget(problem));
  ASSERT_EQ(frontier.points.size(), 6u);
  EXPECT_EQ(frontier.points.front().budgetBytes, smallest.smallestFeasible);
  EXPECT_EQ(frontier.points.back().budgetBytes, saveAll.peakBytes);
  EXPECT_EQ(frontier.points.back().solution.time, saveAll.time);
  // The tight end of a chain costs something.
  EXPECT_GT(frontier.points.front().solution.time, saveAll.time);
}

TEST(FrontierTest, IsMonotone) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Problem problem = randomProblem(seed, 40);
    Expected<Frontier> frontier = computeFrontier(problem, makeOptions(20));
    ASSERT_TRUE(bool(frontier)) << toString(frontier.takeError());
    expectFrontier(problem, *frontier);
  }
}

TEST(FrontierTest, ArenasAreWithinBudgetsThatCountThem) {
  unsigned larger = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Problem problem = randomProblem(seed, 60);
    FrontierOptions options = makeOptions(4);
    options.countsArena = true;
    Frontier frontier = cantFail(computeFrontier(problem, options));
    int64_t before = 0, time = std::numeric_limits<int64_t>::max();
    for (const FrontierPoint &point : frontier.points) {
      ASSERT_TRUE(point.arenaBytes);
      EXPECT_LE(point.solution.peakBytes, *point.arenaBytes);
      EXPECT_LE(*point.arenaBytes, point.budgetBytes);
      EXPECT_GE(*point.arenaBytes, before);
      EXPECT_LE(point.solution.time, time);
      before = *point.arenaBytes;
      time = point.solution.time;
      larger += point.solution.peakBytes < before;
    }
  }
  // Otherwise it would be the frontier of peaks.
  EXPECT_GT(larger, 0u);
}

TEST(FrontierTest, PeaksOfFiftyBudgets) {
  // On a chain, on a random graph, and on a small one.
  Problem problems[] = {chain(25, 64), randomProblem(3, 50), chain(6)};
  for (const Problem &problem : problems) {
    Frontier frontier = cantFail(computeFrontier(problem, makeOptions(50)));
    expectFrontier(problem, frontier);
    if (problem.ops.size() >= 50)
      EXPECT_GT(frontier.points.size(), 40u);
  }
}

TEST(FrontierTest, AWeakSolverStaysMonotone) {
  // It fails below some budget and does not get better with more memory.
  Problem problem = chain(20);
  FrontierOptions options = makeOptions(15);
  options.solver = "sqrt";
  Frontier frontier = cantFail(computeFrontier(problem, options));
  expectFrontier(problem, frontier);
  EXPECT_EQ(frontier.points.size(), 15u);
}

TEST(FrontierTest, IgnoresTheBudgetOfTheProblem) {
  Problem problem = chain(6);
  Frontier expected = cantFail(computeFrontier(problem, makeOptions(4)));
  problem.deviceBudget = 0;
  Frontier frontier = cantFail(computeFrontier(problem, makeOptions(4)));
  ASSERT_EQ(frontier.points.size(), expected.points.size());
  for (size_t i = 0; i < frontier.points.size(); ++i)
    EXPECT_EQ(frontier.points[i].solution.plan,
              expected.points[i].solution.plan);
}

TEST(FrontierTest, HasOnePointWhereNothingCanBeGained) {
  Problem problem;
  OpId op = problem.addOp("f", 1, {});
  problem.values[problem.addResult(op, "f", 64)].isOutput = true;
  Frontier frontier = cantFail(computeFrontier(problem, makeOptions(10)));
  ASSERT_EQ(frontier.points.size(), 1u);
  EXPECT_EQ(frontier.points[0].budgetBytes, 64);
  EXPECT_TRUE(frontier.points[0].solution.optimal());
  EXPECT_EQ(cantFail(computeFrontier(Problem(), makeOptions(10))).points.size(),
            1u);
}

TEST(FrontierTest, NeedsBothEndsAndASolver) {
  EXPECT_TRUE(
      mentions(message(computeFrontier(chain(3), makeOptions(1)).takeError()),
               "a frontier needs at least 2 points, got 1"));
  FrontierOptions options = makeOptions(3);
  options.solver = "none";
  EXPECT_TRUE(mentions(message(computeFrontier(chain(9), options).takeError()),
                       "unknown planner 'none'"));
}
