//===- Factorizations.h - what factorizations of matrices share -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A factorization is a loop over the columns of matrices, or over pairs of
// them, whose batches are one dimension. It has a rule for its derivative, so
// none goes through the loop, unless its steps have derivatives that are worth
// having.
//
// Operations of this name do not exist: what calls LAPACK is lowered as one of
// them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_FACTORIZATIONS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_FACTORIZATIONS_H

#include "Indexed.h"

namespace remat::foreign {

/// A larger matrix would take too many steps, or operations.
inline constexpr int64_t largestFactorized = 512;

/// The operand of `op` as matrices with one dimension of batches; refuses what
/// is not floating-point matrices, or too large ones.
llvm::FailureOr<mlir::Value> getMatrices(mlir::Operation *op,
                                         Lowering &lowering, unsigned number,
                                         bool isSquare = false);

/// Says what the results of `op` are: `results` with one dimension of batches,
/// in their order, and 0 for all that is an integer and has no value.
llvm::LogicalResult setResults(mlir::Operation *op, Lowering &lowering,
                               llvm::ArrayRef<mlir::Value> results);

/// What a configuration of LAPACK's calls has under `name`, a letter.
char getLetter(mlir::Operation *op, llvm::StringRef name, char missing);

/// A loop of `count` iterations that carries values.
llvm::SmallVector<mlir::Value> createLoop(
    mlir::OpBuilder &builder, mlir::Location loc, int64_t count,
    mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value index,
                                                      mlir::ValueRange carried)>
        body);

/// `values`, which are a function of `inputs`, with `pullback` as what makes
/// cotangents of the inputs of those of the values.
llvm::SmallVector<mlir::Value> createWithPullback(
    mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange inputs,
    mlir::ValueRange values,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)>
        pullback);

/// The slice of a tensor at `index` along `dim`, without that dimension.
mlir::Value createTakenAt(Indexed &math, mlir::Value tensor, unsigned dim,
                          mlir::Value index);

/// A part of matrices.
mlir::Value createBlock(Indexed &math, mlir::Value matrices, int64_t row,
                        int64_t rows, int64_t column, int64_t columns);
/// Identity matrices of one batch.
mlir::Value createIdentity(Indexed &math, int64_t rows, int64_t columns,
                           mlir::Type element);
/// The elements of `matrices` whose row and column compare so; else zeros.
mlir::Value createTriangle(Indexed &math, mlir::Value matrices,
                           mlir::arith::CmpIPredicate predicate);
/// Matrices whose elements on one side of the diagonal are kept: below it, or
/// above and on it.
mlir::Value createStrictlyLower(Indexed &math, mlir::Value matrices);
mlir::Value createUpper(Indexed &math, mlir::Value matrices);

/// The x with a x = b, where one triangle of `a` counts as zeros.
mlir::Value createTriangularSolve(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value a, mlir::Value b, bool isLower,
                                  bool hasUnitDiagonal = false);

/// Householder's reflectors of `matrices`, below the diagonal, and R, with the
/// factors of the reflectors, as LAPACK's geqrf.
std::pair<mlir::Value, mlir::Value> createReflectors(Indexed &math,
                                                     mlir::Value matrices);
/// The first columns of the product of reflectors, as LAPACK's orgqr.
mlir::Value createProduct(Indexed &math, mlir::Value reflectors,
                          mlir::Value factors, int64_t columns);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_FACTORIZATIONS_H
