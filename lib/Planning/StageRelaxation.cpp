//===- StageRelaxation.cpp - several moments of a plan at once ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With moments t_1 < t_2 < ... and stage i from t_i to t_i+1:
//
//   K[i,v] = 1 iff v is resident at t_i,  R[i,p] = 1 iff p runs again in stage
//   i
//
//   K[i+1,v] <= K[i,v] + R[i,p of v]             if v was made before t_i
//   R[i,q]   <= K[i,u] + R[i,p of u]             for u read by q
//   1        <= K[i,u] + R[i,p of u]             for u read by a first run
//   sum of bytes at t_i                          is at most the budget
//   sum over v of (K[i+1,v] - R[i,p of v]) + what q needs    likewise: a value
//       that is there at the end of a stage and was not made in it has been
//       there while q ran; what t_i+1 reads is there at the end
//
// A half of a run in each of two stages needs half of its operands in each, so
// without integers that says less than one moment alone. With A[i,p] = 1 iff p
// runs again behind t_i, in whichever stage, it says at least as much:
//
//   A[i,p]   <= R[i,p] + A[i+1,p]
//   A[i,q]   <= K[i,u] + A[i,p of u]             for u read by q
//   1        <= K[i,u] + A[i,p of u]             for u read by a first run
//                                                behind t_i
//
// Likewise, where a moment is added within a stage, the rows of the stage are
// still there, about what runs again in either of its parts: of what is asked
// at the moments, a relaxation of more of them says no less.
//
// For chosen pairs of a stage and an op q, more is asked of the last time that
// q runs again in it. With B[p] = 1 iff p runs again behind that, S[v] = 1 iff
// v is there while q runs:
//
//   B[p]     <= R[i,p]
//   S[v]     >= K[i+1,v] - B[p of v]
//   S[u]     >= B[p] - B[p of u]                 for u read by p
//   sum of bytes of S[v] + what q needs          at most the budget
//
//===----------------------------------------------------------------------===//

#include "StageRelaxation.h"
#include "SearchTuning.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;

namespace remat::planning {

void StageMoments::add(const StageMoments &more) {
  for (size_t stage = 0; stage + 1 < cuts.size(); ++stage)
    if (llvm::any_of(more.cuts, [&](OpId cut) {
          return cuts[stage] < cut && cut < cuts[stage + 1];
        }))
      joined.push_back({cuts[stage], cuts[stage + 1]});
  llvm::append_range(cuts, more.cuts);
  llvm::append_range(within, more.within);
  llvm::sort(cuts);
}

StageRelaxation::StageRelaxation(const Graph &graph, const CutCosts &costs,
                                 StageMoments moments)
    : graph(graph), costs(costs), cuts(std::move(moments.cuts)),
      within(std::move(moments.within)), joined(std::move(moments.joined)) {
  byteStep = *graph.problem.deviceBudget;
  for (const Value &value : graph.problem.values) {
    byteStep = std::gcd(byteStep, value.bytes);
    if (value.packed)
      byteStep = std::gcd(byteStep, value.packed->bytes);
  }
  for (const Op &op : graph.problem.ops)
    byteStep = std::gcd(byteStep, op.workspace);
  byteStep = std::max<int64_t>(byteStep, 1);
  resident.resize(cuts.size());
  runs.resize(cuts.size());
  for (size_t stage = 0; stage < cuts.size(); ++stage)
    addMoment(stage);
  for (size_t stage = 0; stage < cuts.size(); ++stage)
    addStage(stage);
  std::vector<int32_t> later;
  for (size_t stage = cuts.size(); stage-- > 0;)
    if (later.empty())
      later = runs[stage];
    else
      addSuffix(stage, later);
  for (auto [begin, end] : joined)
    addJoined(llvm::find(cuts, begin) - cuts.begin(),
              llvm::find(cuts, end) - cuts.begin());
}

/// The least that a value takes while nobody reads it.
int64_t StageRelaxation::bytesKept(ValueId value) const {
  if (graph.canOffload(value))
    return 0;
  const Value &data = graph.problem.values[value];
  return graph.canPack(value) ? std::min(data.bytes, data.packed->bytes)
                              : data.bytes;
}

/// Variables, and what fits at the moment.
void StageRelaxation::addMoment(size_t stage) {
  const Problem &problem = graph.problem;
  OpId op = cuts[stage];
  std::vector<int32_t> &at = resident[stage];
  at.assign(graph.numValues(), none);
  runs[stage].assign(graph.numOps(), none);
  for (OpId run = 0; run <= op; ++run)
    if (costs.canRunAgain(run))
      runs[stage][run] = program.addVariable(
          double(costs.runAgain(run) / costs.step), /*integer=*/true);

  int64_t room = *problem.deviceBudget - problem.ops[op].workspace;
  for (ValueId result : graph.results(op)) {
    room -= graph.bytes(result);
    at[result] = always;
  }
  for (ValueId operand : graph.operands(op)) {
    if (!graph.isArgument(operand) &&
        graph.isAbsorber(op, graph.producer(operand)))
      continue;
    room -= graph.bytes(operand);
    at[operand] = always;
  }
  std::vector<Term> memory;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (problem.values[value].viewOf != noValue || at[value] == always)
      continue;
    if (graph.isArgument(value)) {
      ArrayRef<OpId> readers = graph.readers(value);
      at[value] = always;
      // It cannot come back; its readers to come need it now.
      if (graph.isOutput(value) || (!readers.empty() && readers.back() > op))
        room -= graph.bytes(value);
      continue;
    }
    if (graph.producer(value) >= op)
      continue;
    int64_t bytes = bytesKept(value);
    at[value] = bytes ? program.addVariable(0.0, /*integer=*/true) : always;
    if (bytes)
      memory.push_back({at[value], units(bytes)});
  }
  if (!memory.empty())
    program.addRow(memory, units(room));
}

