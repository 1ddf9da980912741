//===- LoopPairs.h - loops and those that read their stacks -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPPAIRS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPPAIRS_H

#include "LoopCosts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>

namespace remat {

/// A loop that stacks what its iterations make, and a loop in the other
/// direction that reads the stacks. All of their readers are such loops.
struct LoopPair {
  TaskOp forward, reverse;
  /// A slice of the second loop, and the result of the first that it is.
  struct Stack {
    unsigned slice, result;
  };
  llvm::SmallVector<Stack> stacks;
};

/// Bodies made of others, by what they were made of: the body, that of the
/// forward loop, and the numbers that say which parts of them are in it.
using MadeBodies = std::map<std::tuple<mlir::Operation *, mlir::Operation *,
                                       llvm::SmallVector<unsigned>>,
                            GraphOp>;

/// The kernel of `task`.
mlir::func::FuncOp getKernel(TaskOp task);

/// The loop whose stacks `reverse` reads, if there is one.
std::optional<LoopPair> findPair(TaskOp reverse);

/// The first pair of `graph` that may have checkpoints.
std::optional<LoopPair> findFirstPair(GraphOp graph);

/// Lets the reverse loop of `pair` make what is stacked again, from `slots`
/// checkpoints of what the forward loop carries, and takes the stacks from
/// that. With a link, checkpoints are in host memory as well, if that saves
/// time, and else there are at least `fewest`. What is made for it, of `bodies`
/// or anew, is put into `module` and `symbols`.
llvm::Error keepCheckpoints(LoopPair pair, int64_t slots,
                            const std::optional<HostLink> &link, int64_t fewest,
                            mlir::ModuleOp module, MadeBodies &bodies,
                            llvm::SetVector<mlir::Operation *> &symbols);

/// As above, of one of `findThinnings`: the stacks of `kept` stay, and all
/// others are made of these.
llvm::Error keepStacks(LoopPair pair, llvm::ArrayRef<unsigned> kept,
                       mlir::ModuleOp module, MadeBodies &bodies,
                       llvm::SetVector<mlir::Operation *> &symbols);

/// The tasks that run the reverse loop of a pair that was split: its first
/// iterations, and those behind them.
struct SplitPair {
  TaskOp early, late;
};

/// Whether `pair` can be split: its loops run a known number of iterations, and
/// all that is sliced or stacked for others than themselves is in lists.
bool maySplit(const LoopPair &pair);

/// Lets two tasks each run the loops of `pair`, which can be split: the forward
/// loop its first `late` iterations and the others, and the reverse loop these
/// others and the last `late`. What is made for it is put into `module` and
/// `symbols`.
SplitPair splitPair(LoopPair pair, int64_t late, mlir::ModuleOp module,
                    llvm::SetVector<mlir::Operation *> &symbols);

/// Ever fewer of the stacks of `pair` of which an iteration can make all others
/// without those before it, as numbers of results of the forward loop. What is
/// dropped first costs the least time for its bytes.
llvm::SmallVector<llvm::SmallVector<unsigned>>
findThinnings(const LoopPair &pair);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LOOPPAIRS_H
