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

} // namespace
