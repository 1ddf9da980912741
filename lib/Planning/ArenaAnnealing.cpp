//===- ArenaAnnealing.cpp - annealing of runs and addresses ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// There are two kinds of moves. One changes the runs, as `RunAnnealing` does:
// copies that it does not change stay where they are, the others get the lowest
// or the tightest gap. The other one puts a copy to another address; what is in
// the way there is placed anew. Most moves are made where something sticks out
// of the arena that is wanted, and the squares of what sticks out count.
//
//===----------------------------------------------------------------------===//

#include "ArenaAnnealing.h"

#include "remat/Planning/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

static constexpr uint32_t none = ~uint32_t(0);

ArenaAnnealing::ArenaAnnealing(const Graph &graph, Timeline &timeline,
                               Evictor &evictor, WorkMeter &work)
    : graph(graph), timeline(timeline), work(work), generator(evictor.random()),
      runs(graph, timeline, evictor, work) {
  for (OpId op = 0; op < graph.numOps(); ++op)
    if (graph.problem.ops[op].workspace > 0)
      withWorkspace.push_back(op);
}

//===----------------------------------------------------------------------===//
// Items
//===----------------------------------------------------------------------===//

/// Calls `visit(form, def, last, bytes)` for all that takes bytes.
template <typename Visitor>
void ArenaAnnealing::forEachItem(Visitor visit) const {
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    int64_t bytes = timeline.bytes(value);
    if (bytes == 0)
      continue;
    for (uint32_t index : timeline.copies(value)) {
      StepId def = timeline.copy(index).def, last = timeline.lastUse(index);
      // An argument that nobody reads is nowhere.
      if (def != timeline.begin() || last != def)
        visit(value, def, last, bytes);
    }
  }
  if (withWorkspace.empty())
    return;
  for (OpId op : withWorkspace)
    visit(noValue, timeline.firstRun(op), timeline.firstRun(op),
          graph.problem.ops[op].workspace);
  for (StepId step : timeline.repeats())
    if (timeline.kind(step) == StepKind::Run)
      if (int64_t bytes = graph.problem.ops[timeline.op(step)].workspace)
        visit(noValue, step, step, bytes);
}

/// The items of the timeline. Those that are as they were stay where they are.
void ArenaAnnealing::takeItems(StepId moved) {
  next.clear();
  unplaced.clear();
  forEachItem([&](ValueId form, StepId def, StepId last, int64_t bytes) {
    Item item = {form,  def, last, timeline.key(def), timeline.key(last),
                 bytes, -1};
    uint32_t old = def < firstOfStep.size() ? firstOfStep[def] : none;
    while (old != none && current[old].form != form)
      old = nextOfItem[old];
    int64_t usual = old == none ? -1 : current[old].offset;
    if (old != none && current[old].last == last && def != moved &&
        last != moved)
      item.offset = usual;
    else
      unplaced.push_back({uint32_t(next.size()), usual});
    next.push_back(item);
  });
}

