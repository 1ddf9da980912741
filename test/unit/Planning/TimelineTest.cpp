//===- TimelineTest.cpp - plans changed in place --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whatever is done to a timeline, it says what the simulator says of its plan,
// and what is taken back leaves no trace.
//
//===----------------------------------------------------------------------===//

#include "Timeline.h"
#include "Problems.h"

#include "llvm/ADT/STLExtras.h"

using namespace remat::planning;

namespace {

class Changer {
public:
  Changer(const Graph &graph, Timeline &timeline, uint64_t seed)
      : graph(graph), timeline(timeline), random(seed) {}

  /// One legal change, if the one thought of is legal.
  void change() {
    steps.clear();
    for (StepId step = timeline.begin(); step != timeline.end();
         step = timeline.next(step))
      steps.push_back(step);
    StepId at =
        steps.size() > 1 ? steps[1 + pick(steps.size() - 1)] : timeline.end();
    switch (pick(8)) {
    case 0: {
      OpId op = pick(graph.numOps());
      if (timeline.before(timeline.firstRun(op), at))
        timeline.insertRun(op, at);
      return;
    }
    case 1:
      if (ValueId value = valueBefore(at); value != noValue)
        timeline.insertReload(value, at);
      return;
    case 2:
    case 3:
      return unpack(at);
    case 4:
      return absorb(at);
    case 5:
      return move(at);
    default:
      if (timeline.repeats().empty())
        return;
      StepId step = timeline.repeats()[pick(timeline.repeats().size())];
      if (timeline.isRemovable(step))
        timeline.remove(step);
    }
  }

  size_t pick(size_t limit) { return random() % limit; }

private:
  /// A value that some op made before `at`; or none.
  ValueId valueBefore(StepId at) {
    ValueId value = pick(graph.numValues());
    OpId producer = graph.producer(value);
    bool made =
        producer != noOp && timeline.before(timeline.firstRun(producer), at);
    return made ? value : noValue;
  }

  void unpack(StepId at) {
    ValueId value = valueBefore(at);
    if (value == noValue || !graph.problem.values[value].packed)
      return;
    ValueId form = timeline.packedForm(value);
    if (timeline.copyBefore(form, at) == Timeline::noCopy || pick(4) == 0)
      timeline.insertPack(value, at);
    timeline.insertUnpack(value, at);
  }

  /// Absorbs what a kernel reads, and sometimes what that reads.
  void absorb(StepId host) {
    if (timeline.kind(host) != StepKind::Run)
      return;
    OpId reader = timeline.op(host);
    do {
      llvm::ArrayRef<ValueId> operands = graph.operands(reader);
      if (operands.empty())
        return;
      reader = graph.producer(operands[pick(operands.size())]);
      if (reader == noOp || !graph.canAbsorb(reader, timeline.op(host)))
        return;
      if (!timeline.isAbsorbed(reader, host))
        timeline.insertAbsorb(reader, host);
    } while (pick(2));
  }

  bool commute(StepId a, StepId b) {
    llvm::SmallVector<ValueId, 8> buffer, other;
    auto makes = [&](StepId step, ValueId form) {
      return llvm::any_of(timeline.copiesMadeBy(step), [&](uint32_t copy) {
        return timeline.copy(copy).value == form;
      });
    };
    auto collides = [&](StepId x, StepId y) {
      auto isAbsorbedIn = [&](StepId absorption) {
        return timeline.op(absorption) == timeline.op(y);
      };
      return llvm::any_of(timeline.reads(x, buffer),
                          [&](ValueId form) { return makes(y, form); }) ||
             llvm::any_of(timeline.copiesMadeBy(x),
                          [&](uint32_t copy) {
                            return makes(y, timeline.copy(copy).value);
                          }) ||
             llvm::any_of(timeline.absorptions(x), isAbsorbedIn);
    };
    return !collides(a, b) && !collides(b, a);
  }

  /// Moves a step up to a few places on or back.
  void move(StepId step) {
    if (step == timeline.end())
      return;
    bool later = pick(2);
    StepId target = later ? timeline.next(step) : step;
    for (size_t i = pick(40); i-- > 0;) {
      StepId passed = later ? target : timeline.previous(target);
      if (passed == timeline.end() || passed == timeline.begin() ||
          !commute(step, passed))
        break;
      target = later ? timeline.next(target) : passed;
    }
    if (target != step)
      timeline.move(step, target);
  }

