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

// f0 is computed again before b1 reads it, but what the forward phase left of
// it was read before, to compute f1 again: a checkpoint keeps what it reads,
// not what it hides.
TEST(Verify, MustRecomputeFeedsNoRecomputation) {
  Problem problem = chain(3);
  problem.values[0].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2, 1, 3, 0, 4, 5})),
                       "op 'f1' reads value 'f0', which is MUST_RECOMPUTE"));
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 0, 1, 3, 4, 5})), "");
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

// Between two derivatives, too: forward ops may follow a backward one.
TEST(Verify, MustCpuOffloadBehindABackwardOp) {
  Problem problem;
  problem.linkBytesPerSecond = 1;
  ValueId b0 = problem.addResult(problem.addOp("b0", 1, {}, true), "b0", 1);
  ValueId f = problem.addResult(problem.addOp("f", 1, {b0}), "f", 1);
  ValueId b1 = problem.addResult(problem.addOp("b1", 1, {f}, true), "b1", 1);
  problem.values[b1].isOutput = true;
  problem.values[f].policy = Policy::MustCpuOffload;
  EXPECT_TRUE(mentions(failure(problem, runs({0, 1, 2})),
                       "op 'b1' reads value 'f', which is MUST_CPU_OFFLOAD "
                       "and was not reloaded"));
  Plan plan = runs({0, 1});
  plan.offload(f);
  plan.reload(f);
  plan.run(2);
  EXPECT_EQ(failure(problem, plan), "");
  // What every algorithm starts from.
  EXPECT_EQ(cantFail(solve(problem, "save-all")).plan, plan);
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

//===----------------------------------------------------------------------===//
// Plans broken by hand: each violated constraint has a message of its own.
//===----------------------------------------------------------------------===//

/// chain(4) at 10 bytes a value, with a link, a packed form and absorption. Ops
/// and values are f0 f1 f2 f3 b3 b2 b1 b0; b_i reads b_i+1, f_i and f_i-1.
Problem broken() {
  Problem problem = chain(4, 10);
  problem.linkBytesPerSecond = infiniteBandwidth;
  problem.values[1].packed = PackedForm{4, 1, 1};
  problem.ops[0].absorbedCost = 0;
  return problem;
}

/// Recomputes f0 and moves f1 to the host and back; 40 bytes instead of 50.
Plan legal() {
  Plan plan = runs({0, 1});
  plan.offload(1);
  for (OpId op : {2, 3, 4})
    plan.run(op);
  plan.reload(1);
  for (OpId op : {5, 0, 6, 7})
    plan.run(op);
  return plan;
}

Plan without(Plan plan, size_t action) {
  plan.actions.erase(plan.actions.begin() + action);
  return plan;
}

Plan swapped(Plan plan, size_t a, size_t b) {
  std::swap(plan.actions[a], plan.actions[b]);
  return plan;
}

TEST(VerifyBroken, TheOriginalIsLegal) {
  EXPECT_EQ(failure(broken(), legal()), "");
}

TEST(VerifyBroken, ADroppedRecomputation) {
  // Readers then use the copy of the forward phase, which therefore lives
  // longer, and the plan needs more than it promised.
  Problem problem = broken();
  Simulation before = llvm::cantFail(simulate(problem, legal()));
  problem.deviceBudget = before.peakBytes;
  EXPECT_EQ(failure(problem, legal()), "");
  EXPECT_TRUE(mentions(failure(problem, without(legal(), 8)),
                       "peak of 50 bytes exceeds the budget of 40 bytes at "
                       "action 7, op 'b2'"));
  // Where a MUST needs it, that is what is broken.
  problem.values[0].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(failure(problem, without(legal(), 8)),
                       "op 'b1' reads value 'f0', which is MUST_RECOMPUTE"));
}

TEST(VerifyBroken, ADroppedOp) {
  EXPECT_TRUE(mentions(failure(broken(), without(legal(), 0)),
                       "action 0: op 'f1' reads 'f0', which is not on the "
                       "device"));
  EXPECT_TRUE(mentions(failure(broken(), without(legal(), 10)),
                       "output 'b0' is never computed"));
}

