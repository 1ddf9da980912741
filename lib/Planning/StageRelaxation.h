//===- StageRelaxation.h - several moments of a plan at once ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checkmate's integer program with coarse stages, made valid for every plan: it
// asks only at chosen moments what is resident, and counts only whether an op
// runs again between two of them, not how often, when or in which order.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_STAGERELAXATION_H
#define REMAT_LIB_PLANNING_STAGERELAXATION_H

#include "MixedIntegerProgram.h"
#include "SingleCut.h"

namespace remat::planning {

/// Where a relaxation asks for the budget.
struct StageMoments {
  /// The first runs of these ops, ascending.
  std::vector<OpId> cuts;
  /// The last runs again of ops before first ones: first the op that runs for
  /// the first time, which is one of `cuts`, then the one that runs again.
  std::vector<std::pair<OpId, OpId>> within;

  /// Stages of earlier relaxations that moments have been added to since: from
  /// one of `cuts` to a later one.
  std::vector<std::pair<OpId, OpId>> joined;

  bool empty() const { return cuts.empty() && within.empty(); }
  /// Looks at `more`, too, which has no stages of its own.
  void add(const StageMoments &more);
};

class StageRelaxation {
public:
  /// The order of the problem is fixed and it has a device budget.
  StageRelaxation(const Graph &graph, const CutCosts &costs,
                  StageMoments moments);

  /// Leaves out assignments that cost more than `extra`. That helps the solver.
  /// Whether there are any; without them the program may be infeasible.
  bool costAtMost(int64_t extra);

  /// What the plan that `assignment` tells of exceeds the budget at, most of
  /// all in each stage, and this relaxation does not look at. What runs again
  /// is taken to run just before it is needed.
  StageMoments findExcess(llvm::ArrayRef<double> assignment) const;

  /// Objective values are in units of CutCosts::step.
  const MixedIntegerProgram &getProgram() const { return program; }

private:
  static constexpr int32_t none = -1, always = -2;
  using Term = MixedIntegerProgram::Term;

  void addMoment(size_t stage);
  void addStage(size_t stage);
  void addSuffix(size_t stage, std::vector<int32_t> &later);
  void addJoined(size_t stage, size_t next);
  void addNeeds(size_t stage, size_t next, llvm::ArrayRef<int32_t> again);
  void addEnds(size_t stage, size_t next, llvm::ArrayRef<int32_t> again);
  void addNeed(size_t stage, ValueId value, int32_t reader,
               llvm::ArrayRef<int32_t> again);
  void addWithin(size_t stage);
  void addStay(std::vector<int32_t> &stays, ValueId value, int32_t reader,
               int32_t again);
  std::vector<int32_t> findEnds(size_t stage) const;
  std::vector<int32_t> addStays(size_t stage, OpId op);
  void addWithin(size_t stage, OpId op, bool firstRun,
                 llvm::ArrayRef<int32_t> stays, llvm::ArrayRef<int32_t> again);
  OpId lastOf(size_t stage) const;
  void findExcess(size_t stage, llvm::ArrayRef<double> assignment,
                  StageMoments &found) const;
  int64_t bytesKept(ValueId value) const;
  double units(int64_t bytes) const { return double(bytes / byteStep); }

  const Graph &graph;
  const CutCosts &costs;
  std::vector<OpId> cuts;
  std::vector<std::pair<OpId, OpId>> within, joined;
  MixedIntegerProgram program;
  int64_t byteStep = 0;
  /// For each stage: the variables "resident at its beginning", by value, and
  /// "runs again in it", by op.
  std::vector<std::vector<int32_t>> resident, runs;
};

/// The cuts of a relaxation with about `count` of them: spread over `moments`,
/// with `best` among them.
std::vector<OpId> chooseCuts(llvm::ArrayRef<OpId> moments, OpId best,
                             size_t count);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_STAGERELAXATION_H
