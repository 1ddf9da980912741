//===- ExactSearchTest.cpp - the exhaustive search ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the oracle's test does not look at: free orders, links that take time,
// and where the search ends. The agreement on given orders is in OracleTest.
//
//===----------------------------------------------------------------------===//

#include "LeastCost.h"
#include "Oracle.h"
#include "remat/Planning/PlanPacking.h"

#include <numeric>

using namespace remat::planning;

namespace {

/// The problem with its ops in another order, given as old ids.
Problem reordered(const Problem &problem, llvm::ArrayRef<OpId> order) {
  Problem other = problem;
  for (auto [id, old] : llvm::enumerate(order)) {
    other.ops[id] = problem.ops[old];
    for (ValueId result : other.ops[id].results)
      other.values[result].producer = id;
  }
  return other;
}

/// The cheapest plan over all orders that are legal.
std::optional<int64_t> cheapestInAnyOrder(const Problem &problem,
                                          int64_t budget) {
  std::vector<OpId> order(problem.ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::optional<int64_t> least;
  do {
    Problem other = reordered(problem, order);
    OpId lastEffect = 0;
    bool keepsEffects = true;
    for (OpId op : order)
      if (!problem.ops[op].recomputable) {
        keepsEffects &= op >= lastEffect;
        lastEffect = op;
      }
    if (!keepsEffects || !message(check(other)).empty())
      continue;
    if (std::optional<BestPlan> best = cheapestPlan(other, budget))
      least = std::min(best->value, least.value_or(best->value));
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

TEST(ExactSearch, FindsTheBestOrder) {
  unsigned compared = 0, better = 0;
  for (uint64_t seed = 0; compared < 300; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = tinyProblem(seed);
    if (problem.ops.size() > 5)
      continue;
    // Which values a MUST keeps from crossing depends on the given order.
    for (Value &value : problem.values)
      if (value.policy == Policy::MustRecompute ||
          value.policy == Policy::MustCpuOffload)
        value.policy = Policy::None;
    std::optional<BestPlan> smallest = smallestPlan(problem);
    ASSERT_TRUE(smallest.has_value());
    for (int64_t change : {-2, 0, 3}) {
      problem.deviceBudget = smallest->value + change;
      if (*problem.deviceBudget < 0)
        continue;
      problem.freeOrder = false;
      std::optional<int64_t> least =
          cheapestInAnyOrder(problem, *problem.deviceBudget);
      std::optional<BestPlan> given =
          cheapestPlan(problem, *problem.deviceBudget);
      problem.freeOrder = true;
      llvm::Expected<Solution> solution = solve(problem, "exact");
      ASSERT_EQ(bool(solution), least.has_value())
          << message(solution.takeError());
      if (!solution) {
        llvm::consumeError(solution.takeError());
        continue;
      }
      EXPECT_EQ(solution->cost, *least);
      EXPECT_TRUE(solution->optimal());
      better += !given || given->value > *least;
    }
    ++compared;
  }
  EXPECT_GT(better, 10u);
}

// What the phases are follows from the order, and with them what a MUST says.
TEST(ExactSearch, PhasesOfTheBestOrder) {
  unsigned compared = 0, better = 0, dearer = 0;
  for (uint64_t seed = 0; compared < 300; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = tinyProblem(seed);
    if (problem.ops.size() > 5 ||
        llvm::none_of(problem.values, [](const Value &value) {
          return value.policy == Policy::MustRecompute ||
                 value.policy == Policy::MustCpuOffload;
        }))
      continue;
    std::optional<BestPlan> given = smallestPlan(problem);
    problem.freeOrder = true;
    std::optional<BestPlan> smallest = smallestPlan(problem);
    ASSERT_TRUE(smallest || !given);
    if (!smallest)
      continue;
    ++compared;
    better += !given || smallest->value < given->value;
    EXPECT_EQ(message(verify(problem, smallest->plan)), "");
    for (int64_t slack : {0, 3, 100}) {
      problem.deviceBudget = smallest->value + slack;
      std::optional<BestPlan> best =
          cheapestPlan(problem, *problem.deviceBudget);
      ASSERT_TRUE(best.has_value());
      EXPECT_EQ(message(verify(problem, best->plan)), "");
      for (const char *solver : {"exact", "auto"}) {
        llvm::Expected<Solution> solution = solve(problem, solver);
        ASSERT_TRUE(bool(solution)) << message(solution.takeError());
        EXPECT_EQ(solution->cost, best->value) << solver;
      }
      dearer += best->value > problem.baseCost();
    }
    if (smallest->value == 0)
      continue;
    problem.deviceBudget = smallest->value - 1;
    EXPECT_TRUE(llvm::errorToBool(solve(problem, "exact").takeError()));
  }
  EXPECT_GT(better, 5u);
  EXPECT_GT(dearer, 100u);
}

// f0 and f1 are made anew for b, whatever runs when. Only f2 could come later,
// and what runs in between belongs to the backward phase in any case.
TEST(ExactSearch, WhatRunsBeforeTheFirstBackwardOp) {
  Problem problem;
  ValueId f0 = problem.addResult(problem.addOp("f0", 5, {}), "f0", 8);
  ValueId f1 = problem.addResult(problem.addOp("f1", 3, {f0}), "f1", 8);
  ValueId f2 = problem.addResult(problem.addOp("f2", 1, {f1}), "f2", 8);
  OpId b = problem.addOp("b", 1, {f1}, /*backward=*/true);
  problem.addResult(b, "b", 8);
  problem.values[f0].policy = problem.values[f1].policy = Policy::MustRecompute;
  problem.values[f2].isOutput = true;
  for (bool freeOrder : {false, true}) {
    problem.freeOrder = freeOrder;
    for (const char *solver : {"exact", "auto"})
      EXPECT_EQ(llvm::cantFail(solve(problem, solver)).cost, 18) << solver;
  }
}

TEST(ExactSearch, TwelveOps) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomProblem(seed, exactOpLimit);
    if (problem.values.size() > 20)
      continue;
    int64_t peak = llvm::cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {90, 75}) {
      problem.deviceBudget = peak * percent / 100;
      std::optional<int64_t> least = leastCost(problem, *problem.deviceBudget);
      llvm::Expected<Solution> solution = solve(problem, "exact");
      EXPECT_EQ(bool(solution), least.has_value());
      if (solution)
        EXPECT_EQ(solution->time, *least);
      else
        llvm::consumeError(solution.takeError());
    }
  }
}

TEST(ExactSearch, ALinkThatTakesTimeLeavesABound) {
  Problem problem = chain(5, 100);
  for (Value &value : problem.values)
    value.transferBytes = value.bytes;
  problem.deviceBudget = 400;
  int64_t recomputed = llvm::cantFail(solve(problem, "exact")).time;
  EXPECT_GT(recomputed, problem.baseCost());
  // As fast as computation, no time at all, and of no use.
  for (int64_t speed : {int64_t(100000000000), infiniteBandwidth, int64_t(1)}) {
    problem.linkBytesPerSecond = speed;
    Solution solution = llvm::cantFail(solve(problem, "exact"));
    EXPECT_EQ(solution.lowerBound, problem.baseCost());
    EXPECT_LE(solution.time, recomputed);
    EXPECT_EQ(solution.optimal(), speed == infiniteBandwidth);
    if (speed == 1)
      EXPECT_EQ(solution.hostPeakBytes, 0);
  }
}

TEST(ExactSearch, SaysWhatItDoesNotTake) {
  EXPECT_TRUE(mentions(message(solve(chain(7), "exact").takeError()),
                       "takes up to 12 ops and 32 values, and the problem has "
                       "14 and 14"));
  Problem problem = chain(6);
  problem.deviceBudget = 5;
  SolverOptions options;
  options.effort = 0;
  EXPECT_TRUE(mentions(message(solve(problem, "exact", options).takeError()),
                       "ran out of effort"));
}

TEST(ExactSearch, TakesWhatIsEmpty) {
  Problem problem;
  EXPECT_TRUE(llvm::cantFail(solve(problem, "exact")).plan.actions.empty());
  problem.addArgument("x", 7);
  problem.values[0].isOutput = true;
  problem.deviceBudget = 0;
  // Nothing runs, so nothing is counted.
  EXPECT_EQ(llvm::cantFail(solve(problem, "exact")).peakBytes, 0);
  EXPECT_TRUE(llvm::cantFail(findLiveRanges(problem, Plan())).empty());
}

} // namespace