TEST(VerifyBroken, AnEarlyFree) {
  // Memory is freed after its last reader. Here nothing brings back a value
  // that left the device, so it was freed too early.
  Problem problem = broken();
  EXPECT_TRUE(mentions(failure(problem, without(legal(), 2)),
                       "action 5: 'f1' is reloaded and is not on the host"));
  problem.values[1].policy = Policy::MustCpuOffload;
  EXPECT_EQ(failure(problem, legal()), "");
  EXPECT_TRUE(mentions(failure(problem, without(legal(), 6)),
                       "op 'b2' reads value 'f1', which is MUST_CPU_OFFLOAD "
                       "and was not reloaded"));
  // Without a MUST the first copy stays instead, which costs bytes.
  problem = broken();
  problem.deviceBudget = 40;
  EXPECT_EQ(failure(problem, legal()), "");
  Plan kept = without(without(legal(), 6), 2);
  problem.deviceBudget = 30;
  EXPECT_TRUE(mentions(failure(problem, kept), "peak of 40 bytes"));
}

TEST(VerifyBroken, ASwap) {
  EXPECT_TRUE(mentions(failure(broken(), swapped(legal(), 0, 1)),
                       "action 0: op 'f1' reads 'f0'"));
  EXPECT_TRUE(mentions(failure(broken(), swapped(legal(), 2, 6)),
                       "action 2: 'f1' is reloaded and is not on the host"));
  EXPECT_TRUE(mentions(failure(broken(), swapped(legal(), 7, 9)),
                       "action 7: op 'b1' reads 'b2', which is not on the "
                       "device"));
}

TEST(VerifyBroken, AWrongSize) {
  // Promised and simulated figures are compared to the last byte.
  Problem problem = broken();
  Simulation s = llvm::cantFail(simulate(problem, legal()));
  PlanClaims claims;
  EXPECT_EQ(message(verifyClaims(s, claims)), "");
  claims = {s.peakBytes, s.hostPeakBytes, s.cost, s.time};
  EXPECT_EQ(message(verifyClaims(s, claims)), "");
  claims.peakBytes = 39;
  EXPECT_TRUE(mentions(message(verifyClaims(s, claims)),
                       "the plan's peak is stated as 39 and is 40"));
  claims = {{}, 9, {}, {}};
  EXPECT_TRUE(mentions(message(verifyClaims(s, claims)),
                       "host peak is stated as 9 and is 10"));
  claims = {{}, {}, 6, {}};
  EXPECT_TRUE(mentions(message(verifyClaims(s, claims)),
                       "cost is stated as 6 and is 9"));
  claims = {{}, {}, {}, 8};
  EXPECT_TRUE(mentions(message(verifyClaims(s, claims)),
                       "time is stated as 8 and is 9"));
  // A size that grew after the plan was made.
  problem.deviceBudget = s.peakBytes;
  problem.values[2].bytes += 1;
  EXPECT_TRUE(mentions(failure(problem, legal()), "peak of 41 bytes exceeds"));
}

TEST(VerifyBroken, ALossyFormInTheForwardPhase) {
  // Ops and values are f0 f1 f2 f3 b3 b2 b1 b0.
  Problem problem = broken();
  auto unpackBefore = [](OpId reader) {
    Plan plan = runs({0, 1});
    plan.pack(1);
    for (OpId op : {2, 3, 4, 5, 6, 7}) {
      if (op == reader)
        plan.unpack(1);
      plan.run(op);
    }
    return plan;
  };
  EXPECT_EQ(failure(problem, unpackBefore(2)), "");
  problem.values[1].packed->lossy = true;
  EXPECT_EQ(failure(problem, unpackBefore(5)), "");
  EXPECT_TRUE(mentions(failure(problem, unpackBefore(2)),
                       "action 3: value 'f1' is unpacked before the backward "
                       "phase, and its packed form is lossy"));
  // What is lossy is no output.
  problem.values[1].isOutput = true;
  EXPECT_TRUE(mentions(failure(problem, unpackBefore(5)),
                       "value 'f1' may not be packed"));
}

