//===- Evictor.cpp - evicting values until a plan fits --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Candidates for an eviction are the values that are idle at the worst step.
// They stand in a heap by a lower bound of their rank, which only the best are
// evaluated exactly for.
//
//===----------------------------------------------------------------------===//

#include "Evictor.h"
#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

std::vector<EvictionRanking> systematicRankings(const Graph &graph) {
  ArrayRef<double> weights(EvictorTuning::transferWeights);
  if (graph.problem.linkBytesPerSecond <= 0)
    weights = weights.take_front();
  std::vector<EvictionRanking> rankings;
  for (double weight : weights)
    for (bool keepWhereItFits : {true, false})
      for (double keepRatio : EvictorTuning::keepRatios) {
        EvictionRanking ranking;
        ranking.keepRatio = keepRatio;
        ranking.keepWhereItFits = keepWhereItFits;
        ranking.transferWeight = weight;
        rankings.push_back(ranking);
      }
  return rankings;
}

bool TriedRankings::wouldRepeat(const EvictionRanking &ranking) const {
  return llvm::any_of(tried, [&](const auto &pair) {
    const EvictionRanking &other = pair.first;
    return other.keepWhereItFits == ranking.keepWhereItFits &&
           other.rankByArea == ranking.rankByArea && other.noise == 0 &&
           ranking.noise == 0 &&
           other.transferWeight == ranking.transferWeight &&
           pair.second.wouldBeSame(ranking.keepRatio);
  });
}

EvictionRanking randomRanking(std::mt19937_64 &generator) {
  EvictionRanking ranking;
  ranking.keepRatio =
      EvictorTuning::keepRatios[generator() %
                                std::size(EvictorTuning::keepRatios)];
  ranking.keepWhereItFits = generator() % 4 != 0;
  ranking.noise = generator() % 2 ? 0.5 : 2.0;
  ranking.rankByArea = generator() % 3 != 0;
  ranking.transferWeight =
      EvictorTuning::transferWeights[generator() %
                                     std::size(EvictorTuning::transferWeights)];
  return ranking;
}

Evictor::Evictor(const Graph &graph, Timeline &timeline, WorkMeter &work,
                 uint64_t seed)
    : graph(graph), problem(graph.problem), hostRoom(problem.hostRoom()),
      timeline(timeline), work(work), generator(seed),
      leastCosts(graph.numValues(), 0), formGenerator(seed + 1),
      visited(graph.numOps(), 0) {
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (graph.bytes(value) <= 0 || graph.isArgument(value) ||
        problem.values[value].viewOf != noValue)
      continue;
    OpId op = graph.producer(value);
    bool packs = graph.canPack(value);
    if (!graph.runsOnce(op) || graph.canOffload(value) || packs)
      evictable.push_back(value);
    double &least = leastCosts[value];
    if (!graph.runsOnce(op))
      least = double(problem.ops[op].cost);
    if (graph.canAbsorb(op)) {
      hasAbsorbed = true;
      least = std::min(least, double(*problem.ops[op].absorbedCost));
    }
    if (packs) {
      hasPacked = true;
      least = std::min(least, double(problem.values[value].packed->unpackCost));
    }
  }
  if (hasPacked)
    for (size_t i = 0, count = evictable.size(); i < count; ++i)
      if (ValueId value = evictable[i];
          graph.canPack(value) && problem.values[value].packed->bytes > 0)
        evictable.push_back(timeline.packedForm(value));
  drops.assign(graph.numValues() * (hasPacked ? 2 : 1), 0);
}

//===----------------------------------------------------------------------===//
// Looking around
//===----------------------------------------------------------------------===//

/// Finds the gap of a form that spans `at`: alive there, but not in use; or in
/// use by a run that may absorb it, then `at` is the gap's end.
bool Evictor::findGap(ValueId form, StepId at, Gap &gap) const {
  ArrayRef<uint32_t> copies = timeline.copies(form);
  uint64_t position = timeline.key(at);
  size_t i = copies.size();
  while (i > 0 && timeline.key(timeline.copy(copies[i - 1]).def) >= position)
    --i;
  if (i == 0 || (i < copies.size() && timeline.copy(copies[i]).def == at))
    return false;
  const TimelineCopy &copy = timeline.copy(copies[i - 1]);
  bool mayBeUsed = mayAbsorbAt(form, at);
  if (copy.readers.empty() ||
      timeline.key(copy.readers.back()) < position + !mayBeUsed)
    return false;
  auto after = llvm::partition_point(copy.readers, [&](StepId reader) {
    return timeline.key(reader) < position;
  });
  if (*after == at && !mayBeUsed)
    return false;
  gap.copy = copies[i - 1];
  gap.from = after == copy.readers.begin() ? copy.def : *std::prev(after);
  gap.to = *after;
  return true;
}

