//===- ExplanationTest.cpp - what a plan decided, value by value ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Hand-written plans whose byte-times and alternatives can be counted.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/Explanation.h"
#include "Problems.h"

#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace remat::planning;

static Plan makePlan(std::initializer_list<Action> actions) {
  Plan plan;
  plan.actions = actions;
  return plan;
}
static Action run(uint32_t op) { return {ActionKind::Run, op}; }

/// The entry of a value; there must be one.
static ValueExplanation entryOf(const Explanation &explanation, ValueId value) {
  for (const ValueExplanation &entry : explanation.values)
    if (entry.value == value)
      return entry;
  ADD_FAILURE() << "no entry for value " << value;
  return {};
}

// f0 f1 f2 | b2(f2, f1) b1(f1, f0, b2) b0(f0, b1): ops and values 0..5, every
// op costs 1 and every value has 10 bytes.
TEST(ExplanationTest, SaveAll) {
  Problem problem = chain(3, 10);
  Plan plan = makePlan({run(0), run(1), run(2), run(3), run(4), run(5)});
  Explanation explanation = cantFail(explain(problem, plan));
  ValueExplanation f0 = entryOf(explanation, 0);
  EXPECT_EQ(f0.decision, Decision::Saved);
  EXPECT_EQ(f0.bytes, 10);
  // From its own run to that of b0.
  EXPECT_EQ(f0.byteTime, 60);
  EXPECT_EQ(f0.saveAllByteTime, 60);
  EXPECT_EQ(f0.cost, 0);
  EXPECT_EQ(f0.byteTimeIfKept, 0);
  // It waits longest for b1, where f0 alone would run again.
  EXPECT_EQ(f0.costIfDropped, 1);
  EXPECT_EQ(f0.forcedBy, "");
  EXPECT_EQ(entryOf(explanation, 2).decision, Decision::Saved);
  EXPECT_EQ(entryOf(explanation, 3).decision, Decision::ShortLived);
  EXPECT_EQ(entryOf(explanation, 5).forcedBy, "output");
  // Largest first.
  EXPECT_EQ(explanation.values.front().value, 0u);
}

TEST(ExplanationTest, Recomputation) {
  Problem problem = chain(3, 10);
  Plan plan =
      makePlan({run(0), run(1), run(2), run(3), run(0), run(4), run(5)});
  Explanation explanation = cantFail(explain(problem, plan));
  ValueExplanation f0 = entryOf(explanation, 0);
  EXPECT_EQ(f0.decision, Decision::Recomputed);
  EXPECT_EQ(f0.recomputed, 1u);
  EXPECT_EQ(f0.cost, 1);
  // Two actions, then three.
  EXPECT_EQ(f0.byteTime, 50);
  EXPECT_EQ(f0.saveAllByteTime, 60);
  // Absent while f2 and b2 run.
  EXPECT_EQ(f0.byteTimeIfKept, 20);
  EXPECT_EQ(f0.costIfDropped, std::nullopt);
  EXPECT_EQ(describe(f0), "recomputed, 10 bytes, at a cost of 1; keeping it "
                          "would hold 2.00e+01 more byte-time");
}

TEST(ExplanationTest, DroppingTakesWhatIsNotResidentAlong) {
  // a -> b -> c | d(b) with a and b gone elsewhere: only b is saved.
  Problem problem;
  OpId a = problem.addOp("a", 5, {});
  ValueId va = problem.addResult(a, "a", 1);
  OpId b = problem.addOp("b", 7, {va});
  ValueId vb = problem.addResult(b, "b", 1);
  OpId c = problem.addOp("c", 1, {vb});
  ValueId vc = problem.addResult(c, "c", 1);
  OpId d = problem.addOp("d", 1, {vb, vc}, true);
  problem.values[problem.addResult(d, "d", 1)].isOutput = true;
  Plan plan = makePlan({run(0), run(1), run(2), run(3)});
  EXPECT_EQ(entryOf(cantFail(explain(problem, plan)), vb).costIfDropped, 12);
  // What must not run again cannot be dropped.
  problem.ops[a].recomputable = false;
  EXPECT_EQ(entryOf(cantFail(explain(problem, plan)), vb).costIfDropped,
            std::nullopt);
}

TEST(ExplanationTest, MustsAreNamed) {
  Problem problem = chain(3, 10);
  problem.values[0].policy = Policy::MustSave;
  problem.values[1].policy = Policy::MustRecompute;
  Solution solution = cantFail(solve(problem, "save-all"));
  Explanation explanation = cantFail(explain(problem, solution.plan));
  EXPECT_EQ(entryOf(explanation, 0).forcedBy, "MUST_SAVE");
  EXPECT_EQ(entryOf(explanation, 1).decision, Decision::Recomputed);
  EXPECT_EQ(entryOf(explanation, 1).forcedBy, "MUST_RECOMPUTE");
}

