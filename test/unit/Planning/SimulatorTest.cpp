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

TEST(Simulator, BackwardPhaseBeginsBehindTheLastFirstRun) {
  Problem problem = chain(2);
  problem.linkBytesPerSecond = 1;
  Plan plan = runs({0, 1, 0});
  plan.offload(0);
  plan.run(2);
  plan.run(3);
  EXPECT_EQ(cantFail(simulate(problem, plan)).backwardBegin, 2u);
  // Without a backward op there is no such phase.
  EXPECT_EQ(cantFail(simulate(line(), runs({0, 1, 2}))).backwardBegin, 3u);
}

TEST(Simulator, ArgumentsAreResidentFromTheStartToTheirLastUse) {
  Problem problem;
  ValueId x = problem.addArgument("x", 100);
  problem.addArgument("unused", 1000);
  problem.addResult(problem.addOp("a", 1, {}), "a", 1);
  problem.addResult(problem.addOp("b", 1, x), "b", 1);
  problem.addResult(problem.addOp("c", 1, {}), "c", 1);
  Simulation s = cantFail(simulate(problem, runs({0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{101, 101, 1}));
  problem.values[1].isOutput = true;
  s = cantFail(simulate(problem, runs({0, 1, 2})));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{1101, 1101, 1001}));
}

//===----------------------------------------------------------------------===//
// Packed forms
//===----------------------------------------------------------------------===//

/// e (4) -> a (100) -> b (10) -> c (10); d (1) reads a and c. All cost 10.
Problem hairpin() {
  Problem problem;
  ValueId e = problem.addResult(problem.addOp("e", 10, {}), "e", 4);
  ValueId a = problem.addResult(problem.addOp("a", 10, e), "a", 100);
  ValueId b = problem.addResult(problem.addOp("b", 10, a), "b", 10);
  ValueId c = problem.addResult(problem.addOp("c", 10, b), "c", 10);
  ValueId d = problem.addResult(problem.addOp("d", 10, {a, c}, true), "d", 1);
  problem.values[d].isOutput = true;
  problem.values[a].packed = PackedForm{30, 5, 7};
  problem.ops[0].absorbedCost = 1;
  problem.ops[1].absorbedCost = 2;
  problem.ops[1].workspace = 1000;
  return problem;
}

Plan packing() {
  Plan plan = runs({0, 1, 2});
  plan.pack(1);
  plan.run(3);
  plan.unpack(1);
  plan.run(4);
  return plan;
}

TEST(Simulator, PackedFormsLiveFromPackToUnpack) {
  Problem problem = hairpin();
  Simulation s = cantFail(simulate(problem, packing()));
  // Both forms are there while one is made from the other.
  EXPECT_EQ(s.liveBytes,
            (std::vector<int64_t>{4, 1104, 110, 100 + 10 + 30, 30 + 10 + 10,
                                  30 + 10 + 100, 100 + 10 + 1}));
  EXPECT_EQ(s.cost, 50 + 12);
  EXPECT_EQ(s.time, 62);
  EXPECT_EQ(s.residentAt(problem, 4), (std::vector<ValueId>{1, 2, 3}));
  EXPECT_EQ(s.residentAt(problem, 5), (std::vector<ValueId>{1, 3}));
  // The bits of a are those that op a made.
  const Copy &unpacked = s.copies[s.readsOf(6)[0]];
  EXPECT_EQ(unpacked.value, 1u);
  EXPECT_EQ(unpacked.def, 5u);
  EXPECT_EQ(unpacked.origin, 1u);
  EXPECT_EQ(s.copies[s.readsOf(5)[0]].form, Copy::Form::Packed);
}

TEST(Simulator, APackedFormIsUnpackedAsOftenAsWanted) {
  Problem problem = hairpin();
  Plan plan = runs({0, 1});
  plan.pack(1);
  plan.unpack(1);
  plan.run(2);
  plan.run(3);
  plan.unpack(1);
  plan.run(4);
  plan.pack(1); // Nobody reads the last one: it dies at once.
  plan.run(0);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{4, 1104, 130, 130, 140, 50, 140,
                                               111, 131, 5}));
  EXPECT_EQ(copyNumbers(problem, plan),
            (std::vector<unsigned>{0, 0, 0, 0, 0, 0, 1, 0, 1, 1}));
}

TEST(Simulator, PackAndUnpackNeedWhatTheyRead) {
  Problem problem = hairpin();
  Plan plan;
  plan.pack(1);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 0: 'a' is packed and is not on the device"));
  plan = runs({0, 1});
  plan.unpack(1);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 2: 'a' is unpacked and was not packed"));
  plan = runs({0});
  plan.pack(0);
  EXPECT_TRUE(mentions(failure(problem, plan), "'e' has no packed form"));
  ValueId view = problem.addView(1, "view");
  plan = runs({0, 1});
  plan.pack(view);
  EXPECT_TRUE(mentions(failure(problem, plan), "'view' is a view"));
  plan.actions.back().id = 77;
  EXPECT_TRUE(mentions(failure(problem, plan), "there is no value 77"));
}

