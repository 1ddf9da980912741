//===- BoundsTest.cpp - lower bounds against exhaustive search ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No bound may exceed what the best plan takes, whatever the problem; where the
// structure is simple the bound has to be the best plan's time.
//
//===----------------------------------------------------------------------===//

#include "LeastCost.h"
#include "MixedIntegerProgram.h"
#include "Problems.h"
#include "StageRelaxation.h"
#include "remat/Planning/LowerBound.h"

#include <numeric>

using namespace remat::planning;
using llvm::cantFail;

namespace {

/// A random problem, some of whose arguments take bytes and some of whose
/// values must be saved.
Problem smallProblem(uint64_t seed, unsigned n) {
  Problem problem = randomProblem(seed, n);
  std::mt19937_64 random(seed + 1000);
  for (Value &value : problem.values) {
    if (value.isArgument && random() % 4 == 0)
      value.bytes = random() % 60;
    if (value.producer != noOp && random() % 12 == 0)
      value.policy = Policy::MustSave;
  }
  cantFail(check(problem));
  return problem;
}

LowerBoundOptions effort(double seconds) {
  LowerBoundOptions options;
  options.effort = seconds;
  return options;
}

/// Without the search over all plans.
LowerBoundOptions ofMoments(double seconds) {
  LowerBoundOptions options = effort(seconds);
  options.useStates = false;
  return options;
}

/// Counts what the bounds achieve over many problems, after checking that none
/// is above the optimum.
struct Tally {
  unsigned pairs = 0, remat = 0, tight = 0, infeasible = 0, proven = 0;

  void add(const Problem &problem, double seconds) {
    std::optional<int64_t> least = leastCost(problem);
    LowerBound bound = lowerBound(problem, ofMoments(seconds));
    ++pairs;
    if (!least) {
      ++infeasible;
      proven += bound.infeasible;
      return;
    }
    ASSERT_FALSE(bound.infeasible);
    ASSERT_LE(bound.time, *least) << bound.method;
    EXPECT_GE(bound.time, problem.baseCost());
    if (*least > problem.baseCost()) {
      ++remat;
      tight += bound.time == *least;
    }
  }
};

void sweep(Tally &tally, uint64_t seeds, unsigned n, bool freeOrder,
           double seconds) {
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Problem problem = smallProblem(seed, n);
    if (problem.values.size() > 13)
      continue;
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    problem.freeOrder = freeOrder;
    for (int percent : {95, 85, 75, 65, 50}) {
      problem.deviceBudget = peak * percent / 100;
      SCOPED_TRACE("seed " + std::to_string(seed) + " at " +
                   std::to_string(percent) + " %");
      tally.add(problem, seconds);
      if (testing::Test::HasFatalFailure())
        return;
    }
  }
}

TEST(Bounds, NeverAboveTheOptimum) {
  Tally tally;
  sweep(tally, 400, 7, /*freeOrder=*/false, 0.05);
  EXPECT_GT(tally.pairs, 1000u);
  EXPECT_GT(tally.remat, 50u);
  // Most of the small problems need one moment only.
  EXPECT_GT(tally.tight * 10, tally.remat * 6);
  EXPECT_GT(tally.proven * 10, tally.infeasible * 8);
}

TEST(Bounds, ProgramsAreNeverAboveTheOptimum) {
  Tally tally;
  sweep(tally, 120, 7, /*freeOrder=*/false, 0.5);
  EXPECT_GT(tally.tight * 10, tally.remat * 6);
}

TEST(Bounds, FreeOrderIsNeverAboveTheOptimum) {
  Tally tally;
  sweep(tally, 200, 6, /*freeOrder=*/true, 0.5);
  EXPECT_GT(tally.pairs, 500u);
}

