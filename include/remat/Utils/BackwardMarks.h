//===- BackwardMarks.h - operations of the backward computation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of the backward computation carry the attribute `remat.backward`.
// Upstream patterns drop such attributes when they replace operations; a
// listener gives them to what they make.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_BACKWARDMARKS_H
#define REMAT_UTILS_BACKWARDMARKS_H

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace remat {

/// Whether `op` belongs to the backward computation of a joint function.
bool isBackward(mlir::Operation *op);

/// Gives `op` the mark of the backward computation, or takes it away. Constants
/// and what is inside of structured operations never have it.
void setBackward(mlir::Operation *op, bool backward);

/// Marks `to`, which is made from `from`, if that is marked.
void copyBackward(mlir::Operation *from, mlir::Operation *to);

/// Takes the mark from the operations in `root` that never have it by
/// `setBackward`: two constants differ by their values only.
void normalizeBackward(mlir::Operation *root);

/// Marks what rewrites make of marked operations.
///
/// A new operation is marked if all operations are that it helps to replace:
/// what a forward operation is replaced by is forward, too, also where the same
/// rewrite replaces backward ones. A new operation that helps to replace none
/// is marked as the operation is that the pattern was applied to.
class BackwardMarkListener : public mlir::RewriterBase::Listener {
public:
  /// Says that `op` is rewritten next, where no driver of patterns does.
  void beginRewrite(mlir::Operation *op) { begin(isBackward(op)); }

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
  void begin(bool backward);

  /// Whether the operation is marked that the pattern was applied to.
  bool isRootBackward = false;
  /// Whether an operation was replaced since the rewrite began.
  bool hasReplaced = false;
  /// What the rewrite has made, and what of it replaces forward operations.
  llvm::SmallPtrSet<mlir::Operation *, 8> made, forward;
};

} // namespace remat

#endif // REMAT_UTILS_BACKWARDMARKS_H