void Evictor::collectViolations(int64_t budget) {
  overKeys.clear();
  overBytes.clear();
  overSums.assign(1, 0);
  timeline.forEachAbove(budget, [&](StepId step, int64_t bytes) {
    overKeys.push_back(timeline.key(step));
    overBytes.push_back(bytes - budget);
    overSums.push_back(overSums.back() + bytes - budget);
  });
  work.add(1 + overKeys.size() / 4);
}

/// Bytes times steps above the budget that an eviction would remove.
double Evictor::violationWithin(const Gap &gap, int64_t bytes) const {
  size_t from =
      llvm::upper_bound(overKeys, timeline.key(gap.from)) - overKeys.begin();
  size_t to =
      llvm::lower_bound(overKeys, timeline.key(gap.to)) - overKeys.begin();
  if (to <= from)
    return 0;
  if (to - from > 64)
    return std::min(double(overSums[to] - overSums[from]),
                    double(bytes) * double(to - from));
  double sum = 0;
  for (size_t i = from; i < to; ++i)
    sum += double(std::min(bytes, overBytes[i]));
  return sum;
}

/// Whether a missing operand stays alive up to the recomputation.
bool Evictor::isKept(ValueId operand, uint32_t copy, int64_t freed,
                     const Gap &gap, int64_t budget,
                     const EvictionRanking &ranking) {
  if (graph.isArgument(operand) || graph.runsOnce(graph.producer(operand)))
    return true;
  double bytes = double(graph.bytes(operand));
  if (decisions.decide(bytes, double(freed), ranking.keepRatio))
    return true;
  if (!ranking.keepWhereItFits)
    return false;
  StepId last = timeline.lastUse(copy);
  int64_t room = budget - graph.bytes(operand);
  if (!timeline.before(last, gap.from) && bytes <= double(freed))
    room += freed;
  work.addBeyondEffort(EvictorTuning::scanSteps);
  return timeline.firstAbove(last, gap.to, room) == noStep;
}

/// The price of bringing `value` back from the host; infinite if it may not be
/// there.
double Evictor::reloadCost(ValueId value,
                           const EvictionRanking &ranking) const {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!graph.canOffload(value) || graph.policy(value) == Policy::MustRecompute)
    return never;
  int64_t bytes = problem.values[value].transferBytes;
  bool onHost = timeline.isOnHost(value);
  if (!onHost && timeline.hostBytes() + bytes > hostRoom)
    return never;
  double transfers = onHost ? 1 : 2;
  return transfers * ranking.transferWeight *
         double(problem.transferTime(bytes));
}

/// Works out what an eviction takes, at least up to a cost of `costLimit`.
/// Fails when it would not help at `worst`.
bool Evictor::evaluate(ValueId form, const Gap &gap, StepId worst,
                       int64_t budget, const EvictionRanking &ranking,
                       double costLimit, Closure &closure) {
  ValueId value = valueOf(form);
  // What is in use has to be absorbed.
  bool found =
      gap.to != worst && evaluateCopy(value, timeline.bytes(form), gap, worst,
                                      budget, ranking, costLimit, closure);
  if (isPackedForm(form))
    return found;
  if (!found)
    closure.cost = std::numeric_limits<double>::infinity();
  if (mayPack && graph.canPack(value) && gap.to != worst)
    found |= considerUnpack(value, gap, worst, closure);
  if (mayAbsorbAt(value, gap.to))
    found |= considerAbsorb(value, gap, worst, budget, ranking, closure);
  return found;
}

