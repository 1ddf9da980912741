//===- Idioms.h - functions that exporters write out ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An exporter writes out functions that a framework differentiates as a whole.
// At singular points the derivatives of the parts do not add up to the
// framework's: log(x) at 0 in x log(x), |x| |x| at 0, the second derivative of
// an elu at 0. Such functions are recognised by their last operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_IDIOMS_H
#define REMAT_LIB_AUTODIFF_IDIOMS_H

#include "Expr.h"

namespace remat {

/// What a function passes to one of the values it is made of: the partial
/// derivative times `g`, a cotangent of the result or a tangent of the value.
struct IdiomTerm {
  mlir::Value leaf;
  std::function<Expr(const Expr &g)> derivative;
};

/// The terms of the function that ends in `op`; empty if it is not known.
llvm::SmallVector<IdiomTerm> matchIdiom(mlir::Operation *op,
                                        DerivativeContext &context);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_IDIOMS_H
