//===- ChainTest.cpp - the algorithms for chains --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LeastCost.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

/// A chain whose ops all differ. Now and then an op of the sweep reads only one
/// of its two forward values or none, a value is empty or an op needs scratch.
Problem unequalChain(uint64_t seed, unsigned n) {
  std::mt19937_64 random(seed);
  Problem problem;
  std::vector<ValueId> f;
  auto add = [&](const std::string &name, const std::vector<ValueId> &operands,
                 bool backward) {
    OpId op = problem.addOp(name, random() % 20, operands, backward);
    problem.ops[op].workspace = random() % 4 ? 0 : random() % 8;
    return problem.addResult(op, name, random() % 8 ? random() % 12 : 0);
  };
  for (unsigned i = 0; i < n; ++i)
    f.push_back(add("f" + std::to_string(i),
                    i ? std::vector<ValueId>{f.back()} : std::vector<ValueId>(),
                    false));
  ValueId gradient = add("loss", {f.back()}, false);
  for (unsigned i = n; i-- > 0;) {
    std::vector<ValueId> operands = {gradient};
    if (random() % 5)
      operands.push_back(f[i]);
    if (i && random() % 5)
      operands.push_back(f[i - 1]);
    gradient = add("b" + std::to_string(i), operands, true);
  }
  problem.values[gradient].isOutput = true;
  return problem;
}

/// The cost that `solver` reaches; nothing if the budget is infeasible.
std::optional<int64_t> costOf(const Problem &problem, const char *solver) {
  llvm::Expected<Solution> solution = runAlgorithm(problem, solver, {});
  if (solution) {
    EXPECT_EQ(message(verify(problem, solution->plan)), "");
    return solution->cost;
  }
  bool infeasible = false;
  llvm::handleAllErrors(
      solution.takeError(),
      [&](const InfeasibleBudgetError &) { infeasible = true; },
      [&](const llvm::ErrorInfoBase &error) {
        ADD_FAILURE() << solver << ": " << error.message();
      });
  return std::nullopt;
}

// The exact cost at each budget of a sweep.
TEST(ChainDp, GoldenTableOfBudgets) {
  Problem problem = chain(16);
  struct Row {
    int64_t budget, again;
  };
  // Every byte less costs one op, until values have to be made twice.
  for (Row row : {Row{17, 0}, {16, 1}, {14, 3}, {12, 5}, {10, 7}, {9, 8}}) {
    problem.deviceBudget = row.budget;
    Solution solution = cantFail(solve(problem, "chain-dp"));
    EXPECT_EQ(solution.cost, 32 + row.again) << row.budget;
    EXPECT_LE(solution.peakBytes, row.budget);
  }
}

TEST(ChainDp, EqualChainsAgreeWithExhaustiveSearch) {
  for (unsigned n = 1; n <= 6; ++n) {
    Problem problem = chain(n);
    for (int64_t budget = n + 1; budget >= 2; --budget) {
      problem.deviceBudget = budget;
      EXPECT_EQ(costOf(problem, "chain-dp"), leastCost(problem, budget))
          << n << " ops, " << budget << " bytes";
    }
  }
}

TEST(ChainDp, UnequalChainsAgreeWithExhaustiveSearch) {
  unsigned solved = 0, missed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = unequalChain(seed, 2 + seed % 4);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {100, 90, 80, 70, 60, 50, 40}) {
      problem.deviceBudget = peak * percent / 100;
      std::optional<int64_t> least = leastCost(problem, *problem.deviceBudget);
      std::optional<int64_t> cost = costOf(problem, "chain-dp");
      if (cost) {
        ASSERT_TRUE(least.has_value());
        EXPECT_GE(*cost, *least);
      }
      solved += cost.has_value();
      missed += cost != least;
    }
  }
  EXPECT_GE(solved, 100u);
  // Plans that drop a value before its level and make it once more are outside
  // of what the program covers, and so are levels that are swept early.
  EXPECT_LE(missed * 20, solved);
}

