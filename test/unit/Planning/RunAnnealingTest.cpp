//===- RunAnnealingTest.cpp - annealing over sequences of runs ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RunAnnealing.h"
#include "Greedy.h"
#include "LayeredProblem.h"
#include "Problems.h"
#include "Residency.h"

#include "remat/Planning/Algorithms.h"

using namespace remat::planning;

namespace {

/// What becomes of `start` in `run`.
Plan annealBy(const Graph &graph, const Plan &start,
              llvm::function_ref<void(RunAnnealing &)> run) {
  SolverOptions options;
  options.effort = 0.2;
  Stopwatch watch;
  WorkMeter work(options, watch);
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, options.seed);
  timeline.load(start);
  RunAnnealing annealing(graph, timeline, evictor, work);
  run(annealing);
  return timeline.plan();
}

Plan anneal(const Graph &graph, const Plan &start, int64_t lowest) {
  return annealBy(graph, start, [&](RunAnnealing &annealing) {
    annealing.lowerPeak(lowest, /*share=*/1, /*patience=*/4);
  });
}

Plan annealCost(const Graph &graph, const Plan &start, int64_t most) {
  return annealBy(graph, start, [&](RunAnnealing &annealing) {
    annealing.lowerCost(most, /*share=*/1);
  });
}

int64_t costOf(const Problem &problem, const Plan &plan) {
  int64_t cost = 0;
  for (const Action &action : plan.actions)
    cost += problem.ops[action.id].cost;
  return cost;
}

/// The peak of a plan, which must be legal.
int64_t peakOf(const Problem &problem, const Plan &plan) {
  llvm::Expected<Simulation> simulation = simulate(problem, plan);
  if (!simulation) {
    ADD_FAILURE() << llvm::toString(simulation.takeError());
    return 0;
  }
  if (llvm::Error error = verify(problem, plan))
    ADD_FAILURE() << llvm::toString(std::move(error));
  return simulation->peakBytes;
}

std::vector<OpId> firstRuns(const Plan &plan) {
  std::vector<OpId> order;
  for (const Action &action : plan.actions)
    if (action.kind == ActionKind::Run && !llvm::is_contained(order, action.id))
      order.push_back(action.id);
  return order;
}

TEST(RunAnnealing, FindsLowerPeaksThanEvictions) {
  int64_t annealed = 0, evicted = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 12, 8);
    Graph graph(problem);
    SolverOptions options;
    Stopwatch watch;
    WorkMeter work(options, watch);
    Plan start = findLowestPeak(graph, saveAllPlan(graph), 0, work, 1).plan;
    Plan plan = anneal(graph, start, 0);
    EXPECT_LE(peakOf(problem, plan), peakOf(problem, start));
    evicted += peakOf(problem, start);
    annealed += peakOf(problem, plan);
  }
  EXPECT_LT(double(annealed), 0.95 * double(evicted));
}

// What lowers the peak makes more again than a little more room takes.
TEST(RunAnnealing, LowersTheCostWithinABudget) {
  int64_t lowPeaks = 0, cheap = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    Problem problem = layered(seed, 12, 8);
    problem.freeOrder = seed % 2;
    Graph graph(problem);
    Plan start = anneal(graph, saveAllPlan(graph), 0);
    int64_t peak = peakOf(problem, start), most = peak + peak / 20;
    Plan plan = annealCost(graph, start, most);
    EXPECT_LE(peakOf(problem, plan), most);
    EXPECT_EQ(llvm::is_sorted(firstRuns(plan)), !problem.freeOrder);
    EXPECT_LE(costOf(problem, plan), costOf(problem, start));
    lowPeaks += costOf(problem, start) - problem.baseCost();
    cheap += costOf(problem, plan) - problem.baseCost();
    // What is not within the budget stays as it is.
    EXPECT_EQ(annealCost(graph, start, peak - 1).actions.size(),
              start.actions.size());
  }
  EXPECT_LT(double(cheap), 0.6 * double(lowPeaks));
}

