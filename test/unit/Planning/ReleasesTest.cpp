//===- ReleasesTest.cpp - copies that live until their transfers end ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Releases.h"
#include "Oracle.h"
#include "Problems.h"
#include "remat/Planning/Simulator.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

constexpr ValueId p = 0, q = 1;

/// p (100 bytes) and q (50) come from nothing; r reads q, s reads p, and both
/// are outputs of 1 byte. An op takes 10, a byte on the link 1.
Problem twoValues() {
  Problem problem;
  problem.addResult(problem.addOp("p", 10, {}), "p", 100);
  problem.addResult(problem.addOp("q", 10, {}), "q", 50);
  for (auto [name, operand] : {std::pair("r", q), std::pair("s", p)}) {
    OpId op = problem.addOp(name, 10, operand, /*backward=*/true);
    problem.values[problem.addResult(op, name, 1)].isOutput = true;
  }
  problem.linkBytesPerSecond = 1'000'000'000;
  return problem;
}

/// p leaves at once and comes back for s. Nothing reads p in between, so q
/// waits for the transfer.
Plan waitingPlan() {
  Plan plan;
  plan.run(0);
  plan.offload(p); // 10 .. 110
  plan.run(1);     // 110 .. 120
  plan.run(2);
  plan.reload(p); // 130 .. 230
  plan.run(3);
  return plan;
}

Plan insert(Plan plan, size_t at, Action action) {
  plan.actions.insert(plan.actions.begin() + at, action);
  return plan;
}

constexpr Action releaseP = {ActionKind::Release, p};

std::string failure(const Plan &plan) {
  return message(simulate(twoValues(), plan).takeError());
}

TEST(Release, WhatComesBehindItWaitsForTheTransfer) {
  Problem problem = twoValues();
  EXPECT_EQ(cantFail(simulate(problem, waitingPlan())).time, 240);
  // q until 20, r until 30; only the reload waits until 110.
  Plan plan = insert(waitingPlan(), 4, releaseP);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.time, 220);
  EXPECT_EQ(s.liveBytes,
            (std::vector<int64_t>{100, 100, 150, 151, 101, 101, 102}));
  EXPECT_EQ(s.liveBytes, bytesByDefinition(problem, plan));
  EXPECT_EQ(s.copies[0].lastUse, 4u);
  // The host's bytes are the same.
  EXPECT_EQ(s.hostPeakBytes, 100);
}

TEST(Release, IsOfTheCopyThatWasOffloaded) {
  Problem problem = twoValues();
  // p runs again, and the first copy stays beside the second.
  Plan plan = insert(waitingPlan(), 2, {ActionKind::Run, 0});
  plan = insert(plan, 5, releaseP);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.copies[0].lastUse, 5u);
  EXPECT_EQ(s.copies[1].lastUse, 2u);
  EXPECT_EQ(s.liveBytes[2], 200);
  EXPECT_EQ(s.liveBytes, bytesByDefinition(problem, plan));
}

TEST(Release, Misuse) {
  Plan plan;
  plan.run(0);
  plan.release(p);
  EXPECT_TRUE(mentions(failure(plan),
                       "action 1: 'p' is released and was not offloaded"));
  EXPECT_TRUE(
      mentions(failure(insert(insert(waitingPlan(), 2, releaseP), 3, releaseP)),
               "action 3: 'p' is released twice"));
  plan = waitingPlan();
  plan.actions[4] = releaseP;
  EXPECT_TRUE(mentions(failure(plan), "action 5: op 's' reads 'p', which is "
                                      "not on the device"));
  // After another offload there is something to release again.
  plan = insert(waitingPlan(), 2, releaseP);
  plan = insert(plan, 6, {ActionKind::Offload, p});
  plan.release(p);
  EXPECT_EQ(failure(plan), "");
}

TEST(Release, DirectionsOfADuplexLink) {
  Problem problem = twoValues();
  Plan plan;
  plan.run(0);
  plan.offload(p); // 10 .. 110
  plan.run(1);     // 10 .. 20
  plan.offload(q); // 110 .. 160
  plan.release(p);
  plan.reload(p); // 160 .. 260, or 110 .. 210
  plan.run(2);
  plan.run(3);
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 270);
  problem.duplexLink = true;
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 220);
  // On the host, q may lie where p was: it waits until p has left, at 210.
  plan = insert(waitingPlan(), 2, releaseP);
  std::rotate(plan.actions.begin() + 3, plan.actions.begin() + 5,
              plan.actions.begin() + 6);
  plan = insert(plan, 5, {ActionKind::Offload, q});
  EXPECT_EQ(plan.actions[3].kind, ActionKind::Reload);
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 270);
}

