//===- SimplifyGeneric.h - linalg.generic without what it does not need ---===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_SIMPLIFYGENERIC_H
#define REMAT_UTILS_SIMPLIFYGENERIC_H

#include "mlir/Dialect/Linalg/Transforms/Transforms.h"

namespace remat {

/// Reads inputs with equal constant elements as scalar constants, merges equal
/// inputs, drops unused ones and unused results. Returns what is left of
/// `generic`: null if nothing.
mlir::linalg::GenericOp simplifyGeneric(mlir::RewriterBase &rewriter,
                                        mlir::linalg::GenericOp generic);

/// Where all of an init is overwritten and nothing accumulated, makes the init
/// an empty tensor. If the body reads it, it becomes an input.
void normalizeInits(mlir::RewriterBase &rewriter,
                    mlir::linalg::GenericOp generic);

} // namespace remat

#endif // REMAT_UTILS_SIMPLIFYGENERIC_H