//===----------------------------------------------------------------------===//
// Absorption
//===----------------------------------------------------------------------===//

TEST(Simulator, AbsorbedOpsKeepTheirOperandsAndTakeNoBytes) {
  Problem problem = hairpin();
  Plan plan = runs({0, 1, 2, 3});
  plan.absorb(1);
  plan.run(4);
  Simulation s = cantFail(simulate(problem, plan));
  // e stays for the kernel of d; a's workspace is for its own kernel.
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{4, 1104, 114, 24, 14, 15}));
  EXPECT_EQ(s.cost, 50 + 2);
  EXPECT_EQ(s.time, 52);
  const Copy &absorbed = s.copies[s.readsOf(5)[0]];
  EXPECT_EQ(absorbed.form, Copy::Form::Absorbed);
  EXPECT_EQ(absorbed.origin, 4u);
  EXPECT_EQ(s.copies[s.readsOf(4)[0]].lastUse, 5u);
  EXPECT_EQ(s.residentAt(problem, 5), (std::vector<ValueId>{3, 0, 4}));
}

TEST(Simulator, ChainsOfAbsorbedOps) {
  Problem problem = hairpin();
  Plan plan = runs({0, 1, 2, 3});
  plan.absorb(0);
  plan.absorb(1);
  plan.run(4);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.liveBytes, (std::vector<int64_t>{4, 1104, 110, 20, 10, 10, 11}));
  EXPECT_EQ(s.cost, 50 + 3);
}

TEST(Simulator, OthersDoNotSeeAbsorbedResults) {
  Problem problem = hairpin();
  problem.linkBytesPerSecond = infiniteBandwidth;
  Plan plan = runs({0, 1, 2, 3});
  plan.absorb(1);
  plan.offload(1); // Of the copy on the device.
  plan.run(4);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.hostCopies[0].source, 1u);
  EXPECT_EQ(s.copies[1].lastUse, 5u);
  EXPECT_EQ(s.liveBytes[5], 4 + 100 + 10);
  // The next kernel reads the device again.
  plan.run(4);
  s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.copies[s.readsOf(7)[0]].form, Copy::Form::Full);
}

TEST(Simulator, MisusedAbsorption) {
  Problem problem = hairpin();
  Plan plan = runs({0});
  plan.absorb(1);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 1: op 'a' is absorbed before it has run"));
  plan = runs({0, 1, 2});
  plan.absorb(2);
  EXPECT_TRUE(mentions(failure(problem, plan), "op 'b' cannot be absorbed"));
  plan = runs({0, 1, 2, 3});
  plan.absorb(1);
  plan.run(4);
  problem.ops[1].absorbers = {2, 4};
  EXPECT_EQ(failure(problem, plan), "");
  problem.ops[1].absorbers = {2, 3};
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 4: op 'a' cannot be absorbed by the kernel of "
                       "op 'd', action 5"));
  problem.ops[1].absorbers.clear();
  plan = runs({0, 1, 2, 3, 4});
  plan.absorb(1);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 5: op 'a' is absorbed, and no kernel runs "
                       "after it"));
  plan = runs({0, 1, 2});
  plan.absorb(1);
  plan.run(3);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 3: op 'a' is absorbed, and nothing in the "
                       "kernel of op 'c', action 4, reads it"));
  // e is there, but a has read the device before.
  plan = runs({0, 1, 2, 3});
  plan.absorb(1);
  plan.absorb(0);
  plan.run(4);
  EXPECT_TRUE(mentions(failure(problem, plan), "action 5: op 'e' is absorbed"));
  plan = runs({0, 1, 2, 3});
  plan.absorb(1);
  plan.absorb(1);
  EXPECT_TRUE(mentions(failure(problem, plan), "absorbed twice"));
  plan = Plan();
  plan.absorb(9);
  EXPECT_TRUE(mentions(failure(problem, plan), "there is no op 9"));
}

//===----------------------------------------------------------------------===//
// The link: offloads and reloads overlap computation, and a buffer stays
// resident until its copy is complete
//===----------------------------------------------------------------------===//

TEST(Simulator, ComputeWaitsForTheReloadsOfWhatItReads) {
  Problem problem = hairpin();
  problem.linkBytesPerSecond = 1000000000;
  // Each in turn is the first to read what is reloaded: a run of b, a pack of
  // a, and a kernel that reads e in an op that it absorbs.
  Plan run = runs({0, 1});
  run.offload(1); // 20 .. 120
  run.reload(1);  // 120 .. 220
  run.run(2);     // 220 .. 230
  run.run(3);     // 240
  run.run(4);     // 250
  EXPECT_EQ(cantFail(simulate(problem, run)).time, 250);
  Plan pack = run;
  pack.actions.insert(pack.actions.begin() + 4, {ActionKind::Pack, 1});
  EXPECT_EQ(cantFail(simulate(problem, pack)).time, 255);
  Plan absorb = runs({0, 1, 2});
  absorb.offload(0); // 30 .. 34
  absorb.reload(0);  // 34 .. 38
  absorb.absorb(1);
  absorb.run(3); // Does not read e and does not wait.
  EXPECT_TRUE(mentions(failure(problem, absorb), "is absorbed, and nothing"));
  std::swap(absorb.actions[5], absorb.actions[6]);
  absorb.run(4); // c runs 34 .. 44, when e's first copy has left; then d
  EXPECT_EQ(cantFail(simulate(problem, absorb)).time, 56);
  problem.ops[3].cost = 1; // Until 35, and d waits until 38.
  EXPECT_EQ(cantFail(simulate(problem, absorb)).time, 38 + 12);
}