/// The same for a new copy of `value` at the end of the gap, recomputed or
/// reloaded, where `freed` bytes go.
bool Evictor::evaluateCopy(ValueId value, int64_t freed, const Gap &gap,
                           StepId worst, int64_t budget,
                           const EvictionRanking &ranking, double costLimit,
                           Closure &closure) {
  closure.way = Way::Rerun;
  closure.ops.clear();
  closure.cost = 0;
  closure.extended = 0;
  closure.complete = true;
  OpId root = graph.producer(value);
  double reload = reloadCost(value, ranking);
  auto useReload = [&] {
    closure.ops.clear();
    closure.extended = 0;
    closure.cost = reload;
    closure.complete = true;
    closure.way = Way::Reload;
    return std::isfinite(reload);
  };
  if (graph.runsOnce(root) ||
      (graph.policy(value) == Policy::PreferCpuOffload &&
       std::isfinite(reload)))
    return useReload();
  // Ops are listed before what they need, level by level.
  ++visit;
  visited[root] = visit;
  closure.ops.push_back(root);
  for (size_t i = 0; i < closure.ops.size(); ++i) {
    OpId op = closure.ops[i];
    closure.cost += double(problem.ops[op].cost);
    if (closure.cost > reload)
      return useReload();
    if (closure.cost > costLimit) {
      closure.complete = false;
      return true;
    }
    work.add(1 + graph.operands(op).size());
    work.addBeyondEffort(EvictorTuning::lookupSteps *
                         graph.operands(op).size());
    for (ValueId operand : graph.operands(op)) {
      OpId producer = graph.producer(operand);
      if (producer != noOp && visited[producer] == visit)
        continue;
      uint32_t copy = timeline.copyBefore(operand, gap.to);
      StepId last = timeline.lastUse(copy);
      bool mayRead = timeline.mayReadAgain(copy, gap.to);
      if (mayRead && !timeline.before(last, gap.to))
        continue;
      if (!mayRead || !isKept(operand, copy, freed, gap, budget, ranking)) {
        visited[producer] = visit;
        closure.ops.push_back(producer);
        continue;
      }
      if (timeline.before(last, worst))
        closure.extended += graph.bytes(operand);
      if (closure.extended >= freed)
        return useReload();
    }
  }
  return true;
}

/// Makes the new copy of `evaluateCopy` before a step.
void Evictor::applyCopy(ValueId value, StepId before, Closure &closure) {
  if (closure.way == Way::Reload) {
    timeline.insertReload(value, before);
    return;
  }
  // Ids are in a valid order.
  llvm::sort(closure.ops);
  for (OpId op : closure.ops)
    timeline.insertRun(op, before);
  work.add(8 * closure.ops.size());
}

void Evictor::apply(ValueId form, const Gap &gap, StepId worst, int64_t budget,
                    const EvictionRanking &ranking, Closure &closure) {
  if (drops[form]++ == 0)
    dropped.push_back(form);
  ++version;
  ValueId value = valueOf(form);
  if (isPackedForm(form)) {
    // A new copy takes the place of what the gap's end unpacks.
    applyCopy(value, timeline.next(gap.to), closure);
    if (timeline.isRemovable(gap.to))
      timeline.remove(gap.to);
    return;
  }
  switch (closure.way) {
  case Way::Rerun:
  case Way::Reload:
    return applyCopy(value, gap.to, closure);
  case Way::Unpack:
    return applyUnpack(value, gap, closure);
  case Way::Absorb:
    return applyAbsorb(value, gap, worst, budget, ranking, closure.absorbing);
  }
}

bool Evictor::evict(ValueId value, StepId at, const EvictionRanking &ranking,
                    int64_t budget) {
  Gap gap;
  Closure closure;
  drawForms(ranking);
  if (!findGap(value, at, gap) ||
      !evaluate(value, gap, at, budget, ranking,
                std::numeric_limits<double>::infinity(), closure))
    return false;
  apply(value, gap, at, budget, ranking, closure);
  return true;
}

bool Evictor::evictSome(const EvictionRanking &ranking, int64_t budget) {
  for (size_t tries = 0;
       tries < EvictorTuning::evictionTries && !evictable.empty(); ++tries) {
    ValueId form = evictable[generator() % evictable.size()];
    ArrayRef<uint32_t> copies = timeline.copies(form);
    if (copies.empty())
      continue;
    const TimelineCopy &copy =
        timeline.copy(copies[generator() % copies.size()]);
    if (copy.readers.empty())
      continue;
    size_t index = generator() % copy.readers.size();
    StepId to = copy.readers[index];
    StepId from = index == 0 ? copy.def : copy.readers[index - 1];
    work.add(2);
    if (to == timeline.next(from) || double(timeline.maxBetween(from, to)) <
                                         EvictorTuning::tight * double(budget))
      continue;
    if (evict(form, timeline.previous(to), ranking, budget))
      return true;
  }
  return false;
}

