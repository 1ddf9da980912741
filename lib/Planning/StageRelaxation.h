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

class StageRelaxation {
public:
  /// The moments at which each of `cuts` runs for the first time, ascending.
  /// The order of the problem is fixed and it has a device budget.
  StageRelaxation(const Graph &graph, const CutCosts &costs,
                  llvm::ArrayRef<OpId> cuts);

  /// Leaves out assignments that cost more than `extra`. That helps the solver.
  /// Whether there are any; without them the program may be infeasible.
  bool costAtMost(int64_t extra);

  /// Objective values are in units of CutCosts::step.
  const MixedIntegerProgram &getProgram() const { return program; }

private:
  static constexpr int32_t none = -1, always = -2;
  using Term = MixedIntegerProgram::Term;

  void addStage(size_t stage);
  void addMoment(size_t stage);
  void addNeed(size_t stage, ValueId value, int32_t reader);
  void addWithin(size_t stage);
  void addWithin(size_t stage, OpId op, bool firstRun);
  int64_t bytesKept(ValueId value) const;
  double units(int64_t bytes) const { return double(bytes / byteStep); }

  const Graph &graph;
  const CutCosts &costs;
  llvm::ArrayRef<OpId> cuts;
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
