//===- RegionsTest.cpp - budgets of regions -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Regions.h"
#include "Problems.h"
#include "remat/Planning/Serialization.h"

#include "llvm/Support/FormatVariadic.h"

using namespace remat::planning;

namespace {

/// Six forward ops f0 to f5, three in each of two regions; all values have 64
/// bytes and are read by backward ops.
Problem twoRegions(int64_t first, int64_t second) {
  Problem problem = chain(6, 64);
  problem.regions = {{"first", first, {0, 1, 2}},
                     {"second", second, {3, 4, 5}}};
  return problem;
}

/// Checks the plan of every solver that takes the problem; some take none with
/// a MUST. Returns how many there are.
unsigned forEachSolution(
    const Problem &problem,
    llvm::function_ref<void(const SolverInfo &, const Solution &)> check) {
  unsigned solved = 0;
  for (const SolverInfo &solver : getSolvers()) {
    llvm::Expected<Solution> solution = solve(problem, solver.name);
    if (!solution) {
      std::string text = message(solution.takeError());
      EXPECT_FALSE(llvm::StringRef(text).contains("illegal")) << text;
      continue;
    }
    ++solved;
    check(solver, *solution);
  }
  return solved;
}

Plan keepAll(const Problem &problem) {
  Plan plan;
  for (OpId op = 0; op < problem.ops.size(); ++op)
    plan.run(op);
  return plan;
}

TEST(Regions, VerifyRejectsWhatIsTooFull) {
  Problem problem = twoRegions(192, 192);
  EXPECT_EQ(message(verify(problem, keepAll(problem))), "");
  problem.regions[1].budget = 191;
  EXPECT_TRUE(mentions(message(verify(problem, keepAll(problem))),
                       "region 'second' keeps 192 bytes for the backward "
                       "phase, which exceeds its budget of 191 bytes"));
}

TEST(Regions, WhatIsRecomputedOrReloadedIsNotKept) {
  Problem problem = twoRegions(192, 128);
  problem.linkBytesPerSecond = infiniteBandwidth;
  Plan plan;
  for (OpId op = 0; op < 5; ++op)
    plan.run(op);
  plan.offload(4);
  plan.run(5);
  plan.reload(4);
  for (OpId op = 6; op < 12; ++op)
    plan.run(op);
  EXPECT_EQ(message(verify(problem, plan)), "");
  plan.actions.erase(plan.actions.begin() + 7);
  EXPECT_TRUE(
      mentions(message(verify(problem, plan)), "region 'second' keeps 192"));
}

// f3 is computed again before a backward op reads it, but what the forward
// phase left of it feeds the recomputation of f4.
TEST(Regions, WhatFeedsRecomputationsCounts) {
  Problem problem = twoRegions(192, 63);
  Plan plan;
  for (OpId op : {0, 1, 2, 3, 4, 5, 4, 5, 3, 6, 7, 8, 9, 10, 11})
    plan.run(op);
  EXPECT_TRUE(mentions(message(verify(problem, plan)),
                       "region 'second' keeps 64 bytes for the backward "
                       "phase, which exceeds its budget of 63 bytes"));
  problem.regions[1].budget = 64;
  EXPECT_EQ(message(verify(problem, plan)), "");
}

/// x -> f0 -> f1 -> f2 and a last forward op; only f2 and x are read by the
/// backward op, so f0 and f1 are wanted for nothing but to compute f2 again.
Problem hidden() {
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId value = x;
  for (int64_t i = 0; i < 3; ++i) {
    std::string name = "f" + std::to_string(i);
    value = problem.addResult(problem.addOp(name, 10, {value}), name, 64);
  }
  ValueId y = problem.addResult(problem.addOp("y", 1, {value}), "y", 256);
  OpId last = problem.addOp("b", 1, {y, value}, /*backward=*/true);
  ValueId result = problem.addResult(last, "dx", 64);
  problem.values[result].isOutput = true;
  return problem;
}

// What a MUST_RECOMPUTE hides is not kept for recomputations either, whatever
// that costs, by any algorithm.
TEST(Regions, HiddenValuesFeedNoRecomputation) {
  Problem problem = hidden();
  for (ValueId value = 1; value < 4; ++value)
    problem.values[value].policy = Policy::MustRecompute;
  unsigned solved = forEachSolution(
      problem, [&](const SolverInfo &solver, const Solution &solution) {
        EXPECT_GE(solution.cost, problem.baseCost() + 30) << solver.name;
      });
  EXPECT_GE(solved, 9u);
}

// The budget of a region has room for one of them, which then need not run
// again.
TEST(Regions, RoomForHiddenValues) {
  Problem problem = hidden();
  problem.regions = {{"r", 64, {1, 2}}};
  problem.values[3].policy = Policy::MustRecompute;
  problem.ops[1].cost = 20;
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(solution.cost, problem.baseCost() + 10);
}

// Budgets for both regions cost more than a budget for one, which costs more
// than none.
TEST(Regions, CostsAreMonotone) {
  auto cost = [](int64_t first, int64_t second) {
    return llvm::cantFail(solve(twoRegions(first, second), "auto")).cost;
  };
  EXPECT_LT(cost(192, 192), cost(64, 192));
  EXPECT_LT(cost(64, 192), cost(64, 64));
  EXPECT_LE(cost(64, 64), cost(0, 64));
}

// A budget bounds the values of its own region only; those of other regions are
// free.
TEST(Regions, MayCoverPart) {
  Problem problem = twoRegions(0, 0);
  problem.regions.pop_back();
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  for (OpId op = 3; op < 6; ++op)
    EXPECT_EQ(std::count(solution.plan.actions.begin(),
                         solution.plan.actions.end(),
                         Action{ActionKind::Run, op}),
              1);
}

TEST(Regions, EverySolverMeetsTheLimits) {
  for (auto [first, second] : {std::pair(192, 192), std::pair(0, 192),
                               std::pair(100, 64), std::pair(0, 0)}) {
    Problem problem = twoRegions(first, second);
    bool some = first + second < 384;
    unsigned solved = forEachSolution(
        problem, [&](const SolverInfo &solver, const Solution &solution) {
          EXPECT_EQ(message(verify(problem, solution.plan)), "") << solver.name;
          if (some) {
            EXPECT_GT(solution.cost, problem.baseCost()) << solver.name;
            EXPECT_FALSE(solution.optimal()) << solver.name;
          }
        });
    EXPECT_GE(solved, 11u);
  }
}

// A plan to start from may be for other budgets, which kept more.
TEST(Regions, StartFromOtherBudgets) {
  Problem problem = twoRegions(192, 192);
  problem.deviceBudget = 9 * 64;
  SolverOptions options;
  options.effort = 0.01;
  Plan plan = llvm::cantFail(solve(problem, "auto", options)).plan;
  options.start = &plan;
  EXPECT_EQ(message(solve(problem, "auto", options).takeError()), "");
  for (int64_t second : {128, 64, 0}) {
    problem.regions[1].budget = second;
    for (const char *solver : {"auto", "search", "greedy"}) {
      llvm::Expected<Solution> solution = solve(problem, solver, options);
      EXPECT_EQ(message(solution.takeError()), "") << solver;
    }
  }
}

TEST(Regions, TheCostliestIsKept) {
  Problem problem = twoRegions(64, 192);
  problem.ops[2].cost = 100;
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(std::count(solution.plan.actions.begin(),
                       solution.plan.actions.end(), Action{ActionKind::Run, 2}),
            1);
}

TEST(Regions, LimitsBelowWhatMustStay) {
  Problem problem = twoRegions(192, 64);
  problem.ops[3].recomputable = false;
  problem.values[5].policy = Policy::MustSave;
  EXPECT_TRUE(mentions(message(solve(problem, "auto").takeError()),
                       "the budget of region 'second' is 64 bytes, but values "
                       "of 128 bytes may not be recomputed: expected at least "
                       "128"));
  problem.regions[1].budget = 128;
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(message(verify(problem, solution.plan)), "");
}

/// A mask that may be drawn only once, a value computed from it, and one from
/// that, which the backward op reads. The first two are in a region.
Problem masked(int64_t budget) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  OpId draw = problem.addOp("mask", 1, {x});
  problem.ops[draw].recomputable = false;
  ValueId mask = problem.addResult(draw, "mask", 48);
  ValueId a =
      problem.addResult(problem.addOp("a", 2, {mask, x}), "a", /*bytes=*/64);
  ValueId b = problem.addResult(problem.addOp("b", 4, {mask, a}), "b", 80);
  ValueId loss = problem.addResult(problem.addOp("loss", 1, {b}), "loss", 0);
  OpId last = problem.addOp("db", 1, {loss, a, b}, /*backward=*/true);
  problem.values[problem.addResult(last, "db", 80)].isOutput = true;
  problem.regions = {{"r", budget, {mask, a}}};
  return problem;
}