TEST(Bounds, NeverAboveAPlanWithEverythingAllowed) {
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Problem problem = randomProblem(seed, 30);
    std::mt19937_64 random(seed);
    problem.linkBytesPerSecond = seed % 2 ? 0 : 20'000'000'000;
    for (Value &value : problem.values) {
      value.transferBytes = value.viewOf == noValue ? value.bytes : 0;
      value.offloadable = random() % 3 != 0;
      if (value.producer == noOp || random() % 5)
        continue;
      Op &op = problem.ops[value.producer];
      if (op.recomputable && !op.backward && op.results.size() == 1)
        value.policy = Policy::MustRecompute;
    }
    cantFail(check(problem));
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {100, 90, 80, 70}) {
      problem.deviceBudget = peak * percent / 100;
      SolverOptions options;
      options.effort = 0.02;
      llvm::Expected<Solution> plan = runAlgorithm(problem, "greedy", options);
      if (!plan) {
        llvm::consumeError(plan.takeError());
        continue;
      }
      ++compared;
      bool programs = seed % 10 < 2;
      LowerBound bound = lowerBound(problem, effort(programs ? 0.2 : 0.05));
      EXPECT_FALSE(bound.infeasible);
      EXPECT_LE(bound.time, plan->time) << "seed " << seed << bound.method;
    }
  }
  EXPECT_GT(compared, 100u);
}

TEST(Bounds, MoreWaysBackNeverRaiseTheBound) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = randomProblem(seed, 20);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    problem.deviceBudget = peak * 7 / 10;
    LowerBound plain = lowerBound(problem, effort(0.1));
    Problem rich = problem;
    std::mt19937_64 random(seed);
    for (Value &value : rich.values)
      if (value.producer != noOp && random() % 2)
        value.packed = PackedForm{value.bytes / 2, 1, 1};
    for (Op &op : rich.ops)
      if (op.recomputable && random() % 2)
        op.absorbedCost = op.cost / 2;
    LowerBound bound = lowerBound(rich, effort(0.1));
    if (bound.infeasible)
      EXPECT_TRUE(plain.infeasible);
    else if (!plain.infeasible)
      EXPECT_LE(bound.time, plain.time);
    rich.freeOrder = true;
    LowerBound free = lowerBound(rich, effort(0.1));
    if (!bound.infeasible) {
      EXPECT_FALSE(free.infeasible);
      EXPECT_LE(free.time, bound.time);
    }
  }
}

TEST(Bounds, ExactOnUniformChains) {
  for (unsigned n : {8, 20, 64, 200}) {
    Problem problem = chain(n);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    // While half of the chain fits, each dropped value costs one op.
    for (int64_t drop : {int64_t(0), int64_t(1), peak / 8, peak / 4}) {
      problem.deviceBudget = peak - drop;
      EXPECT_EQ(lowerBound(problem).time, problem.baseCost() + drop)
          << n << " " << drop;
    }
  }
}

TEST(Bounds, SeveralMomentsProveRecursion) {
  // Half of the values of a chain of eight: some op runs three times.
  Problem problem = chain(8);
  problem.deviceBudget = 5;
  std::optional<int64_t> least = leastCost(problem);
  ASSERT_TRUE(least.has_value());
  LowerBound one = lowerBound(problem, ofMoments(0.05));
  EXPECT_LT(one.time, *least);
  if (!cantFail(solve(chain(2), "save-all")).optimal())
    GTEST_SKIP();
  LowerBound several = lowerBound(problem, ofMoments(2));
  EXPECT_GE(several.time, one.time);
  if (several.time > one.time) // Built with HiGHS.
    EXPECT_EQ(several.time, *least);
}

/// A random problem of nine ops at a percentage of its peak.
Problem nineOps(uint64_t seed, int64_t percent) {
  Problem problem = randomProblem(seed, 9);
  int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
  problem.deviceBudget = peak * percent / 100;
  return problem;
}

TEST(Bounds, OperandsOfTheNextMomentTakeRoomBeforeIt) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  // Without what the next moment reads, the program allows 53 and 25.
  EXPECT_GE(lowerBound(nineOps(0, 80), ofMoments(0.5)).time, 54);
  EXPECT_GE(lowerBound(nineOps(39, 70), ofMoments(0.5)).time, 26);
}

TEST(Bounds, LooksWhereASolutionDoesNotFit) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  // Everything that is read again fits at the moments that decide; what is kept
  // to run an op again does not.
  for (auto [seed, percent] :
       {std::pair(0, 90), {20, 90}, {53, 70}, {91, 90}}) {
    Problem problem = nineOps(seed, percent);
    std::optional<int64_t> least = leastCost(problem);
    ASSERT_TRUE(least.has_value());
    EXPECT_EQ(lowerBound(problem, ofMoments(0.5)).time, *least) << seed;
  }
}

