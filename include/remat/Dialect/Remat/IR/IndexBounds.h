//===- IndexBounds.h - do indexing maps stay in tensors? --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_INDEXBOUNDS_H
#define REMAT_DIALECT_REMAT_IR_INDEXBOUNDS_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace remat {

/// Refuses a map of `op` by which a point of loops of `sizes` would select an
/// element that a tensor of `shape` does not have. `what` names the tensor in
/// the diagnostic. Dynamic sizes are not looked at.
llvm::LogicalResult verifyIndexingMap(mlir::Operation *op,
                                      const llvm::Twine &what,
                                      mlir::AffineMap map,
                                      llvm::ArrayRef<int64_t> shape,
                                      llvm::ArrayRef<int64_t> sizes);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_INDEXBOUNDS_H