TEST(Simulator, MemoryWaitsForTheLinkThatIsAtWorkInIt) {
  Problem problem = hairpin();
  problem.linkBytesPerSecond = 1000000000;
  // The offload of a, 20 .. 120, is a's last use but for b's.
  Plan plan = runs({0, 1});
  plan.offload(1);
  for (OpId op : {2, 3})
    plan.run(op);
  plan.run(0);
  plan.run(1);
  plan.run(4);
  // b until 30; its memory is only free at 120; then c, e, a, d.
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 120 + 40);
  // A reload that nobody reads: what follows must not write there.
  plan = runs({0, 1});
  plan.offload(0); // 20 .. 24, and nobody else reads e.
  plan.reload(0);  // 24 .. 28
  for (OpId op : {2, 3, 4})
    plan.run(op);
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 28 + 30);
}

TEST(Simulator, HostCopiesLiveFromOffloadToLastReload) {
  Problem problem = hairpin();
  problem.linkBytesPerSecond = infiniteBandwidth;
  Plan plan = runs({0});
  plan.offload(0);
  plan.run(1);
  plan.offload(1);
  plan.reload(0);
  plan.reload(0);
  plan.offload(0); // A second host copy of e, never read.
  for (OpId op : {2, 3, 4})
    plan.run(op);
  plan.reload(1);
  plan.run(4);
  Simulation s = cantFail(simulate(problem, plan));
  EXPECT_EQ(s.hostPeakBytes, 104);
  EXPECT_EQ(s.hostCopies.size(), 3u);
  EXPECT_EQ(s.hostCopies[0].lastReload, 5u);
  EXPECT_EQ(s.hostCopies[2].lastReload, s.hostCopies[2].offload);
  EXPECT_EQ(s.time, s.cost);
}

/// An op that uses the host itself has the link for itself, and its bytes are
/// there beside those of values.
TEST(Simulator, HostWorkspaces) {
  Problem problem = hairpin();
  problem.ops[1].hostWorkspace = 1000;
  Plan plan = runs({0, 1, 2, 3, 4});
  Simulation alone = cantFail(simulate(problem, plan));
  EXPECT_EQ(alone.hostPeakBytes, 1000);
  EXPECT_EQ(alone.time, alone.cost);
  EXPECT_EQ(problem.hostRoom(), INT64_MAX);
  problem.hostBudget = 1200;
  EXPECT_EQ(problem.hostRoom(), 200);
  problem.linkBytesPerSecond = 1000000000;
  plan = runs({0});
  plan.offload(0);
  for (OpId op : {1, 2})
    plan.run(op);
  plan.reload(0);
  for (OpId op : {3, 4})
    plan.run(op);
  Simulation both = cantFail(simulate(problem, plan));
  int64_t bytes = problem.values[0].transferBytes;
  EXPECT_EQ(both.hostPeakBytes, 1000 + bytes);
  problem.ops[1].hostWorkspace = 0;
  int64_t free = cantFail(simulate(problem, plan)).time;
  EXPECT_GT(both.time, free);
  EXPECT_LE(both.time, free + problem.transferTime(bytes));
}

TEST(Simulator, LinksOfAnySpeed) {
  Problem problem = chain(1, int64_t(1) << 50);
  Plan plan = runs({0});
  plan.offload(0);
  plan.reload(0);
  plan.run(1);
  EXPECT_TRUE(mentions(failure(problem, plan), "moves without a link"));
  problem.linkBytesPerSecond = infiniteBandwidth;
  EXPECT_EQ(cantFail(simulate(problem, plan)).time, 2);
  problem.linkBytesPerSecond = 1;
  EXPECT_EQ(problem.transferTime(problem.values[0].bytes), INT64_MAX);
  EXPECT_TRUE(mentions(failure(problem, plan), "time does not fit 64 bits"));
}

TEST(Simulator, CostsThatDoNotFit) {
  Problem problem = chain(1);
  problem.ops[0].cost = int64_t(1) << 55;
  Plan plan;
  for (int i = 0; i < 300; ++i)
    plan.run(0);
  plan.run(1);
  EXPECT_TRUE(mentions(failure(problem, plan), "cost does not fit 64 bits"));
}

} // namespace