/// `value` is resident at the beginning of the stage or made by one of `again`
/// if `reader` (a variable, or `always`) is set.
void StageRelaxation::addNeed(size_t stage, ValueId value, int32_t reader,
                              ArrayRef<int32_t> again) {
  int32_t kept = resident[stage][value];
  if (kept == always || graph.producer(value) > cuts[stage])
    return;
  int32_t run = again[graph.producer(value)];
  std::vector<Term> row = {{kept, -1.0}};
  if (run != none)
    row.push_back({run, -1.0});
  if (reader != always)
    row.push_back({reader, 1.0});
  program.addRow(row, reader == always ? -1.0 : 0.0);
}

/// What is read in the stages from `stage` to `next`, which may be the end of
/// the plan, by first runs and by `again`.
void StageRelaxation::addNeeds(size_t stage, size_t next,
                               ArrayRef<int32_t> again) {
  OpId begin = cuts[stage], end = lastOf(next - 1);
  bool toTheEnd = next == cuts.size();
  for (OpId op = 0; op <= begin; ++op)
    if (again[op] != none)
      for (ValueId operand : graph.operands(op))
        if (!graph.isArgument(operand))
          addNeed(stage, operand, again[op], again);
  std::vector<bool> needed(graph.numValues(), false);
  for (OpId op = begin + 1; op <= end; ++op)
    for (ValueId operand : graph.operands(op))
      if (!graph.isArgument(operand))
        needed[operand] = true;
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.problem.values[value].viewOf == noValue &&
        !graph.isArgument(value) &&
        (needed[value] || (toTheEnd && graph.isOutput(value))))
      addNeed(stage, value, always, again);
}

void StageRelaxation::addStage(size_t stage) {
  addNeeds(stage, stage + 1, runs[stage]);
  if (stage + 1 == cuts.size())
    return;
  addEnds(stage, stage + 1, runs[stage]);
  addWithin(stage);
}

/// What is resident at the beginning of stage `next`, and was made before that
/// of `stage`, comes from there or from `again`.
void StageRelaxation::addEnds(size_t stage, size_t next,
                              ArrayRef<int32_t> again) {
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (graph.problem.values[value].viewOf == noValue &&
        !graph.isArgument(value) && resident[next][value] >= 0)
      addNeed(stage, value, resident[next][value], again);
}

