//===- HoistFactorScales.h - scales of factors behind products --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a factor is multiplied with, divided by, or replaced by zeros by, and
// what does not depend on the index that a contraction adds up, can be done to
// the product as well. Then the factor is what it was before: elements of 16
// bits that are exact in f32, as attention's queries and keys, or exponentials
// that are not divided by their sum yet.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_HOISTFACTORSCALES_H
#define REMAT_LIB_TRANSFORMS_HOISTFACTORSCALES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace remat {

/// Lets `op`, which adds up in f32 from zeros, read its factors before they are
/// scaled, and scales its result instead. Factors that are made of narrower
/// floats become these, widened last. Unless `ofWide`, one factor at least is
/// made of such. What replaces `op`, or itself.
mlir::linalg::ContractOp hoistFactorScales(mlir::RewriterBase &rewriter,
                                           mlir::linalg::ContractOp op,
                                           bool ofWide);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_HOISTFACTORSCALES_H