  const Graph &graph;
  Timeline &timeline;
  std::mt19937_64 random;
  std::vector<StepId> steps;
};

/// Compares with the simulator at every action.
void expectExact(const Problem &problem, const Timeline &timeline) {
  Plan plan = timeline.plan();
  llvm::Expected<Simulation> simulation = simulate(problem, plan);
  ASSERT_TRUE(bool(simulation)) << message(simulation.takeError());
  EXPECT_EQ(timeline.cost(), simulation->cost);
  EXPECT_EQ(timeline.peak(), simulation->peakBytes);
  StepId step = timeline.next(timeline.begin());
  int64_t links = 0;
  for (auto [i, action] : llvm::enumerate(plan.actions)) {
    if (action.kind == ActionKind::Reload || action.kind == ActionKind::Offload)
      links += problem.transferTime(problem.values[action.id].transferBytes);
    if (action.kind == ActionKind::Offload || action.kind == ActionKind::Absorb)
      continue;
    ASSERT_EQ(timeline.bytesAt(step), simulation->liveBytes[i])
        << "action " << i;
    step = timeline.next(step);
  }
  EXPECT_EQ(step, timeline.end());
  EXPECT_EQ(timeline.transferTime(), links);
}

TEST(Timeline, SaysWhatTheSimulatorSays) {
  unsigned kinds[numActionKinds] = {};
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Problem problem = richProblem(seed, 3 + seed * 2);
    ASSERT_EQ(message(check(problem)), "");
    Graph graph(problem);
    Timeline timeline(graph);
    Plan plan;
    for (OpId op = 0; op < graph.numOps(); ++op)
      plan.run(op);
    timeline.load(plan);
    expectExact(problem, timeline);
    Changer changer(graph, timeline, seed);
    Plan committed = timeline.plan();
    for (int i = 0; i < 300; ++i) {
      Plan before = timeline.plan();
      size_t mark = timeline.mark();
      for (size_t count = changer.pick(5); count-- > 0;)
        changer.change();
      expectExact(problem, timeline);
      if (HasFatalFailure())
        return;
      switch (changer.pick(8)) {
      case 0:
        timeline.rollback();
        EXPECT_EQ(timeline.plan(), committed);
        break;
      case 1:
      case 2:
        timeline.rollback(mark);
        EXPECT_EQ(timeline.plan(), before);
        break;
      case 3:
        timeline.commit();
        committed = timeline.plan();
        break;
      default:
        continue;
      }
      expectExact(problem, timeline);
      if (HasFatalFailure())
        return;
    }
    // What is written is read again.
    plan = timeline.plan();
    Timeline other(graph);
    other.load(plan);
    EXPECT_EQ(other.plan(), plan);
    expectExact(problem, other);
    for (const Action &action : plan.actions)
      ++kinds[size_t(action.kind)];
  }
  // Releases come after what a timeline decides.
  for (auto [kind, count] : llvm::enumerate(kinds))
    EXPECT_TRUE(count > 100 || ActionKind(kind) == ActionKind::Release);
}

// What is packed is as fresh as what it was made from: neither the second run
// of f nor the second packed form can go, since what is unpacked of the first
// ones is what the forward phase left.
TEST(Timeline, PackedFormsAreAsFreshAsTheirSource) {
  Problem problem;
  ValueId x = problem.addArgument("x");
  ValueId f = problem.addResult(problem.addOp("f", 1, {x}), "f", 64);
  ValueId g = problem.addResult(problem.addOp("g", 1, {f}), "g", 64);
  problem.values[f].policy = Policy::MustRecompute;
  problem.values[f].packed = PackedForm{8, 1, 1};
  OpId b1 = problem.addOp("b1", 1, {g}, /*backward=*/true);
  ValueId d1 = problem.addResult(b1, "d1", 64);
  OpId b2 = problem.addOp("b2", 1, {d1, f}, /*backward=*/true);
  problem.values[problem.addResult(b2, "d2", 64)].isOutput = true;
  Graph graph(problem);
  for (bool packsBoth : {false, true}) {
    Plan plan;
    plan.run(0);
    if (packsBoth)
      plan.pack(f);
    plan.run(1);
    plan.run(0);
    plan.pack(f);
    plan.run(b1);
    plan.unpack(f);
    plan.run(b2);
    ASSERT_EQ(message(verify(problem, plan)), "");
    Timeline timeline(graph);
    timeline.load(plan);
    unsigned numKept = 0;
    std::vector<StepId> repeats = timeline.repeats();
    for (StepId step : repeats)
      if (timeline.isRepeat(step) && timeline.isRemovable(step))
        timeline.remove(step);
      else
        ++numKept;
    EXPECT_GE(numKept, 1u);
    EXPECT_EQ(message(verify(problem, timeline.plan())), "");
  }
}