/// What is read in the stages from `stage` to `next`, as if they were one.
void StageRelaxation::addJoined(size_t stage, size_t next) {
  std::vector<int32_t> again(graph.numOps(), none);
  for (OpId op = 0; op <= cuts[stage]; ++op) {
    if (runs[stage][op] == none)
      continue;
    again[op] = program.addVariable(0.0, /*integer=*/false);
    std::vector<Term> row = {{again[op], 1.0}};
    for (size_t part = stage; part < next; ++part)
      row.push_back({runs[part][op], -1.0});
    program.addRow(row, 0.0);
  }
  addNeeds(stage, next, again);
  addEnds(stage, next, again);
}

/// What is read in all that follows on the moment. `later` are the variables
/// "runs again behind the next moment", and then those of this one.
void StageRelaxation::addSuffix(size_t stage, std::vector<int32_t> &later) {
  for (OpId op = 0; op < graph.numOps(); ++op) {
    int32_t again = none;
    if (runs[stage][op] != none) {
      again = program.addVariable(0.0, /*integer=*/false);
      program.addRow({{again, 1.0}, {runs[stage][op], -1.0}, {later[op], -1.0}},
                     0.0);
    }
    later[op] = again;
  }
  addNeeds(stage, cuts.size(), later);
}

/// Rows for the ops that need the most within the stage.
void StageRelaxation::addWithin(size_t stage) {
  const Problem &problem = graph.problem;
  std::vector<std::pair<int64_t, OpId>> demand;
  for (OpId op = 0; op < cuts[stage + 1]; ++op) {
    if (op <= cuts[stage] && runs[stage][op] == none)
      continue;
    int64_t need = problem.ops[op].workspace;
    for (ValueId value : graph.operands(op))
      need += graph.bytes(value);
    for (ValueId value : graph.results(op))
      need += graph.bytes(value);
    demand.push_back({-need, op});
  }
  llvm::sort(demand);
  std::vector<int32_t> ends = findEnds(stage);
  size_t again = 0, first = 0;
  for (auto [need, op] : demand) {
    size_t &count = op > cuts[stage] ? first : again;
    if (count++ < BoundTuning::rowsWithin)
      addWithin(stage, op, op > cuts[stage], ends, runs[stage]);
  }
  for (auto [end, op] : within)
    if (end == cuts[stage + 1] && op <= cuts[stage] && runs[stage][op] != none)
      addWithin(stage, op, /*firstRun=*/false, addStays(stage, op), {});
}

/// `stays` of a value is set if it is there when the stage ends, or `reader`
/// (a variable, if not `none`) is set, and it is not made again by `again`.
void StageRelaxation::addStay(std::vector<int32_t> &stays, ValueId value,
                              int32_t reader, int32_t again) {
  if (again == none && stays[value] == none && reader == always) {
    stays[value] = always;
    return;
  }
  if (stays[value] == always)
    return;
  if (stays[value] == none)
    stays[value] = program.addVariable(0.0, /*integer=*/false);
  std::vector<Term> row = {{stays[value], -1.0}};
  if (again != none)
    row.push_back({again, -1.0});
  if (reader != always)
    row.push_back({reader, 1.0});
  program.addRow(row, reader == always ? -1.0 : 0.0);
}

/// For each value that is there throughout the stage if it is there at its end
/// and does not run again in it: whether it is there at the end.
std::vector<int32_t> StageRelaxation::findEnds(size_t stage) const {
  std::vector<int32_t> ends(graph.numValues(), none);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (!graph.isArgument(value) && graph.producer(value) <= cuts[stage] &&
        bytesKept(value) != 0)
      ends[value] = resident[stage + 1][value];
  return ends;
}