/// How often an op runs.
int64_t countRuns(const Plan &plan, OpId op) {
  return std::count(plan.actions.begin(), plan.actions.end(),
                    Action{ActionKind::Run, op});
}

// What may run only once stays where recomputations read it, and the budget
// counts that: with room for the mask alone, the value is computed again.
TEST(Regions, SourcesOfRecomputationsCount) {
  Problem problem = masked(64);
  unsigned solved = forEachSolution(
      problem, [&](const SolverInfo &solver, const Solution &solution) {
        EXPECT_EQ(message(verify(problem, solution.plan)), "") << solver.name;
        EXPECT_EQ(countRuns(solution.plan, 1), 2) << solver.name;
      });
  EXPECT_GE(solved, 8u);
  FeasibilityCertificate certificate =
      llvm::cantFail(smallestFeasibleBudget(problem, {}));
  EXPECT_EQ(message(verify(problem, certificate.plan)), "");
}

// Where the mask has no room, nothing is computed from it again.
TEST(Regions, SourcesWithoutRoomFeedNoRecomputation) {
  Problem problem = masked(111);
  problem.values[1].bytes = 112;
  for (bool freeOrder : {false, true}) {
    problem.freeOrder = freeOrder;
    FeasibilityCertificate certificate =
        llvm::cantFail(smallestFeasibleBudget(problem, {}));
    EXPECT_EQ(message(verify(problem, certificate.plan)), "");
    for (OpId op : {1, 2})
      EXPECT_EQ(countRuns(certificate.plan, op), 1);
    problem.deviceBudget = certificate.smallestFeasible;
    unsigned solved = forEachSolution(
        problem, [&](const SolverInfo &solver, const Solution &solution) {
          EXPECT_EQ(message(verify(problem, solution.plan)), "") << solver.name;
        });
    EXPECT_GE(solved, 1u);
    problem.deviceBudget.reset();
  }
}

