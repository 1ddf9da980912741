//===- LocalSearchTest.cpp - large-neighbourhood search over evictions ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LocalSearch.h"
#include "Problems.h"

using namespace remat::planning;

namespace {

// Budgets come down by ever smaller steps, and a step of a byte has no part:
// where nothing fits, that must end before the effort does.
TEST(LocalSearch, DescendsNoFurtherThanByBytes) {
  for (int64_t bytes : {1, 2, 7, 40}) {
    Problem problem = chain(8, bytes);
    for (Op &op : problem.ops)
      op.recomputable = false;
    Graph graph(problem);
    SolverOptions options;
    options.effort = 0.01;
    Stopwatch watch;
    LocalSearch search(graph, options, watch, problem.baseCost());
    Plan plan = search.findLowPeak(/*lowest=*/0, /*share=*/1,
                                   /*annealingShare=*/0);
    EXPECT_EQ(plan.actions.size(), problem.ops.size());
    EXPECT_LT(search.getSpent(), 0.5) << bytes;
  }
}

/// Steps of a search for an order that needs less than `problem`'s budget,
/// which there is none of, as shares of the effort.
double searchOrder(const Problem &problem, double overdraft) {
  Graph graph(problem);
  SolverOptions options;
  options.effort = 0.01;
  options.overdraft = overdraft;
  Stopwatch watch;
  LocalSearch search(graph, options, watch, problem.baseCost());
  search.improveInFreeOrder(/*share=*/0);
  EXPECT_FALSE(search.hasPlan());
  return search.getSpent();
}

// One of many requests has a part of the overdraft. If each took as long as a
// single one to find no order, a graph of many loops would take minutes.
TEST(LocalSearch, PartsOfTheOverdraftSearchOrdersForLess) {
  Problem problem;
  problem.freeOrder = true;
  ValueId x = problem.addArgument("x", 1);
  std::vector<ValueId> ends;
  for (int64_t i = 0; i < 12; ++i) {
    ValueId at = x;
    for (int64_t j = 0; j < 4; ++j) {
      OpId op = problem.addOp("f", 1, {at});
      at = problem.addResult(op, "f", 100 + 7 * i * (j % 2) + 3 * j);
    }
    ends.push_back(at);
  }
  OpId last = problem.addOp("sum", 1, ends);
  problem.values[problem.addResult(last, "sum", 1)].isOutput = true;
  problem.deviceBudget = 1000;
  double whole = searchOrder(problem, SolverOptions().overdraft);
  double part = searchOrder(problem, SolverOptions().overdraft / 10);
  EXPECT_GT(whole, 5);
  EXPECT_LT(part, whole / 5);
}

} // namespace