TEST(ExplanationTest, Offload) {
  Problem problem = chain(3, 10);
  problem.linkBytesPerSecond = 1'000'000'000; // a byte takes 1
  Plan plan = makePlan({run(0),
                        {ActionKind::Offload, 0},
                        run(1),
                        run(2),
                        run(3),
                        {ActionKind::Reload, 0},
                        run(4),
                        run(5)});
  ValueExplanation f0 = entryOf(cantFail(explain(problem, plan)), 0);
  EXPECT_EQ(f0.decision, Decision::Offloaded);
  EXPECT_EQ(f0.reloaded, 1u);
  EXPECT_EQ(f0.recomputed, 0u);
  EXPECT_EQ(f0.transferTime, 20);
  EXPECT_EQ(f0.byteTimeIfKept, 20);
}

TEST(ExplanationTest, PackedAndAbsorbed) {
  Problem problem = chain(3, 10);
  problem.values[0].packed = PackedForm{4, 2, 3};
  Plan packed = makePlan({run(0),
                          run(1),
                          {ActionKind::Pack, 0},
                          run(2),
                          run(3),
                          {ActionKind::Unpack, 0},
                          run(4),
                          run(5)});
  ValueExplanation f0 = entryOf(cantFail(explain(problem, packed)), 0);
  EXPECT_EQ(f0.decision, Decision::Packed);
  EXPECT_EQ(f0.unpacked, 1u);
  EXPECT_EQ(f0.cost, 5);

  problem = chain(3, 10);
  problem.ops[0].absorbedCost = 0;
  Plan absorbed = makePlan({run(0),
                            run(1),
                            run(2),
                            run(3),
                            {ActionKind::Absorb, 0},
                            run(4),
                            {ActionKind::Absorb, 0},
                            run(5)});
  f0 = entryOf(cantFail(explain(problem, absorbed)), 0);
  EXPECT_EQ(f0.decision, Decision::Absorbed);
  EXPECT_EQ(f0.absorbed, 2u);
  EXPECT_EQ(f0.cost, 0);
  EXPECT_EQ(f0.byteTime, 20);
  EXPECT_EQ(describe(f0).substr(0, 12), "absorbed x2,");

  Plan mixed = makePlan({run(0),
                         run(1),
                         run(2),
                         run(3),
                         {ActionKind::Absorb, 0},
                         run(4),
                         run(0),
                         run(5)});
  f0 = entryOf(cantFail(explain(problem, mixed)), 0);
  EXPECT_EQ(describe(f0).substr(0, 21), "recomputed, absorbed,");
}

TEST(ExplanationTest, Output) {
  Problem problem = chain(3, 10);
  Plan plan =
      makePlan({run(0), run(1), run(2), run(3), run(0), run(4), run(5)});
  Explanation explanation = cantFail(explain(problem, plan));
  json::Value value =
      toJson(problem, explanation, {100, 101, 102, 103, 104, 105});
  const json::Object &first = *(*value.getAsArray())[0].getAsObject();
  EXPECT_EQ(first.getInteger("id"), 100);
  EXPECT_EQ(first.getString("value"), "f0");
  EXPECT_EQ(first.getString("decision"), "recomputed");
  std::string text;
  raw_string_ostream os(text);
  print(problem, explanation, os, /*unit=*/"", /*limit=*/1);
  EXPECT_TRUE(mentions(text, "f0"));
  EXPECT_TRUE(mentions(text, "and 5 more"));
  EXPECT_TRUE(explain(Problem(), Plan())->values.empty());
}

TEST(ExplanationTest, RandomProblems) {
  unsigned recomputed = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Problem problem = randomProblem(seed, 30);
    SolverOptions options;
    options.effort = 0.01;
    FeasibilityCertificate smallest =
        cantFail(smallestFeasibleBudget(problem, options));
    Explanation explanation = cantFail(explain(problem, smallest.plan));
    for (const ValueExplanation &entry : explanation.values) {
      EXPECT_GE(entry.byteTime, 0);
      EXPECT_GE(entry.byteTimeIfKept, 0);
      recomputed += entry.recomputed;
      if (entry.recomputed)
        EXPECT_EQ(entry.decision, Decision::Recomputed);
    }
  }
  EXPECT_GT(recomputed, 100u);
}