// Forward ops may stand behind the first backward op, and outputs of the
// forward phase may be made again: neither is to see a rounded value.
TEST(VerifyBroken, ALossyFormThatForwardOpsNeed) {
  Problem problem = broken();
  problem.values[1].packed->lossy = true;
  auto unpackBefore = [](OpId reader, std::vector<OpId> again) {
    Plan plan = runs({0, 1});
    plan.pack(1);
    for (OpId op : {2, 3, 4, 5, 6, 7}) {
      if (op == reader) {
        plan.unpack(1);
        for (OpId other : again)
          plan.run(other);
      }
      plan.run(op);
    }
    return plan;
  };
  ASSERT_EQ(failure(problem, unpackBefore(5, {})), "");
  // f2 is made again from the rounded f1, and is an output or not.
  EXPECT_EQ(failure(problem, unpackBefore(5, {2})), "");
  problem.values[2].isOutput = true;
  EXPECT_EQ(failure(problem, unpackBefore(5, {})), "");
  EXPECT_TRUE(mentions(failure(problem, unpackBefore(5, {2})),
                       "op 'f2' runs 2 times and makes an output that lossy "
                       "packed forms must not change, expected once"));
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 3, 4, 2, 5, 6, 7})), "");
  problem.values[2].isOutput = false;
  // b1 becomes a forward op that reads f1, or what is made of it.
  problem.ops[6].backward = false;
  EXPECT_TRUE(mentions(failure(problem, unpackBefore(6, {})),
                       "value 'f1' may not be packed"));
  for (ValueId read : {0, 2}) {
    problem.ops[6].operands = {read, 5};
    EXPECT_EQ(failure(problem, unpackBefore(5, {})),
              read == 0 ? "" : "action 2: value 'f1' may not be packed");
  }
  problem.ops[6].backward = true;
  problem.freeOrder = true;
  EXPECT_TRUE(mentions(failure(problem, unpackBefore(5, {})),
                       "value 'f1' may not be packed"));
}

TEST(VerifyBroken, AClonedRandomOp) {
  // An op that draws random numbers is neither run nor absorbed again.
  Problem problem = broken();
  problem.ops[0].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem, legal()),
                       "op 'f0' runs 2 times, but may run only once"));
  Plan absorbing = without(legal(), 8);
  EXPECT_EQ(failure(problem, absorbing), "");
  absorbing.actions.insert(absorbing.actions.begin() + 8,
                           {ActionKind::Absorb, 0});
  EXPECT_TRUE(mentions(failure(problem, absorbing),
                       "op 'f0' runs again, absorbed at action 8, but may run "
                       "only once"));
  problem = broken();
  problem.values[0].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem, legal()), "runs 2 times"));
  EXPECT_TRUE(mentions(failure(problem, absorbing), "absorbed at action 8"));
}

TEST(VerifyBroken, MustSave) {
  // The value is not recomputed, absorbed, offloaded, or packed.
  Problem problem = broken();
  problem.values[0].policy = problem.values[1].policy = Policy::MustSave;
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 3, 4, 5, 6, 7})), "");
  EXPECT_TRUE(mentions(failure(problem, legal()),
                       "value 'f0' is MUST_SAVE, but op 'f0' runs 2 times, "
                       "expected once"));
  EXPECT_TRUE(mentions(failure(problem, without(legal(), 8)),
                       "action 2: value 'f1' is MUST_SAVE and is offloaded"));
  Plan plan = runs({0, 1, 2, 3, 4, 5});
  plan.absorb(0);
  plan.run(6);
  plan.run(7);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "value 'f0' is MUST_SAVE, but op 'f0' runs again, "
                       "absorbed at action 6"));
  plan = runs({0, 1});
  plan.pack(1);
  for (OpId op : {2, 3, 4, 5, 6, 7})
    plan.run(op);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 2: value 'f1' is MUST_SAVE and is packed"));
}

TEST(VerifyBroken, MustRecompute) {
  // Packing and offloading are no recomputation; absorption is one.
  Problem problem = broken();
  problem.values[1].policy = Policy::MustRecompute;
  const char *message = "op 'b2' reads value 'f1', which is MUST_RECOMPUTE";
  EXPECT_TRUE(mentions(failure(problem, legal()), message));
  Plan plan = runs({0, 1});
  plan.pack(1);
  plan.run(2);
  plan.run(3);
  plan.unpack(1);
  for (OpId op : {4, 5, 6, 7})
    plan.run(op);
  EXPECT_TRUE(mentions(failure(problem, plan), message));
  EXPECT_EQ(failure(problem, runs({0, 1, 2, 3, 1, 4, 5, 6, 7})), "");
  problem.values[1].policy = Policy::None;
  problem.values[0].policy = Policy::MustRecompute;
  plan = runs({0, 1, 2, 3, 4, 5});
  plan.absorb(0);
  plan.run(6);
  Plan stale = plan;
  stale.run(7);
  EXPECT_TRUE(mentions(failure(problem, stale),
                       "op 'b0' reads value 'f0', which is MUST_RECOMPUTE"));
  plan.absorb(0);
  plan.run(7);
  EXPECT_EQ(failure(problem, plan), "");
  // An absorbed backward op reads as one that runs.
  problem.ops[6].absorbedCost = 1;
  plan.absorb(6);
  plan.run(7);
  EXPECT_TRUE(mentions(failure(problem, plan), "op 'b1' reads value 'f0'"));
}

