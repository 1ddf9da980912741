//===- ReversedLoops.h - results that are written backwards -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_REVERSEDLOOPS_H
#define REMAT_LIB_CONVERSION_IMPORT_REVERSEDLOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace remat::import {

/// Turns the parallel loops of `generic` that run backwards in its results.
void turnReversedLoops(mlir::RewriterBase &rewriter,
                       mlir::linalg::GenericOp generic);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_REVERSEDLOOPS_H