TEST(ChainDp, AllLengthsAndBudgets) {
  for (unsigned n = 2; n <= 32; ++n)
    for (bool equal : {true, false}) {
      Problem problem = equal ? chain(n, 3) : unequalChain(n, n);
      int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
      std::optional<int64_t> before = problem.baseCost();
      for (int percent = 100; percent >= 10 && before; percent -= 15) {
        problem.deviceBudget = peak * percent / 100;
        std::optional<int64_t> cost = costOf(problem, "chain-dp");
        // Less memory never costs less.
        if (cost)
          EXPECT_GE(*cost, *before);
        std::optional<int64_t> revolve = costOf(problem, "revolve");
        if (revolve) {
          ASSERT_TRUE(cost.has_value());
          EXPECT_GE(*revolve, *cost);
        }
        before = cost;
      }
    }
}

// A value runs again several times where the budget asks for it.
TEST(ChainDp, RecomputesAValueAsOftenAsNeeded) {
  Problem problem = chain(12);
  problem.deviceBudget = 4;
  Solution solution = cantFail(solve(problem, "chain-dp"));
  std::vector<unsigned> copies = copyNumbers(problem, solution.plan);
  EXPECT_GE(*std::max_element(copies.begin(), copies.end()), 3u);
  EXPECT_EQ(solution.peakBytes, 4);
}

TEST(ChainDp, SizesInTheBillionsAreExact) {
  Problem small = unequalChain(3, 14), large = small;
  for (Value &value : large.values)
    value.bytes *= 1000000007;
  for (Op &op : large.ops)
    op.workspace *= 1000000007;
  int64_t peak = cantFail(solve(small, "save-all")).peakBytes;
  for (int percent : {90, 70, 50}) {
    small.deviceBudget = peak * percent / 100;
    large.deviceBudget = *small.deviceBudget * 1000000007;
    EXPECT_EQ(costOf(small, "chain-dp"), costOf(large, "chain-dp"));
    // A byte less than what it needs is too little.
    llvm::Expected<Solution> solution = solve(large, "chain-dp");
    ASSERT_TRUE(bool(solution)) << message(solution.takeError());
    large.deviceBudget = solution->peakBytes;
    EXPECT_EQ(costOf(large, "chain-dp"), solution->cost);
  }
}

TEST(ChainDp, SeveralSweepOpsPerLevel) {
  // Gradients of weights beside those of values, as linear layers have them.
  Problem problem;
  std::vector<ValueId> f;
  for (unsigned i = 0; i < 10; ++i) {
    OpId op = problem.addOp("f" + std::to_string(i), 2,
                            i ? std::vector<ValueId>{f.back()}
                              : std::vector<ValueId>());
    f.push_back(problem.addResult(op, "f" + std::to_string(i), 4));
  }
  OpId loss = problem.addOp("loss", 1, f.back());
  ValueId gradient = problem.addResult(loss, "loss", 4);
  for (unsigned i = 10; i-- > 0;) {
    std::vector<ValueId> operands = {gradient};
    if (i)
      operands.push_back(f[i - 1]);
    OpId weights = problem.addOp("w" + std::to_string(i), 3, operands, true);
    ValueId result = problem.addResult(weights, "w" + std::to_string(i), 1);
    problem.values[result].isOutput = true;
    OpId values = problem.addOp("x" + std::to_string(i), 3, gradient, true);
    gradient = problem.addResult(values, "x" + std::to_string(i), 4);
  }
  problem.values[gradient].isOutput = true;
  int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
  problem.deviceBudget = peak * 7 / 10;
  Solution solution = cantFail(solve(problem, "chain-dp"));
  EXPECT_GT(solution.cost, solution.baseCost);
  EXPECT_LE(solution.cost, solution.baseCost + 20);
}

