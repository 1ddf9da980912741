//===- Jacobi.h - rotations of pairs of columns -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jacobi's methods rotate pairs of columns until all are orthogonal. In a
// round, all columns are in pairs, each of the first half with one of the
// second half, and rotated at once. Then they move on as players of a
// tournament do: after as many rounds as there are columns but one, a sweep,
// each has met each other, and all are where they were (Brent and Luk, 1985).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_JACOBI_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_JACOBI_H

#include "Factorizations.h"

namespace remat::foreign {

/// The cosine and the sine of each pair's rotation, [batches, pairs].
struct Rotations {
  mlir::Value cosines, sines;
};

class Tournament {
public:
  /// Of `count` columns, which is even.
  Tournament(Indexed &math, int64_t count, mlir::Type element);

  /// How many rounds are sure to be enough.
  int64_t countRounds() const;

  /// The rotations that make pairs of columns orthogonal whose squared norms
  /// are `first` and `second`, and whose products are `products`.
  Rotations createRotations(mlir::Value first, mlir::Value second,
                            mlir::Value products);
  /// `products` with 0 for those that are not worth a rotation yet: much
  /// smaller, by their `sizes`, than `largest`, [batches], which is the largest
  /// size of all pairs. Where eigenvalues are equal, what little is left
  /// between their columns would turn these by any angle, and undo in every
  /// sweep what other rotations have done: it would converge linearly.
  mlir::Value createWorthwhile(mlir::Value products, mlir::Value sizes,
                               mlir::Value largest);
  /// The columns of `matrices` after their rotations, at their next places.
  mlir::Value rotateColumns(mlir::Value matrices, const Rotations &rotations);
  /// The same of the columns and the rows of symmetric matrices.
  mlir::Value rotateBoth(mlir::Value matrices, const Rotations &rotations);

private:
  /// Scalars of the body of an operation on a column: where it comes from, and
  /// with which factors that column and its partner add up to it.
  struct Mix {
    mlir::Value from, partner, own, other;
  };
  Mix createMix(mlir::OpBuilder &nested, mlir::Location loc,
                const Rotations &rotations, mlir::Value batch,
                mlir::Value column);

  Indexed &math;
  int64_t count;
  mlir::Type element;
  /// For each place, where its next column comes from.
  mlir::Value sources;
};

/// The elements of the rows or columns of `values`, whose last dimension is
/// sorted by `keys`, [batches, n].
mlir::Value createSortedOrder(Indexed &math, mlir::Value keys,
                              bool isDescending);
/// The elements of [batches, n] in `order`, and the columns of matrices.
mlir::Value createOrdered(Indexed &math, mlir::Value values, mlir::Value order);
mlir::Value createOrderedColumns(Indexed &math, mlir::Value matrices,
                                 mlir::Value order);

/// The largest element of each of a batch of matrices, by its size, or of those
/// off the diagonal.
mlir::Value createLargest(Indexed &math, mlir::Value matrices,
                          bool isOffDiagonal);

/// For each of a batch of square matrices, whether what is off the diagonal is
/// no more than the rounding errors of sums of `numTerms` numbers, relative to
/// the largest element.
mlir::Value createIsDiagonal(Indexed &math, mlir::Value matrices,
                             int64_t numTerms);

/// `values`, or nan where the flag of a batch is not set.
mlir::Value createChecked(Indexed &math, mlir::Value values,
                          mlir::Value isDone);

/// 1 / (b_j - b_i) of vectors, 0 on the diagonal.
mlir::Value createReciprocalGaps(Indexed &math, mlir::Value values);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_JACOBI_H