// In a free order the forward phase ends where the plan says, not behind the
// last forward op of the problem.
TEST(Timeline, PhasesOfAFreeOrder) {
  Problem problem;
  ValueId f0 = problem.addResult(problem.addOp("f0", 1, {}), "f0", 8);
  ValueId f1 = problem.addResult(problem.addOp("f1", 1, {f0}), "f1", 8);
  problem.addResult(problem.addOp("f2", 1, {}), "f2", 8);
  OpId b = problem.addOp("b", 1, {f1}, /*backward=*/true);
  problem.addResult(b, "b", 8);
  problem.values[f0].policy = problem.values[f1].policy = Policy::MustRecompute;
  problem.freeOrder = true;
  Plan plan;
  for (OpId op : {2, 0, 1, 0, 1, 3})
    plan.run(op);
  ASSERT_EQ(message(verify(problem, plan)), "");
  Graph graph(problem);
  Timeline timeline(graph);
  timeline.load(plan);
  ASSERT_EQ(timeline.repeats().size(), 2u);
  for (StepId step : timeline.repeats())
    EXPECT_FALSE(timeline.isRemovable(step));
  // With f2 last but for b, only the second run of f1 would have to stay, and
  // of f0 nothing reads the first.
  plan.actions.clear();
  for (OpId op : {0, 1, 1, 2, 0, 1, 3})
    plan.run(op);
  timeline.load(plan);
  ASSERT_EQ(timeline.repeats().size(), 3u);
  EXPECT_TRUE(timeline.isRemovable(timeline.repeats()[0]));
  EXPECT_FALSE(timeline.isRemovable(timeline.repeats()[1]));
  EXPECT_FALSE(timeline.isRemovable(timeline.repeats()[2]));
}

TEST(Timeline, ManyStepsAtOnePlace) {
  Problem problem = chain(20);
  Graph graph(problem);
  Timeline timeline(graph);
  Plan plan;
  for (OpId op = 0; op < graph.numOps(); ++op)
    plan.run(op);
  timeline.load(plan);
  // Ever before the same step, and ever before the one inserted last.
  StepId place = timeline.firstRun(30), last = timeline.firstRun(35);
  for (int i = 0; i < 2000; ++i) {
    timeline.insertRun(OpId(i % 20), place);
    last = timeline.insertRun(OpId(i % 20), last);
  }
  expectExact(problem, timeline);
  StepId before = timeline.begin();
  while (before != timeline.end()) {
    StepId step = timeline.next(before);
    ASSERT_TRUE(timeline.before(before, step));
    before = step;
  }
  timeline.rollback();
  EXPECT_EQ(timeline.plan(), plan);
}

TEST(Timeline, FirstAbove) {
  Problem problem = chain(200);
  Graph graph(problem);
  Timeline timeline(graph);
  Plan plan;
  for (OpId op = 0; op < graph.numOps(); ++op)
    plan.run(op);
  timeline.load(plan);
  for (OpId from = 0; from < graph.numOps(); from += 7)
    for (OpId to = from; to < graph.numOps(); to += 11)
      for (int64_t limit : {0, 50, 150, 199, 1000}) {
        StepId expected = noStep;
        for (OpId op = from + 1; op < to && expected == noStep; ++op)
          if (timeline.bytesAt(timeline.firstRun(op)) > limit)
            expected = timeline.firstRun(op);
        EXPECT_EQ(timeline.firstAbove(timeline.firstRun(from),
                                      timeline.firstRun(to), limit),
                  expected);
      }
}

} // namespace