TEST(Bounds, WhatRunsBehindAnotherRunNeedsItsOperandsThere) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  // Without the operands, 43.
  Problem problem = randomProblem(173, 11);
  problem.deviceBudget =
      cantFail(solve(problem, "save-all")).peakBytes * 80 / 100;
  LowerBound bound = lowerBound(problem, ofMoments(0.5));
  EXPECT_GE(bound.time, 47);
  EXPECT_LE(bound.time, *leastCost(problem));
}

/// The bound of the moments where variables need not be integers.
double relaxedBound(const Graph &graph, const CutCosts &costs,
                    StageMoments moments) {
  StageRelaxation relaxation(graph, costs, std::move(moments));
  ProgramLimits limits;
  limits.relaxed = true;
  ProgramResult result =
      cantFail(minimize(relaxation.getProgram(), {}, limits));
  if (result.status == ProgramResult::Status::Infeasible)
    return std::numeric_limits<double>::infinity();
  return result.bound;
}

TEST(Bounds, SeveralMomentsSayNoLessThanEachOfThem) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Problem problem = randomProblem(seed, 40);
    problem.deviceBudget =
        cantFail(solve(problem, "save-all")).peakBytes * 80 / 100;
    Graph graph(problem);
    CutCosts costs(graph);
    double several = relaxedBound(graph, costs, {{15, 20, 25, 30}, {}, {}});
    for (OpId cut : {15, 20, 25, 30}) {
      double one = relaxedBound(graph, costs, {{cut}, {}, {}});
      compared += one > 0;
      EXPECT_GE(several, one - 1e-6) << seed << " at " << cut;
    }
  }
  EXPECT_GT(compared, 20u);
}

TEST(Bounds, AddedMomentsKeepWhatWasTold) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  for (uint64_t seed : {14, 34, 46}) {
    Problem problem = randomProblem(seed, 60);
    problem.deviceBudget =
        cantFail(solve(problem, "save-all")).peakBytes * 65 / 100;
    Graph graph(problem);
    CutCosts costs(graph);
    StageMoments moments{{10, 30, 50}, {}, {}};
    bool lost = false;
    for (OpId cut : {20, 40, 25}) {
      double before = relaxedBound(graph, costs, moments);
      moments.add({{cut}, {}, {}});
      EXPECT_GE(relaxedBound(graph, costs, moments), before - 1e-6)
          << seed << " with " << cut;
      lost |=
          relaxedBound(graph, costs, {moments.cuts, {}, {}}) < before - 1e-6;
    }
    // Without the stages of before, they tell less.
    EXPECT_TRUE(lost) << seed;
  }
}

TEST(Bounds, AddedMomentsAreValidForEveryPlan) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 30; ++seed)
    for (int percent : {90, 75, 60}) {
      Problem problem = nineOps(seed, percent);
      std::optional<int64_t> least = leastCost(problem);
      if (!least || *least == problem.baseCost())
        continue;
      ++compared;
      Graph graph(problem);
      CutCosts costs(graph);
      StageMoments moments{{0, OpId(problem.ops.size() - 1)}, {}, {}};
      for (OpId cut : {4, 6, 5}) {
        moments.add({{cut}, {}, {}});
        StageRelaxation relaxation(graph, costs, moments);
        ProgramResult result =
            cantFail(minimize(relaxation.getProgram(), {}, ProgramLimits()));
        ASSERT_NE(result.status, ProgramResult::Status::Infeasible);
        ASSERT_LE(result.bound * double(costs.step),
                  double(*least - problem.baseCost()) + 1e-6)
            << seed << " at " << percent << " with " << cut;
      }
    }
  EXPECT_GT(compared, 20u);
}

TEST(Bounds, DualsProveABoundWhereverTheSolverStops) {
  if (!hasProgramSolver())
    GTEST_SKIP();
  unsigned early = 0;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Problem problem = randomProblem(seed, 40);
    problem.deviceBudget =
        cantFail(solve(problem, "save-all")).peakBytes * 80 / 100;
    Graph graph(problem);
    CutCosts costs(graph);
    StageRelaxation relaxation(graph, costs, {{15, 20, 25, 30}, {}, {}});
    const MixedIntegerProgram &program = relaxation.getProgram();
    ProgramLimits limits;
    limits.relaxed = true;
    ProgramResult whole = cantFail(minimize(program, {}, limits));
    if (whole.status == ProgramResult::Status::Infeasible)
      continue;
    ASSERT_EQ(whole.status, ProgramResult::Status::Optimal);
    double cost = std::inner_product(program.cost.begin(), program.cost.end(),
                                     whole.assignment->begin(), 0.0);
    EXPECT_NEAR(whole.bound, cost, 1e-6 * std::max(1.0, cost)) << seed;
    for (int64_t iterations : {0, 10, 50, 100}) {
      limits.iterations = iterations;
      ProgramResult cut = cantFail(minimize(program, {}, limits));
      EXPECT_LE(cut.bound, cost + 1e-6 * std::max(1.0, cost)) << seed;
      early += cut.bound > 0 && cut.bound < cost - 0.5;
    }
  }
  EXPECT_GT(early, 0u);
}