// Where only such plans fit, they are what the portfolio starts from.
TEST(RunAnnealing, MakesPlansOfThePortfolioCheaper) {
  int64_t lowPeaks = 0, found = 0;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    Problem problem = layered(seed, 40, 8);
    Plan start = anneal(Graph(problem), saveAllPlan(Graph(problem)), 0);
    int64_t peak = peakOf(problem, start);
    problem.deviceBudget = peak + peak / 50;
    SolverOptions options;
    options.effort = 0.2;
    options.start = &start;
    llvm::Expected<Solution> solution = planAuto(problem, options);
    ASSERT_TRUE(bool(solution)) << llvm::toString(solution.takeError());
    lowPeaks += costOf(problem, start) - problem.baseCost();
    found += solution->cost - problem.baseCost();
    options.annealCost = false;
    llvm::Expected<Solution> other = planAuto(problem, options);
    ASSERT_TRUE(bool(other)) << llvm::toString(other.takeError());
    EXPECT_LT(solution->cost, other->cost);
  }
  EXPECT_LT(double(found), 0.58 * double(lowPeaks));
}

TEST(RunAnnealing, KeepsTheOrderUnlessItIsFree) {
  Problem problem = layered(5, 8, 8);
  Plan fixed = anneal(Graph(problem), saveAllPlan(Graph(problem)), 0);
  EXPECT_GT(fixed.actions.size(), problem.ops.size());
  EXPECT_TRUE(llvm::is_sorted(firstRuns(fixed)));
  problem.freeOrder = true;
  Plan free = anneal(Graph(problem), saveAllPlan(Graph(problem)), 0);
  EXPECT_FALSE(llvm::is_sorted(firstRuns(free)));
  EXPECT_GT(peakOf(problem, free), 0);
}

TEST(RunAnnealing, EndsWhereThePeakIsLowEnough) {
  Problem problem = layered(6, 8, 8);
  Graph graph(problem);
  int64_t peak = peakOf(problem, saveAllPlan(graph));
  int64_t lowest = peak - peak / 8;
  Plan plan = anneal(graph, saveAllPlan(graph), lowest);
  EXPECT_LE(peakOf(problem, plan), lowest);
  EXPECT_LT(peakOf(problem, anneal(graph, saveAllPlan(graph), 0)),
            peakOf(problem, plan));
  // What is low enough stays.
  EXPECT_EQ(anneal(graph, saveAllPlan(graph), peak).actions.size(),
            problem.ops.size());
}

// Whatever else a plan has: offloads, packed forms, absorptions, ops that run
// once, views, several results.
TEST(RunAnnealing, LeavesPlansLegal) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Problem problem = richProblem(seed, 30);
    if (seed % 2)
      problem.freeOrder = true;
    Graph graph(problem);
    Plan start = saveAllPlan(graph);
    int64_t peak = peakOf(problem, start);
    Problem tight = problem;
    tight.deviceBudget = peak * 3 / 4;
    SolverOptions options;
    options.effort = 0.01;
    llvm::Expected<Solution> solution = planAuto(tight, options);
    if (solution)
      start = solution->plan;
    else
      llvm::consumeError(solution.takeError());
    SCOPED_TRACE(seed);
    EXPECT_LE(peakOf(problem, anneal(graph, start, 0)), peak);
    EXPECT_LE(peakOf(problem, annealCost(graph, start, peak)), peak);
  }
}

TEST(RunAnnealing, IsDeterministic) {
  Problem problem = layered(7, 6, 8);
  Graph graph(problem);
  Plan one = anneal(graph, saveAllPlan(graph), 0);
  Plan two = anneal(graph, saveAllPlan(graph), 0);
  ASSERT_EQ(one.actions.size(), two.actions.size());
  for (size_t i = 0; i < one.actions.size(); ++i)
    EXPECT_EQ(one.actions[i].id, two.actions[i].id);
}

TEST(RunAnnealing, ProblemsWithNothingToRunAgain) {
  Problem empty;
  EXPECT_TRUE(
      anneal(Graph(empty), saveAllPlan(Graph(empty)), 0).actions.empty());
  Problem one = layered(8, 1, 1);
  for (Op &op : one.ops)
    op.recomputable = false;
  EXPECT_EQ(anneal(Graph(one), saveAllPlan(Graph(one)), 0).actions.size(), 2u);
}

} // namespace
