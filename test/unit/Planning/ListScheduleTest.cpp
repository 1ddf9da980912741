//===- ListScheduleTest.cpp - orders with a low peak ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Orders whose best peak is known, and all orders of small problems.
//
//===----------------------------------------------------------------------===//

#include "ListSchedule.h"
#include "Problems.h"

#include <numeric>

using namespace remat::planning;

namespace {

/// Layers x_i+1 = f(x_i) of 64 bytes; gradients of the same size; for each
/// layer a gradient of its weight, of `weightBytes`, and an op that reads only
/// that. These two stand beside the gradient of x_i, or all of them at the end.
Problem network(unsigned layers, int64_t weightBytes, bool isLast) {
  Problem problem;
  problem.name = "network";
  problem.freeOrder = true;
  std::vector<ValueId> x = {problem.addArgument("x", 64)}, gradients;
  for (unsigned i = 0; i < layers; ++i) {
    OpId op = problem.addOp("f" + std::to_string(i), 1, {x.back()});
    x.push_back(problem.addResult(op, "x" + std::to_string(i + 1), 64));
  }
  gradients.push_back(x.back());
  auto addWeight = [&](unsigned layer, ValueId gradient) {
    std::string name = "w" + std::to_string(layer);
    OpId op = problem.addOp(name, 1, {x[layer], gradient}, true);
    ValueId weight = problem.addResult(op, name, weightBytes);
    op = problem.addOp(name + ".update", 1, {weight}, true);
    problem.values[problem.addResult(op, name + ".new", 0)].isOutput = true;
  };
  for (unsigned i = layers; i-- > 0;) {
    ValueId gradient = gradients.back();
    OpId op = problem.addOp("g" + std::to_string(i), 1, {gradient, x[i]}, true);
    gradients.push_back(problem.addResult(op, "g" + std::to_string(i), 64));
    if (!isLast)
      addWeight(i, gradient);
  }
  if (isLast)
    for (unsigned i = 0; i < layers; ++i)
      addWeight(layers - 1 - i, gradients[i]);
  return problem;
}

LowOrder findLow(const Problem &problem, double effort = 1.0) {
  Stopwatch watch;
  SolverOptions options;
  options.effort = effort;
  WorkMeter work(options, watch);
  Graph graph(problem);
  LowOrder low = findLowPeakOrder(graph, 1.0, work);
  EXPECT_EQ(findPeak(graph, low.ops), low.peak);
  llvm::Expected<Solution> solution =
      evaluatePlan(problem, runOnce(low.ops), "order");
  EXPECT_TRUE(bool(solution)) << message(solution.takeError());
  if (solution)
    EXPECT_EQ(solution->peakBytes, low.peak);
  return low;
}

int64_t saveAllPeak(const Problem &problem) {
  return llvm::cantFail(solve(problem, "save-all")).peakBytes;
}

/// The lowest peak of all orders.
int64_t lowestPeak(const Problem &problem) {
  Graph graph(problem);
  std::vector<OpId> order(graph.numOps());
  std::iota(order.begin(), order.end(), 0);
  int64_t lowest = std::numeric_limits<int64_t>::max();
  do {
    std::vector<uint32_t> place(order.size());
    for (auto [i, op] : llvm::enumerate(order))
      place[op] = i;
    OpId lastEffect = 0;
    bool isLegal = true;
    for (OpId op : order) {
      for (ValueId operand : graph.operands(op))
        isLegal &= graph.isArgument(operand) ||
                   place[graph.producer(operand)] < place[op];
      if (problem.ops[op].recomputable)
        continue;
      isLegal &= lastEffect <= op;
      lastEffect = op;
    }
    if (isLegal)
      lowest = std::min(lowest, findPeak(graph, order));
  } while (std::next_permutation(order.begin(), order.end()));
  return lowest;
}

TEST(ListSchedule, WeightGradientsAtTheEnd) {
  // Smaller than what they free, as large as that, and much larger.
  for (int64_t weightBytes : {0, 64, 128, 1000}) {
    SCOPED_TRACE(weightBytes);
    int64_t natural = saveAllPeak(network(200, weightBytes, false));
    Problem problem = network(200, weightBytes, true);
    ASSERT_GE(saveAllPeak(problem), natural * 19 / 10 - 2 * weightBytes);
    EXPECT_LE(findLow(problem).peak, natural);
  }
}

TEST(ListSchedule, ManyOps) {
  EXPECT_LE(findLow(network(25'000, 64, true)).peak,
            saveAllPeak(network(25'000, 64, false)));
}

// Ops that only allocate stand at the beginning: they run when they are needed.
TEST(ListSchedule, SourcesAtTheBeginning) {
  Problem problem;
  problem.freeOrder = true;
  std::vector<ValueId> sources;
  for (unsigned i = 0; i < 50; ++i)
    sources.push_back(
        problem.addResult(problem.addOp("source", 1, {}), "s", 8));
  ValueId sum = sources.front();
  for (ValueId source : llvm::drop_begin(sources))
    sum = problem.addResult(problem.addOp("add", 1, {sum, source}), "sum", 8);
  problem.values[sum].isOutput = true;
  EXPECT_EQ(saveAllPeak(problem), 51 * 8);
  EXPECT_EQ(findLow(problem).peak, 3 * 8);
}

/// An op that reads the ends of `chains` chains, whose ops take turns.
Problem fan(unsigned chains) {
  Problem problem;
  problem.freeOrder = true;
  std::vector<ValueId> ends;
  for (unsigned i = 0; i < chains; ++i)
    ends.push_back(
        problem.addResult(problem.addOp("begin", 1, {}), "begin", 64));
  for (ValueId &end : ends)
    end = problem.addResult(problem.addOp("end", 1, {end}), "end", 256);
  ValueId join = problem.addResult(problem.addOp("join", 1, ends), "join", 8);
  problem.values[join].isOutput = true;
  return problem;
}

uint64_t countWork(const Problem &problem) {
  Stopwatch watch;
  SolverOptions options;
  WorkMeter work(options, watch);
  Graph graph(problem);
  findLowPeakOrder(graph, 1.0, work);
  return work.steps();
}

// Whenever a chain ends, the op that reads all of them is looked at again.
TEST(ListSchedule, ManyOperands) {
  EXPECT_LT(countWork(fan(4000)), countWork(fan(1000)) * 5);
}

// A pass that is under way ends, too: here, one that would find a lower peak.
TEST(ListSchedule, StopsWhenInterrupted) {
  Problem problem = network(20, 64, true);
  std::atomic<bool> interrupt = true;
  Stopwatch watch;
  SolverOptions options;
  options.interrupt = &interrupt;
  WorkMeter work(options, watch);
  Graph graph(problem);
  LowOrder low = findLowPeakOrder(graph, 1.0, work);
  EXPECT_TRUE(llvm::is_sorted(low.ops));
  EXPECT_EQ(low.peak, saveAllPeak(problem));
  EXPECT_TRUE(work.wasCutShort());
}

TEST(ListSchedule, OftenFindsTheBestOrder) {
  unsigned compared = 0, best = 0, better = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomProblem(seed, 7);
    problem.freeOrder = true;
    for (Value &value : problem.values)
      value.policy = Policy::None;
    int64_t lowest = lowestPeak(problem);
    int64_t found = findLow(problem).peak;
    EXPECT_GE(found, lowest);
    EXPECT_LE(found, saveAllPeak(problem));
    ++compared;
    best += found == lowest;
    better += found < saveAllPeak(problem);
  }
  EXPECT_GT(best * 10, compared * 9);
  EXPECT_GT(better, 20u);
}

TEST(ListSchedule, MoreEffortIsNeverWorse) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = randomProblem(seed, 200);
    problem.freeOrder = true;
    int64_t last = saveAllPeak(problem);
    for (double effort : {0.0, 1e-4, 1e-3, 1e-2, 1.0}) {
      int64_t peak = findLow(problem, effort).peak;
      EXPECT_LE(peak, last) << seed << ", " << effort;
      last = peak;
    }
  }
}

TEST(ListSchedule, KeepsAnOrderThatIsNotFree) {
  Problem fixed = network(20, 64, true);
  fixed.freeOrder = false;
  EXPECT_EQ(findLow(fixed).peak, saveAllPeak(fixed));
  // What has to be made again in the backward phase is decided by the order.
  Problem must = network(20, 64, true);
  must.values[5].policy = Policy::MustRecompute;
  Graph graph(must);
  Stopwatch watch;
  SolverOptions options;
  WorkMeter work(options, watch);
  LowOrder low = findLowPeakOrder(graph, 1.0, work);
  EXPECT_TRUE(llvm::is_sorted(low.ops));
}

// Nor does a MUST hold the order that says nothing of the forward phase: of a
// gradient, or of what no backward op reads.
TEST(ListSchedule, OtherMustsLeaveTheOrderFree) {
  Problem natural = network(20, 64, false), problem = network(20, 64, true);
  ValueId gradient = problem.ops[25].results.front();
  ASSERT_TRUE(problem.ops[25].backward);
  problem.values[gradient].policy = Policy::MustRecompute;
  EXPECT_LE(findLow(problem).peak, saveAllPeak(natural));
  SolverOptions options;
  options.effort = 0.1;
  for (int percent : {100, 80, 60}) {
    problem.deviceBudget = saveAllPeak(natural) * percent / 100;
    Solution solution = llvm::cantFail(solve(problem, "auto", options));
    EXPECT_EQ(message(verify(problem, solution.plan)), "");
  }
}

TEST(ListSchedule, AutoReturnsTheLowOrder) {
  Problem natural = network(100, 64, false), problem = network(100, 64, true);
  natural.freeOrder = false;
  int64_t peak = saveAllPeak(natural);
  // Without a budget the peak is the lower one, and within one nothing is made
  // again as long as an order fits.
  Solution free = llvm::cantFail(solve(problem, "auto"));
  EXPECT_LE(free.peakBytes, peak);
  EXPECT_EQ(free.time, free.baseCost);
  problem.deviceBudget = peak;
  Solution within = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(within.time, within.baseCost);
  // A smaller one costs what it costs in the natural order.
  SolverOptions options;
  options.effort = 0.1;
  problem.deviceBudget = natural.deviceBudget = peak * 6 / 10;
  EXPECT_LE(llvm::cantFail(solve(problem, "auto", options)).time,
            llvm::cantFail(solve(natural, "auto", options)).time);
  EXPECT_LE(llvm::cantFail(smallestFeasibleBudget(problem)).smallestFeasible,
            llvm::cantFail(smallestFeasibleBudget(natural)).smallestFeasible);
}

} // namespace
