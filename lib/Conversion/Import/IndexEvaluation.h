//===- IndexEvaluation.h - what an index of a loop is -----------*- C++ -*-===//
//-*-//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_INDEXEVALUATION_H
#define REMAT_LIB_CONVERSION_IMPORT_INDEXEVALUATION_H

#include "LoopBounds.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::linalg {
class LinalgOp;
} // namespace mlir::linalg

namespace remat::import {

/// What the numbers are that an index of a loop depends on: of one iteration
/// after the other, or of all at once.
class IndexEvaluation {
public:
  /// An integer that grows by `step` in each iteration.
  struct Line {
    int64_t first, step;
  };

  IndexEvaluation(mlir::scf::ForOp loop, LoopBounds bounds, mlir::Value index);

  /// What the index is in all iterations, if it can be shown that it is a line.
  /// It takes the same time for any number of iterations. What `next` returns
  /// does not depend on it.
  std::optional<Line> proveLine();

  /// What the index is in the next iteration; null if that is not known.
  mlir::Attribute next();

private:
  /// A number in the first of some iterations, null if it is not known, and how
  /// much more it is in each further one. Only integers grow, and none that
  /// does leaves the range of its type.
  struct Number {
    mlir::Attribute value;
    int64_t step = 0;
  };
  /// What an integer is in the first and in the last of these iterations.
  struct Ends {
    int64_t first, last;
  };

  void collect(mlir::Value value);
  bool isInLoop(mlir::Operation *op) {
    return loop.getRegion().isAncestor(op->getParentRegion());
  }
  llvm::SmallVector<Number> evaluateAround();
  llvm::SmallVector<Number> evaluateBody(llvm::ArrayRef<Number> state,
                                         int64_t number, int64_t iterations);
  void evaluate(mlir::Operation *op);
  void evaluateStructured(mlir::linalg::LinalgOp op);
  Number grow(mlir::Operation *op, mlir::Attribute first);
  std::optional<Ends> getEnds(mlir::Type type, Number number) const;
  std::optional<Ends> getEnds(mlir::Value value) const;
  static std::optional<bool> compare(mlir::arith::CmpIPredicate predicate,
                                     Ends a, Ends b);

  mlir::scf::ForOp loop;
  LoopBounds bounds;
  mlir::Value index;
  /// What computes the numbers, operands first.
  llvm::SmallVector<mlir::Operation *> operations;
  llvm::DenseSet<mlir::Value> collected;
  /// The numbers of what is carried.
  llvm::SetVector<unsigned> carried;
  /// What values are in some iterations. Nothing is known of those that are
  /// missing.
  llvm::DenseMap<mlir::Value, Number> known;
  /// How many iterations these are.
  int64_t count = 1;
  /// What is carried into the next iteration, and which one that is.
  llvm::SmallVector<Number> state;
  int64_t number = 0;
};

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_INDEXEVALUATION_H