double Evictor::preferenceFactor(ValueId value) const {
  switch (graph.policy(value)) {
  case Policy::PreferSave:
    return EvictorTuning::preference;
  case Policy::PreferRecompute:
  case Policy::PreferCpuOffload:
    return 1 / EvictorTuning::preference;
  default:
    return 1;
  }
}

//===----------------------------------------------------------------------===//
// Fitting
//===----------------------------------------------------------------------===//

/// Evicts until `worst` is within the budget.
bool Evictor::relieve(StepId worst, int64_t budget,
                      const EvictionRanking &ranking) {
  heap.clear();
  collectViolations(budget);
  size_t sinceCollected = 0;
  int64_t over = timeline.bytesAt(worst) - budget;
  for (ValueId form : evictable) {
    Gap gap;
    if (!findGap(form, worst, gap))
      continue;
    ValueId value = valueOf(form);
    double factor =
        preferenceFactor(value) *
        (1 + (ranking.noise > 0 ? ranking.noise * uniform(generator) : 0));
    double cost = std::min(leastCosts[value], reloadCost(value, ranking));
    double there = double(std::min(timeline.bytes(form), over));
    double removed = ranking.rankByArea
                         ? violationWithin(gap, timeline.bytes(form)) +
                               (gap.to == worst ? there : 0)
                         : there;
    heap.push_back({cost / std::max(removed, 1.0) * factor, form, factor, 0});
  }
  work.add(evictable.size() / 4 + heap.size());
  std::make_heap(heap.begin(), heap.end());
  Closure closure;
  while (timeline.bytesAt(worst) > budget) {
    if (heap.empty() || work.overdrawn())
      return false;
    std::pop_heap(heap.begin(), heap.end());
    Candidate candidate = heap.back();
    heap.pop_back();
    Gap gap;
    if (!findGap(candidate.form, worst, gap))
      continue;
    bool exact = candidate.version == version;
    double factor = candidate.factor * (1 + drops[candidate.form]);
    over = timeline.bytesAt(worst) - budget;
    auto removedBy = [&](int64_t bytes) {
      double there = double(std::min(bytes, over));
      return ranking.rankByArea
                 ? violationWithin(gap, bytes) + (gap.to == worst ? there : 0)
                 : there;
    };
    double removed = removedBy(timeline.bytes(candidate.form));
    // There is no need to know exactly what is worse than the next.
    double costLimit = std::numeric_limits<double>::infinity();
    if (!exact && !heap.empty() && removed > 0)
      costLimit =
          2 * std::max(heap.front().rank, candidate.rank) * removed / factor +
          2 * double(problem.ops[graph.producer(valueOf(candidate.form))].cost);
    if (!evaluate(candidate.form, gap, worst, budget, ranking, costLimit,
                  closure))
      continue;
    if (exact) {
      apply(candidate.form, gap, worst, budget, ranking, closure);
      if (overKeys.size() < EvictorTuning::longList ||
          ++sinceCollected % EvictorTuning::collectionInterval == 0)
        collectViolations(budget);
      continue;
    }
    if (closure.extended > 0)
      removed = removedBy(timeline.bytes(candidate.form) - closure.extended);
    candidate.rank = (closure.cost + 1e-3) / std::max(removed, 1e-3) * factor;
    candidate.version = closure.complete ? version : 0;
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end());
  }
  return true;
}

