//===- ExampleAlgorithmTest.cpp - an algorithm from outside ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The example of docs/planning.md, chosen by its name; and what happens to
// algorithms that return something wrong.
//
//===----------------------------------------------------------------------===//

#include "ExampleAlgorithm.h"
#include "Problems.h"

#include <atomic>
#include <thread>

namespace {

/// The example, registered once for all tests of the process.
void addExample() {
  static bool isAdded = [] {
    EXPECT_EQ(message(registerLargestFirst()), "");
    return true;
  }();
  (void)isAdded;
}

/// A chain whose values have different sizes: 10, 20, ...
Problem growingChain(unsigned n) {
  Problem problem = chain(n);
  int64_t bytes = 0;
  for (Value &value : problem.values)
    value.bytes = bytes += 10;
  return problem;
}

TEST(ExampleAlgorithm, IsChosenByItsName) {
  addExample();
  Problem problem = growingChain(6);
  Solution all = cantFail(solve(problem, "save-all"));
  EXPECT_EQ(cantFail(solve(problem, "largest-first")).plan, all.plan);

  // A byte less, and one value is recomputed; never more bytes than allowed.
  problem.deviceBudget = all.peakBytes - 1;
  Solution solution = cantFail(solve(problem, "largest-first"));
  EXPECT_EQ(solution.solver, "largest-first");
  EXPECT_LT(solution.peakBytes, all.peakBytes);
  EXPECT_GT(solution.cost, solution.baseCost);
  EXPECT_EQ(message(verify(problem, solution.plan)), "");
}

TEST(ExampleAlgorithm, IsNeverBetterThanTheSearch) {
  addExample();
  unsigned planned = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Problem problem = chain(6);
    for (Value &value : problem.values)
      value.bytes = 1 + random() % 100;
    for (Op &op : problem.ops)
      op.cost = 1 + random() % 100;
    problem.deviceBudget =
        cantFail(solve(problem, "save-all")).peakBytes * 8 / 10;
    llvm::Expected<Solution> solution = solve(problem, "largest-first");
    if (!solution) {
      EXPECT_TRUE(solution.errorIsA<InfeasibleBudgetError>());
      llvm::consumeError(solution.takeError());
      continue;
    }
    ++planned;
    EXPECT_LE(cantFail(solve(problem, "exact")).time, solution->time);
  }
  EXPECT_GT(planned, 10u);
}

TEST(ExampleAlgorithm, IsListed) {
  addExample();
  std::vector<SolverInfo> solvers = getSolvers();
  EXPECT_EQ(solvers.front().name, "auto");
  auto named = [](const SolverInfo &info) {
    return info.name == "largest-first";
  };
  auto found = llvm::find_if(solvers, named);
  ASSERT_NE(found, solvers.end());
  EXPECT_EQ(found->summary,
            "drops the largest forward values until the rest fits");
  EXPECT_TRUE(mentions(message(findSolver("smallest-first").takeError()),
                       "unknown planner 'smallest-first', expected one of "
                       "'auto', 'save-all'"));
  EXPECT_TRUE(mentions(message(findSolver("smallest-first").takeError()),
                       "'largest-first'"));
}

TEST(ExampleAlgorithm, AnInfeasibleBudgetNamesTheSmallest) {
  addExample();
  Problem problem = growingChain(6);
  problem.deviceBudget = 10;
  std::string text = message(solve(problem, "largest-first").takeError());
  EXPECT_TRUE(mentions(text, "no plan found within the budget of 10 bytes"));
  EXPECT_TRUE(mentions(text, "the smallest feasible budget found is"));
}

