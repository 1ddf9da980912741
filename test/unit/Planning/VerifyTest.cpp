//===- VerifyTest.cpp - solution constraints, one test each ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problems.h"
#include "remat/Planning/Simulator.h"

using namespace remat::planning;

namespace {

Plan runs(llvm::ArrayRef<OpId> ops) {
  Plan plan;
  for (OpId op : ops)
    plan.run(op);
  return plan;
}

std::string failure(const Problem &problem, const Plan &plan) {
  return message(verify(problem, plan));
}

// Ops of chain(2): f0, f1, b1, b0; values in the same order.

TEST(Verify, AcceptsWhatIsLegal) {
  EXPECT_EQ(failure(chain(2), runs({0, 1, 2, 3})), "");
  EXPECT_EQ(failure(chain(2), runs({0, 1, 2, 0, 3})), "");
}

TEST(Verify, EveryOpRuns) {
  Problem problem = chain(2);
  problem.addOp("effect", 1, {});
  EXPECT_TRUE(
      mentions(failure(problem, runs({0, 1, 2, 3})), "op 'effect' never runs"));
}

TEST(Verify, RandomOpsAreNotCloned) {
  Problem problem = chain(2);
  problem.ops[0].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 0, 3})),
                       "op 'f0' runs 2 times, but may run only once"));
}

TEST(Verify, EffectsKeepTheirOrder) {
  Problem problem = chain(2);
  for (const char *name : {"first", "second"})
    problem.ops[problem.addOp(name, 1, {})].recomputable = false;
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 3, 4, 5})), "");
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 3, 5, 4})),
                       "op 'first' runs after op 'second'"));
}

TEST(Verify, MustSaveRunsOnce) {
  Problem problem = chain(2);
  problem.values[0].policy = Policy::MustSave;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 0, 3})),
                       "value 'f0' is MUST_SAVE, but op 'f0' runs 2 times"));
}

TEST(Verify, MustSaveIsNotOffloaded) {
  Problem problem = chain(2);
  problem.linkBytesPerSecond = 1;
  problem.values[0].policy = Policy::MustSave;
  Plan plan = runs({0});
  plan.offload(0);
  for (OpId op : {1, 2, 3})
    plan.run(op);
  EXPECT_TRUE(mentions(failure(problem, plan), "MUST_SAVE and is offloaded"));
}

TEST(Verify, OffloadOfWhatMayNot) {
  Problem problem = chain(2);
  problem.linkBytesPerSecond = 1;
  problem.values[0].offloadable = false;
  Plan plan = runs({0});
  plan.offload(0);
  for (OpId op : {1, 2, 3})
    plan.run(op);
  EXPECT_TRUE(mentions(failure(problem, plan), "may not be offloaded"));
}

TEST(Verify, MustRecomputeLeavesTheForwardPhase) {
  Problem problem = chain(2);
  problem.values[0].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 3})),
                       "reads value 'f0', which is MUST_RECOMPUTE"));
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 0, 3})),
                       "op 'b1' reads value 'f0'"));
  // Also where the first backward op is the reader.
  EXPECT_EQ(failure(problem, runs({0, 1, 0, 2, 3})), "");
}

TEST(Verify, MustRecomputeOnAViewBindsItsRoot) {
  Problem problem = chain(2);
  ValueId view = problem.addView(0, "view");
  problem.values[view].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 3})),
                       "reads value 'f0', which is MUST_RECOMPUTE"));
}

TEST(Verify, MustCpuOffloadReadsAReload) {
  Problem problem = chain(2);
  problem.linkBytesPerSecond = 1;
  problem.values[0].policy = Policy::MustCpuOffload;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 3})),
                       "MUST_CPU_OFFLOAD and was not reloaded"));
  Plan plan = runs({0});
  plan.offload(0);
  plan.run(1);
  plan.reload(0);
  plan.run(2);
  plan.run(3);
  EXPECT_EQ(failure(problem, plan), "");
  plan.run(0);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "value 'f0' is MUST_CPU_OFFLOAD, but op 'f0' runs 2"));
}

TEST(Verify, Budgets) {
  Problem problem = chain(2, 10);
  // b1 runs with f0, f1 and its result.
  problem.deviceBudget = 30;
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 3})), "");
  problem.deviceBudget = 29;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 3})),
                       "peak of 30 bytes exceeds the budget of 29 bytes at "
                       "action 2, op 'b1'"));
  problem.deviceBudget.reset();
  problem.hostBudget = 9;
  problem.linkBytesPerSecond = 1;
  Plan plan = runs({0, 1, 2});
  plan.offload(0);
  plan.reload(0);
  plan.run(3);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "host peak of 10 bytes exceeds the host budget of 9"));
}

} // namespace