TEST(Bounds, ProgramsAreValidForEveryPlan) {
  unsigned tight = 0, compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (int percent : {90, 75, 60}) {
      Problem problem = nineOps(seed, percent);
      LowerBound bound = lowerBound(problem, ofMoments(0.5));
      std::optional<int64_t> least = leastCost(problem);
      if (!least || *least == problem.baseCost())
        continue;
      ++compared;
      ASSERT_FALSE(bound.infeasible) << seed << " at " << percent;
      ASSERT_LE(bound.time, *least) << seed << " at " << percent;
      tight += bound.time == *least;
    }
  EXPECT_GT(compared, 30u);
  EXPECT_GT(tight * 2, compared);
}

TEST(Bounds, AllPlansOfSmallGraphsAreSearched) {
  LowerBoundOptions options = effort(0.5);
  options.usePrograms = false;
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed)
    for (int percent : {90, 75, 60}) {
      Problem problem = nineOps(seed, percent);
      std::optional<int64_t> least = leastCost(problem);
      LowerBound bound = lowerBound(problem, options);
      EXPECT_EQ(bound.infeasible, !least.has_value());
      if (!least)
        continue;
      ++compared;
      EXPECT_EQ(bound.time, *least) << seed << " at " << percent;
    }
  EXPECT_GT(compared, 30u);
  // Of uniform chains the best plans are known.
  Problem problem = chain(16);
  for (int64_t budget : {4, 5, 6, 7}) {
    problem.deviceBudget = budget;
    EXPECT_EQ(lowerBound(problem, options).time,
              cantFail(solve(problem, "chain-dp")).time)
        << budget;
  }
}

TEST(Bounds, WhatNoFasterPlanRunsAgainIsExcluded) {
  for (auto [seed, known] : {std::pair(4, 40), {19, 35}, {40, 43}}) {
    Problem problem = nineOps(seed, 90);
    ASSERT_EQ(leastCost(problem), known);
    LowerBoundOptions options = ofMoments(0.5);
    options.usePrograms = false;
    EXPECT_LT(lowerBound(problem, options).time, known);
    options.knownTime = known;
    EXPECT_EQ(lowerBound(problem, options).time, known);
  }
}

TEST(Bounds, AKnownTimeLeavesTheBoundValid) {
  unsigned compared = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Problem problem = smallProblem(seed, 7);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    for (int percent : {90, 75, 60}) {
      problem.deviceBudget = peak * percent / 100;
      std::optional<int64_t> least = leastCost(problem);
      if (!least || *least == problem.baseCost())
        continue;
      ++compared;
      for (int64_t known : {*least, *least + 1, *least + 7, 2 * *least}) {
        for (LowerBoundOptions options : {effort(0.3), ofMoments(0.3)}) {
          options.knownTime = known;
          LowerBound bound = lowerBound(problem, options);
          EXPECT_FALSE(bound.infeasible) << seed;
          EXPECT_LE(bound.time, *least) << seed << " " << bound.method;
        }
      }
    }
  }
  EXPECT_GT(compared, 20u);
}

TEST(Bounds, NonIncreasingInTheBudget) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Problem problem = randomProblem(seed, 24);
    int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
    int64_t last = std::numeric_limits<int64_t>::max();
    for (int percent = 40; percent <= 100; percent += 3) {
      problem.deviceBudget = peak * percent / 100;
      LowerBound bound = lowerBound(problem, effort(0.1));
      int64_t time =
          bound.infeasible ? std::numeric_limits<int64_t>::max() : bound.time;
      EXPECT_LE(time, last) << "seed " << seed << " at " << percent << " %";
      last = time;
    }
    EXPECT_EQ(last, problem.baseCost());
  }
}

