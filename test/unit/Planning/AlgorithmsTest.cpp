//===- AlgorithmsTest.cpp - what every algorithm promises -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Greedy.h"
#include "Problems.h"
#include "Solution.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

// Of a forward chain a -> b -> c, all hidden, the first backward op reads b and
// the second one c. What was made again for the first is kept for the second:
// each forward op runs twice and no more.
TEST(SaveAll, KeepsWhatItRecomputed) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  OpId a = problem.addOp("a", 1, {x});
  ValueId va = problem.addResult(a, "a", 10);
  OpId b = problem.addOp("b", 1, {va});
  ValueId vb = problem.addResult(b, "b", 10);
  OpId c = problem.addOp("c", 1, {va, vb});
  ValueId vc = problem.addResult(c, "c", 10);
  for (ValueId value : {va, vb, vc})
    problem.values[value].policy = Policy::MustRecompute;
  ValueId previous = x;
  for (ValueId read : {vb, vc}) {
    OpId op = problem.addOp("backward", 1, {previous, read}, true);
    previous = problem.addResult(op, "gradient", 10);
  }
  EXPECT_EQ(saveAll(problem).cost, 3 + 3 + 2);
}

TEST(SaveAll, RunsEveryOpOnce) {
  Solution solution = saveAll(chain(10));
  EXPECT_EQ(solution.plan.actions.size(), 20u);
  EXPECT_EQ(solution.cost, 20);
  // b9 runs with f0 .. f9 and its result.
  EXPECT_EQ(solution.peakBytes, 11);
  EXPECT_TRUE(solution.optimal());
}

TEST(SaveAll, HonoursMusts) {
  Problem problem = chain(4, 10);
  problem.linkBytesPerSecond = 1000000000;
  problem.values[1].policy = Policy::MustRecompute;
  problem.values[2].policy = Policy::MustCpuOffload;
  Solution solution = saveAll(problem);
  EXPECT_EQ(solution.cost, 9);
  EXPECT_EQ(solution.hostPeakBytes, 10);
  EXPECT_EQ(message(verify(problem, solution.plan)), "");
}

TEST(SaveAll, RecomputesAWholeRegionThatMust) {
  Problem problem = chain(6);
  for (ValueId v = 1; v < 6; ++v)
    problem.values[v].policy = Policy::MustRecompute;
  Solution solution = saveAll(problem);
  // f1 .. f5 run again, each once.
  EXPECT_EQ(solution.cost, 12 + 5);
}

TEST(Sqrt, LowersThePeakOfAChain) {
  Problem problem = chain(100);
  Solution solution = cantFail(solve(problem, "sqrt"));
  EXPECT_LE(solution.peakBytes, 25);
  // At most one forward more.
  EXPECT_LE(solution.cost, 300);
  EXPECT_EQ(saveAll(problem).peakBytes, 101);
}

TEST(Greedy, ChainAtAllBudgets) {
  // Golden costs: those of the optimal recursion for uniform chains where it
  // recomputes no value twice, 1 per byte below the peak of 21.
  Problem problem = chain(20);
  for (int64_t budget = 21; budget >= 13; --budget) {
    problem.deviceBudget = budget;
    Solution solution = cantFail(solve(problem, "greedy", quick()));
    EXPECT_LE(solution.peakBytes, budget);
    EXPECT_EQ(solution.cost, 40 + (21 - budget)) << budget;
  }
}

TEST(Greedy, NothingIsRecomputedWhenEverythingFits) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Problem problem = randomProblem(seed, 40);
    Solution reference = saveAll(problem);
    problem.deviceBudget = reference.peakBytes;
    for (const char *solver : {"auto", "greedy"})
      EXPECT_EQ(cantFail(solve(problem, solver, quick())).cost, reference.cost);
  }
}