TEST(ChainDp, OpsThatRunOnceAreKept) {
  Problem problem = chain(10);
  problem.ops[3].recomputable = false;
  problem.values[6].policy = Policy::MustSave;
  problem.deviceBudget = 7;
  Solution solution = cantFail(solve(problem, "chain-dp"));
  EXPECT_EQ(message(verify(problem, solution.plan)), "");
  EXPECT_GT(solution.cost, solution.baseCost);
  EXPECT_TRUE(mentions(message(solve(problem, "revolve").takeError()),
                       "op 'f3', which may run only once"));
}

TEST(ChainDp, RefusesWhatItCannotDo) {
  Problem skip = chain(6);
  skip.ops[4].operands.push_back(0);
  EXPECT_TRUE(mentions(message(solve(skip, "chain-dp").takeError()),
                       "takes chains only: op '"));
  Problem must = chain(6);
  must.values[2].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(message(solve(must, "chain-dp").takeError()),
                       "value 'f2', which is MUST_RECOMPUTE"));
  Problem output = chain(6);
  output.values[2].isOutput = true;
  EXPECT_TRUE(mentions(message(solve(output, "chain-dp").takeError()),
                       "takes chains only: op 'f2' does not"));
  EXPECT_TRUE(
      mentions(message(solve(chain(chainDpLimit + 1), "chain-dp").takeError()),
               "takes at most 512 forward ops, got 513"));
}

TEST(ChainDp, WithLittleEffortThereIsStillAPlan) {
  Problem problem = chain(200, 64);
  for (OpId op = 0; op < problem.ops.size(); ++op)
    problem.ops[op].cost = 1 + op * 37 % 101;
  problem.deviceBudget =
      cantFail(solve(problem, "save-all")).peakBytes * 3 / 10;
  SolverOptions options;
  options.effort = 0.01;
  Solution quick = cantFail(solve(problem, "chain-dp", options));
  Solution thorough = cantFail(solve(problem, "chain-dp"));
  EXPECT_LE(thorough.cost, quick.cost);
  EXPECT_FALSE(quick.cutShort);
  std::atomic<bool> stop = true;
  options.interrupt = &stop;
  EXPECT_TRUE(mentions(message(solve(problem, "chain-dp", options).takeError()),
                       "stopped before it had a plan"));
}

TEST(Revolve, ReversesBinomially) {
  // With s checkpoints and r runs, C(s + r, s) levels: 10 = C(3 + 2, 3), so no
  // op runs more than three times in all.
  for (unsigned n : {9u, 34u}) {
    Problem problem = chain(n);
    int64_t budget = n == 9 ? 7 : 8;
    problem.deviceBudget = budget;
    Solution solution = cantFail(solve(problem, "revolve"));
    EXPECT_LE(solution.peakBytes, budget);
    std::vector<unsigned> copies = copyNumbers(problem, solution.plan);
    EXPECT_LE(*std::max_element(copies.begin(), copies.end()), 3u);
  }
}

TEST(Revolve, IsCloseToTheDynamicProgramOnEqualChains) {
  for (unsigned n : {10, 30, 100}) {
    Problem problem = chain(n);
    for (int64_t budget : {8, 10, 16, 32}) {
      problem.deviceBudget = budget;
      int64_t revolve = cantFail(solve(problem, "revolve")).cost;
      problem.deviceBudget = budget - 2;
      // Two bytes are for what checkpoints do not count.
      EXPECT_LE(revolve, cantFail(solve(problem, "chain-dp")).cost)
          << n << " " << budget;
    }
  }
}

TEST(Revolve, LongChains) {
  Problem problem = chain(20000);
  problem.deviceBudget = 400;
  Solution solution = cantFail(solve(problem, "revolve"));
  EXPECT_LE(solution.peakBytes, 400);
  EXPECT_LE(solution.cost, 40000 + 20000 * 2);
}

} // namespace
