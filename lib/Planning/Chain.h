//===- Chain.h - problems that are chains -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain is forward ops f_1 .. f_n, each of which reads only the one before
// it (and arguments), followed by a sweep back over them: ops that are grouped
// by level n + 1, n, .. 1, where level k reads, of the forward values, at most
// f_k and f_{k-1}. Level n + 1 is the loss. Every linear network's training
// step has this form.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_CHAIN_H
#define REMAT_LIB_PLANNING_CHAIN_H

#include "Graph.h"
#include "remat/Planning/Plan.h"

namespace remat::planning {

struct Chain {
  /// The forward op of a level and the sweep over it. Entry 0 stands for what
  /// is resident from the start, the last one has no forward op.
  struct Level {
    OpId op = noOp;
    /// f_k itself, and scratch bytes while it is computed (results that nobody
    /// reads included).
    ValueId value = noValue;
    int64_t bytes = 0, scratch = 0, cost = 0;
    /// Whether the op may run again.
    bool again = true;

    /// Sweep ops, in order.
    std::vector<OpId> sweep;
    /// Whether they read f_k, and f_{k-1}.
    bool readsOwn = false, readsPrevious = false;
    /// Bytes of sweep values that are resident before the group runs.
    int64_t before = 0;
    /// The most bytes resident while it runs, f_k included where it is still
    /// needed, f_{k-1} excluded.
    int64_t peak = 0;
  };
  std::vector<Level> levels;
  /// Bytes of arguments, which count as resident throughout.
  int64_t argumentBytes = 0;

  uint32_t numForward() const { return levels.size() - 2; }
  uint32_t top() const { return levels.size() - 1; }
};

/// The problem as a chain with as many forward ops as possible. Fails with the
/// op that does not fit, and on what recomputation alone cannot handle: MUST
/// policies that keep a value from the backward phase, and outputs of the
/// forward ops that occupy bytes.
llvm::Expected<Chain> findChain(const Graph &graph, llvm::StringRef solver);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_CHAIN_H