TEST(Greedy, PrefersTheCheaperOfTwo) {
  // Two values of equal size are idle at the peak; one is cheaper to redo.
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId dear = problem.addResult(problem.addOp("dear", 10, x), "dear", 100);
  ValueId cheap = problem.addResult(problem.addOp("cheap", 9, x), "cheap", 100);
  ValueId big = problem.addResult(problem.addOp("big", 1, x), "big", 100);
  ValueId sum = problem.addResult(problem.addOp("sum", 1, big, true), "sum", 1);
  problem
      .values[problem.addResult(problem.addOp("end", 1, {sum, dear}, true),
                                "end", 1)]
      .isOutput = true;
  problem
      .values[problem.addResult(problem.addOp("end2", 1, {sum, cheap}, true),
                                "end2", 1)]
      .isOutput = true;
  Problem limited = problem;
  limited.deviceBudget = saveAll(problem).peakBytes - 50;
  EXPECT_EQ(cantFail(solve(limited, "greedy", quick())).cost, 23 + 9);
  limited.values[cheap].policy = Policy::PreferSave;
  EXPECT_EQ(cantFail(solve(limited, "greedy", quick())).cost, 23 + 10);
  limited.values[cheap].policy = Policy::MustSave;
  EXPECT_EQ(cantFail(solve(limited, "greedy", quick())).cost, 23 + 10);
}

TEST(Greedy, OffloadsWhenTheLinkIsFaster) {
  Problem problem = chain(8, 1000);
  for (Op &op : problem.ops)
    op.cost = 1000000;
  problem.deviceBudget = 7000;
  problem.linkBytesPerSecond = 1000000000; // 1000 bytes in 1000 ns
  Solution solution = cantFail(solve(problem, "greedy", quick()));
  EXPECT_EQ(solution.cost, solution.baseCost);
  EXPECT_GT(solution.hostPeakBytes, 0);
  EXPECT_LE(solution.peakBytes, 7000);
  // Without room on the host it has to recompute.
  problem.hostBudget = 0;
  solution = cantFail(solve(problem, "greedy", quick()));
  EXPECT_GT(solution.cost, solution.baseCost);
}

TEST(Algorithms, PlansAreLegalAndWithinBudget) {
  SolverOptions options;
  options.effort = 0.005;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, 40);
    if (seed % 3 == 0)
      problem.linkBytesPerSecond = 20000000000;
    for (ValueId v = 0; v < problem.values.size(); ++v)
      if (uint64_t roll = (seed * 31 + v * 17) % 23; roll < 7) {
        problem.values[v].policy = Policy(roll);
        if (check(problem) ? true : false)
          problem.values[v].policy = Policy::None;
      }
    ASSERT_EQ(message(check(problem)), "");
    Solution reference = saveAll(problem);
    for (int percent : {90, 75, 60, 50, 40}) {
      problem.deviceBudget = reference.peakBytes * percent / 100;
      for (const char *solver : {"greedy", "sqrt", "auto"}) {
        llvm::Expected<Solution> solution =
            runAlgorithm(problem, solver, options);
        if (!solution) {
          bool infeasible = false;
          llvm::handleAllErrors(
              solution.takeError(),
              [&](const InfeasibleBudgetError &error) { infeasible = true; },
              [&](const llvm::ErrorInfoBase &error) {
                ADD_FAILURE() << error.message();
              });
          EXPECT_TRUE(infeasible);
          continue;
        }
        EXPECT_LE(solution->peakBytes, *problem.deviceBudget);
        EXPECT_EQ(message(verify(problem, solution->plan)), "");
        EXPECT_GE(solution->cost, solution->lowerBound);
      }
    }
  }
}

TEST(Algorithms, NoIllegalPlanWithAllFeatures) {
  unsigned kinds[numActionKinds] = {}, planned = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = richProblem(seed, 5 + seed);
    problem.linkBytesPerSecond =
        seed % 4 ? int64_t(1000000000) << seed % 7 : infiniteBandwidth;
    problem.freeOrder = seed % 3 == 0;
    if (seed % 5 == 0)
      problem.hostBudget = 150;
    addPolicies(problem, seed);
    ASSERT_EQ(message(check(problem)), "");
    for (const SolverInfo &solver : getSolvers())
      for (int64_t budget : {1500, 800, 400, 250}) {
        SCOPED_TRACE(problem.name + std::to_string(seed) + " " + solver.name +
                     " " + std::to_string(budget));
        problem.deviceBudget = budget;
        SolverOptions options;
        options.effort = 0.003;
        llvm::Expected<Solution> solution = solver.function(problem, options);
        if (!solution) {
          EXPECT_FALSE(mentions(message(solution.takeError()), "illegal plan"));
          continue;
        }
        ++planned;
        EXPECT_EQ(message(verify(problem, solution->plan)), "");
        EXPECT_LE(solution->lowerBound, solution->time);
        for (const Action &action : solution->plan.actions)
          ++kinds[size_t(action.kind)];
      }
  }
  EXPECT_GT(planned, 500u);
  // A release needs an offload that something waits for.
  for (auto [kind, count] : llvm::enumerate(kinds))
    EXPECT_GT(count, ActionKind(kind) == ActionKind::Release ? 10u : 50u);
}

