//===- EvictorTest.cpp - evicting values until a plan fits ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The moves of the local search, on a problem where they are easy to follow.
//
//===----------------------------------------------------------------------===//

#include "Evictor.h"
#include "Problems.h"

using namespace remat::planning;

namespace {

/// Two values, one cheap and one expensive, are idle while a third one is made
/// that leaves room for one of them.
struct TwoIdle {
  TwoIdle() {
    auto add = [&](int64_t cost, llvm::ArrayRef<ValueId> operands,
                   int64_t bytes) {
      OpId op = problem.addOp("op", cost, operands);
      return problem.addResult(op, "v", bytes);
    };
    ValueId cheap = add(1, {}, 10), expensive = add(9, {}, 10);
    ValueId large = add(5, {}, 10), small = add(5, {large}, 1);
    ValueId last = add(1, {cheap, expensive, small}, 1);
    problem.values[last].isOutput = true;
    problem.ops[3].recomputable = false;
    problem.deviceBudget = 22;
  }
  Problem problem;
};

TEST(Evictor, RatiosThatDecideAlikeAreKnown) {
  KeepDecisions decisions;
  EXPECT_TRUE(decisions.decide(/*bytes=*/2, /*freed=*/10, /*keepRatio=*/0.3));
  EXPECT_FALSE(decisions.decide(4, 10, 0.3));
  EXPECT_FALSE(decisions.decide(90, 100, 0.3));
  // Whatever the ratio, nothing is kept for the sake of nothing.
  EXPECT_FALSE(decisions.decide(1, 0, 0.3));
  EXPECT_TRUE(decisions.wouldBeSame(0.2));
  EXPECT_TRUE(decisions.wouldBeSame(0.39));
  EXPECT_FALSE(decisions.wouldBeSame(0.4));
  EXPECT_FALSE(decisions.wouldBeSame(0.1));

  EvictionRanking ranking;
  ranking.keepRatio = 0.3;
  TriedRankings tried;
  tried.add(ranking, decisions);
  ranking.keepRatio = 0.2;
  EXPECT_TRUE(tried.wouldRepeat(ranking));
  ranking.keepWhereItFits = !ranking.keepWhereItFits;
  EXPECT_FALSE(tried.wouldRepeat(ranking));
  ranking.keepWhereItFits = !ranking.keepWhereItFits;
  ranking.noise = 0.5;
  EXPECT_FALSE(tried.wouldRepeat(ranking));
}

TEST(Evictor, MoreEvictionsMakeOthersUnnecessary) {
  TwoIdle idle;
  Graph graph(idle.problem);
  SolverOptions options;
  Stopwatch watch;
  WorkMeter work(options, watch);
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, 1);
  Plan plan;
  for (OpId op = 0; op < graph.numOps(); ++op)
    plan.run(op);
  timeline.load(plan);

  // The cheap one goes, as it should.
  ASSERT_TRUE(evictor.fit(22, EvictionRanking()));
  ASSERT_EQ(timeline.repeats().size(), 1u);
  EXPECT_EQ(timeline.op(timeline.repeats()[0]), 0u);
  timeline.commit();
  // The other one as well, which makes the first eviction unnecessary.
  llvm::SmallVector<StepId, 2> newest;
  for (int tries = 0; tries < 100 && timeline.repeats().size() < 2; ++tries) {
    size_t mark = timeline.mark();
    evictor.evictSome(EvictionRanking(), 22);
    newest.clear();
    timeline.forEachInserted(mark,
                             [&](StepId step) { newest.push_back(step); });
  }
  ASSERT_EQ(timeline.repeats().size(), 2u);
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(timeline.op(newest[0]), 1u);
  size_t mark = timeline.mark();
  evictor.prune(22, 0, newest);
  ASSERT_EQ(timeline.repeats().size(), 1u);
  EXPECT_EQ(timeline.op(timeline.repeats()[0]), 1u);
  // By cost alone it is the other way round.
  timeline.rollback(mark);
  evictor.prune(22);
  ASSERT_EQ(timeline.repeats().size(), 1u);
  EXPECT_EQ(timeline.op(timeline.repeats()[0]), 0u);
}

TEST(Evictor, NothingToEvict) {
  Problem problem;
  OpId op = problem.addOp("op", 1, {});
  problem.addResult(op, "v", 1);
  Graph graph(problem);
  SolverOptions options;
  Stopwatch watch;
  WorkMeter work(options, watch);
  Timeline timeline(graph);
  Evictor evictor(graph, timeline, work, 1);
  Plan plan;
  plan.run(op);
  timeline.load(plan);
  EXPECT_FALSE(evictor.evictSome(EvictionRanking(), 1));
}

} // namespace