/// For each value whether it is there while `op` runs for the last time in the
/// stage: what is there at the end and does not run again behind it, and what
/// those read that do.
std::vector<int32_t> StageRelaxation::addStays(size_t stage, OpId op) {
  std::vector<int32_t> behind(graph.numOps(), none);
  for (OpId run = 0; run <= cuts[stage]; ++run) {
    if (run == op || runs[stage][run] == none)
      continue;
    behind[run] = program.addVariable(0.0, /*integer=*/true);
    program.addRow({{behind[run], 1.0}, {runs[stage][run], -1.0}}, 0.0);
  }
  std::vector<int32_t> stays(graph.numValues(), none);
  std::vector<int32_t> ends = findEnds(stage);
  for (ValueId value = 0; value < graph.numValues(); ++value)
    if (ends[value] != none)
      addStay(stays, value, ends[value], behind[graph.producer(value)]);
  for (OpId run = 0; run <= cuts[stage]; ++run)
    if (behind[run] != none)
      for (ValueId operand : graph.operands(run))
        if (!graph.isArgument(operand) && bytesKept(operand) != 0 &&
            !graph.isAbsorber(run, graph.producer(operand)))
          addStay(stays, operand, behind[run], behind[graph.producer(operand)]);
  return stays;
}

/// While `op` runs in the stage, what `stays` and is not made again by `again`
/// is there, if that is given.
void StageRelaxation::addWithin(size_t stage, OpId op, bool firstRun,
                                ArrayRef<int32_t> stays,
                                ArrayRef<int32_t> again) {
  const Problem &problem = graph.problem;
  std::vector<bool> touched(graph.numValues(), false);
  if (!firstRun && problem.ops[op].absorbedCost)
    return;
  int64_t need = problem.ops[op].workspace;
  for (ValueId value : graph.operands(op)) {
    touched[value] = true;
    bool absorbed =
        !graph.isArgument(value) && graph.isAbsorber(op, graph.producer(value));
    if (!absorbed)
      need += graph.bytes(value);
  }
  for (ValueId value : graph.results(op)) {
    touched[value] = true;
    need += graph.bytes(value);
  }
  std::vector<Term> row;
  std::vector<double> ofRun(graph.numOps(), 0.0);
  int64_t there = 0;
  for (ValueId value = 0; value < graph.numValues(); ++value) {
    if (touched[value] || stays[value] == none)
      continue;
    if (stays[value] == always)
      there += bytesKept(value);
    else
      row.push_back({stays[value], units(bytesKept(value))});
    OpId producer = graph.producer(value);
    if (!again.empty() && again[producer] != none)
      ofRun[producer] -= units(bytesKept(value));
  }
  if (row.empty() && there == 0)
    return;
  if (!firstRun)
    ofRun[op] += units(need);
  for (OpId run = 0; run <= cuts[stage]; ++run)
    if (ofRun[run] != 0.0)
      row.push_back({runs[stage][run], ofRun[run]});
  program.addRow(row,
                 units(*problem.deviceBudget - there - (firstRun ? need : 0)));
}

/// The last op that runs for the first time in the stage.
OpId StageRelaxation::lastOf(size_t stage) const {
  return stage + 1 < cuts.size() ? cuts[stage + 1] : graph.numOps() - 1;
}

bool StageRelaxation::costAtMost(int64_t extra) {
  std::vector<Term> row;
  for (int32_t variable = 0; variable < program.numVariables(); ++variable)
    if (program.cost[variable] != 0.0)
      row.push_back({variable, program.cost[variable]});
  if (row.empty())
    return false;
  program.addRow(row, double(extra / costs.step));
  return true;
}

std::vector<OpId> chooseCuts(ArrayRef<OpId> moments, OpId best, size_t count) {
  std::vector<OpId> cuts;
  if (count >= moments.size())
    return moments.vec();
  for (size_t i = 0; i < count; ++i)
    cuts.push_back(moments[(2 * i + 1) * moments.size() / (2 * count)]);
  // The best moment takes the place of the one next to it.
  if (best != noOp) {
    size_t nearest = 0;
    auto distance = [&](OpId op) { return op > best ? op - best : best - op; };
    for (size_t i = 0; i < cuts.size(); ++i)
      if (distance(cuts[i]) < distance(cuts[nearest]))
        nearest = i;
    cuts[nearest] = best;
  }
  return cuts;
}

} // namespace remat::planning
