//===- CheckmateModel.h - Checkmate's integer program -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jain et al., "Checkmate: Breaking the Memory Wall with Optimal Tensor
// Rematerialization", MLSys 2020, section 4. Stage t computes op t for the
// first time, after recomputations among ops 0 .. t-1 in their given order; a
// last stage n brings back outputs:
//
//   R[t,i] = 1 iff op i runs in stage t, R[t,t] = 1; minimize sum cost_i R[t,i]
//
// The paper tracks memory with a product of such variables per value that may
// be freed. Here it is tracked by flow instead, which needs neither products
// nor further integers: a value is touched in a stage by its producer and its
// readers, in this order, and P[t,v,e] says that it is carried from the e-th of
// those touches to the next (from the last one: into stage t + 1).
//
//   P[t,v,e] <= P[t,v,e-1] + [v is computed at e] R[t,e]     it comes from
//                                                            somewhere
//   R[t,i]   <= P[t,v,before i]          for v read by i     operands are there
//   sum of what is carried across or into slot i, and of what i itself makes
//            and uses, is at most the budget                 for each t, i <= t
//
// For integer R the smallest P is integer, so only R has to be declared so.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_CHECKMATEMODEL_H
#define REMAT_LIB_PLANNING_CHECKMATEMODEL_H

#include "MixedIntegerProgram.h"
#include "Residency.h"

namespace remat::planning {

class CheckmateModel {
public:
  /// Recomputes only ops that `mayRunAgain`, all that can if it is empty.
  explicit CheckmateModel(const Graph &graph,
                          std::vector<bool> mayRunAgain = {});

  /// Objective values are in units of this.
  int64_t unitCost() const { return costStep; }
  const MixedIntegerProgram &getProgram() const { return program; }

  /// The assignment for a plan with the given stages. Its recomputations may be
  /// in another order than the given one, in which case it may be infeasible.
  std::vector<double> encode(const StagedPlan &plan) const;
  /// The plan of an assignment.
  Plan decode(llvm::ArrayRef<double> assignment) const;
  /// What an assignment, which may be fractional, carries from each stage to
  /// the next, where that is at least `threshold`.
  Residency carriedAcross(llvm::ArrayRef<double> assignment,
                          double threshold) const;

private:
  int32_t run(uint32_t stage, OpId op) const { return runs[stage][op]; }

  void build();
  void buildStage(uint32_t stage);
  void buildSlot(uint32_t stage, OpId op);
  int32_t addCarry(ValueId value, uint32_t stage, OpId op);

  struct Carry {
    ValueId value;
    uint32_t stage;
    OpId op;
  };

  const Graph &graph;
  const Problem &problem;
  MixedIntegerProgram program;
  std::vector<bool> mayRunAgain;
  int64_t costStep = 0, byteStep = 0;
  std::vector<std::vector<int32_t>> runs;
  /// The variables P in the order of their slots, with what they stand for.
  std::vector<Carry> carries;
  std::vector<int32_t> carryOf;
  /// While building: the variable that carries each value into the slot.
  std::vector<int32_t> carried;

  static constexpr int32_t none = -1;
};

/// What keeps the model from being built for `solver`: size, values that must
/// be offloaded, a build without HiGHS.
llvm::Error checkModelSize(const Graph &graph, llvm::StringRef solver);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_CHECKMATEMODEL_H
