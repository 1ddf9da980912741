//===- EvictorForms.cpp - packed forms and absorption ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two more ways to bring an evicted value back. A packed form stays behind and
// is unpacked. Or the kernels that read the value compute it themselves, then
// nothing is brought back at all: for as many of the next readers as pays, the
// one behind them gets a new copy.
//
//===----------------------------------------------------------------------===//

#include "Evictor.h"
#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"

#include <queue>

using namespace llvm;

namespace remat::planning {

/// With noise, leaves out a form now and then.
void Evictor::drawForms(const EvictionRanking &ranking) {
  auto draw = [&](bool has) {
    return has && (ranking.noise == 0 || formGenerator() % 4 != 0);
  };
  mayPack = draw(hasPacked);
  mayAbsorb = draw(hasAbsorbed);
}

/// Whether a way that costs `cost` and removes `bytes` is better than another.
static bool isBetter(double cost, int64_t bytes, double otherCost,
                     int64_t otherBytes) {
  return bytes > 0 && (cost + 1e-3) * double(std::max<int64_t>(otherBytes, 1)) <
                          (otherCost + 1e-3) * double(bytes);
}

//===----------------------------------------------------------------------===//
// Packed forms
//===----------------------------------------------------------------------===//

/// Takes the packed form for a way back if that is better than `closure`.
bool Evictor::considerUnpack(ValueId value, const Gap &gap, StepId worst,
                             Closure &closure) const {
  const PackedForm &packed = *problem.values[value].packed;
  if (packed.lossy && !timeline.isBehindForward(gap.to))
    return false;
  int64_t freed = graph.bytes(value);
  auto consider = [&](bool pack, int64_t extended, int64_t cost) {
    if (!isBetter(double(cost), freed - extended, closure.cost,
                  freed - closure.extended))
      return false;
    closure.ops.clear();
    closure.way = Way::Unpack;
    closure.pack = pack;
    closure.extended = extended;
    closure.cost = double(cost);
    closure.complete = true;
    return true;
  };
  bool found =
      consider(true, packed.bytes, packed.packCost + packed.unpackCost);
  uint32_t copy = timeline.copyBefore(timeline.packedForm(value), gap.to);
  // One from before this copy may be what a MUST forbids to read.
  if (copy == Timeline::noCopy ||
      timeline.before(timeline.copy(copy).def, timeline.copy(gap.copy).def))
    return found;
  bool isThere = !timeline.before(timeline.lastUse(copy), worst);
  return consider(false, isThere ? 0 : packed.bytes, packed.unpackCost) ||
         found;
}

void Evictor::applyUnpack(ValueId value, const Gap &gap,
                          const Closure &closure) {
  if (closure.pack)
    timeline.insertPack(value, timeline.next(gap.from));
  timeline.insertUnpack(value, gap.to);
  work.add(8);
}

//===----------------------------------------------------------------------===//
// Absorption
//===----------------------------------------------------------------------===//

/// Works out what it takes that the run at the end of the gap absorbs `root`.
/// What is missing there is absorbed too where that is possible, and otherwise
/// runs again before. Fails when it takes too much.
bool Evictor::evaluateAbsorb(OpId root, int64_t freed, const Gap &gap,
                             StepId worst, int64_t budget,
                             const EvictionRanking &ranking,
                             Absorbed &absorbed) {
  StepId host = gap.to;
  absorbed.inside.clear();
  absorbed.before.clear();
  absorbed.cost = 0;
  absorbed.extended = 0;
  // Readers first, so that it is known of each op who wants it.
  std::priority_queue<std::pair<OpId, bool>> wanted;
  wanted.push({root, false});
  while (!wanted.empty()) {
    auto [op, run] = wanted.top();
    while (!wanted.empty() && wanted.top().first == op)
      wanted.pop();
    // Reading it at a run that comes before needs a copy in memory.
    run |= !graph.canAbsorb(op, timeline.op(host));
    (run ? absorbed.before : absorbed.inside).push_back(op);
    absorbed.cost +=
        double(run ? problem.ops[op].cost : *problem.ops[op].absorbedCost);
    if (absorbed.inside.size() + absorbed.before.size() >
        EvictorTuning::mostAbsorbed)
      return false;
    work.add(2 + 2 * graph.operands(op).size());
    for (ValueId operand : graph.operands(op)) {
      uint32_t copy = timeline.copyBefore(operand, host);
      StepId last = timeline.lastUse(copy);
      OpId producer = graph.producer(operand);
      bool mayRead = timeline.mayReadAgain(copy, host);
      if ((mayRead && !timeline.before(last, host)) ||
          (!run && producer != noOp && timeline.isAbsorbed(producer, host)))
        continue;
      bool kept = mayRead && isKept(operand, copy, freed, gap, budget, ranking);
      if (!kept)
        wanted.push({producer, run});
      // What runs right before is there at the host.
      bool isThere = kept ? timeline.before(last, worst)
                          : host == worst && !run &&
                                !graph.canAbsorb(producer, timeline.op(host));
      if (isThere)
        absorbed.extended += graph.bytes(operand);
    }
  }
  return absorbed.extended < freed;
}

/// Takes absorption for a way back if that is better than `closure`.
bool Evictor::considerAbsorb(ValueId value, const Gap &gap, StepId worst,
                             int64_t budget, const EvictionRanking &ranking,
                             Closure &closure) {
  ArrayRef<StepId> readers = timeline.copy(gap.copy).readers;
  readers = readers.drop_front(llvm::find(readers, gap.to) - readers.begin());
  int64_t freed = graph.bytes(value);
  Gap at = gap;
  Absorbed absorbed;
  Closure rest;
  double cost = 0;
  int64_t extended = 0;
  bool found = false;
  for (uint32_t count = 1;
       count <= readers.size() && count <= EvictorTuning::mostHosts; ++count) {
    at.to = readers[count - 1];
    if (!mayAbsorbAt(value, at.to) ||
        !evaluateAbsorb(graph.producer(value), freed, at, worst, budget,
                        ranking, absorbed))
      break;
    cost += absorbed.cost;
    extended = std::max(extended, absorbed.extended);
    rest.cost = 0;
    rest.extended = 0;
    if (count < readers.size()) {
      at.to = readers[count];
      if (!evaluateCopy(value, freed, at, worst, budget, ranking,
                        std::numeric_limits<double>::infinity(), rest))
        continue;
    }
    int64_t most = std::max(extended, rest.extended);
    if (!isBetter(cost + rest.cost, freed - most, closure.cost,
                  freed - closure.extended))
      continue;
    closure.ops.clear();
    closure.way = Way::Absorb;
    closure.absorbing = count;
    closure.cost = cost + rest.cost;
    closure.extended = most;
    closure.complete = true;
    found = true;
  }
  return found;
}

void Evictor::applyAbsorb(ValueId value, const Gap &gap, StepId worst,
                          int64_t budget, const EvictionRanking &ranking,
                          uint32_t count) {
  SmallVector<StepId, 4> readers = timeline.copy(gap.copy).readers;
  readers.erase(readers.begin(), llvm::find(readers, gap.to));
  int64_t freed = graph.bytes(value);
  Gap at = gap;
  Absorbed absorbed;
  for (StepId host : ArrayRef(readers).take_front(count)) {
    at.to = host;
    evaluateAbsorb(graph.producer(value), freed, at, worst, budget, ranking,
                   absorbed);
    for (OpId op : reverse(absorbed.before))
      timeline.insertRun(op, host);
    for (OpId op : absorbed.inside)
      if (!timeline.isAbsorbed(op, host))
        timeline.insertAbsorb(op, host);
    work.add(8 * (absorbed.before.size() + absorbed.inside.size()));
  }
  if (count == readers.size())
    return;
  at.to = readers[count];
  Closure rest;
  if (evaluateCopy(value, freed, at, worst, budget, ranking,
                   std::numeric_limits<double>::infinity(), rest))
    applyCopy(value, at.to, rest);
}

} // namespace remat::planning
