//===- ClassicalAlgorithmsTest.cpp - methods from the literature ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What holds for all of them, on graphs of many kinds, and what each is for.
//
//===----------------------------------------------------------------------===//

#include "LeastCost.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

const char *const generalSolvers[] = {"recompute-all", "sqrt",    "segments",
                                      "chen-greedy",   "min-cut", "knapsack",
                                      "lower-sets"};

/// A plan, or nothing if the budget is infeasible; anything else fails.
std::optional<Solution> trySolve(const Problem &problem, const char *solver) {
  llvm::Expected<Solution> solution = runAlgorithm(problem, solver, quick());
  if (solution) {
    EXPECT_EQ(message(verify(problem, solution->plan)), "") << solver;
    if (problem.deviceBudget)
      EXPECT_LE(solution->peakBytes, *problem.deviceBudget) << solver;
    return std::move(*solution);
  }
  llvm::handleAllErrors(
      solution.takeError(), [](const InfeasibleBudgetError &) {},
      [&](const llvm::ErrorInfoBase &error) {
        ADD_FAILURE() << solver << ": " << error.message();
      });
  return std::nullopt;
}

/// Whether every op that runs again computes something that is read.
bool everyCopyIsRead(const Problem &problem, const Plan &plan) {
  Simulation simulation = cantFail(simulate(problem, plan));
  std::vector<unsigned> copies = copyNumbers(problem, plan);
  std::set<uint32_t> read;
  for (const Copy &copy : simulation.copies)
    if (copy.def != Copy::beforeStart && copy.lastUse > copy.def)
      read.insert(copy.def);
  for (uint32_t i = 0; i < plan.actions.size(); ++i)
    if (copies[i] > 0 && !read.count(i) && i + 1 < plan.actions.size())
      return false;
  return true;
}

/// Four levels down, a bottom, four up with a skip each, and the sweep back.
Problem uNet() {
  Problem problem;
  std::vector<std::vector<ValueId>> reads;
  std::vector<ValueId> values;
  auto add = [&](const std::vector<ValueId> &operands, int64_t cost,
                 int64_t bytes) {
    std::string name = "f" + std::to_string(values.size());
    OpId op = problem.addOp(name, cost, operands);
    reads.push_back(operands);
    values.push_back(problem.addResult(op, name, bytes));
    return values.back();
  };
  std::vector<ValueId> skips;
  ValueId x = add({}, 3, 64);
  for (int64_t level = 0; level < 4; ++level) {
    skips.push_back(x);
    x = add({add({x}, 8, 64 >> level)}, 2, 32 >> level);
  }
  for (int64_t level = 4; level-- > 0;)
    x = add({add({x, skips[level]}, 8, 64 >> level)}, 4, 64 >> level);
  std::vector<ValueId> gradients(values.size(), noValue);
  ValueId last = noValue;
  for (size_t i = values.size(); i-- > 0;) {
    std::vector<ValueId> operands = reads[i];
    operands.push_back(values[i]);
    if (last != noValue)
      operands.push_back(last);
    std::string name = "b" + std::to_string(i);
    OpId op = problem.addOp(name, 6, operands, true);
    last = problem.addResult(op, name, problem.values[values[i]].bytes);
  }
  problem.values[last].isOutput = true;
  return problem;
}

/// A value read by two ops whose results meet, with two results each, views,
/// empty values, and an output on the way.
Problem diamonds(unsigned count) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  std::vector<ValueId> saved;
  for (unsigned i = 0; i < count; ++i) {
    std::string n = std::to_string(i);
    OpId left = problem.addOp("left" + n, 3, x);
    ValueId a = problem.addResult(left, "a" + n, 10);
    ValueId empty = problem.addResult(left, "empty" + n, 0);
    ValueId view = problem.addView(a, "view" + n);
    ValueId b =
        problem.addResult(problem.addOp("right" + n, 5, x), "b" + n, 20);
    x = problem.addResult(problem.addOp("join" + n, 2, {view, b, empty}),
                          "x" + n, 8);
    saved.insert(saved.end(), {view, b, x});
  }
  problem.values[saved[1]].isOutput = true;
  ValueId gradient = noValue;
  for (size_t i = saved.size(); i-- > 0;) {
    std::vector<ValueId> operands = {saved[i]};
    if (gradient != noValue)
      operands.push_back(gradient);
    OpId op = problem.addOp("d" + std::to_string(i), 4, operands, true);
    gradient = problem.addResult(op, "d" + std::to_string(i), 5);
  }
  problem.values[gradient].isOutput = true;
  return problem;
}

