//===- IdiomMatchers.h - how idioms are recognised --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of the table in Idioms.cpp, and what they have in common. They
// look at the operations of one body only, but for those of
// CumulativeIdioms.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_IDIOMMATCHERS_H
#define REMAT_LIB_AUTODIFF_IDIOMMATCHERS_H

#include "Idioms.h"

namespace remat::idiom {

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// The number that `value` always is, through conversions.
std::optional<double> getNumber(mlir::Value value);

/// The comparison with a number that chooses the values of a `select`.
struct Threshold {
  mlir::arith::CmpFPredicate predicate;
  mlir::Value value;
  double number;
};
std::optional<Threshold> matchThreshold(mlir::arith::SelectOp select);

/// Takes factors that are numbers off `value`: it is their product, by which
/// `factors` is multiplied, times the value that is returned.
mlir::Value takeFactors(mlir::Value value, double &factors);

/// `op` if it chooses between floating-point values.
mlir::arith::SelectOp getChoice(mlir::Operation *op);

//===----------------------------------------------------------------------===//
// Functions (ActivationIdioms.cpp, ArithmeticIdioms.cpp, CumulativeIdioms.cpp)
//===----------------------------------------------------------------------===//

IdiomTerms matchElu(mlir::Operation *op);
IdiomTerms matchNegativeElu(mlir::Operation *op);
IdiomTerms matchSoftplus(mlir::Operation *op);
IdiomTerms matchSigmoid(mlir::Operation *op);
IdiomTerms matchLogSigmoid(mlir::Operation *op);
IdiomTerms matchLogit(mlir::Operation *op);

IdiomTerms matchXLogY(mlir::Operation *op);
IdiomTerms matchLogAddExp(mlir::Operation *op);
IdiomTerms matchSquareOfMagnitude(mlir::Operation *op);
IdiomTerms matchSinc(mlir::Operation *op);
IdiomTerms matchExtremum(mlir::Operation *op);
IdiomTerms matchClamp(mlir::Operation *op);

IdiomTerms matchLogCumSumExp(mlir::Operation *op);

} // namespace remat::idiom

#endif // REMAT_LIB_AUTODIFF_IDIOMMATCHERS_H
