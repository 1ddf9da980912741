//===- FromSmallestTest.cpp - searches that begin with the smallest plan --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayeredProblem.h"
#include "Problems.h"

#include "remat/Planning/Algorithms.h"

using namespace remat::planning;

namespace {

SolverOptions brief() {
  SolverOptions options;
  options.effort = 0.1;
  // Too little to find a plan for the smallest budget.
  options.overdraft = 0.1;
  return options;
}

FeasibilityCertificate certify(const Problem &problem) {
  SolverOptions options = brief();
  options.effort = 1;
  llvm::Expected<FeasibilityCertificate> found =
      smallestFeasibleBudget(problem, options);
  EXPECT_TRUE(bool(found)) << llvm::toString(found.takeError());
  return found ? std::move(*found) : FeasibilityCertificate();
}

// The plan with the smallest peak was made at any cost.
TEST(FromSmallest, MakesTheSmallestPlanFaster) {
  int64_t before = 0, after = 0;
  unsigned found = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 16, 8);
    FeasibilityCertificate lowest = certify(problem);
    problem.deviceBudget = lowest.smallestFeasible;
    llvm::Expected<Solution> alone = solve(problem, "auto", brief());
    found += bool(alone);
    consumeError(alone.takeError());

    llvm::Expected<Solution> smallest =
        evaluatePlan(problem, lowest.plan, "smallest");
    llvm::Expected<Solution> solution =
        solveOrTakeSmallest(problem, "auto", brief(), &lowest);
    ASSERT_TRUE(bool(smallest)) << llvm::toString(smallest.takeError());
    ASSERT_TRUE(bool(solution)) << llvm::toString(solution.takeError());
    EXPECT_LE(solution->peakBytes, lowest.smallestFeasible);
    EXPECT_LE(solution->time, smallest->time);
    before += smallest->time - problem.baseCost();
    after += solution->time - problem.baseCost();
  }
  EXPECT_LT(found, 4u);
  EXPECT_LT(double(after), 0.9 * double(before));
}

// Annealing is a matter of luck, and effort changes where it begins.
TEST(FromSmallest, MoreEffortNeverNeedsMoreBytes) {
  for (uint64_t seed : {5, 8, 17}) {
    Problem problem = layered(seed, 12, 6);
    int64_t least = std::numeric_limits<int64_t>::max();
    for (double effort : {0.125, 0.25, 0.5, 0.6}) {
      SolverOptions options;
      options.effort = effort;
      llvm::Expected<FeasibilityCertificate> found =
          smallestFeasibleBudget(problem, options);
      ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
      EXPECT_LE(found->smallestFeasible, least) << seed << ", " << effort;
      least = found->smallestFeasible;
    }
  }
}

// What finds a plan at any cost takes most of the effort, and the search has
// all of it again.
TEST(FromSmallest, PlansThatAreHardToFindAreImproved) {
  int64_t extra = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 16, 6);
    problem.deviceBudget = certify(problem).smallestFeasible * 103 / 100;
    SolverOptions options = brief();
    options.improveAgain = true;
    llvm::Expected<Solution> found = solve(problem, "auto", options);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    extra += found->time - problem.baseCost();
  }
  // What is left after the plan is found comes to 721.
  EXPECT_LT(extra, 640);
}

// The search may find one on its way that takes longer.
TEST(FromSmallest, TakesThePlanThatIsKnownWhereItIsFaster) {
  Problem problem = layered(2, 16, 8);
  llvm::Expected<Solution> saveAll = solve(problem, "save-all", brief());
  ASSERT_TRUE(bool(saveAll)) << llvm::toString(saveAll.takeError());
  FeasibilityCertificate known = certify(problem);
  problem.deviceBudget = known.smallestFeasible + known.smallestFeasible / 50;
  // A better plan than the search finds with no effort.
  SolverOptions thorough;
  llvm::Expected<Solution> best = solve(problem, "auto", thorough);
  ASSERT_TRUE(bool(best)) << llvm::toString(best.takeError());
  known.plan = best->plan;
  known.smallestFeasible = best->peakBytes;
  SolverOptions none;
  none.effort = 0;
  llvm::Expected<Solution> solution =
      solveOrTakeSmallest(problem, "auto", none, &known);
  ASSERT_TRUE(bool(solution)) << llvm::toString(solution.takeError());
  EXPECT_LE(solution->time, best->time);
}

// Other algorithms are asked for what they can do, and what does not fit is no
// plan.
TEST(FromSmallest, IsForAutoAndForWhatFits) {
  Problem problem = layered(1, 12, 8);
  FeasibilityCertificate lowest = certify(problem);
  problem.deviceBudget = lowest.smallestFeasible;
  llvm::Expected<Solution> sqrt =
      solveOrTakeSmallest(problem, "sqrt", brief(), &lowest);
  ASSERT_FALSE(bool(sqrt));
  EXPECT_TRUE(sqrt.errorIsA<InfeasibleBudgetError>());
  consumeError(sqrt.takeError());
  problem.deviceBudget = lowest.lowerBound - 1;
  llvm::Expected<Solution> none =
      solveOrTakeSmallest(problem, "auto", brief(), &lowest);
  ASSERT_FALSE(bool(none));
  EXPECT_TRUE(none.errorIsA<InfeasibleBudgetError>());
  consumeError(none.takeError());
}

// A search for each budget alone finds slower plans for some larger budgets.
TEST(FromSmallest, LargerBudgetsHaveNoSlowerPlans) {
  unsigned slowerAlone = 0;
  Problem problem = layered(4, 8, 6);
  SolverOptions options = brief();
  options.effort = 0.05;
  llvm::Expected<FeasibilityCertificate> lowest =
      smallestFeasibleBudget(problem, options);
  ASSERT_TRUE(bool(lowest)) << llvm::toString(lowest.takeError());
  const int64_t smallest = lowest->smallestFeasible;
  std::vector<int64_t> times, timesAlone;
  for (int64_t part : {0, 5, 20}) {
    problem.deviceBudget = smallest + smallest * part / 1000;
    llvm::Expected<Solution> found = solveOrTakeSmallest(
        problem, "auto", options, part == 0 ? &*lowest : nullptr);
    ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
    EXPECT_LE(found->peakBytes, *problem.deviceBudget);
    for (int64_t before : times)
      EXPECT_LE(found->time, before) << "at " << *problem.deviceBudget;
    times.push_back(found->time);
    SolverOptions thorough = options;
    thorough.improveAgain = true;
    thorough.explainInfeasible = false;
    llvm::Expected<Solution> alone = solve(problem, "auto", thorough);
    if (!alone) {
      llvm::consumeError(alone.takeError());
      continue;
    }
    EXPECT_LE(found->time, alone->time);
    for (int64_t before : timesAlone)
      slowerAlone += alone->time > before;
    timesAlone.push_back(alone->time);
  }
  EXPECT_GT(slowerAlone, 0u);
}

// Where the budget is far from the smallest one, nothing else is planned.
TEST(FromSmallest, LargeBudgetsAreLeftAlone) {
  Problem problem = layered(1, 16, 6);
  problem.deviceBudget = certify(problem).smallestFeasible * 3 / 2;
  llvm::Expected<Solution> alone = solve(problem, "auto", brief());
  llvm::Expected<Solution> found =
      solveOrTakeSmallest(problem, "auto", brief());
  ASSERT_TRUE(bool(alone)) << llvm::toString(alone.takeError());
  ASSERT_TRUE(bool(found)) << llvm::toString(found.takeError());
  EXPECT_EQ(found->plan, alone->plan);
}

} // namespace
