//===- Graph.h - a problem, resolved for the algorithms ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Views resolved to their roots, repeated operands removed, policies merged
// per buffer: what simulation and search look up in their inner loops.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_GRAPH_H
#define REMAT_LIB_PLANNING_GRAPH_H

#include "remat/Planning/Problem.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <algorithm>

namespace remat::planning {

/// Gives the ops that absorb `op` the numbers that they have in another
/// problem, in the same order; `noOp` for one that is not there.
void renumberAbsorbers(Op &op, llvm::function_ref<OpId(OpId)> renumber);

class Graph {
public:
  /// `problem` passed `check` and outlives the graph.
  explicit Graph(const Problem &problem);

  const Problem &problem;

  size_t numOps() const { return problem.ops.size(); }
  size_t numValues() const { return problem.values.size(); }

  /// Distinct roots that `op` reads, arguments included.
  llvm::ArrayRef<ValueId> operands(OpId op) const {
    return slice(operandList, operandBegin, op);
  }
  llvm::ArrayRef<ValueId> results(OpId op) const {
    return problem.ops[op].results;
  }
  /// Ops that read the root `value`, in order.
  llvm::ArrayRef<OpId> readers(ValueId value) const {
    return slice(readerList, readerBegin, value);
  }

  int64_t bytes(ValueId value) const { return problem.values[value].bytes; }
  OpId producer(ValueId value) const { return problem.values[value].producer; }
  /// As Problem::rootOf.
  ValueId rootOf(ValueId value) const { return roots[value]; }
  bool isArgument(ValueId value) const {
    return problem.values[value].isArgument;
  }

  /// The policy of a root, merged with those of its views: a MUST wins over a
  /// PREFER, and the first PREFER over later ones.
  Policy policy(ValueId root) const { return policies[root]; }
  /// Whether the root, or a view of it, is an output.
  bool isOutput(ValueId root) const { return output[root]; }
  /// Whether a plan may run `op` only once: it is random or effectful, or a
  /// MUST on one of its results says so, or `keepsOutputExact`.
  bool runsOnce(OpId op) const { return once[op] || exactOutput[op]; }
  /// Whether a forward op that could otherwise run again makes an output, and
  /// reads, directly or through other forward ops, what may be packed with a
  /// loss: a second run might read rounded values, and the result of the first
  /// one stays. A plan that packs nothing with a loss may run it again.
  bool keepsOutputExact(OpId op) const { return exactOutput[op]; }
  bool canOffload(ValueId root) const;
  /// Whether a plan may keep the root in packed form. With a loss, it may not
  /// if the root is an output, or a forward op that needs it, directly or
  /// through other forward ops, stands behind the first backward op, or may
  /// come to stand there: results of forward ops do not change.
  bool canPack(ValueId root) const;
  /// Whether a plan may recompute `op` inside of some readers' kernels.
  bool canAbsorb(OpId op) const {
    return problem.ops[op].absorbedCost.has_value() && !runsOnce(op);
  }
  /// The same for the kernel of `host`.
  bool canAbsorb(OpId op, OpId host) const {
    return canAbsorb(op) && isAbsorber(host, op);
  }
  /// Whether the kernel of `host` can make what `op` does, whatever policies
  /// say.
  bool isAbsorber(OpId host, OpId op) const {
    const std::vector<OpId> &absorbers = problem.ops[op].absorbers;
    return problem.ops[op].absorbedCost.has_value() &&
           (absorbers.empty() ||
            std::binary_search(absorbers.begin(), absorbers.end(), host));
  }
  /// Whether recomputation is the only way to do without a value for a while.
  bool recomputesOnly() const;
  /// The first op of the backward phase; numOps() if there is none.
  OpId firstBackward() const { return backwardStart; }
  /// Whether a copy of `root` must not be carried over its border: a value of
  /// the forward phase that a MUST_RECOMPUTE keeps from ops that run in the
  /// backward phase, or a value of any forward op that a MUST_CPU_OFFLOAD keeps
  /// from backward ops.
  bool mustLeaveForward(ValueId root) const { return leavesForward[root]; }
  /// The first backward op behind the one that makes `root`, where that must
  /// leave: forward ops may stand behind the first backward op, and what they
  /// make leaves before the next one.
  OpId border(ValueId root) const { return borders[root]; }
  /// Whether ops may run for the first time in another order than the given
  /// one, whatever that is. Not if something must leave the forward phase:
  /// where that ends is looked at in the given order only.
  bool mayReorder() const;
  /// Whether a backward op reads the root.
  bool isReadByBackward(ValueId root) const;

private:
  static llvm::ArrayRef<uint32_t> slice(const std::vector<uint32_t> &list,
                                        const std::vector<uint32_t> &begin,
                                        uint32_t at) {
    return llvm::ArrayRef(list).slice(begin[at], begin[at + 1] - begin[at]);
  }

  std::vector<ValueId> roots;
  std::vector<uint32_t> operandList, operandBegin;
  std::vector<uint32_t> readerList, readerBegin;
  std::vector<Policy> policies;
  void findLossyForms();

  std::vector<bool> output, once, exactOutput, leavesForward;
  /// Of a value, whether its packed form may have a loss.
  std::vector<bool> mayLose;
  std::vector<OpId> borders;
  OpId backwardStart = 0;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_GRAPH_H
