//===- PairParts.h - what the reverse loop of a pair needs ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PAIRPARTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PAIRPARTS_H

#include "LoopPairs.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

namespace remat {

/// Whether a policy says that the task which makes `result` runs once.
bool isMadeOnce(mlir::OpResult result);

/// What a task passes for an operand of the loop in its kernel: a value, or the
/// values that the kernel stacks to one of type `stack`.
struct Passed {
  llvm::SmallVector<mlir::Value, 1> values;
  mlir::Type stack;
};
Passed getAllPassed(TaskOp task, mlir::Value operand);

/// Whether the slice of this number is one of the stacks.
bool isStack(const LoopPair &pair, unsigned slice);

/// The slice of the reverse loop that is slice `number` of the forward one.
std::optional<unsigned> findOwnSlice(const LoopPair &pair, unsigned number);

/// Operations of a forward loop's body and what they read.
struct Makers {
  llvm::DenseSet<mlir::Operation *> ops;
  /// Numbers of the loop's invariants and slices.
  llvm::SmallVector<unsigned> invariants, slices;
  /// Of what must not be made again, the numbers of the stacks.
  llvm::SmallVector<unsigned> kept;
};

/// What of the forward loop a pair's reverse loop has to make again.
class NeededParts {
public:
  /// What stays a stack is in `kept`, numbers of results of the forward loop,
  /// beside what policies say.
  explicit NeededParts(const LoopPair &pair,
                       llvm::ArrayRef<unsigned> kept = {});

  /// Whether all that may be made again suffices.
  bool isEnough() const;

  /// What an iteration takes that makes again what is not kept.
  int64_t getCost() const;

  /// What the forward loop's body makes for the stack of this number.
  mlir::Value getKept(unsigned number) const {
    return llvm::find_if(
               keptOf, [&](const auto &kept) { return kept.second == number; })
        ->first;
  }

  /// What the forward loop's body makes for each stack: what is copied, if it
  /// is a copy.
  llvm::SmallVector<mlir::Value> stacked;
  /// Numbers of what has to be carried to make them.
  llvm::SmallVector<unsigned> states;
  Makers ofStates, ofStacks;
  /// What the body makes, or begins with, that is not made again, by the number
  /// of the stack.
  llvm::MapVector<mlir::Value, unsigned> keptOf;

private:
  void findMakers(mlir::Value value, Makers &makers,
                  llvm::BitVector &arguments);

  LoopOp forward;
  /// What the body makes that must not be made again.
  llvm::DenseSet<mlir::Value> madeOnce;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PAIRPARTS_H