// Neither fits: the mask is too large, and so is what is computed from it.
TEST(Regions, SourcesMayLeaveNoPlan) {
  Problem problem = masked(40);
  EXPECT_TRUE(mentions(message(solve(problem, "auto").takeError()),
                       "the budget of region 'r' is 40 bytes, but values of 64 "
                       "bytes may not be recomputed: expected at least 64"));
  problem.values[2].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(message(solve(problem, "auto").takeError()),
                       "but values of 48 bytes may not be recomputed"));
}

// What must come back from the host for backward ops may stay for other ones.
TEST(Regions, OffloadedSourcesCount) {
  Problem problem = masked(64);
  problem.ops.back().operands.push_back(1);
  problem.linkBytesPerSecond = infiniteBandwidth;
  problem.values[1].policy = Policy::MustCpuOffload;
  FeasibilityCertificate certificate =
      llvm::cantFail(smallestFeasibleBudget(problem, {}));
  EXPECT_EQ(message(verify(problem, certificate.plan)), "");
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(countRuns(solution.plan, 1), 2);
}

// Nothing is kept of what leaves right behind the last forward op, but the
// packed form.
TEST(Regions, WhatLeavesAtTheBorderIsNotKept) {
  Problem problem = twoRegions(192, 128);
  problem.linkBytesPerSecond = infiniteBandwidth;
  Plan plan;
  for (OpId op = 0; op < 6; ++op)
    plan.run(op);
  plan.offload(5);
  plan.reload(5);
  for (OpId op = 6; op < 12; ++op)
    plan.run(op);
  EXPECT_EQ(message(verify(problem, plan)), "");
  problem.values[5].policy = Policy::MustCpuOffload;
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(message(verify(problem, solution.plan)), "");

  problem.values[5].policy = Policy::None;
  problem.values[5].packed = PackedForm{16, 0, 0};
  plan.actions[6].kind = ActionKind::Pack;
  plan.actions[7].kind = ActionKind::Unpack;
  EXPECT_TRUE(mentions(message(verify(problem, plan)),
                       "region 'second' keeps 144 bytes"));
  problem.regions[1].budget = 144;
  EXPECT_EQ(message(verify(problem, plan)), "");
}