/// Whether a lossy packed form changes what a forward op computes at its first
/// run, or leaves as an output. What forward ops make of rounded values is
/// rounded, too; what backward ops make may be.
bool changesForwardResults(const Problem &problem, const Plan &plan) {
  Simulation simulation = cantFail(simulate(problem, plan));
  std::vector<bool> rounded(simulation.copies.size(), false);
  std::vector<bool> ran(problem.ops.size(), false);
  std::vector<std::vector<size_t>> made(plan.actions.size());
  for (auto [index, copy] : llvm::enumerate(simulation.copies))
    if (copy.def != Copy::beforeStart)
      made[copy.def].push_back(index);
  for (auto [i, action] : llvm::enumerate(plan.actions)) {
    bool isOp =
        action.kind == ActionKind::Run || action.kind == ActionKind::Absorb;
    bool reads = llvm::any_of(simulation.readsOf(i),
                              [&](uint32_t copy) { return rounded[copy]; });
    if (isOp && problem.ops[action.id].backward)
      continue;
    if (action.kind == ActionKind::Unpack &&
        problem.values[action.id].packed->lossy)
      reads = true;
    if (action.kind == ActionKind::Run) {
      if (!ran[action.id] && reads)
        return true;
      ran[action.id] = true;
    }
    for (size_t index : made[i]) {
      const Copy &copy = simulation.copies[index];
      rounded[index] = reads;
      if (reads && copy.form == Copy::Form::Full &&
          problem.values[copy.value].isOutput &&
          copy.lastUse + 1 == plan.actions.size())
        return true;
    }
  }
  return false;
}

TEST(Algorithms, LossyFormsLeaveForwardResultsAlone) {
  unsigned packing = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = richProblem(seed, 6 + seed % 20);
    problem.freeOrder = seed % 7 == 0;
    problem.linkBytesPerSecond = 0;
    for (Value &value : problem.values)
      if (value.packed)
        value.packed->lossy = true;
    int64_t peak = saveAll(problem).peakBytes;
    for (const char *solver : {"auto", "greedy", "exact"})
      for (int64_t percent : {85, 70, 60}) {
        problem.deviceBudget = peak * percent / 100;
        llvm::Expected<Solution> solution =
            runAlgorithm(problem, solver, quick());
        if (!solution) {
          EXPECT_FALSE(mentions(message(solution.takeError()), "illegal plan"));
          continue;
        }
        EXPECT_FALSE(changesForwardResults(problem, solution->plan))
            << "seed " << seed << ", " << solver << ", " << percent;
        packing += llvm::any_of(solution->plan.actions, [](const Action &a) {
          return a.kind == ActionKind::Unpack;
        });
      }
  }
  EXPECT_GT(packing, 20u);
}

TEST(Algorithms, SamePlanEveryTime) {
  Problem problem = randomProblem(5, 60);
  problem.deviceBudget = saveAll(problem).peakBytes * 7 / 10;
  llvm::Expected<Solution> first = solve(problem, "greedy", quick());
  ASSERT_TRUE(bool(first)) << message(first.takeError());
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(cantFail(solve(problem, "greedy", quick())).plan, first->plan);
}

TEST(Algorithms, FreeOrderIsNeverWorse) {
  int64_t fixed = 0, reordered = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    // In every other problem there is no other order; there, an effort that is
    // spent on orders is lost.
    Problem problem =
        seed % 2 ? randomProblem(seed, 30 + seed) : chain(30 + seed);
    std::mt19937_64 random(seed);
    for (Op &op : problem.ops)
      op.cost = 1 + random() % 100;
    problem.deviceBudget = saveAll(problem).peakBytes * (3 + seed % 4) / 10;
    SolverOptions options;
    options.effort = 0.005;
    llvm::Expected<Solution> given = runAlgorithm(problem, "auto", options);
    problem.freeOrder = true;
    llvm::Expected<Solution> free = runAlgorithm(problem, "auto", options);
    if (!given) {
      llvm::consumeError(given.takeError());
      llvm::consumeError(free.takeError());
      continue;
    }
    ASSERT_TRUE(bool(free)) << message(free.takeError());
    EXPECT_LE(free->time, given->time);
    fixed += given->time;
    reordered += free->time;
  }
  EXPECT_LT(reordered, fixed);
}