bool Evictor::fit(int64_t budget, const EvictionRanking &ranking,
                  size_t repeatLimit) {
  for (ValueId form : dropped)
    drops[form] = 0;
  dropped.clear();
  drawForms(ranking);
  size_t rounds =
      EvictorTuning::leastRounds + EvictorTuning::roundsPerOp * graph.numOps();
  repeatLimit =
      std::min(repeatLimit, EvictorTuning::repeatsPerOp * graph.numOps() +
                                EvictorTuning::leastRepeats);
  while (timeline.peak() > budget) {
    if (rounds-- == 0 || timeline.repeats().size() > repeatLimit ||
        work.overdrawn() || !relieve(timeline.peakStep(), budget, ranking))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Pruning
//===----------------------------------------------------------------------===//

/// A step between two at which there is no room for what `step` makes, if the
/// copy before lives up to there instead and what `step` reads does not.
StepId Evictor::findBlocker(StepId step, const TimelineCopy &made,
                            int64_t budget) {
  struct Gain {
    StepId after;
    int64_t bytes;
  };
  StepId last = timeline.lastUse(timeline.copyBefore(made.value, step));
  int64_t room = budget - timeline.bytes(made.value);
  SmallVector<ValueId, 8> buffer;
  ArrayRef<ValueId> reads = timeline.reads(step, buffer);
  // Where there was no room, there often still is none.
  StepId known = blockers[step];
  bool mayBlock = known < timeline.numStepIds() && timeline.isAlive(known) &&
                  timeline.kind(known) != StepKind::Absorb &&
                  timeline.before(last, known) && timeline.before(known, step);
  if (mayBlock) {
    int64_t excess = timeline.bytesAt(known) - room;
    for (ValueId operand : reads)
      excess -= graph.bytes(operand);
    if (excess > 0)
      return known;
  }
  SmallVector<Gain, 8> gains;
  int64_t most = 0;
  for (ValueId operand : reads) {
    const TimelineCopy &copy =
        timeline.copy(timeline.copyBefore(operand, step));
    if (copy.readers.back() != step || graph.bytes(operand) == 0)
      continue;
    size_t others = copy.readers.size() - 1;
    gains.push_back(
        {others ? copy.readers[others - 1] : copy.def, graph.bytes(operand)});
    most += graph.bytes(operand);
  }
  auto blocks = [&](StepId at) {
    int64_t excess = timeline.bytesAt(at) - room;
    if (excess > most)
      return true;
    for (const Gain &gain : gains)
      if (timeline.before(gain.after, at))
        excess -= gain.bytes;
    return excess > 0;
  };
  if (mayBlock && blocks(known))
    return known;
  StepId at = timeline.firstAbove(last, step, room);
  while (at != noStep && !blocks(at))
    at = timeline.firstAbove(at, step, room);
  return blockers[step] = at;
}

/// Whether the timeline fits without `step`; if so, it is without it.
bool Evictor::canRemove(StepId step, int64_t budget) {
  // Another removal may have made it necessary.
  if (!timeline.isRemovable(step))
    return false;
  work.add(2);
  ArrayRef<uint32_t> made = timeline.copiesMadeBy(step);
  // What is absorbed, packed or unpacked has more effects than one.
  bool isSimple = (timeline.kind(step) == StepKind::Run &&
                   timeline.absorptions(step).empty()) ||
                  timeline.kind(step) == StepKind::Reload;
  if (isSimple && made.size() <= 1) {
    if (made.size() == 1 && !timeline.copy(made[0]).readers.empty() &&
        findBlocker(step, timeline.copy(made[0]), budget) != noStep)
      return false;
    work.add(4);
    timeline.remove(step);
    return true;
  }
  work.add(8);
  size_t mark = timeline.mark();
  timeline.remove(step);
  if (timeline.peak() <= budget)
    return true;
  timeline.rollback(mark);
  return false;
}

void Evictor::prune(int64_t budget, double noise, ArrayRef<StepId> newest) {
  struct Repeat {
    double cost;
    uint64_t key;
    StepId step;
  };
  std::vector<Repeat> order;
  bool changed = true;
  blockers.resize(timeline.numStepIds(), noStep);
  std::vector<bool> isNewest(timeline.numStepIds(), false);
  for (StepId step : newest)
    if (step < isNewest.size())
      isNewest[step] = true;
  // What is not pruned is legal, too: a second look is for those with time.
  for (unsigned pass = 0; changed && !work.overdrawn(); ++pass) {
    if (pass > 0 && work.exhausted())
      return;
    changed = false;
    order.clear();
    for (StepId step : timeline.repeats()) {
      if (!timeline.isRemovable(step))
        continue;
      int64_t cost = timeline.costOf(step);
      double factor = noise > 0 ? 1 + noise * uniform(generator) : 1;
      order.push_back({isNewest[step] ? -1.0 : double(cost) * factor,
                       timeline.key(timeline.anchor(step)), step});
    }
    llvm::sort(order, [](const Repeat &a, const Repeat &b) {
      return a.cost != b.cost ? a.cost > b.cost : a.key < b.key;
    });
    work.add(order.size());
    for (const Repeat &repeat : order)
      if (canRemove(repeat.step, budget))
        changed = true;
  }
}

} // namespace remat::planning
