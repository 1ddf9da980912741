//===- Sizes.h - tensors that are too large ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_SIZES_H
#define REMAT_LIB_CONVERSION_IMPORT_SIZES_H

#include "mlir/IR/Operation.h"

namespace remat {

/// Refuses values that are too large for a buffer.
class SizeChecker {
public:
  /// Checks what `op` makes: its results, and the arguments of its blocks and
  /// of the function that it may be.
  mlir::LogicalResult check(mlir::Operation *op);

private:
  bool hasSize(mlir::Type type);

  llvm::DenseMap<mlir::Type, bool> known;
};

} // namespace remat

#endif // REMAT_LIB_CONVERSION_IMPORT_SIZES_H