TEST(Algorithms, UnknownNameListsTheChoices) {
  std::string text = message(solve(chain(2), "best").takeError());
  EXPECT_TRUE(mentions(text, "unknown planner 'best'"));
  EXPECT_TRUE(mentions(text, "'greedy'"));
}

TEST(Feasibility, ABudgetInDoubtGetsACloserLook) {
  unsigned closer = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomProblem(seed, 60);
    SolverOptions options;
    options.effort = 0.0005;
    FeasibilityCertificate quick =
        cantFail(smallestFeasibleBudget(problem, options));
    problem.deviceBudget = quick.smallestFeasible - 1;
    FeasibilityCertificate close =
        cantFail(smallestFeasibleBudget(problem, options));
    EXPECT_EQ(close.smallestFeasible, quick.smallestFeasible);
    EXPECT_GE(close.lowerBound, quick.lowerBound);
    EXPECT_LE(close.lowerBound, close.smallestFeasible);
    closer += close.lowerBound > quick.lowerBound;
  }
  EXPECT_GT(closer, 0u);
}

TEST(Feasibility, InfeasibleBudgetStatesTheSmallest) {
  Problem problem = chain(12, 8);
  problem.deviceBudget = 8;
  int64_t smallest = 0;
  std::string text;
  llvm::handleAllErrors(solve(problem, "greedy", quick()).takeError(),
                        [&](const InfeasibleBudgetError &error) {
                          smallest = error.getSmallestFeasible();
                          text = error.message();
                        });
  // An inner backward op alone needs four values.
  EXPECT_GE(smallest, 4 * 8);
  EXPECT_TRUE(mentions(text, "smallest feasible budget found is"));
  EXPECT_TRUE(mentions(text, "reached at op"));
  problem.deviceBudget = smallest;
  EXPECT_EQ(cantFail(solve(problem, "greedy", quick())).peakBytes, smallest);
}

TEST(Feasibility, TellsWhenEffortEndedTheSearch) {
  Problem problem = chain(60, 8);
  FeasibilityCertificate whole = cantFail(smallestFeasibleBudget(problem));
  EXPECT_FALSE(whole.cutShort);
  EXPECT_FALSE(mentions(whole.describe(problem), "cut short"));
  SolverOptions options;
  options.effort = options.overdraft = 0;
  FeasibilityCertificate none =
      cantFail(smallestFeasibleBudget(problem, options));
  EXPECT_TRUE(none.cutShort);
  EXPECT_GT(none.smallestFeasible, whole.smallestFeasible);
  EXPECT_TRUE(mentions(none.describe(problem),
                       "was cut short; more effort may find one"));
}

TEST(Feasibility, TakesOverHowFarASearchGot) {
  Problem problem = chain(60, 8);
  FeasibilityCertificate whole = cantFail(smallestFeasibleBudget(problem));
  SolverOptions options;
  options.effort = options.overdraft = 0;
  FeasibilityCertificate none =
      cantFail(smallestFeasibleBudget(problem, options));
  ASSERT_GT(none.smallestFeasible, whole.smallestFeasible);
  options.start = &whole.plan;
  EXPECT_EQ(cantFail(smallestFeasibleBudget(problem, options)).smallestFeasible,
            whole.smallestFeasible);
  // A plan that is worse than what is found does not count.
  options = {};
  options.start = &none.plan;
  EXPECT_EQ(cantFail(smallestFeasibleBudget(problem, options)).smallestFeasible,
            whole.smallestFeasible);
}

