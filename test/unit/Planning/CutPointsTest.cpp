//===- CutPointsTest.cpp - parts that share one value ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chains one after the other.
//
//===----------------------------------------------------------------------===//

#include "Problems.h"

using namespace remat::planning;

namespace {

/// `count` chains of `length`, each of which starts from the last gradient of
/// the one before, and the first from an argument.
Problem series(unsigned count, unsigned length) {
  Problem problem;
  problem.name = "series";
  ValueId last = problem.addArgument("x", 4);
  for (unsigned i = 0; i < count; ++i) {
    Problem link = chain(length, 4);
    size_t shift = problem.values.size();
    for (Op &op : link.ops) {
      std::vector<ValueId> operands;
      for (ValueId operand : op.operands)
        operands.push_back(operand + shift);
      if (operands.empty())
        operands.push_back(last);
      OpId id = problem.addOp(op.name, op.cost, operands);
      last = problem.addResult(id, op.name, 4);
    }
  }
  problem.values[last].isOutput = true;
  return problem;
}

TEST(CutPoints, PartsAreSolvedByThemselves) {
  Problem one = series(1, 6), three = series(3, 6);
  for (int64_t budget : {20, 24}) {
    SCOPED_TRACE(budget);
    one.deviceBudget = budget;
    three.deviceBudget = budget;
    llvm::Expected<Solution> part = solve(one, "auto");
    ASSERT_TRUE(bool(part)) << message(part.takeError());
    ASSERT_TRUE(part->optimal());
    llvm::Expected<Solution> all = solve(three, "cut-points");
    ASSERT_TRUE(bool(all)) << message(all.takeError());
    EXPECT_EQ(message(verify(three, all->plan)), "");
    EXPECT_EQ(all->time, 3 * part->time);
    EXPECT_GT(all->time, all->baseCost);
  }
}

TEST(CutPoints, WhatFitsIsLeftAlone) {
  Problem problem = series(3, 4);
  problem.deviceBudget = 1000;
  llvm::Expected<Solution> solution = solve(problem, "cut-points");
  ASSERT_TRUE(bool(solution)) << message(solution.takeError());
  EXPECT_EQ(solution->time, solution->baseCost);
}

TEST(CutPoints, OthersPassBy) {
  // A value that is made first and read last is no reason not to cut, if it
  // takes no room; it takes its room in all parts if it does.
  for (int64_t bytes : {0, 4}) {
    SCOPED_TRACE(bytes);
    Problem problem = series(3, 6);
    ValueId early = problem.addArgument("early", bytes);
    problem.ops.back().operands.push_back(early);
    problem.deviceBudget = 24 + bytes;
    llvm::Expected<Solution> solution = solve(problem, "cut-points");
    ASSERT_TRUE(bool(solution)) << message(solution.takeError());
    EXPECT_EQ(message(verify(problem, solution->plan)), "");
    Problem without = series(3, 6);
    without.deviceBudget = 24;
    EXPECT_EQ(solution->time, cantFail(solve(without, "cut-points")).time);
  }
}

TEST(CutPoints, NoneSaysSo) {
  Problem one = series(1, 6);
  ValueId last = one.values.size() - 1;
  one.addResult(one.addOp("after", 1, {last}), "after", 4);
  one.deviceBudget = 24;
  EXPECT_TRUE(mentions(message(planCutPoints(one).takeError()),
                       "needs more than one part"));
  Problem single;
  single.addResult(single.addOp("a", 1, {}), "a", 4);
  single.deviceBudget = 4;
  EXPECT_TRUE(mentions(message(planCutPoints(single).takeError()),
                       "needs ops between which only one value"));
  single.deviceBudget.reset();
  EXPECT_TRUE(
      mentions(message(planCutPoints(single).takeError()), "needs a budget"));
}

} // namespace