TEST(ExampleAlgorithm, APolicyThatItIgnoresIsAnError) {
  addExample();
  Problem problem = growingChain(6);
  problem.values[1].policy = Policy::MustRecompute;
  std::string text = message(solve(problem, "largest-first").takeError());
  EXPECT_TRUE(mentions(text, "planner 'largest-first' made an illegal plan"));
  EXPECT_TRUE(mentions(text, "MUST_RECOMPUTE"));
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

TEST(RegisterSolver, RefusesBadNames) {
  addExample();
  EXPECT_EQ(message(registerLargestFirst()),
            "there is a planner 'largest-first' already; register this one "
            "under another name");
  EXPECT_EQ(message(registerSolver({"greedy", "", planLargestFirst})),
            "there is a planner 'greedy' already; register this one under "
            "another name");
  for (const char *name : {"", "two words", "a,b", "a'b"})
    EXPECT_EQ(message(registerSolver({name, "", planLargestFirst})),
              "a planner's name must consist of letters, digits, '-', '_' and "
              "'.', got '" +
                  std::string(name) + "'");
  EXPECT_EQ(message(registerSolver({"nothing", "", nullptr})),
            "planner 'nothing' has no function");
}

TEST(RegisterSolver, AnyThreadMayRegister) {
  size_t before = getSolvers().size();
  std::atomic<unsigned> added = 0;
  std::vector<std::thread> threads;
  for (unsigned thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (unsigned i = 0; i < 50; ++i) {
        std::string name = "thread-" + std::to_string(i);
        llvm::Error error = registerSolver({name, "", planLargestFirst});
        added += !error;
        llvm::consumeError(std::move(error));
        EXPECT_EQ(llvm::cantFail(findSolver(name)).name, name);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(added, 50u);
  EXPECT_EQ(getSolvers().size(), before + 50);
}

/// What `solve` says of an algorithm that changes the solution of save-all.
std::string refusal(const Problem &problem,
                    const std::function<void(Solution &)> &change) {
  static unsigned number = 0;
  std::string name = "wrong-" + std::to_string(number++);
  auto plan = [change](const Problem &problem, const SolverOptions &options) {
    Solution solution = cantFail(planSaveAll(problem, options));
    change(solution);
    return llvm::Expected<Solution>(std::move(solution));
  };
  EXPECT_EQ(message(registerSolver({name, "", plan})), "");
  std::string text = message(solve(problem, name).takeError());
  EXPECT_TRUE(mentions(text, "planner '" + name + "'"));
  return text;
}

TEST(RegisterSolver, IllegalPlansAreErrors) {
  Problem problem = chain(3);
  EXPECT_TRUE(mentions(refusal(problem, [](Solution &s) { s.plan = {}; }),
                       "made an illegal plan"));
  EXPECT_TRUE(mentions(
      refusal(problem, [](Solution &s) { s.plan.actions.front().id = 99; }),
      "made an illegal plan: action 0"));
  problem.values[0].policy = Policy::MustSave;
  EXPECT_TRUE(mentions(refusal(problem, [](Solution &s) { s.plan.run(0); }),
                       "MUST_SAVE"));
  // A plan above the budget is illegal however small its peak is said to be.
  problem = chain(6);
  int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
  auto exceed = [&](const Problem &limited, const SolverOptions &options) {
    Problem unlimited = limited;
    unlimited.deviceBudget.reset();
    llvm::Expected<Solution> solution = planSaveAll(unlimited, options);
    solution->peakBytes = *limited.deviceBudget;
    return solution;
  };
  EXPECT_EQ(message(registerSolver({"exceeds", "", exceed})), "");
  problem.deviceBudget = peak - 1;
  std::string text = message(solve(problem, "exceeds").takeError());
  EXPECT_TRUE(mentions(text, "planner 'exceeds' made an illegal plan"));
  EXPECT_TRUE(mentions(text, std::to_string(peak)));
}

TEST(RegisterSolver, WrongNumbersAreErrors) {
  Problem problem = chain(3);
  auto refused = [&](auto change) { return refusal(problem, change); };
  EXPECT_TRUE(mentions(refused([](Solution &s) { --s.peakBytes; }),
                       "returned a wrong solution: the plan's peak is stated "
                       "as 3 and is 4"));
  EXPECT_TRUE(mentions(refused([](Solution &s) { ++s.hostPeakBytes; }),
                       "the plan's host peak is stated as 1 and is 0"));
  EXPECT_TRUE(mentions(refused([](Solution &s) { --s.cost; }),
                       "the plan's cost is stated as 5 and is 6"));
  EXPECT_TRUE(mentions(refused([](Solution &s) { s.time = 0; }),
                       "the plan's time is stated as 0 and is 6"));
  EXPECT_TRUE(mentions(refused([](Solution &s) { s.lowerBound = 7; }),
                       "no plan is said to take less than 7, and this one "
                       "takes 6"));
}

TEST(RegisterSolver, FailuresMaySayHowFarTheyGot) {
  Problem problem = chain(60, 8);
  FeasibilityCertificate lowest = cantFail(smallestFeasibleBudget(problem));
  auto late = [plan = lowest.plan](const Problem &asked,
                                   const SolverOptions &) {
    auto found = std::make_shared<FeasibilityCertificate>();
    found->plan = plan;
    return llvm::Expected<Solution>(llvm::make_error<InfeasibleBudgetError>(
        asked.deviceBudget.value_or(0), 0, std::string(), found));
  };
  EXPECT_EQ(message(registerSolver({"late", "", late})), "");
  problem.deviceBudget = lowest.smallestFeasible - 1;
  // No time is left to look for what is feasible.
  SolverOptions options;
  options.timeLimitSeconds = 0;
  llvm::handleAllErrors(solve(problem, "late", options).takeError(),
                        [&](const InfeasibleBudgetError &error) {
                          EXPECT_EQ(error.getSmallestFeasible(),
                                    lowest.smallestFeasible);
                          ASSERT_NE(error.getCertificate(), nullptr);
                          EXPECT_EQ(error.getCertificate()->plan, lowest.plan);
                        });
}

TEST(RegisterSolver, WhatRegionsForbidIsRefused) {
  // An algorithm that does not do what the region's budget makes MUST.
  Problem problem = chain(3);
  problem.regions.push_back({"block", 0, {0, 1, 2}});
  auto ignore = [](const Problem &limited, const SolverOptions &options) {
    Problem free = limited;
    for (Value &value : free.values)
      value.policy = Policy::None;
    return planSaveAll(free, options);
  };
  EXPECT_EQ(message(registerSolver({"ignores-regions", "", ignore})), "");
  std::string text = message(solve(problem, "ignores-regions").takeError());
  EXPECT_TRUE(mentions(text, "planner 'ignores-regions' made an illegal plan"));
  EXPECT_TRUE(mentions(text, "region 'block'"));
}

} // namespace
