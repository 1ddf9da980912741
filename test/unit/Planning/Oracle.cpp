//===- Oracle.cpp - the best plan of a tiny problem -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Dijkstra's algorithm over what is where: the ops that have run, and for each
// root whether it is on the device, packed, or on the host. Dropping something
// is a step of its own, free of charge.
//
//===----------------------------------------------------------------------===//

#include "Oracle.h"
#include "Problems.h"

#include "llvm/ADT/DenseMap.h"

#include <algorithm>
#include <queue>
#include <random>

using namespace llvm;

namespace remat::planning {

namespace {
using Set = uint32_t;
constexpr unsigned maxRoots = 10;

/// What is where. A copy is unfit if no backward op may read it: of a
/// MUST_RECOMPUTE value computed in the forward phase, or of a MUST_CPU_OFFLOAD
/// value that did not come from the host.
struct State {
  Set ran = 0; // Ops.
  Set full = 0, packed = 0, host = 0;
  Set fullUnfit = 0, packedUnfit = 0, hostUnfit = 0;
  /// In a free order: no forward op comes any more before a backward one.
  bool isOver = false;

  std::pair<uint64_t, uint64_t> key() const {
    uint64_t key = 0;
    for (Set set : {full, packed, host, fullUnfit, packedUnfit, hostUnfit})
      key = key << maxRoots | set;
    return {key, ran << 1 | Set(isOver)};
  }
};

struct Step {
  ActionKind kind = ActionKind::Run;
  uint32_t id = 0;
  Set absorbed = 0; // Ops.
  bool isDrop = true;
};

class Search {
public:
  explicit Search(const Problem &problem);

  /// Minimizes the cost within a budget, or else the peak.
  std::optional<BestPlan> best(std::optional<int64_t> budget);

private:
  struct Entry {
    int64_t value;
    State from;
    Step step;
    bool done = false;
  };

  using Key = std::pair<uint64_t, uint64_t>;

  static bool has(Set set, unsigned i) { return set >> i & 1; }
  bool isBehindForward(const State &state) const {
    return choosesBorder ? state.isOver : (forward & ~state.ran) == 0;
  }
  bool mayStart(const State &state, OpId op) const;
  int64_t deviceBytes(const State &state) const;
  int64_t hostBytes(Set host) const;
  void push(const State &from, const Step &step, const State &to, int64_t cost,
            int64_t bytes);
  void expand(const State &state);
  void drops(const State &state);
  void runs(const State &state, OpId op);
  Set guardedOf(const State &state, OpId op) const;
  void moves(const State &state, unsigned root);
  bool isGoal(const State &state) const {
    return state.ran + 1 == 1u << problem.ops.size() &&
           (state.full & outputs) == outputs;
  }
  Plan pathTo(State state) const;

  const Problem &problem;
  std::vector<ValueId> roots;         // Their values.
  std::vector<Policy> policies;       // By root.
  std::vector<Set> operands, results; // Of each op.
  std::vector<bool> once;             // By op.
  Set outputs = 0, arguments = 0, guarded = 0;
  Set forward = 0, backward = 0, effects = 0; // Ops.
  /// Whether a plan decides where the backward phase begins, and it matters.
  bool choosesBorder = false;

