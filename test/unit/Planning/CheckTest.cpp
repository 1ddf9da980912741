//===- CheckTest.cpp - input constraints, one test each -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Problems.h"

using namespace remat::planning;

namespace {

std::string failure(const Problem &problem) { return message(check(problem)); }

TEST(Check, AcceptsWhatIsLegal) {
  EXPECT_EQ(failure(Problem()), "");
  EXPECT_EQ(failure(chain(5)), "");
  for (uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_EQ(failure(randomProblem(seed, 30)), "");
}

TEST(Check, NegativeSize) {
  Problem problem = chain(3);
  problem.values[1].bytes = -4;
  EXPECT_TRUE(mentions(failure(problem), "value 'f1' has a negative size"));
}

TEST(Check, NegativeCost) {
  Problem problem = chain(3);
  problem.ops[2].cost = -1;
  EXPECT_TRUE(mentions(failure(problem), "op 'f2' has a negative cost"));
}

TEST(Check, SumOfSizesOverflows) {
  Problem problem = chain(3, INT64_MAX / 2);
  EXPECT_TRUE(mentions(failure(problem), "exceed 2^55 bytes"));
}

TEST(Check, SumOfCostsOverflows) {
  Problem problem = chain(3);
  problem.ops[0].cost = problem.ops[1].cost = int64_t(1) << 54;
  EXPECT_TRUE(mentions(failure(problem), "exceed 2^55 at op 'f2'"));
  problem.ops[1].cost = 0;
  EXPECT_EQ(failure(problem), "");
  problem.ops[2].absorbedCost = int64_t(1) << 54;
  EXPECT_TRUE(mentions(failure(problem), "exceed 2^55 at op 'f2'"));
  problem.ops[2].absorbedCost.reset();
  problem.values[1].packed = PackedForm{1, int64_t(1) << 53, int64_t(1) << 54};
  EXPECT_TRUE(mentions(failure(problem), "costs of all ops and packed forms"));
}

/// A plan may run each op as often as there are ops, and its costs have to fit
/// 64 bits all the same.
TEST(Check, SumOfCostsOfManyOps) {
  Problem problem = chain(500);
  problem.ops[0].cost = int64_t(1) << 54;
  std::string text = failure(problem);
  EXPECT_TRUE(mentions(text, "the most for 1000 ops")) << text;
  problem.ops[0].cost = int64_t(1) << 50;
  EXPECT_EQ(failure(problem), "");
}

/// Transfers take time, too: a link of 1 byte per second, where someone forgot
/// the unit, moves no gigabytes in a time that can be counted.
TEST(Check, SumOfTransfersOverflows) {
  Problem problem = chain(3, int64_t(1) << 50);
  for (Value &value : problem.values)
    value.offloadable = !value.isArgument;
  EXPECT_EQ(failure(problem), "");
  for (int64_t bandwidth : {1, 1000, 1000000}) {
    problem.linkBytesPerSecond = bandwidth;
    std::string text = failure(problem);
    EXPECT_TRUE(mentions(text, "transfers of all values take more than 2^55"));
    EXPECT_TRUE(mentions(text, "the link moves only " +
                                   std::to_string(bandwidth) + " bytes"));
  }
  problem.linkBytesPerSecond = infiniteBandwidth;
  EXPECT_EQ(failure(problem), "");
  problem.linkBytesPerSecond = 1000000000;
  EXPECT_EQ(failure(problem), "");
  // What stays on the device takes no time on the link.
  problem.linkBytesPerSecond = 1;
  for (Value &value : problem.values)
    value.offloadable = false;
  EXPECT_EQ(failure(problem), "");
}

TEST(Check, PackedForms) {
  Problem problem = chain(3);
  PackedForm &packed = problem.values[1].packed.emplace();
  EXPECT_EQ(failure(problem), "");
  packed.bytes = -1;
  EXPECT_TRUE(mentions(failure(problem),
                       "value 'f1' has a packed form of negative size"));
  packed.bytes = INT64_MAX;
  EXPECT_TRUE(mentions(failure(problem), "their packed forms exceed 2^55"));
  packed = {1, -1, 0};
  EXPECT_TRUE(mentions(failure(problem), "packed form of negative cost"));
  packed = {1, 0, -1};
  EXPECT_TRUE(mentions(failure(problem), "packed form of negative cost"));
  problem.values[1].packed.reset();
  problem.values[problem.addView(1, "view")].packed.emplace();
  EXPECT_TRUE(
      mentions(failure(problem), "value 'view' is a view and has a packed"));
  Problem arguments;
  arguments.values[arguments.addArgument("x")].packed.emplace();
  EXPECT_TRUE(mentions(failure(arguments),
                       "value 'x' is an argument and has a packed"));
}

TEST(Check, Absorption) {
  Problem problem = chain(3);
  problem.ops[1].absorbedCost = 0;
  EXPECT_EQ(failure(problem), "");
  problem.ops[1].absorbedCost = -1;
  EXPECT_TRUE(mentions(failure(problem), "op 'f1' has a negative absorbed"));
  problem.ops[1].absorbedCost = 0;
  problem.ops[1].absorbers = {2, 3};
  EXPECT_EQ(failure(problem), "");
  // Itself, one before it, out of order, and one that is not there.
  std::pair<std::vector<OpId>, OpId> wrong[] = {
      {{1}, 1}, {{0, 2}, 0}, {{3, 2}, 2}, {{99}, 99}};
  for (const auto &[absorbers, culprit] : wrong) {
    problem.ops[1].absorbers = absorbers;
    EXPECT_TRUE(mentions(failure(problem), "op 'f1' is absorbed by op " +
                                               std::to_string(culprit)));
  }
  problem.ops[1].absorbers = {2};
  problem.ops[1].absorbedCost.reset();
  EXPECT_TRUE(mentions(failure(problem),
                       "op 'f1' has ops that absorb it and no absorbed cost"));
  problem.ops[1].absorbers.clear();
  problem.ops[1].absorbedCost = 0;
  problem.ops[1].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem),
                       "op 'f1' has an absorbed cost, but may run only once"));
}

