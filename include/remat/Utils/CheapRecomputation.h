//===- CheapRecomputation.h - what is not worth keeping ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_CHEAPRECOMPUTATION_H
#define REMAT_UTILS_CHEAPRECOMPUTATION_H

#include "mlir/IR/Block.h"

namespace remat {

/// How many values in a chain are made again all at once.
inline constexpr unsigned defaultRecomputeDepth = 4;

/// Bytes of forward values that backward operations of `body` read.
int64_t countReadForwardBytes(mlir::Block &body);

/// Lets backward operations of `body` read clones of forward ones whose results
/// are elementwise, or nearly so, in others that they read anyway; of a chain
/// of such values at most `maxDepth`; with `withStems`, also the result of the
/// first convolution of a network. Returns how many were cloned.
unsigned recomputeCheap(mlir::Block &body,
                        unsigned maxDepth = defaultRecomputeDepth,
                        bool withStems = true);

} // namespace remat

#endif // REMAT_UTILS_CHEAPRECOMPUTATION_H
