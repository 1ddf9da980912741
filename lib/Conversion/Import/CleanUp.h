//===- CleanUp.h - canonical form of both phases ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_CLEANUP_H
#define REMAT_LIB_CONVERSION_IMPORT_CLEANUP_H

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace remat::import {

/// All patterns by which operations say what their canonical form is.
mlir::FrozenRewritePatternSet
getCanonicalizationPatterns(mlir::MLIRContext *context);

/// Brings what is in `root` to canonical form; what is made of backward
/// operations is marked as they are.
void canonicalize(mlir::Operation *root,
                  const mlir::FrozenRewritePatternSet &patterns,
                  mlir::GreedyRewriteConfig config);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_CLEANUP_H