  std::optional<int64_t> budget;
  DenseMap<Key, Entry> entries;
  using Queued = std::pair<int64_t, Key>;
  std::priority_queue<std::pair<Queued, unsigned>,
                      std::vector<std::pair<Queued, unsigned>>,
                      std::greater<std::pair<Queued, unsigned>>>
      queue;
  std::vector<State> states; // By the number in the queue.
  int64_t valueHere = 0;
};

Search::Search(const Problem &problem) : problem(problem) {
  std::vector<unsigned> indexOf(problem.values.size());
  for (ValueId v = 0; v < problem.values.size(); ++v) {
    const Value &value = problem.values[v];
    if (value.viewOf == noValue) {
      indexOf[v] = roots.size();
      arguments |= Set(value.isArgument) << roots.size();
      roots.push_back(v);
      policies.push_back(Policy::None);
    } else {
      indexOf[v] = indexOf[value.viewOf];
    }
    if (value.policy == Policy::MustSave ||
        value.policy == Policy::MustRecompute ||
        value.policy == Policy::MustCpuOffload)
      policies[indexOf[v]] = value.policy;
    outputs |= Set(value.isOutput) << indexOf[v];
  }
  if (roots.size() > maxRoots || problem.ops.size() > 8)
    abort();
  unsigned firstBackward = problem.ops.size();
  for (OpId op = problem.ops.size(); op-- > 0;) {
    if (problem.ops[op].backward)
      firstBackward = op;
    backward |= Set(problem.ops[op].backward) << op;
    effects |= Set(!problem.ops[op].recomputable) << op;
  }
  forward = (1u << firstBackward) - 1;
  for (auto [id, op] : enumerate(problem.ops)) {
    operands.push_back(0);
    results.push_back(0);
    once.push_back(!op.recomputable);
    for (ValueId v : op.operands)
      operands.back() |= 1u << indexOf[v];
    for (ValueId v : op.results) {
      Policy policy = policies[indexOf[v]];
      results.back() |= 1u << indexOf[v];
      if (!problem.values[v].recomputable || policy == Policy::MustSave ||
          policy == Policy::MustCpuOffload)
        once.back() = true;
      if (backward &&
          ((policy == Policy::MustRecompute && id < firstBackward) ||
           (policy == Policy::MustCpuOffload && !op.backward)))
        guarded |= 1u << indexOf[v];
      choosesBorder |= problem.freeOrder && backward && id < firstBackward &&
                       policy == Policy::MustRecompute;
    }
  }
}

int64_t Search::deviceBytes(const State &state) const {
  int64_t bytes = 0;
  for (unsigned r = 0; r < roots.size(); ++r) {
    const Value &value = problem.values[roots[r]];
    bytes += has(state.full, r) ? value.bytes : 0;
    bytes += has(state.packed, r) ? value.packed->bytes : 0;
  }
  return bytes;
}

int64_t Search::hostBytes(Set host) const {
  int64_t bytes = 0;
  for (unsigned r = 0; r < roots.size(); ++r)
    bytes += has(host, r) ? problem.values[roots[r]].transferBytes : 0;
  return bytes;
}

void Search::push(const State &from, const Step &step, const State &to,
                  int64_t cost, int64_t bytes) {
  if (budget && bytes > *budget)
    return;
  int64_t value = budget ? valueHere + cost : std::max(valueHere, bytes);
  auto [it, added] = entries.try_emplace(to.key(), Entry{value, from, step});
  if (!added) {
    if (it->second.value <= value)
      return;
    it->second = Entry{value, from, step};
  }
  queue.push({{value, to.key()}, unsigned(states.size())});
  states.push_back(to);
}

void Search::drops(const State &state) {
  for (unsigned r = 0; r < roots.size(); ++r) {
    Set bit = 1u << r;
    State to = state;
    if (state.full & bit) {
      to.full &= ~bit;
      to.fullUnfit &= ~bit;
      push(state, Step(), to, 0, 0);
    }
    to = state;
    if (state.packed & bit) {
      to.packed &= ~bit;
      to.packedUnfit &= ~bit;
      push(state, Step(), to, 0, 0);
    }
    to = state;
    if (state.host & bit) {
      to.host &= ~bit;
      to.hostUnfit &= ~bit;
      push(state, Step(), to, 0, 0);
    }
  }
}

/// What `op` must not read unfit: a backward op all that is guarded, others in
/// the backward phase what is MUST_RECOMPUTE.
Set Search::guardedOf(const State &state, OpId op) const {
  if (problem.ops[op].backward)
    return operands[op];
  Set reads = 0;
  for (unsigned r = 0; r < roots.size(); ++r)
    if (policies[r] == Policy::MustRecompute && isBehindForward(state))
      reads |= operands[op] & (1u << r);
  return reads;
}

static bool mayAbsorb(const Problem &problem, OpId host, OpId op) {
  const std::vector<OpId> &absorbers = problem.ops[op].absorbers;
  return absorbers.empty() || llvm::is_contained(absorbers, host);
}

/// `op` runs, with every set of ops that can be absorbed into it.
void Search::runs(const State &state, OpId op) {
  Set candidates = 0;
  for (OpId other = 0; other < op; ++other)
    if (has(state.ran, other) && !once[other] &&
        problem.ops[other].absorbedCost && mayAbsorb(problem, op, other))
      candidates |= 1u << other;
  for (Set absorbed = 0;; absorbed = (absorbed - candidates) & candidates) {
    // From the last to the first: what is still wanted from others. Reading
    // what is absorbed is as good as having it computed just now.
    Set wanted = operands[op], guardedReads = guardedOf(state, op);
    int64_t cost = problem.ops[op].cost;
    bool allRead = true;
    for (OpId other = problem.ops.size(); other-- > 0;) {
      if (!has(absorbed, other))
        continue;
      allRead &= (wanted & results[other]) != 0;
      wanted &= ~results[other];
      guardedReads &= ~results[other];
      wanted |= operands[other];
      guardedReads |= guardedOf(state, other);
      cost += *problem.ops[other].absorbedCost;
    }
    if (allRead && (wanted & ~state.full) == 0 &&
        (guardedReads & state.fullUnfit) == 0) {
      State to = state;
      to.ran |= 1u << op;
      to.full |= results[op];
      // Computed before the first backward op is the next one?
      to.fullUnfit &= ~results[op];
      for (unsigned r = 0; r < roots.size(); ++r)
        if (has(results[op] & guarded, r) &&
            (policies[r] == Policy::MustCpuOffload || !isBehindForward(state)))
          to.fullUnfit |= 1u << r;
      push(state, {ActionKind::Run, op, absorbed, false}, to, cost,
           deviceBytes(to) + problem.ops[op].workspace);
    }
    if (absorbed == candidates)
      return;
  }
}

void Search::moves(const State &state, unsigned r) {
  const Value &value = problem.values[roots[r]];
  Set bit = 1u << r;
  auto assign = [&](Set &set, bool on) { set = on ? set | bit : set & ~bit; };
  if (state.full & bit && !value.isArgument &&
      policies[r] != Policy::MustSave) {
    if (problem.linkBytesPerSecond && value.offloadable) {
      State to = state;
      to.host |= bit;
      assign(to.hostUnfit, state.fullUnfit & bit);
      if (!problem.hostBudget || hostBytes(to.host) <= *problem.hostBudget)
        push(state, {ActionKind::Offload, roots[r], 0, false}, to, 0,
             deviceBytes(to));
    }
    if (value.packed && policies[r] != Policy::MustCpuOffload) {
      State to = state;
      to.packed |= bit;
      assign(to.packedUnfit, state.fullUnfit & bit);
      push(state, {ActionKind::Pack, roots[r], 0, false}, to,
           value.packed->packCost, deviceBytes(to));
    }
  }
  if (state.host & bit) {
    State to = state;
    to.full |= bit;
    assign(to.fullUnfit,
           state.hostUnfit & bit && policies[r] != Policy::MustCpuOffload);
    push(state, {ActionKind::Reload, roots[r], 0, false}, to, 0,
         deviceBytes(to));
  }
  if (state.packed & bit) {
    State to = state;
    to.full |= bit;
    assign(to.fullUnfit, state.packedUnfit & bit);
    push(state, {ActionKind::Unpack, roots[r], 0, false}, to,
         value.packed->unpackCost, deviceBytes(to));
  }
}

/// Whether `op` may run for the first time.
bool Search::mayStart(const State &state, OpId op) const {
  Set missing = ((1u << op) - 1) & ~state.ran;
  if (!problem.freeOrder)
    return !missing;
  if (choosesBorder && !(state.ran & backward) &&
      state.isOver != has(backward, op))
    return false;
  return !has(effects, op) || !(missing & effects);
}

void Search::expand(const State &state) {
  drops(state);
  if (choosesBorder && !state.isOver) {
    State to = state;
    to.isOver = true;
    push(state, Step(), to, 0, 0);
  }
  for (OpId op = 0; op < problem.ops.size(); ++op)
    if (has(state.ran, op) ? !once[op] : mayStart(state, op))
      runs(state, op);
  for (unsigned r = 0; r < roots.size(); ++r)
    moves(state, r);
}

std::optional<BestPlan> Search::best(std::optional<int64_t> limit) {
  budget = limit;
  State start;
  start.full = arguments;
  valueHere = 0;
  push(start, Step(), start, 0, 0);
  while (!queue.empty()) {
    auto [queued, number] = queue.top();
    queue.pop();
    State state = states[number];
    Entry &entry = entries.find(state.key())->second;
    if (entry.done || entry.value < queued.first)
      continue;
    entry.done = true;
    valueHere = entry.value;
    if (isGoal(state))
      return BestPlan{valueHere, pathTo(state)};
    expand(state);
  }
  return std::nullopt;
}

Plan Search::pathTo(State state) const {
  std::vector<Step> steps;
  State start;
  start.full = arguments;
  while (state.key() != start.key()) {
    const Entry &entry = entries.find(state.key())->second;
    if (!entry.step.isDrop)
      steps.push_back(entry.step);
    state = entry.from;
  }
  Plan plan;
  for (const Step &step : reverse(steps)) {
    for (OpId op = 0; op < problem.ops.size(); ++op)
      if (has(step.absorbed, op))
        plan.absorb(op);
    plan.actions.push_back({step.kind, step.id});
  }
  return plan;
}
} // namespace

std::optional<BestPlan> cheapestPlan(const Problem &problem, int64_t budget) {
  return Search(problem).best(budget);
}

std::optional<BestPlan> smallestPlan(const Problem &problem) {
  return Search(problem).best(std::nullopt);
}

/// Whether action `i` makes the full (or packed) form of the root `v`.
static bool makes(const Problem &problem, const Action &action, ValueId v,
                  bool packed) {
  if (packed)
    return action.kind == ActionKind::Pack && action.id == v;
  if (action.kind == ActionKind::Run)
    return problem.values[v].producer == action.id;
  return action.id == v && (action.kind == ActionKind::Reload ||
                            action.kind == ActionKind::Unpack);
}

/// Whether action `i` reads the form of `v` that is on the device.
static bool reads(const Problem &problem, ArrayRef<Action> actions, size_t i,
                  ValueId v, bool packed) {
  const Action &action = actions[i];
  if (packed || !actsOnOp(action.kind))
    return action.id == v && (packed ? action.kind == ActionKind::Unpack
                                     : action.kind == ActionKind::Offload ||
                                           action.kind == ActionKind::Pack);
  // What the same kernel has absorbed before is read there.
  for (size_t k = i; k-- > 0 && actions[k].kind != ActionKind::Run;)
    if (actions[k].kind == ActionKind::Absorb &&
        problem.values[v].producer == actions[k].id)
      return false;
  return any_of(problem.ops[action.id].operands,
                [&](ValueId operand) { return problem.rootOf(operand) == v; });
}

std::vector<int64_t> bytesByDefinition(const Problem &problem,
                                       const Plan &plan) {
  ArrayRef<Action> actions = plan.actions;
  int64_t n = actions.size();
  std::vector<int64_t> bytes(n, 0);
  std::vector<bool> kept(problem.values.size(), false);
  for (ValueId v = 0; v < problem.values.size(); ++v)
    if (problem.values[v].isOutput)
      kept[problem.rootOf(v)] = true;
  auto addLife = [&](ValueId v, bool packed, int64_t begin) {
    // From one copy to the next of its kind, or to the end.
    int64_t last = begin;
    int64_t next = begin + 1;
    for (; next <= n; ++next) {
      if (next == n) {
        if (!packed && kept[v])
          last = n - 1;
        break;
      }
      if (reads(problem, actions, next, v, packed)) {
        last = next;
        // A kernel holds what it has absorbed the reader of.
        while (actions[last].kind == ActionKind::Absorb ||
               (last > next && actions[last].kind != ActionKind::Run))
          ++last;
      }
      if (makes(problem, actions[next], v, packed))
        break;
    }
    // A release is about what the offload before it has read.
    int64_t source = -1;
    for (int64_t i = 0; i < n && !packed; ++i) {
      if (actions[i].id != v)
        continue;
      if (actions[i].kind == ActionKind::Offload)
        source = i;
      if (actions[i].kind == ActionKind::Release && begin < source &&
          source < next)
        last = std::max(last, i);
    }
    for (int64_t i = std::max<int64_t>(begin, 0); i <= last; ++i)
      bytes[i] +=
          packed ? problem.values[v].packed->bytes : problem.values[v].bytes;
  };
  for (ValueId v = 0; v < problem.values.size(); ++v) {
    if (problem.values[v].viewOf != noValue)
      continue;
    if (problem.values[v].isArgument)
      addLife(v, false, -1);
    for (int64_t i = 0; i < n; ++i)
      for (bool packed : {false, true})
        if (makes(problem, actions[i], v, packed))
          addLife(v, packed, i);
  }
  for (int64_t i = 0; i < n; ++i)
    if (actions[i].kind == ActionKind::Run)
      bytes[i] += problem.ops[actions[i].id].workspace;
  return bytes;
}

Problem tinyProblem(uint64_t seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  auto oneIn = [&](unsigned n) { return random() % n == 0; };
  Problem problem;
  problem.name = "tiny" + std::to_string(seed);
  std::vector<ValueId> values = {
      problem.addArgument("x", oneIn(4) ? random() % 5 : 0)};
  unsigned n = 3 + random() % 5, numRoots = 1;
  unsigned firstBackward = 1 + random() % n;
  enum { Plain, Link, Pack, Absorb } extra = decltype(extra)(seed % 4);
  if (extra == Link)
    problem.linkBytesPerSecond = infiniteBandwidth;
  for (unsigned i = 0; i < n; ++i) {
    std::vector<ValueId> operands;
    for (unsigned k = random() % 4; k-- > 0;)
      operands.push_back(values[random() % values.size()]);
    if (operands.empty() || oneIn(2))
      operands.push_back(values.back());
    std::string name = "v" + std::to_string(i);
    OpId op = problem.addOp(name, random() % 8, operands, i >= firstBackward);
    Op &added = problem.ops[op];
    added.workspace = oneIn(4) ? random() % 6 : 0;
    added.recomputable = !oneIn(7);
    if (extra == Absorb && added.recomputable && oneIn(2))
      added.absorbedCost = random() % (added.cost + 1);
    for (unsigned k = oneIn(6) ? random() % 3 : 1; k-- > 0;) {
      if (numRoots + (n - i - 1) >= maxRoots)
        break;
      ++numRoots;
      int64_t bytes = oneIn(8) ? 0 : 1 + random() % 9;
      values.push_back(
          problem.addResult(op, name + "." + std::to_string(k), bytes));
      Value &value = problem.values.back();
      value.isOutput = oneIn(8);
      value.recomputable = !oneIn(20);
      value.offloadable = extra == Link && oneIn(2);
      if (extra == Pack && bytes && oneIn(2))
        value.packed = PackedForm{int64_t(random() % bytes),
                                  int64_t(random() % 3), int64_t(random() % 3)};
    }
    if (oneIn(5))
      values.push_back(problem.addView(values.back(), name + ".view"));
  }
  problem.values[values.back()].isOutput = true;
  if (extra == Link && oneIn(2))
    problem.hostBudget = random() % 12;
  for (Value &value : problem.values) {
    if (!oneIn(4))
      continue;
    value.policy = Policy(random() % 7);
    if (Error error = check(problem)) {
      consumeError(std::move(error));
      value.policy = Policy::None;
    }
  }
  if (seed % 8 == 7)
    limitAbsorbers(problem, random);
  return problem;
}

} // namespace remat::planning
