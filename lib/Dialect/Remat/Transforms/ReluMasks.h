//===- ReluMasks.h - gradients of ReLUs by masks ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_RELUMASKS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_RELUMASKS_H

#include "mlir/IR/Block.h"

namespace remat {

/// Lets gradients of ReLUs in `block` read a mask that the product below the
/// ReLU can write, where a library makes both. Returns how many do.
unsigned maskRelus(mlir::Block &block);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_RELUMASKS_H
