//===- SimulatorTest.cpp - bytes and times of given plans -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Simulator.h"
#include "Problems.h"

using namespace remat::planning;
using llvm::cantFail;

namespace {

std::string failure(const Problem &problem, const Plan &plan) {
  return message(simulate(problem, plan).takeError());
}

/// x -> a (100) -> b (10) -> c (1, workspace 5), c is the output.
Problem line() {
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId a = problem.addResult(problem.addOp("a", 1, x), "a", 100);
  ValueId b = problem.addResult(problem.addOp("b", 2, a), "b", 10);
  OpId op = problem.addOp("c", 4, b);
  problem.ops[op].workspace = 5;
  problem.values[problem.addResult(op, "c", 1)].isOutput = true;
  return problem;
}

Plan runs(llvm::ArrayRef<OpId> ops) {
  Plan plan;
  for (OpId op : ops)
    plan.run(op);
  return plan;
}

TEST(Simulator, LiveBytesOfEachAction) {
  Simulation s = cantFail(simulate(line(), runs({0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{100, 110, 16}));
  EXPECT_EQ(s.peakBytes, 110);
  EXPECT_EQ(s.peakAction, 1u);
  EXPECT_EQ(s.cost, 7);
  EXPECT_EQ(s.time, 7);
  EXPECT_EQ(s.residentAt(line(), 1), (std::vector<ValueId>{1, 2}));
}

TEST(Simulator, Empty) {
  Simulation s = cantFail(simulate(Problem(), Plan()));
  EXPECT_EQ(s.peakBytes, 0);
  EXPECT_EQ(s.cost, 0);
}

TEST(Simulator, UsesReadTheMostRecentCopy) {
  Problem problem = line();
  // a runs twice: its first copy dies at once.
  Simulation s = cantFail(simulate(problem, runs({0, 0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{100, 100, 110, 16}));
  EXPECT_EQ(copyNumbers(problem, runs({0, 0, 1, 2})),
            (std::vector<unsigned>{0, 1, 0, 0}));
}

TEST(Simulator, ViewsCountOnceAndKeepTheirRoot) {
  Problem problem;
  ValueId a = problem.addResult(problem.addOp("a", 1, {}), "a", 100);
  ValueId view = problem.addView(problem.addView(a, "v"), "vv");
  problem.addResult(problem.addOp("b", 1, {}), "b", 10);
  problem.addResult(problem.addOp("c", 1, {view, a}), "c", 1);
  Simulation s = cantFail(simulate(problem, runs({0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{100, 110, 101}));
}

TEST(Simulator, ResultsDieOneByOne) {
  Problem problem;
  OpId op = problem.addOp("pair", 1, {});
  problem.addResult(op, "unused", 100);
  ValueId kept = problem.addResult(op, "kept", 10);
  problem.addResult(problem.addOp("b", 1, kept), "b", 1);
  Simulation s = cantFail(simulate(problem, runs({0, 1})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{110, 11}));
}

TEST(Simulator, OutputsStayToTheEnd) {
  Problem problem = line();
  problem.values[1].isOutput = true;
  Simulation s = cantFail(simulate(problem, runs({0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{100, 110, 116}));
}

TEST(Simulator, OffloadFreesTheDeviceAndFillsTheHost) {
  Problem problem = chain(2, 10);
  problem.linkBytesPerSecond = 1000000000; // a byte per nanosecond
  Plan plan;
  plan.run(0);
  plan.offload(0);
  plan.run(1);
  plan.run(2);
  plan.reload(0);
  plan.run(3);
  Simulation s = cantFail(simulate(problem, plan));
  // f0 is read by f1 and by b1 before it comes back for b0: here b1 still
  // needs the first copy.
  EXPECT_EQ(s.hostPeakBytes, 10);
  EXPECT_EQ(s.copies.back().value, 3u);
  // The offload (1..11) overlaps f1 and b1 (until 3); b1 was f0's last reader,
  // so the reload waits for its departure at 11 and arrives at 21.
  EXPECT_EQ(s.cost, 4);
  EXPECT_EQ(s.time, 22);
  EXPECT_EQ(s.copies[s.readsOf(5)[0]].origin, 0u);
}

TEST(Simulator, MissingOperand) {
  EXPECT_TRUE(mentions(failure(line(), runs({1})),
                       "action 0: op 'b' reads 'a', which is not on the "
                       "device"));
}

TEST(Simulator, MissingOutput) {
  EXPECT_TRUE(
      mentions(failure(line(), runs({0, 1})), "output 'c' is never computed"));
}

TEST(Simulator, UnknownIds) {
  EXPECT_TRUE(mentions(failure(line(), runs({9})), "there is no op 9"));
  Plan plan;
  plan.offload(9);
  EXPECT_TRUE(mentions(failure(line(), plan), "there is no value 9"));
}

TEST(Simulator, TransfersNeedALinkAndACopy) {
  Problem problem = line();
  Plan plan = runs({0, 1, 2});
  plan.offload(1);
  EXPECT_TRUE(mentions(failure(problem, plan), "moves without a link"));
  problem.linkBytesPerSecond = 1;
  Plan early;
  early.offload(1);
  EXPECT_TRUE(mentions(failure(problem, early), "is not on the device"));
  Plan reload = runs({0});
  reload.reload(1);
  EXPECT_TRUE(mentions(failure(problem, reload), "is not on the host"));
}

TEST(Simulator, BackwardPhaseStartsWithItsRecomputations) {
  Problem problem = chain(2);
  EXPECT_EQ(cantFail(simulate(problem, runs({0, 1, 2, 3}))).backwardBegin, 2u);
  EXPECT_EQ(cantFail(simulate(problem, runs({0, 1, 0, 1, 2, 3}))).backwardBegin,
            2u);
}

} // namespace
