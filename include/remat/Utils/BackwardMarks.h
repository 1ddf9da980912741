//===- BackwardMarks.h - operations of the backward computation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the backward computation carry the attribute `remat.backward`.
// Where a derivative is differentiated again, it is a part of the forward
// computation of the outer derivative: the mark has a level.
//
// Upstream patterns drop such attributes when they replace operations; a
// listener gives them to what they make.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_BACKWARDMARKS_H
#define REMAT_UTILS_BACKWARDMARKS_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace remat {

/// The derivative whose backward computation `op` belongs to: 1 for that of a
/// forward computation, one more for each derivative that it contains, and 0 if
/// `op` is forward.
unsigned getBackwardLevel(mlir::Operation *op);

/// Whether `op` belongs to a backward computation of a joint function.
inline bool isBackward(mlir::Operation *op) {
  return getBackwardLevel(op) != 0;
}

/// The mark of level `level`, which is not 0.
mlir::Attribute getBackwardMark(mlir::MLIRContext *context, unsigned level);

/// The highest level of operations in `root`, itself included.
unsigned getHighestLevel(mlir::Operation *root);

/// Gives `op` the mark of a backward computation, or takes it away if `level`
/// is 0. Constants and what is inside of structured operations never have it.
void setBackwardLevel(mlir::Operation *op, unsigned level);

/// Marks `to`, which is made from `from`, if that is marked.
void copyBackward(mlir::Operation *from, mlir::Operation *to);

/// Takes the mark from the operations in `root` that never have it by
/// `setBackwardLevel`: two constants differ by their values only.
void normalizeBackward(mlir::Operation *root);

/// Marks what rewrites make of marked operations.
///
/// A new operation has the lowest level of those that it helps to replace: what
/// a forward operation is replaced by is forward, too, also where the same
/// rewrite replaces backward ones. A new operation that helps to replace none
/// is marked as the operation is that the pattern was applied to.
class BackwardMarkListener : public mlir::RewriterBase::Listener {
public:
  /// Says that `op` is rewritten next, where no driver of patterns does.
  void beginRewrite(mlir::Operation *op) { begin(getBackwardLevel(op)); }

  void notifyPatternBegin(const mlir::Pattern &pattern,
                          mlir::Operation *op) override;
  void notifyPatternEnd(const mlir::Pattern &pattern,
                        mlir::LogicalResult status) override;
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint previous) override;
  using mlir::RewriterBase::Listener::notifyOperationReplaced;
  void notifyOperationReplaced(mlir::Operation *op,
                               mlir::ValueRange replacement) override;
  void notifyOperationErased(mlir::Operation *op) override;

private:
  void begin(unsigned level);

  /// The level of the operation that the pattern was applied to.
  unsigned rootLevel = 0;
  /// Whether an operation was replaced since the rewrite began.
  bool hasReplaced = false;
  /// What the rewrite has made, with the lowest level that it replaces so far.
  llvm::DenseMap<mlir::Operation *, std::optional<unsigned>> made;
};

} // namespace remat

#endif // REMAT_UTILS_BACKWARDMARKS_H