// No algorithm makes the peak worse, leaves a computation that nobody reads, or
// runs anything again where everything fits.
TEST(Classical, StructuredGraphs) {
  Problem unmarked = uNet();
  for (Op &op : unmarked.ops)
    op.backward = false;
  for (Problem problem : {chain(2), chain(9, 4), chain(32), uNet(), unmarked,
                          diamonds(1), diamonds(6)}) {
    Solution reference = saveAll(problem);
    for (const char *solver : generalSolvers) {
      unsigned solved = 0;
      for (int percent : {100, 90, 80, 70, 60, 50}) {
        problem.deviceBudget = reference.peakBytes * percent / 100;
        std::optional<Solution> solution = trySolve(problem, solver);
        if (!solution)
          continue;
        ++solved;
        EXPECT_TRUE(everyCopyIsRead(problem, solution->plan)) << solver;
        if (percent == 100 && llvm::StringRef(solver) != "recompute-all")
          EXPECT_EQ(solution->cost, reference.cost) << solver;
      }
      if (problem.ops.size() > 10 && problem.ops.back().backward)
        EXPECT_GE(solved, 3u) << solver << " on " << problem.ops.size();
      // Without a budget the peak is what counts.
      problem.deviceBudget.reset();
      EXPECT_LE(trySolve(problem, solver)->peakBytes, reference.peakBytes)
          << solver;
    }
  }
}

TEST(Classical, RandomGraphs) {
  unsigned solved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = randomProblem(seed, 30 + seed % 20);
    Solution reference = saveAll(problem);
    for (int percent : {90, 70, 50, 0}) {
      problem.deviceBudget = reference.peakBytes * percent / 100;
      for (const char *solver : generalSolvers)
        if (std::optional<Solution> solution = trySolve(problem, solver)) {
          ++solved;
          EXPECT_TRUE(everyCopyIsRead(problem, solution->plan)) << solver;
        }
    }
  }
  EXPECT_GE(solved, 150u);
}

TEST(Classical, NothingIsBetterThanTheBest) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Problem problem = randomProblem(seed, 9);
    if (problem.values.size() > 20)
      continue;
    problem.deviceBudget = saveAll(problem).peakBytes * 8 / 10;
    std::optional<int64_t> least = leastCost(problem, *problem.deviceBudget);
    for (const char *solver : generalSolvers)
      if (std::optional<Solution> solution = trySolve(problem, solver)) {
        ASSERT_TRUE(least.has_value()) << solver;
        EXPECT_GE(solution->cost, *least) << solver;
      }
  }
}

TEST(Classical, PoliciesAndEffects) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Problem problem = randomProblem(seed, 30);
    problem.linkBytesPerSecond = 20000000000;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      if (uint64_t roll = (seed * 31 + v * 17) % 23; roll < 7) {
        problem.values[v].policy = Policy(roll);
        if (check(problem) ? true : false)
          problem.values[v].policy = Policy::None;
      }
    ASSERT_EQ(message(check(problem)), "");
    int64_t peak = saveAll(problem).peakBytes;
    for (int percent : {100, 70, 40}) {
      problem.deviceBudget = peak * percent / 100;
      for (const char *solver : generalSolvers)
        trySolve(problem, solver);
    }
  }
}

// Empty problems, single ops, zero sizes and zero budgets.
TEST(Classical, EdgeCases) {
  Problem empty;
  Problem one;
  one.values[one.addResult(one.addOp("only", 3, {}), "only", 7)].isOutput =
      true;
  Problem freeOps = chain(8, 5), zeroSizes = chain(8, 0);
  for (Op &op : freeOps.ops)
    op.cost = 0;
  freeOps.deviceBudget = saveAll(freeOps).peakBytes * 9 / 10;
  zeroSizes.deviceBudget = 0;
  Problem zeroBudget = chain(8, 5);
  zeroBudget.deviceBudget = 0;
  for (const char *solver : generalSolvers) {
    EXPECT_EQ(trySolve(empty, solver)->cost, 0) << solver;
    EXPECT_EQ(trySolve(one, solver)->cost, 3) << solver;
    EXPECT_EQ(trySolve(freeOps, solver)->cost, 0) << solver;
    EXPECT_EQ(trySolve(zeroSizes, solver)->peakBytes, 0) << solver;
    EXPECT_FALSE(trySolve(zeroBudget, solver).has_value()) << solver;
  }
}

