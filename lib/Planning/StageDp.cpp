//===- StageDp.cpp - checkpoints of stages of the forward phase -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Networks are chains when they are looked at from afar: the forward phase is
// cut into stages where few bytes cross, and each stage has the part of the
// backward phase that reads what it makes. Which borders of stages are kept,
// and which stages run how often, is the problem of heterogeneous chains, which
// a dynamic program over stages and memory solves (Beaumont, Eyraud-Dubois,
// Herrmann, Joly and Shilova 2019). Near the smallest budgets, where borders
// are made again from earlier ones over and over, a search from single
// evictions does not come to such plans.
//
// Unlike levels of a chain, stages are approximate: what crosses several
// borders, such as a mask that all layers read, is taken to be kept, and the
// memory of a stage is what its sweep needs if nothing in it is made again. So
// the program is solved for several amounts of memory, and the search makes
// its plans fit the budget.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "LocalSearch.h"
#include "SearchTuning.h"
#include "SimulateInto.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

namespace {
/// Consecutive forward ops and the part of the backward phase that reads what
/// they make.
struct Stage {
  OpId begin = 0, end = 0;
  std::vector<OpId> sweep;
  /// Of the ops that may run again.
  int64_t cost = 0;
  /// Bytes of what crosses the border before the stage, of what the sweep and
  /// the next stages read of the stage, of what the backward phase itself has
  /// while the sweep runs, and the most that the forward ops have at once.
  int64_t border = 0, kept = 0, sweeping = 0, passing = 0;
};

/// The stages of a problem, cut into `count`.
class Staging {
public:
  Staging(const Graph &graph, uint32_t count);

  const std::vector<Stage> &getStages() const { return stages; }
  /// Bytes of what is taken to be there all the time.
  int64_t getHeldBytes() const { return heldBytes; }

  /// The stage that makes `value`, and the last one with a forward reader.
  uint32_t firstStage(ValueId value) const { return first[value]; }
  uint32_t lastStage(ValueId value) const { return last[value]; }
  /// Whether `value` is made by the forward phase and takes part in the
  /// program.
  bool isStaged(ValueId value) const { return staged[value]; }

private:
  void cut(uint32_t count);
  void placeValues();
  void placeSweeps();
  void measure();

  const Graph &graph;
  /// The first op of the backward phase.
  OpId end;
  std::vector<Stage> stages;
  std::vector<uint32_t> first, last;
  std::vector<bool> staged;
  int64_t heldBytes = 0;
};

/// The least forward cost of stages and sweeps `a` to `b` within some memory.
class StageProgram {
public:
  StageProgram(const std::vector<Stage> &stages, int64_t memory);

  static constexpr uint32_t slots = 256;
  /// What to do of stages `a` to `b` first with `slot` of the memory.
  static constexpr uint32_t keepAll = 0, none = ~uint32_t(0);
  /// The stage up to which the forward phase passes, `keepAll` if `a` is run
  /// and kept, or `none` if there is not enough memory.
  uint32_t getChoice(uint32_t a, uint32_t b, uint32_t slot) const {
    return choice[index(a, b, slot)];
  }
  uint32_t toSlots(int64_t bytes) const {
    return uint32_t(std::min<int64_t>(llvm::divideCeil(bytes, unit), slots));
  }

private:
  size_t index(uint32_t a, uint32_t b, uint32_t slot) const {
    return (size_t(a) * count + b) * (slots + 1) + slot;
  }

  uint32_t count;
  int64_t unit;
  std::vector<uint32_t> choice;
};

/// Turns what a program chooses into a plan.
class StagedRuns {
public:
  StagedRuns(const Graph &graph, const Staging &staging,
             const StageProgram &program)
      : graph(graph), staging(staging), program(program),
        ran(graph.numOps(), false) {}