/// Of `current`.
void ArenaAnnealing::index() {
  firstOfStep.assign(timeline.numStepIds(), none);
  nextOfItem.assign(current.size(), none);
  high.clear();
  for (auto [number, item] : enumerate(current)) {
    nextOfItem[number] = std::exchange(firstOfStep[item.def], number);
    if (item.top() > wanted)
      high.push_back(number);
  }
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

/// The addresses of what lives together with an item of `next`, in order.
void ArenaAnnealing::collectInTheWay(const Item &item) {
  inTheWay.clear();
  for (const Item &other : next)
    if (other.offset >= 0 && other.from <= item.to && item.from <= other.to &&
        &other != &item)
      inTheWay.emplace_back(other.offset, other.top());
  llvm::sort(inTheWay);
}

/// Where it was, if that is free and does not stick out; or else the lowest or
/// the tightest gap.
int64_t ArenaAnnealing::findPlace(const Item &item, int64_t usual) {
  collectInTheWay(item);
  bool wantsTight = below(2);
  int64_t low = 0, place = -1, tightest = 0;
  bool isFree = usual >= 0 && usual + item.bytes <= wanted;
  auto offerGap = [&](int64_t from, int64_t to) {
    if (to - from < item.bytes)
      return;
    if (place >= 0 && !(wantsTight && to - from < tightest))
      return;
    place = from;
    tightest = to - from;
  };
  for (auto [begin, end] : inTheWay) {
    offerGap(low, begin);
    isFree &= end <= usual || begin >= usual + item.bytes;
    low = std::max(low, end);
  }
  if (isFree)
    return usual;
  offerGap(low, std::max(wanted, low + item.bytes));
  return place;
}

/// Places what has no address, the largest first.
void ArenaAnnealing::placeAll() {
  llvm::sort(unplaced, [&](const auto &a, const auto &b) {
    int64_t ofA = next[a.first].bytes, ofB = next[b.first].bytes;
    return ofA != ofB ? ofA > ofB : a.first < b.first;
  });
  for (auto [number, usual] : unplaced)
    next[number].offset = findPlace(next[number], usual);
}

/// Puts an item to another address. What is in the way gets one, too.
void ArenaAnnealing::tryAddress() {
  if (current.empty())
    return;
  next = current;
  uint32_t number = !high.empty() && below(4) ? high[below(high.size())]
                                              : below(current.size());
  Item &item = next[number];
  collectInTheWay(item);
  int64_t offset = 0;
  if (!inTheWay.empty()) {
    auto [begin, end] = inTheWay[below(inTheWay.size())];
    switch (below(4)) {
    case 0:
      offset = below(4) ? end : 0;
      break;
    case 1:
      offset = begin - item.bytes;
      break;
    case 2:
      offset = begin;
      break;
    default:
      offset = end - item.bytes;
      break;
    }
  }
  offset =
      std::clamp<int64_t>(offset, 0, std::max<int64_t>(0, wanted - item.bytes));
  if (offset == item.offset)
    return;
  item.offset = offset;
  unplaced.clear();
  for (auto [other, entry] : enumerate(next))
    if (other != number && entry.from <= item.to && item.from <= entry.to &&
        entry.offset < item.top() && item.offset < entry.top()) {
      unplaced.push_back({uint32_t(other), -1});
      entry.offset = -1;
    }
  if (unplaced.size() > ArenaAnnealingTuning::mostInTheWay)
    return;
  placeAll();
  decide();
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

double ArenaAnnealing::measure(const Items &items, int64_t &arena) const {
  double sum = 0;
  arena = 0;
  for (const Item &item : items) {
    arena = std::max(arena, item.top());
    if (item.top() > wanted) {
      double excess = double(item.top() - wanted);
      sum += excess * excess;
    }
  }
  return sum / (double(wanted) * double(wanted) + 1) +
         costPrice * double(timeline.cost()) /
             double(graph.problem.baseCost() + 1);
}

/// Takes `next`, if it is better, or not too much worse.
bool ArenaAnnealing::decide() {
  int64_t arena = 0;
  double after = measure(next, arena);
  if (after - energy > -heat * std::log(1 - uniform(generator)))
    return false;
  std::swap(current, next);
  energy = after;
  index();
  if (arena < bestArena || (arena == bestArena && timeline.cost() < bestCost))
    keep(arena);
  return true;
}

bool ArenaAnnealing::accepts(StepId moved) {
  takeItems(moved);
  placeAll();
  return decide();
}

/// A step of what sticks out.
StepId ArenaAnnealing::pickStep() {
  if (current.empty())
    return timeline.peakStep();
  const Item &item = high.empty() ? current[below(current.size())]
                                  : current[high[below(high.size())]];
  for (unsigned i = 0; i < ArenaAnnealingTuning::stepTries; ++i) {
    const Item &other = current[below(current.size())];
    if (timeline.before(item.def, other.def) &&
        timeline.before(other.def, item.last))
      return other.def;
  }
  return below(2) ? item.def : item.last;
}

void ArenaAnnealing::keep(int64_t arena) {
  bestArena = arena;
  bestCost = timeline.cost();
  best = timeline.plan();
  bestItems = current;
}

//===----------------------------------------------------------------------===//
// Rounds
//===----------------------------------------------------------------------===//

void ArenaAnnealing::setWanted(int64_t bytes) {
  wanted = bytes;
  int64_t arena = 0;
  energy = measure(current, arena);
  index();
}

void ArenaAnnealing::load(const Plan &plan, ArrayRef<int64_t> offsets) {
  timeline.load(plan);
  Simulation simulation = cantFail(simulate(graph.problem, plan));
  std::vector<SmallVector<int64_t, 2>> ofValues(graph.numValues());
  for (auto [copy, offset] : zip(simulation.copies, offsets))
    ofValues[copy.value].push_back(offset);
  next.clear();
  unplaced.clear();
  firstOfStep.clear();
  std::vector<size_t> seen(graph.numValues(), 0);
  takeItems(noStep);
  unplaced.clear();
  for (auto [number, item] : enumerate(next)) {
    if (item.form != noValue && seen[item.form] < ofValues[item.form].size())
      item.offset = ofValues[item.form][seen[item.form]++];
    else
      unplaced.push_back({uint32_t(number), -1});
  }
  placeAll();
  std::swap(current, next);
  bestArena = 0;
  for (const Item &item : current)
    bestArena = std::max(bestArena, item.top());
  keep(bestArena);
  setWanted(bestArena);
}

/// Goes back to the best plan.
void ArenaAnnealing::restart() {
  Plan plan = best;
  std::vector<int64_t> offsets = getOffsets();
  load(plan, offsets);
}

std::vector<int64_t> ArenaAnnealing::getOffsets() const {
  Simulation simulation = cantFail(simulate(graph.problem, best));
  std::vector<SmallVector<int64_t, 2>> ofValues(graph.numValues());
  std::vector<std::pair<uint64_t, int64_t>> workspaces;
  for (const Item &item : bestItems)
    if (item.form == noValue)
      workspaces.push_back({item.from, item.offset});
    else
      ofValues[item.form].push_back(item.offset);
  llvm::sort(workspaces);
  std::vector<size_t> seen(graph.numValues(), 0);
  std::vector<int64_t> offsets;
  for (const Copy &copy : simulation.copies) {
    ArrayRef<int64_t> known = ofValues[copy.value];
    offsets.push_back(
        seen[copy.value] < known.size() ? known[seen[copy.value]++] : 0);
  }
  for (auto [at, offset] : workspaces)
    offsets.push_back(offset);
  return offsets;
}

void ArenaAnnealing::wantLess() {
  setWanted(bestArena -
            std::max<int64_t>(1, bestArena / ArenaAnnealingTuning::step));
}

/// One round, from the state at hand.
void ArenaAnnealing::anneal(double firstHeat, bool lowersArena, double share) {
  constexpr size_t moves = ArenaAnnealingTuning::moves;
  for (size_t i = 0; i < moves && !isOver(share); ++i) {
    double left = 1 - double(i) / double(moves);
    heat = firstHeat * left * left;
    if (lowersArena && bestArena <= wanted)
      wantLess();
    if (below(ArenaAnnealingTuning::mixture) <
        ArenaAnnealingTuning::addressMoves)
      tryAddress();
    else
      runs.tryChange(*this);
    work.add(ArenaAnnealingTuning::moveSteps + current.size() / 2);
  }
}

void ArenaAnnealing::lowerArena(double share, size_t patience) {
  costPrice = ArenaAnnealingTuning::lowPrice;
  for (size_t fruitless = 0; fruitless < patience && !isOver(share);) {
    int64_t before = bestArena;
    restart();
    wantLess();
    anneal(ArenaAnnealingTuning::heat, /*lowersArena=*/true, share);
    fruitless = bestArena < before ? 0 : fruitless + 1;
  }
}

void ArenaAnnealing::lowerCost(double share) {
  costPrice = ArenaAnnealingTuning::highPrice;
  for (size_t fruitless = 0;
       fruitless < ArenaAnnealingTuning::costPatience && !isOver(share);) {
    int64_t before = bestCost;
    restart();
    setWanted(bestArena);
    anneal(ArenaAnnealingTuning::costHeat, /*lowersArena=*/false, share);
    fruitless = bestCost < before ? 0 : fruitless + 1;
  }
}

} // namespace remat::planning
