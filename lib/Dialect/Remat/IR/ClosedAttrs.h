//===- ClosedAttrs.h - operations that refuse unknown attributes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_CLOSEDATTRS_H
#define REMAT_DIALECT_REMAT_IR_CLOSEDATTRS_H

#include "mlir/IR/Operation.h"

namespace remat {

/// Checks that `op`, which users write, has no attributes but its own and those
/// that are a dialect's ("dialect.name"): any other is a misspelled wish.
mlir::LogicalResult verifyClosedAttributes(mlir::Operation *op);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_CLOSEDATTRS_H