TEST(Bounds, SameResultTwice) {
  Problem problem = randomProblem(3, 80);
  int64_t peak = cantFail(solve(problem, "save-all")).peakBytes;
  problem.deviceBudget = peak * 7 / 10;
  LowerBound first = lowerBound(problem, effort(0.2));
  LowerBound second = lowerBound(problem, effort(0.2));
  EXPECT_EQ(first.time, second.time);
  EXPECT_EQ(first.bindingOp, second.bindingOp);
  EXPECT_EQ(first.infeasible, second.infeasible);
}

TEST(Bounds, StopsWhenAKnownPlanIsProven) {
  Problem problem = chain(64);
  problem.deviceBudget = 40;
  LowerBoundOptions options = effort(1000);
  options.knownTime = lowerBound(problem).time;
  LowerBound bound = lowerBound(problem, options);
  EXPECT_EQ(bound.time, *options.knownTime);
}

TEST(Bounds, LargeProblemsEndWithTheirEffort) {
  // Many moments, and the effort ends amid one of them.
  Problem problem = chain(4000);
  problem.deviceBudget = 2500;
  for (double seconds : {0.0, 0.002, 0.01, 0.05}) {
    LowerBound bound = lowerBound(problem, effort(seconds));
    EXPECT_FALSE(bound.infeasible);
    EXPECT_GE(bound.time, problem.baseCost());
    EXPECT_LE(bound.time, problem.baseCost() + 4000 - 2500 + 1);
  }
}

TEST(Bounds, InterruptReturnsAValidBound) {
  std::atomic<bool> interrupt{true};
  Problem problem = chain(64);
  problem.deviceBudget = 20;
  LowerBoundOptions options = effort(1000);
  options.interrupt = &interrupt;
  LowerBound bound = lowerBound(problem, options);
  EXPECT_GE(bound.time, problem.baseCost());
}

TEST(Bounds, WhatAnOpNeedsAloneIsInfeasible) {
  Problem problem = chain(8);
  problem.deviceBudget = 2;
  LowerBound bound = lowerBound(problem);
  EXPECT_TRUE(bound.infeasible);
  ASSERT_NE(bound.bindingOp, noOp);
}

TEST(Bounds, SmallestPeakIsNeverAboveAnyPlan) {
  unsigned proven = 0, raised = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Problem problem = smallProblem(seed, 7);
    if (problem.values.size() > 13)
      continue;
    FeasibilityCertificate certificate =
        cantFail(smallestFeasibleBudget(problem));
    problem.deviceBudget = certificate.lowerBound - 1;
    if (certificate.lowerBound > 0)
      EXPECT_EQ(leastCost(problem), std::nullopt) << "seed " << seed;
    proven += certificate.lowerBound == certificate.smallestFeasible;
    ++raised;
  }
  EXPECT_GT(proven * 10, raised * 8);
}

TEST(Bounds, OperandsHaveToComeTogether) {
  // Either small operand is made from a large value: the other one is there
  // while that happens.
  Problem problem;
  std::vector<ValueId> small;
  for (const char *name : {"a", "b"}) {
    OpId big = problem.addOp(std::string("big ") + name, 1, {});
    ValueId value = problem.addResult(big, std::string("big ") + name, 100);
    OpId op = problem.addOp(name, 1, {value});
    small.push_back(problem.addResult(op, name, 10));
  }
  OpId sum = problem.addOp("sum", 1, small);
  problem.values[problem.addResult(sum, "sum", 1)].isOutput = true;
  // "big" and "a" alone need 110.
  FeasibilityCertificate certificate =
      cantFail(smallestFeasibleBudget(problem));
  EXPECT_EQ(certificate.lowerBound, 120);
  EXPECT_EQ(certificate.smallestFeasible, 120);
  EXPECT_TRUE(mentions(certificate.describe(problem),
                       "no plan can need less than 120 bytes, which is what"));
  problem.deviceBudget = 119;
  EXPECT_TRUE(lowerBound(problem).infeasible);
}

TEST(Bounds, ValuesThatMustStayAreInfeasible) {
  Problem problem = chain(8);
  for (Value &value : problem.values)
    if (value.producer != noOp && !problem.ops[value.producer].backward)
      value.policy = Policy::MustSave;
  problem.deviceBudget = 8;
  EXPECT_TRUE(lowerBound(problem).infeasible);
}

} // namespace