TEST(Check, NegativeLimits) {
  Problem problem = chain(3);
  problem.deviceBudget = -1;
  EXPECT_TRUE(mentions(failure(problem), "device budget is negative: -1"));
  problem.deviceBudget.reset();
  problem.hostBudget = -2;
  EXPECT_TRUE(mentions(failure(problem), "host budget is negative: -2"));
  problem.hostBudget.reset();
  problem.linkBytesPerSecond = -3;
  EXPECT_TRUE(mentions(failure(problem), "bandwidth is negative: -3"));
}

TEST(Check, UseBeforeDefinition) {
  Problem problem = chain(3);
  problem.ops[0].operands.push_back(2);
  EXPECT_TRUE(mentions(failure(problem),
                       "op 'f0' reads value 'f2' before it is computed"));
}

TEST(Check, OperandOutOfRange) {
  Problem problem = chain(3);
  problem.ops[0].operands.push_back(77);
  EXPECT_TRUE(mentions(failure(problem), "op 'f0' reads value 77 of 6"));
}

TEST(Check, TwoProducers) {
  Problem problem = chain(3);
  problem.ops[1].results.push_back(0);
  EXPECT_TRUE(mentions(failure(problem), "and by another op"));
}

TEST(Check, ViewWithBytes) {
  Problem problem = chain(3);
  ValueId view = problem.addView(1, "view");
  problem.values[view].bytes = 8;
  EXPECT_TRUE(mentions(failure(problem), "has 8 bytes of its own, expected 0"));
}

TEST(Check, RecomputeOfAnOpThatRunsOnce) {
  Problem problem = chain(3);
  problem.ops[1].recomputable = false;
  problem.values[1].policy = Policy::MustRecompute;
  EXPECT_TRUE(
      mentions(failure(problem),
               "value 'f1' is MUST_RECOMPUTE, but op 'f1' may run only once"));
}

TEST(Check, RecomputeNextToAResultThatMayNot) {
  Problem problem = chain(3);
  ValueId second = problem.addResult(1, "second", 1);
  problem.values[1].policy = Policy::MustRecompute;
  problem.values[second].recomputable = false;
  EXPECT_TRUE(mentions(failure(problem),
                       "value 'f1' is MUST_RECOMPUTE, but value 'second' of op "
                       "'f1' may not be recomputed"));
}

TEST(Check, OffloadWithoutALink) {
  Problem problem = chain(3);
  problem.values[1].policy = Policy::MustCpuOffload;
  EXPECT_TRUE(mentions(failure(problem), "there is no link to the host"));
  problem.linkBytesPerSecond = 1;
  EXPECT_EQ(failure(problem), "");
  problem.values[1].offloadable = false;
  EXPECT_TRUE(mentions(failure(problem), "may not be offloaded"));
}

TEST(Check, ConflictOnResultsOfOneOpNamesBoth) {
  Problem problem = chain(3);
  ValueId second = problem.addResult(1, "second", 1);
  problem.values[1].policy = Policy::MustSave;
  problem.values[second].policy = Policy::MustRecompute;
  std::string text = failure(problem);
  EXPECT_TRUE(mentions(text, "value 'f1' (MUST_SAVE)"));
  EXPECT_TRUE(mentions(text, "value 'second' (MUST_RECOMPUTE)"));
}

TEST(Check, ConflictOnViewsOfOneBufferNamesBoth) {
  Problem problem = chain(3);
  problem.linkBytesPerSecond = 1;
  ValueId view = problem.addView(1, "view");
  problem.values[1].policy = Policy::MustSave;
  problem.values[view].policy = Policy::MustCpuOffload;
  std::string text = failure(problem);
  EXPECT_TRUE(mentions(text, "value 'f1' (MUST_SAVE)"));
  EXPECT_TRUE(mentions(text, "value 'view' (MUST_CPU_OFFLOAD)"));
  EXPECT_TRUE(mentions(text, "are one buffer"));
}

TEST(Check, PoliciesOnArguments) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  problem.values[x].policy = Policy::MustRecompute;
  EXPECT_TRUE(mentions(failure(problem), "argument and MUST_RECOMPUTE"));
}

} // namespace