  /// The plan with `slot` of the memory; nothing if there is none, or if it has
  /// more than `mostActions`.
  std::optional<Plan> make(uint32_t slot, size_t mostActions);

private:
  bool run(uint32_t a, uint32_t b, uint32_t slot);
  void pass(uint32_t a, uint32_t until);
  void runStage(uint32_t a);
  template <typename Wanted>
  void runForward(uint32_t a, uint32_t until, Wanted wanted);

  const Graph &graph;
  const Staging &staging;
  const StageProgram &program;
  std::vector<bool> ran;
  Plan plan;
  size_t mostActions = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

Staging::Staging(const Graph &graph, uint32_t count)
    : graph(graph), end(graph.firstBackward()), first(graph.numValues(), 0),
      last(graph.numValues(), 0), staged(graph.numValues(), false) {
  cut(count);
  placeValues();
  placeSweeps();
  measure();
}

/// Cuts the forward phase where the fewest bytes cross, close to the borders of
/// stages that make as many bytes each.
void Staging::cut(uint32_t count) {
  std::vector<int64_t> crossing(end + 1, 0), made(end + 1, 0);
  for (OpId op = 0; op < end; ++op) {
    made[op + 1] = made[op];
    for (ValueId result : graph.results(op)) {
      made[op + 1] += graph.bytes(result);
      OpId reader = op;
      for (OpId other : graph.readers(result))
        if (other < end)
          reader = std::max(reader, other);
      crossing[op + 1] += graph.bytes(result);
      crossing[std::min(reader + 1, end)] -= graph.bytes(result);
    }
  }
  for (OpId op = 0; op < end; ++op)
    crossing[op + 1] += crossing[op];
  auto positionOf = [&](uint32_t halves) {
    int64_t bytes = int64_t(__int128(made[end]) * halves / (2 * count));
    return OpId(llvm::lower_bound(made, bytes) - made.begin());
  };
  OpId begin = 0;
  for (uint32_t border = 1; border < count; ++border) {
    OpId from = std::max(begin + 1, positionOf(2 * border - 1));
    OpId to = std::min(end, positionOf(2 * border + 1));
    if (from >= to)
      continue;
    OpId best =
        std::min_element(crossing.begin() + from, crossing.begin() + to) -
        crossing.begin();
    stages.push_back({begin, best, {}});
    begin = best;
  }
  stages.push_back({begin, end, {}});
}

/// Finds which stages have each value in their borders. What crosses several is
/// taken to stay.
void Staging::placeValues() {
  std::vector<uint32_t> stageOf(end, 0);
  for (auto [number, stage] : enumerate(stages))
    std::fill(stageOf.begin() + stage.begin, stageOf.begin() + stage.end,
              number);
  for (OpId op = 0; op < end; ++op)
    for (ValueId result : graph.results(op)) {
      first[result] = last[result] = stageOf[op];
      for (OpId reader : graph.readers(result))
        if (reader < end)
          last[result] = std::max(last[result], stageOf[reader]);
      staged[result] =
          !graph.isOutput(result) && !graph.runsOnce(op) &&
          last[result] - first[result] <= StageDpTuning::mostCrossed;
      if (!staged[result])
        heldBytes += graph.bytes(result);
    }
}

/// Gives each backward op to the stage that it reads the last values of, as the
/// sweep goes back over them: a stage has its turn until no later op needs it.
/// What is read in the turn of another stage is taken to stay.
void Staging::placeSweeps() {
  std::vector<uint32_t> turn(graph.numOps() + 1, 0);
  for (OpId op = graph.numOps(); op-- > end;) {
    turn[op] = turn[op + 1];
    for (ValueId operand : graph.operands(op))
      if (staged[operand])
        turn[op] = std::max(turn[op], first[operand]);
  }
  turn[end] = stages.size() - 1;
  for (OpId op = end; op < graph.numOps(); ++op) {
    stages[turn[op]].sweep.push_back(op);
    for (ValueId operand : graph.operands(op))
      if (staged[operand] && last[operand] < turn[op]) {
        staged[operand] = false;
        heldBytes += graph.bytes(operand);
      }
  }
}

void Staging::measure() {
  std::vector<int64_t> change(graph.numOps() + 1, 0);
  for (OpId op = 0; op < graph.numOps(); ++op)
    for (ValueId result : graph.results(op)) {
      OpId reader = op;
      for (OpId other : graph.readers(result))
        if (op >= end || other < end)
          reader = std::max(reader, other);
      if (op >= end && graph.isOutput(result))
        reader = graph.numOps() - 1;
      change[op] += graph.bytes(result);
      change[reader + 1] -= graph.bytes(result);
    }
  // Of the forward phase what it needs itself, and of the backward phase what
  // it makes.
  std::vector<int64_t> live(graph.numOps());
  int64_t bytes = 0;
  for (OpId op = 0; op < graph.numOps(); ++op) {
    bytes += change[op];
    live[op] = bytes + graph.problem.ops[op].workspace;
  }
  for (auto [number, stage] : enumerate(stages)) {
    for (OpId op = stage.begin; op < stage.end; ++op) {
      stage.passing = std::max(stage.passing, live[op]);
      if (!graph.runsOnce(op))
        stage.cost += graph.problem.ops[op].cost;
    }
    for (OpId op : stage.sweep)
      stage.sweeping = std::max(stage.sweeping, live[op]);
  }
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (!staged[value])
      continue;
    if (graph.isReadByBackward(value) || last[value] > first[value])
      stages[first[value]].kept += graph.bytes(value);
    for (uint32_t stage = first[value] + 1; stage <= last[value]; ++stage)
      stages[stage].border += graph.bytes(value);
  }
}

//===----------------------------------------------------------------------===//
// Program
//===----------------------------------------------------------------------===//

StageProgram::StageProgram(const std::vector<Stage> &stages, int64_t memory)
    : count(stages.size()),
      unit(std::max<int64_t>(llvm::divideCeil(memory, slots), 1)),
      choice(size_t(count) * count * (slots + 1), none) {
  constexpr int64_t noCost = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> least(choice.size(), noCost);
  // What the border before the first of them has is not in the memory.
  for (uint32_t a = count; a-- > 0;) {
    const Stage &stage = stages[a];
    // Where that is too much, something in the stage will be made again.
    uint32_t alone = toSlots(stage.kept + stage.sweeping);
    for (uint32_t slot = 0; slot <= slots; ++slot) {
      least[index(a, a, slot)] = stage.cost * (slot < alone ? 2 : 1);
      choice[index(a, a, slot)] = keepAll;
    }
    for (uint32_t b = a + 1; b < count; ++b)
      for (uint32_t slot = 0; slot <= slots; ++slot) {
        int64_t &best = least[index(a, b, slot)];
        auto consider = [&](uint32_t what, int64_t cost, int64_t rest) {
          if (rest == noCost || cost + rest >= best)
            return;
          best = cost + rest;
          choice[index(a, b, slot)] = what;
        };
        uint32_t kept = toSlots(stage.kept);
        if (kept <= slot)
          consider(keepAll, stage.cost, least[index(a + 1, b, slot - kept)]);
        int64_t passed = 0;
        for (uint32_t next = a + 1; next <= b; ++next) {
          passed += stages[next - 1].cost;
          if (toSlots(stages[next - 1].passing) > slot)
            break;
          uint32_t border = toSlots(stages[next].border);
          int64_t before = least[index(a, next - 1, slot)];
          if (border <= slot && before != noCost)
            consider(next, passed + before,
                     least[index(next, b, slot - border)]);
        }
      }
  }
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Runs those ops of stages `a` to before `until` that have not run, and those
/// again that `wanted` values are made of.
template <typename Wanted>
void StagedRuns::runForward(uint32_t a, uint32_t until, Wanted wanted) {
  const std::vector<Stage> &stages = staging.getStages();
  OpId begin = stages[a].begin, end = stages[until - 1].end;
  std::vector<bool> needed(end - begin, false);
  for (OpId op = end; op-- > begin;) {
    if (!ran[op]) {
      needed[op - begin] = true;
    } else {
      bool makes =
          needed[op - begin] || any_of(graph.results(op), [&](ValueId result) {
            return staging.isStaged(result) && wanted(result);
          });
      needed[op - begin] = makes && !graph.runsOnce(op);
    }
    if (!needed[op - begin])
      continue;
    for (ValueId operand : graph.operands(op)) {
      OpId producer = graph.producer(operand);
      if (staging.isStaged(operand) && producer != noOp && producer >= begin &&
          producer < op)
        needed[producer - begin] = true;
    }
  }
  for (OpId op = begin; op < end; ++op)
    if (needed[op - begin]) {
      plan.run(op);
      ran[op] = true;
    }
}

/// Passes from the border before `a` to that before `until`.
void StagedRuns::pass(uint32_t a, uint32_t until) {
  runForward(a, until, [&](ValueId value) {
    return staging.firstStage(value) < until &&
           staging.lastStage(value) >= until;
  });
}

/// Runs `a` and keeps what its sweep and the next stage read.
void StagedRuns::runStage(uint32_t a) {
  runForward(a, a + 1, [&](ValueId value) {
    return staging.lastStage(value) > a || graph.isReadByBackward(value);
  });
}

bool StagedRuns::run(uint32_t a, uint32_t b, uint32_t slot) {
  uint32_t what = program.getChoice(a, b, slot);
  if (what == StageProgram::none || plan.actions.size() > mostActions)
    return false;
  const std::vector<Stage> &stages = staging.getStages();
  if (what != StageProgram::keepAll) {
    pass(a, what);
    return run(what, b, slot - program.toSlots(stages[what].border)) &&
           run(a, what - 1, slot);
  }
  runStage(a);
  if (a != b && !run(a + 1, b, slot - program.toSlots(stages[a].kept)))
    return false;
  for (OpId op : stages[a].sweep)
    plan.run(op);
  return true;
}

std::optional<Plan> StagedRuns::make(uint32_t slot, size_t most) {
  mostActions = most;
  plan.actions.clear();
  ran.assign(graph.numOps(), false);
  if (!run(0, staging.getStages().size() - 1, slot))
    return std::nullopt;
  return std::move(plan);
}

Expected<Solution> planStages(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  auto inapplicable = [](const char *why) {
    return createStringError(inconvertibleErrorCode(),
                             Twine("planner 'stages' needs ") + why);
  };
  if (!problem.deviceBudget)
    return inapplicable("a budget");
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.mustLeaveForward(value))
      return inapplicable("values that may stay for the backward phase");
  OpId end = graph.firstBackward();
  if (end == graph.numOps() || end < 2)
    return inapplicable("a forward and a backward phase");

  LocalSearch search(graph, options, watch, problem.baseCost());
  int64_t arguments = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.isArgument(value))
      arguments += graph.bytes(value);
  for (uint32_t count : StageDpTuning::counts) {
    if (count > end || search.done())
      break;
    Staging staging(graph, count);
    int64_t memory = *problem.deviceBudget - staging.getHeldBytes() - arguments;
    if (memory <= 0)
      continue;
    // What stages take is not known exactly, in neither direction.
    int64_t slack = std::min(memory / StageDpTuning::slack, INT64_MAX - memory);
    StageProgram program(staging.getStages(), memory + slack);
    StagedRuns runs(graph, staging, program);
    std::optional<Plan> before;
    for (uint32_t step = 0; step < StageDpTuning::steps && !search.done();
         ++step) {
      uint32_t slot = StageProgram::slots -
                      step * StageProgram::slots / StageDpTuning::steps;
      std::optional<Plan> plan =
          runs.make(slot, StageDpTuning::mostRuns * graph.numOps());
      if (!plan)
        break;
      if (before && *before == *plan)
        continue;
      search.adapt(*plan);
      before = std::move(plan);
    }
  }
  if (search.hasPlan())
    search.improve(1.0);
  return search.takeSolution("stages");
}

} // namespace remat::planning
