//===- MathExpansions.h - functions that are not those of upstream --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_MATHEXPANSIONS_H
#define REMAT_LIB_CODEGEN_MATHEXPANSIONS_H

#include "mlir/IR/PatternMatch.h"

namespace remat::codegen {

/// sin, cos and tan of f32 scalars by arithmetic, for all arguments right to
/// a unit in the last place, tan to three.
void populateTrigonometricExpansionPatterns(mlir::RewritePatternSet &patterns);

/// asin, acos, atan and atan2 of f32 scalars by polynomials.
void populateInverseTrigonometricExpansionPatterns(
    mlir::RewritePatternSet &patterns);

/// Powers, cube roots and logarithms to the base 10 of f32 scalars by
/// arithmetic in f64, rounded once.
void populatePowerExpansionPatterns(mlir::RewritePatternSet &patterns);

/// Remainders of scalars with fewer bits than f64, exactly.
void populateRemainderExpansionPatterns(mlir::RewritePatternSet &patterns);

/// exp, exp2 and erf of f32 scalars, the latter with a relative error
/// of 3.2e-7, before upstream's patterns, which take more instructions.
void populateExponentialExpansionPatterns(mlir::RewritePatternSet &patterns);

/// sinh, cosh, asinh, acosh and atanh of f32 scalars by exponentials and
/// logarithms.
void populateHyperbolicExpansionPatterns(mlir::RewritePatternSet &patterns);

/// exp, exp2, log and tanh of f64 scalars by arithmetic, right to a unit in the
/// last place, tanh to two.
void populateDoubleExpansionPatterns(mlir::RewritePatternSet &patterns);

/// log1p and expm1 of f64 scalars by log and exp, with all digits for small
/// arguments.
void populateSmallArgumentExpansionPatterns(mlir::RewritePatternSet &patterns);

/// Lets logarithms of f32 scalars in `root`, whose polynomials know normal
/// numbers only, take subnormal ones.
void scaleSubnormalLogarithms(mlir::Operation *root);

/// Lets log1p of complex scalars in `root` take numbers close to -1, of which
/// upstream's expansion keeps few digits.
void extendLogarithmsNearZero(mlir::Operation *root);

/// Replaces square roots of complex scalars in `root`, and their reciprocals,
/// by arithmetic of the parts. Those of real numbers have a part that is 0. The
/// size of a number with an infinite part becomes infinite.
void expandComplex(mlir::Operation *root);

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_MATHEXPANSIONS_H