TEST(VerifyBroken, MustCpuOffload) {
  Problem problem = broken();
  problem.values[1].policy = Policy::MustCpuOffload;
  Plan plan = legal();
  plan.run(1);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "value 'f1' is MUST_CPU_OFFLOAD, but op 'f1' runs 2"));
  plan = legal();
  plan.actions.insert(plan.actions.begin() + 7,
                      {{ActionKind::Pack, 1}, {ActionKind::Unpack, 1}});
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "value 'f1' is MUST_CPU_OFFLOAD and is packed"));
}

TEST(VerifyBroken, PackingOfWhatMayNot) {
  Problem problem = broken();
  Plan plan = legal();
  plan.pack(0);
  EXPECT_TRUE(mentions(failure(problem, plan), "'f0' has no packed form"));
  plan = legal();
  plan.actions.insert(plan.actions.begin() + 2, {ActionKind::Unpack, 1});
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "action 2: 'f1' is unpacked and was not packed"));
}

TEST(VerifyBroken, MisusedAbsorption) {
  // The other messages are in the simulator's tests.
  Plan plan = legal();
  plan.absorb(0);
  EXPECT_TRUE(mentions(failure(broken(), plan),
                       "op 'f0' is absorbed, and no kernel runs after it"));
}

TEST(VerifyBroken, ReorderedFirstRuns) {
  Problem problem;
  ValueId a = problem.addResult(problem.addOp("a", 1, {}), "a", 1);
  ValueId b = problem.addResult(problem.addOp("b", 1, {}), "b", 1);
  problem.addResult(problem.addOp("c", 1, {a, b}), "c", 1);
  EXPECT_TRUE(mentions(failure(problem, runs({1, 0, 2})),
                       "action 1: op 'a' runs for the first time after op "
                       "'b'; the problem's order is not free"));
  problem.freeOrder = true;
  EXPECT_EQ(failure(problem, runs({1, 0, 2})), "");
  problem.ops[0].recomputable = problem.ops[1].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem, runs({1, 0, 2})),
                       "op 'a' runs after op 'b'; ops that may run only once "
                       "keep their order"));
}

TEST(VerifyBroken, OverBudget) {
  // During a pack both forms are in the arena.
  Problem problem = broken();
  problem.deviceBudget = 39;
  EXPECT_TRUE(mentions(failure(problem, legal()),
                       "peak of 40 bytes exceeds the budget of 39 bytes at "
                       "action 7, op 'b2'"));
  problem.deviceBudget = 40;
  EXPECT_EQ(failure(problem, legal()), "");
  problem.values[1].packed->bytes = 31;
  Plan plan = runs({0, 1});
  plan.pack(1);
  for (OpId op : {2, 3, 4, 5, 0, 6, 7})
    plan.run(op);
  EXPECT_TRUE(mentions(failure(problem, plan),
                       "peak of 41 bytes exceeds the budget of 40 bytes at "
                       "action 2, value 'f1'"));
}

TEST(VerifyBroken, EachHasItsOwnMessage) {
  // No two violations share a message such as "invalid plan".
  Problem tight = broken(), must = broken(), once = broken(), grown = broken();
  tight.deviceBudget = grown.deviceBudget = 40;
  grown.values[2].bytes += 1;
  must.values[0].policy = Policy::MustSave;
  once.ops[0].recomputable = false;
  std::string messages[] = {
      failure(tight, without(legal(), 8)),    // A recomputation dropped.
      failure(broken(), without(legal(), 2)), // An early free.
      failure(broken(), swapped(legal(), 0, 1)),
      failure(grown, legal()), // A wrong size.
      failure(must, legal()),
      failure(once, legal()),
  };
  for (size_t i = 0; i < std::size(messages); ++i) {
    EXPECT_NE(messages[i], "");
    for (size_t k = 0; k < i; ++k)
      EXPECT_NE(messages[i], messages[k]);
  }
}

TEST(VerifyBroken, OverHostBudget) {
  Problem problem = broken();
  problem.hostBudget = 10;
  EXPECT_EQ(failure(problem, legal()), "");
  problem.hostBudget = 9;
  EXPECT_TRUE(mentions(failure(problem, legal()),
                       "host peak of 10 bytes exceeds the host budget of 9"));
}

} // namespace