//===----------------------------------------------------------------------===//
// The border between the phases
//===----------------------------------------------------------------------===//

Plan planOf(llvm::ArrayRef<Action> actions) {
  Plan plan;
  plan.actions = actions.vec();
  return plan;
}

Action run(OpId op) { return {ActionKind::Run, op}; }
Action offload(ValueId value) { return {ActionKind::Offload, value}; }
Action reload(ValueId value) { return {ActionKind::Reload, value}; }
Action pack(ValueId value) { return {ActionKind::Pack, value}; }
Action unpack(ValueId value) { return {ActionKind::Unpack, value}; }

/// Two regions of which the first has this budget, with a link and a packed
/// form of f0. Op 6 is the first backward op; ops 1, 10 and 11 read f0.
Problem atBorder(int64_t budget) {
  Problem problem = twoRegions(budget, 192);
  problem.linkBytesPerSecond = infiniteBandwidth;
  problem.values[0].packed = PackedForm{16, 1, 1};
  return problem;
}

/// Checks that a plan which carries too much becomes another.
void expectFit(const Problem &problem, llvm::ArrayRef<Action> actions,
               llvm::ArrayRef<Action> expected) {
  Graph graph(problem);
  Plan plan = planOf(actions);
  EXPECT_TRUE(mentions(message(verify(problem, plan)), "region 'first' keeps"));
  int64_t peak = llvm::cantFail(simulate(problem, plan)).peakBytes;
  EXPECT_TRUE(fitRegions(graph, plan));
  EXPECT_EQ(message(verify(problem, plan)), "");
  EXPECT_LE(llvm::cantFail(simulate(problem, plan)).peakBytes, peak);
  EXPECT_EQ(plan.actions, planOf(expected).actions);
}

TEST(RegionBorder, WhatLeavesLateLeavesAtTheBorder) {
  expectFit(atBorder(128),
            {run(0), run(1), run(2), run(3), run(4), run(5), run(6), offload(0),
             run(7), run(8), run(9), reload(0), run(10), run(11)},
            {run(0), run(1), run(2), run(3), run(4), run(5), offload(0), run(6),
             run(7), run(8), run(9), reload(0), run(10), run(11)});
  // What leaves in packed form is kept in that.
  expectFit(atBorder(144),
            {run(0), run(1), run(2), run(3), run(4), run(5), run(6), pack(0),
             run(7), run(8), run(9), unpack(0), run(10), run(11)},
            {run(0), run(1), run(2), run(3), run(4), run(5), pack(0), run(6),
             run(7), run(8), run(9), unpack(0), run(10), run(11)});
}