/// Two values of equal size at the peak, of which one has to go.
Problem twoCandidates(int64_t firstCost, int64_t secondCost) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId a = problem.addResult(problem.addOp("a", firstCost, x), "a", 100);
  ValueId b = problem.addResult(problem.addOp("b", secondCost, x), "b", 100);
  ValueId c = problem.addResult(problem.addOp("c", 50, x), "c", 100);
  ValueId d = problem.addResult(problem.addOp("d", 1, c, true), "d", 1);
  ValueId e = problem.addResult(problem.addOp("e", 1, {d, b}, true), "e", 1);
  ValueId f = problem.addResult(problem.addOp("f", 1, {e, a}, true), "f", 1);
  problem.values[f].isOutput = true;
  problem.deviceBudget = saveAll(problem).peakBytes - 50;
  return problem;
}

// Of two values of one size the cheaper is recomputed; a free one always is.
TEST(Classical, TheCheaperOfTwoIsRecomputed) {
  for (const char *solver : {"min-cut", "knapsack"}) {
    EXPECT_EQ(trySolve(twoCandidates(10, 9), solver)->cost, 72 + 9) << solver;
    EXPECT_EQ(trySolve(twoCandidates(9, 10), solver)->cost, 72 + 9) << solver;
    EXPECT_EQ(trySolve(twoCandidates(10, 0), solver)->cost, 63) << solver;
    Problem preferred = twoCandidates(10, 9);
    preferred.values[2].policy = Policy::PreferSave;
    EXPECT_EQ(trySolve(preferred, solver)->cost, 72 + 10) << solver;
  }
}

// Readers that follow each other share one recomputed copy.
TEST(Classical, ConsecutiveReadersShareACopy) {
  // 'big' is dropped for the peak at 'wide' and read twice after it.
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId big = problem.addResult(problem.addOp("big", 7, x), "big", 100);
  ValueId wide = problem.addResult(problem.addOp("wide", 90, x), "wide", 100);
  ValueId g = problem.addResult(problem.addOp("g", 1, wide, true), "g", 1);
  ValueId h = problem.addResult(problem.addOp("h", 1, {g, big}, true), "h", 1);
  ValueId i = problem.addResult(problem.addOp("i", 1, {h, big}, true), "i", 1);
  problem.values[i].isOutput = true;
  problem.deviceBudget = 150;
  for (const char *solver : {"min-cut", "knapsack"})
    EXPECT_EQ(trySolve(problem, solver)->cost, 100 + 7) << solver;
}

TEST(Classical, RecomputeAllNeedsLittleMemory) {
  Problem problem = chain(40);
  Solution solution = *trySolve(problem, "recompute-all");
  EXPECT_EQ(solution.peakBytes, 4);
  EXPECT_GT(solution.cost, 40 * 40 / 2);
}

TEST(Classical, SegmentsOfAChain) {
  Problem problem = chain(100);
  problem.deviceBudget = 26;
  for (const char *solver : {"segments", "chen-greedy", "sqrt", "lower-sets"}) {
    Solution solution = *trySolve(problem, solver);
    // At most one forward more.
    EXPECT_LE(solution.cost, 300) << solver;
  }
}

TEST(Classical, MinCutSeparatesEqualValues) {
  // No price makes a difference between equal values, so it is all or nothing
  // for the cut itself.
  Problem problem = chain(64);
  problem.deviceBudget = 52;
  EXPECT_LE(trySolve(problem, "min-cut")->cost, 128 + 16);
}

TEST(Classical, LowerSetsRefusesWhatIsTooLarge) {
  EXPECT_TRUE(mentions(message(solve(chain(2049), "lower-sets").takeError()),
                       "takes at most 2048 forward ops, got 2049"));
}

TEST(Classical, LpRoundingFitsAndIsNoBetterThanTheBest) {
  Problem problem = chain(8);
  problem.deviceBudget = 7;
  llvm::Expected<Solution> solution = solve(problem, "lp-rounding");
  if (!solution && mentions(message(solution.takeError()), "needs HiGHS"))
    GTEST_SKIP() << "built without HiGHS";
  ASSERT_TRUE(bool(solution)) << message(solution.takeError());
  EXPECT_LE(solution->peakBytes, 7);
  EXPECT_GE(solution->cost, *leastCost(chain(8), 7));
  EXPECT_TRUE(mentions(message(solve(chain(100), "lp-rounding").takeError()),
                       "takes at most 150 ops, got 200"));
}

TEST(Classical, SamePlanEveryTime) {
  Problem problem = randomProblem(5, 60);
  problem.deviceBudget = saveAll(problem).peakBytes * 9 / 10;
  for (const char *solver : generalSolvers) {
    std::optional<Solution> first = trySolve(problem, solver);
    std::optional<Solution> second = trySolve(problem, solver);
    ASSERT_EQ(first.has_value(), second.has_value()) << solver;
    if (first)
      EXPECT_EQ(first->plan, second->plan) << solver;
  }
}

} // namespace