// Peaks of buffers that are padded are multiples of what these are.
TEST(Feasibility, LowestPeaksTakeTheSameWorkInEveryUnit) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    uint64_t steps[2];
    Plan plans[2];
    for (int64_t unit : {1, 4096}) {
      Problem problem = randomProblem(seed, 40);
      for (Value &value : problem.values) {
        value.bytes *= unit;
        value.transferBytes *= unit;
        if (value.packed)
          value.packed->bytes *= unit;
      }
      for (Op &op : problem.ops)
        op.workspace *= unit;
      Graph graph(problem);
      SolverOptions options;
      Stopwatch watch;
      WorkMeter work(options, watch);
      plans[unit > 1] = findLowestPeak(graph, saveAll(problem).plan,
                                       /*lowerBound=*/0, work, /*seed=*/1)
                            .plan;
      steps[unit > 1] = work.steps();
    }
    EXPECT_EQ(plans[0], plans[1]);
    EXPECT_EQ(steps[0], steps[1]);
  }
}

// What is kept of a search with another effort is what this one would make.
TEST(Feasibility, KeptPlansChangeNothing) {
  unsigned numKept = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = randomProblem(seed, 60);
    SolverOptions none, some;
    none.effort = 0;
    some.effort = 0.1;
    LowPeakPlans kept, fresh;
    (void)cantFail(smallestFeasibleBudget(problem, none, &kept));
    if (kept.inGivenOrder)
      ++numKept;
    FeasibilityCertificate after =
        cantFail(smallestFeasibleBudget(problem, some, &kept));
    FeasibilityCertificate alone =
        cantFail(smallestFeasibleBudget(problem, some, &fresh));
    EXPECT_EQ(after.plan, alone.plan);
    EXPECT_EQ(after.smallestFeasible, alone.smallestFeasible);
  }
  EXPECT_GT(numKept, 0u);
}

TEST(Feasibility, KeptPlansHoldForBoundsThatTheyNeverCameTo) {
  LowPeakPlans::Made made;
  made.lowest = 100;
  made.leastAsked = 120;
  EXPECT_TRUE(made.holdsFor(0));
  EXPECT_TRUE(made.holdsFor(100));
  EXPECT_TRUE(made.holdsFor(119));
  EXPECT_FALSE(made.holdsFor(120));
  made.leastAsked = 90;
  EXPECT_TRUE(made.holdsFor(100));
  EXPECT_FALSE(made.holdsFor(80));
}

TEST(WorkMeter, CapsEndAPartOfASearch) {
  SolverOptions options;
  Stopwatch watch;
  WorkMeter work(options, watch);
  work.add(1000);
  EXPECT_FALSE(work.overdrawn());
  work.setCap(100);
  work.add(99);
  EXPECT_FALSE(work.overdrawn());
  work.add(1);
  EXPECT_TRUE(work.overdrawn());
  // It is a part that is over, not the effort.
  EXPECT_FALSE(work.exhausted());
  work.setCap(std::nullopt);
  EXPECT_FALSE(work.overdrawn());
}

TEST(Auto, BoundsOfAPlanThatIsThereNeedNotBeProven) {
  Problem problem = chain(40, 8);
  problem.deviceBudget = saveAll(problem).peakBytes / 2;
  SolverOptions options;
  options.effort = 0.01;
  Solution proven = cantFail(solve(problem, "auto", options));
  EXPECT_GT(proven.lowerBound, proven.baseCost);
  options.provesBounds = false;
  Solution found = cantFail(solve(problem, "auto", options));
  EXPECT_EQ(found.lowerBound, found.baseCost);
  EXPECT_LE(found.peakBytes, *problem.deviceBudget);
  // That there is no plan is still proven.
  problem.deviceBudget = 1;
  llvm::Expected<Solution> none = solve(problem, "auto", options);
  EXPECT_TRUE(none.errorIsA<InfeasibleBudgetError>());
  llvm::consumeError(none.takeError());
}

TEST(Feasibility, MustsForceTheBudget) {
  Problem problem = chain(12, 8);
  FeasibilityCertificate free = cantFail(smallestFeasibleBudget(problem));
  EXPECT_EQ(free.lowerBound, 32);
  for (ValueId v = 0; v < 12; ++v)
    problem.values[v].policy = Policy::MustSave;
  FeasibilityCertificate forced = cantFail(smallestFeasibleBudget(problem));
  EXPECT_EQ(forced.smallestFeasible, saveAll(problem).peakBytes);
  EXPECT_EQ(forced.lowerBound, forced.smallestFeasible);
  EXPECT_GT(forced.smallestFeasible, free.smallestFeasible);
  EXPECT_EQ(forced.forced.size(), 12u);
  EXPECT_TRUE(mentions(forced.describe(problem), "forced by MUST_SAVE"));
}

} // namespace
