//===- LoopSlots.h - loops with fewer checkpoints ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H

#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "llvm/Support/Error.h"

#include <map>

namespace remat {

/// A loop that stacks what it carries, and the reverse loop that alone reads
/// the stacks.
struct LoopPair {
  TaskOp forward, reverse;
  /// A slice of the reverse loop, and the number of what the other carries that
  /// it is.
  struct State {
    unsigned slice, carried;
  };
  llvm::SmallVector<State> states;
};

/// Bodies made of others, by what they were made of: the body, that of the
/// forward loop, and the numbers that say which parts of them are in it.
using MadeBodies = std::map<std::tuple<mlir::Operation *, mlir::Operation *,
                                       llvm::SmallVector<unsigned>>,
                            GraphOp>;

/// Copies of a graph whose reverse loops keep fewer checkpoints and run the
/// other loops' iterations again. Bodies and kernels that they need are put
/// into the module.
class LoopSlots {
public:
  explicit LoopSlots(GraphOp graph);
  /// Erases the copies, and what none but them used.
  ~LoopSlots();
  LoopSlots(const LoopSlots &) = delete;
  LoopSlots &operator=(const LoopSlots &) = delete;

  /// Copies that keep ever less: the last has one checkpoint for each loop.
  unsigned getNumLevels() const { return numLevels; }

  /// The copy for `level`, from 1 on: each level has half of the checkpoints of
  /// the one before. It stands beside the graph and has its name.
  llvm::Expected<GraphOp> make(unsigned level);

private:
  GraphOp graph;
  mlir::ModuleOp module;
  unsigned numLevels = 0;
  llvm::SmallVector<GraphOp> copies;
  MadeBodies bodies;
  /// What may be unused at the end.
  llvm::SetVector<mlir::Operation *> symbols;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPSLOTS_H