TEST(RegionBorder, WhatComesBackEarlyComesBackAtTheBorder) {
  expectFit(atBorder(128),
            {run(0), run(1), offload(0), run(2), run(3), reload(0), run(4),
             run(5), run(6), run(7), run(8), run(9), run(10), run(11)},
            {run(0), run(1), offload(0), run(2), run(3), run(4), run(5),
             reload(0), run(6), run(7), run(8), run(9), run(10), run(11)});
  // A forward op reads it, too: it comes back twice.
  std::vector<Action> twice = {run(0), offload(0), reload(0), run(1), run(2),
                               run(3), run(4),     run(5),    run(6), run(7),
                               run(8), run(9),     run(10),   run(11)};
  std::vector<Action> expected = twice;
  expected.insert(expected.begin() + 8, reload(0));
  expectFit(atBorder(128), twice, expected);
}

// Of a value that is carried in both forms, one is enough.
TEST(RegionBorder, OneFormIsCarried) {
  expectFit(atBorder(192),
            {run(0), run(1), pack(0), run(2), run(3), run(4), run(5), run(6),
             run(7), run(8), run(9), run(10), unpack(0), run(11)},
            {run(0), run(1), run(2), run(3), run(4), run(5), run(6), run(7),
             run(8), run(9), run(10), pack(0), unpack(0), run(11)});
  std::vector<Action> unpacked = {
      run(0), pack(0), unpack(0), run(1), run(2),  run(3),    run(4), run(5),
      run(6), run(7),  run(8),    run(9), run(10), unpack(0), run(11)};
  std::vector<Action> expected = unpacked;
  expected.insert(expected.begin() + 12, unpack(0));
  expectFit(atBorder(192), unpacked, expected);
  // Nobody reads in the forward phase what is unpacked there.
  expectFit(atBorder(192),
            {run(0), run(1), pack(0), unpack(0), run(2), run(3), run(4), run(5),
             run(6), run(7), run(8), run(9), run(10), unpack(0), run(11)},
            {run(0), run(1), pack(0), run(2), run(3), run(4), run(5), run(6),
             run(7), run(8), run(9), unpack(0), run(10), unpack(0), run(11)});
}

TEST(RegionBorder, WhatLeadsToNothingIsDropped) {
  expectFit(atBorder(128),
            {run(0), run(1), run(2), run(3), run(4), run(5), run(6), run(7),
             run(8), run(9), offload(0), reload(0), run(0), run(10), run(11)},
            {run(0), run(1), run(2), run(3), run(4), run(5), run(6), run(7),
             run(8), run(9), run(0), run(10), run(11)});
}

// f0 has to stay on the host up to the border, where there is room for f1 only.
TEST(RegionBorder, NeedsRoomOnTheHost) {
  Problem problem = atBorder(128);
  problem.hostBudget = 64;
  Plan plan = planOf({run(0), offload(0), reload(0), run(1), run(2), offload(1),
                      run(3), run(4), run(5), run(6), run(7), run(8), reload(1),
                      run(9), run(10), run(11)});
  problem.regions[0].budget = 64;
  EXPECT_TRUE(mentions(message(verify(problem, plan)),
                       "region 'first' keeps 128 bytes"));
  Graph graph(problem);
  EXPECT_FALSE(fitRegions(graph, plan));
  problem.hostBudget = 128;
  EXPECT_TRUE(fitRegions(graph, plan));
  EXPECT_EQ(message(verify(problem, plan)), "");
}

// The search brings a value back as early as the link needs, which is before
// the backward phase begins.
TEST(RegionBorder, ReloadsOfEverySolver) {
  Problem problem;
  ValueId value =
      problem.addResult(problem.addOp("f0", 100, {}), "f0", /*bytes=*/64);
  ValueId kept = value;
  problem.values[kept].policy = Policy::MustCpuOffload;
  for (std::string name : {"f1", "f2", "f3"})
    value = problem.addResult(problem.addOp(name, 100, {value}), name, 8);
  OpId last = problem.addOp("b", 100, {value, kept}, /*backward=*/true);
  problem.values[problem.addResult(last, "b", 8)].isOutput = true;
  problem.linkBytesPerSecond = 1000000000;
  problem.regions = {{"r", 0, {kept}}};
  unsigned solved = forEachSolution(
      problem, [&](const SolverInfo &solver, const Solution &solution) {
        EXPECT_EQ(message(verify(problem, solution.plan)), "") << solver.name;
        // Once each, and what is left of the transfer behind the border.
        bool isSearch = solver.name == "search" || solver.name == "auto";
        EXPECT_TRUE(!isSearch || solution.time == 564) << solver.name;
      });
  EXPECT_GE(solved, 4u);
}

