//===- StageDpTest.cpp - checkpoints of stages ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Deep networks whose layers are no chain of ops.
//
//===----------------------------------------------------------------------===//

#include "Problems.h"

using namespace remat::planning;

namespace {

/// `depth` layers with a residual connection, all of which read a mask: h of 1
/// byte, and in each layer two values of 4 bytes that its backward op reads.
Problem residual(unsigned depth) {
  Problem problem;
  problem.name = "residual";
  ValueId x = problem.addArgument("x");
  OpId makeMask = problem.addOp("mask", 1, {x});
  ValueId mask = problem.addResult(makeMask, "mask", 1);
  OpId makeFirst = problem.addOp("embed", 1, {x});
  std::vector<ValueId> h = {problem.addResult(makeFirst, "h", 1)}, a, c;
  for (unsigned i = 0; i < depth; ++i) {
    std::string layer = std::to_string(i);
    OpId inner = problem.addOp("a" + layer, 3, {h.back(), mask});
    a.push_back(problem.addResult(inner, "a" + layer, 4));
    OpId outer = problem.addOp("c" + layer, 3, {a.back()});
    c.push_back(problem.addResult(outer, "c" + layer, 4));
    OpId sum = problem.addOp("h" + layer, 1, {c.back(), h.back()});
    h.push_back(problem.addResult(sum, "h" + layer, 1));
  }
  ValueId gradient = h.back();
  for (unsigned i = depth; i-- > 0;) {
    OpId op = problem.addOp("b" + std::to_string(i), 12,
                            {gradient, a[i], c[i], h[i], mask}, true);
    gradient = problem.addResult(op, "b" + std::to_string(i), 1);
  }
  problem.values[gradient].isOutput = true;
  return problem;
}

// The mask and one layer take 12 bytes while its backward op runs. What is left
// is for the borders of layers, far fewer than the square root of their number.
TEST(Stages, BordersAreMadeAgainFromEarlierOnes) {
  Problem problem = residual(100);
  problem.deviceBudget = 17;
  SolverOptions brief;
  brief.effort = 0.1;
  llvm::Expected<Solution> solution = solve(problem, "stages", brief);
  ASSERT_TRUE(bool(solution)) << message(solution.takeError());
  EXPECT_EQ(message(verify(problem, solution->plan)), "");
  EXPECT_LE(solution->peakBytes, 17);
  for (const char *name : {"sqrt", "chen-greedy"})
    EXPECT_TRUE(mentions(
        message(runAlgorithm(problem, name, brief).takeError()), "budget"))
        << name;
  EXPECT_LT(solution->time,
            llvm::cantFail(solve(problem, "search", brief)).time);
}

// What is kept everywhere is no reason to give up, and what fits is kept.
TEST(Stages, WhatFitsIsLeftAlone) {
  Problem problem = residual(12);
  problem.deviceBudget = 1000;
  Solution solution = llvm::cantFail(solve(problem, "stages"));
  EXPECT_EQ(solution.time, solution.baseCost);
}

TEST(Stages, Refusals) {
  Problem problem = residual(4);
  EXPECT_TRUE(mentions(message(planStages(problem).takeError()),
                       "planner 'stages' needs a budget"));
  problem.deviceBudget = 20;
  problem.values[problem.ops[2].results[0]].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(message(planStages(problem).takeError()),
                       "needs values that may stay for the backward phase"));
  Problem forward;
  forward.addResult(forward.addOp("f", 1, {}), "f", 1);
  forward.values[0].isOutput = true;
  forward.deviceBudget = 1;
  EXPECT_TRUE(mentions(message(planStages(forward).takeError()),
                       "needs a forward and a backward phase"));
}

} // namespace