TEST(Release, AsFarAsThereIsRoom) {
  Problem problem = twoValues();
  auto timeWithin = [&](int64_t budget) {
    Plan plan = addReleases(problem, waitingPlan(), budget);
    Simulation s = cantFail(simulate(problem, plan));
    EXPECT_LE(s.peakBytes, budget);
    EXPECT_EQ(countReleases(plan), s.time < 240 ? 1u : 0u);
    return s.time;
  };
  EXPECT_EQ(timeWithin(102), 240);
  EXPECT_EQ(timeWithin(149), 240);
  // Beside q, then also beside r.
  EXPECT_EQ(timeWithin(150), 230);
  EXPECT_EQ(timeWithin(151), 220);
  EXPECT_EQ(timeWithin(1000), 220);
  // What does not fit at all stays as it is.
  EXPECT_EQ(addReleases(problem, waitingPlan(), 10), waitingPlan());
}

TEST(Release, OnlyWhereItHelps) {
  Problem problem = twoValues();
  problem.linkBytesPerSecond = infiniteBandwidth;
  EXPECT_EQ(addReleases(problem, waitingPlan(), 1000), waitingPlan());
  // The reload waits for the offload in any case, and s for the reload.
  problem.linkBytesPerSecond = 1'000'000'000;
  Plan plan;
  plan.run(1);
  plan.run(0);
  plan.offload(p); // 20 .. 120
  plan.reload(p);  // 120 .. 220
  plan.run(2);
  plan.run(3);
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 230);
  EXPECT_EQ(cantFail(simulate(problem, insert(plan, 5, releaseP))).time, 230);
  EXPECT_EQ(addReleases(problem, plan, 1000), plan);
}

TEST(Release, SomeOfThem) {
  Plan plan = insert(waitingPlan(), 4, releaseP);
  plan.release(q);
  EXPECT_EQ(keepReleases(plan, 2), plan);
  EXPECT_EQ(keepReleases(plan, 1), insert(waitingPlan(), 4, releaseP));
  EXPECT_EQ(keepReleases(plan, 0), waitingPlan());
}

// Solutions of all kinds of problems, as algorithms return them and with
// releases: never slower, legal, within the budget, and many are faster.
TEST(Release, RandomProblems) {
  unsigned faster = 0;
  SolverOptions options;
  options.effort = 0.005;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Problem problem = richProblem(seed, 12 + seed % 20);
    problem.linkBytesPerSecond = int64_t(1'000'000'000) << seed % 6;
    problem.duplexLink = seed % 2;
    if (seed % 3 == 0)
      addPolicies(problem, seed);
    problem.deviceBudget.reset();
    llvm::Expected<Solution> all = runAlgorithm(problem, "save-all", options);
    if (!all) {
      llvm::consumeError(all.takeError());
      continue;
    }
    if (seed % 4)
      problem.deviceBudget = all->peakBytes * 3 / 4;
    llvm::Expected<Solution> bare = runAlgorithm(problem, "search", options);
    if (!bare) {
      llvm::consumeError(bare.takeError());
      continue;
    }
    Solution with = addReleases(problem, *bare);
    EXPECT_EQ(message(verify(problem, with.plan)), "");
    Simulation s = cantFail(simulate(problem, with.plan));
    EXPECT_EQ(s.time, with.time);
    EXPECT_LE(s.peakBytes, problem.deviceBudget.value_or(bare->peakBytes));
    EXPECT_EQ(s.cost, bare->cost);
    EXPECT_EQ(s.hostPeakBytes, bare->hostPeakBytes);
    EXPECT_EQ(s.liveBytes, bytesByDefinition(problem, with.plan)) << seed;
    EXPECT_EQ(keepReleases(with.plan, 0), bare->plan);
    // More releases, less time.
    int64_t before = bare->time;
    for (size_t count = 1; count <= countReleases(with.plan); ++count) {
      Simulation part =
          cantFail(simulate(problem, keepReleases(with.plan, count)));
      EXPECT_LE(part.time, before);
      EXPECT_LE(part.peakBytes, s.peakBytes);
      before = part.time;
    }
    faster += with.time < bare->time;
  }
  EXPECT_GE(faster, 5u);
}

} // namespace
