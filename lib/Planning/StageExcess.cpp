//===- StageExcess.cpp - where several moments leave out the budget -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A solution of the relaxation says what is resident at its moments and what
// runs again between them. Read as a plan, in which that runs as late as it
// can, it may exceed the budget between the moments: there the next relaxation
// has to look.
//
//===----------------------------------------------------------------------===//

#include "StageRelaxation.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

void StageRelaxation::findExcess(size_t stage, ArrayRef<double> assignment,
                                 StageMoments &found) const {
  const Problem &problem = graph.problem;
  OpId begin = cuts[stage], end = lastOf(stage);
  bool isLast = stage + 1 == cuts.size();
  auto isSet = [&](int32_t variable) {
    return variable == always || (variable >= 0 && assignment[variable] > 0.5);
  };
  // Before which first run an op runs again, if it does.
  std::vector<OpId> when(graph.numOps(), noOp);
  // The first or the last time in the stage at which a value is needed.
  auto needOf = [&](ValueId value, bool first) {
    OpId need = noOp;
    auto add = [&](OpId at) {
      if (need == noOp || (first ? at < need : at > need))
        need = at;
    };
    for (OpId reader : graph.readers(value))
      if (reader > begin && reader <= end)
        add(reader);
      else if (reader <= begin && when[reader] != noOp)
        add(when[reader]);
    if (isLast ? graph.isOutput(value) : isSet(resident[stage + 1][value]))
      add(end);
    return need;
  };
  std::vector<OpId> again;
  for (OpId op = begin + 1; op-- > 0;) {
    if (!isSet(runs[stage][op]))
      continue;
    for (ValueId result : graph.results(op))
      if (problem.values[result].viewOf == noValue)
        when[op] = std::min(when[op], needOf(result, /*first=*/true));
    if (when[op] != noOp)
      again.push_back(op);
  }

  // From when to when each value is there, and what is there at first runs.
  std::vector<OpId> from(graph.numValues(), noOp), to(graph.numValues(), 0);
  std::vector<int64_t> there(graph.numOps() + 1, 0);
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (problem.values[value].viewOf != noValue)
      continue;
    OpId start = begin, need = needOf(value, /*first=*/false);
    if (!graph.isArgument(value)) {
      OpId producer = graph.producer(value);
      if (producer > end)
        continue;
      if (producer > begin)
        start = producer;
      else if (when[producer] != noOp)
        start = when[producer];
      else if (!isSet(resident[stage][value]))
        continue;
    }
    from[value] = start;
    to[value] = need == noOp ? start : std::max(start, need);
    there[from[value]] += bytesKept(value);
    there[to[value] + 1] -= bytesKept(value);
  }
  for (OpId op = 1; op < graph.numOps(); ++op)
    there[op] += there[op - 1];

  int64_t most = *problem.deviceBudget;
  OpId cut = noOp, run = noOp;
  for (OpId op = begin + 1; op < end || (isLast && op == end); ++op)
    if (there[op] + problem.ops[op].workspace > most) {
      most = there[op] + problem.ops[op].workspace;
      cut = op;
    }
  for (OpId op : again) {
    // What is there before and after, and what ran again just before, is there
    // while the op does.
    int64_t needed = problem.ops[op].workspace;
    for (ValueId value = 0; value < graph.numValues(); ++value) {
      if (from[value] == noOp)
        continue;
      OpId producer = graph.producer(value);
      bool before =
          from[value] < when[op] || (!graph.isArgument(value) &&
                                     producer <= op && from[value] == when[op]);
      if (is_contained(graph.operands(op), value) ||
          (before && to[value] >= when[op]) || producer == op)
        needed += graph.bytes(value);
    }
    bool atEnd = when[op] == end;
    if (needed <= most ||
        (atEnd && (isLast || is_contained(within, std::pair(end, op)))))
      continue;
    most = needed;
    cut = atEnd ? noOp : when[op];
    run = atEnd ? op : noOp;
  }
  if (cut != noOp)
    found.cuts.push_back(cut);
  if (run != noOp)
    found.within.push_back({end, run});
}

StageMoments StageRelaxation::findExcess(ArrayRef<double> assignment) const {
  StageMoments found;
  for (size_t stage = 0; stage < cuts.size(); ++stage)
    findExcess(stage, assignment, found);
  return found;
}

} // namespace remat::planning