// The same with a packed form that is unpacked in both phases.
TEST(RegionBorder, PackedFormsOfEverySolver) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  auto add = [&](const char *name, int64_t cost, int64_t bytes,
                 llvm::ArrayRef<ValueId> operands, bool backward) {
    return problem.addResult(problem.addOp(name, cost, operands, backward),
                             name, bytes);
  };
  ValueId kept = add("kept", 1000, 64, {x}, false);
  problem.values[kept].packed = PackedForm{16, 1, 1};
  ValueId value = add("large", 10, 100, {x}, false);
  value = add("small", 10, 4, {value}, false);
  value = add("last", 10, 4, {kept, value}, false);
  value = add("first", 10, 4, {kept, value}, true);
  value = add("large again", 10, 100, {value}, true);
  value = add("small again", 10, 4, {value}, true);
  value = add("result", 10, 4, {kept, value}, true);
  problem.values[value].isOutput = true;
  problem.regions = {{"r", 64, {kept}}};
  problem.deviceBudget = 130;
  unsigned solved = forEachSolution(
      problem, [&](const SolverInfo &solver, const Solution &solution) {
        EXPECT_EQ(message(verify(problem, solution.plan)), "") << solver.name;
      });
  EXPECT_GE(solved, 3u);
}

// Outputs are there for the caller in any case, and count nowhere.
TEST(Regions, OutputsAreNotKept) {
  Problem problem = twoRegions(64, 192);
  problem.values[1].isOutput = true;
  problem.ops[2].recomputable = false;
  EXPECT_TRUE(mentions(message(verify(problem, keepAll(problem))),
                       "region 'first' keeps 128 bytes"));
  Solution solution = llvm::cantFail(solve(problem, "auto"));
  EXPECT_EQ(countRuns(solution.plan, 1), 1);
  FeasibilityCertificate certificate =
      llvm::cantFail(smallestFeasibleBudget(problem, {}));
  EXPECT_EQ(message(verify(problem, certificate.plan)), "");
}

TEST(Regions, SmallestBudgetObeysThem) {
  Problem problem = twoRegions(64, 64);
  FeasibilityCertificate certificate =
      llvm::cantFail(smallestFeasibleBudget(problem, {}));
  EXPECT_EQ(message(verify(problem, certificate.plan)), "");
  EXPECT_LE(certificate.lowerBound, certificate.smallestFeasible);
}

// Two budgets for one region, and impossible budgets, are errors.
TEST(Regions, AreChecked) {
  Problem problem = twoRegions(0, -1);
  EXPECT_TRUE(mentions(message(check(problem)),
                       "region 'second' has a negative budget: -1"));
  problem.regions[1] = {"first", 0, {1}};
  EXPECT_TRUE(mentions(message(check(problem)), "region 'first' has two"));
  problem.regions[1] = {"x", 0, {}};
  EXPECT_TRUE(
      mentions(message(check(problem)), "region 'x' has a budget, but"));
  problem.regions[1] = {"x", 0, {12}};
  EXPECT_TRUE(mentions(message(check(problem)), "has value 12 of 12"));
}

TEST(Regions, AreWrittenAndRead) {
  std::string text = llvm::formatv("{0}", toJson(twoRegions(64, 0))).str();
  Problem problem = llvm::cantFail(parseInstance(text)).problem;
  ASSERT_EQ(problem.regions.size(), 2u);
  EXPECT_EQ(problem.regions[0].name, "first");
  EXPECT_EQ(problem.regions[0].budget, 64);
  EXPECT_EQ(problem.regions[1].values, (std::vector<ValueId>{3, 4, 5}));
}

} // namespace
