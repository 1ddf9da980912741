//===- KnownAttributes.h - ops refuse unknown attributes --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The trait by which a misspelled attribute of any operation of the dialect is
// an error. Without it, the attribute would be kept, and nothing would obey it.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_KNOWNATTRIBUTES_H
#define REMAT_DIALECT_REMAT_IR_KNOWNATTRIBUTES_H

#include "mlir/IR/OpDefinition.h"

namespace remat {

/// Checks that `op` has no attributes but its own and those of a dialect
/// ("dialect.name"), which are for that dialect to check.
mlir::LogicalResult verifyKnownAttributes(mlir::Operation *op);

template <typename ConcreteType>
class OnlyKnownAttributes
    : public mlir::OpTrait::TraitBase<ConcreteType, OnlyKnownAttributes> {
public:
  static mlir::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyKnownAttributes(op);
  }
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_KNOWNATTRIBUTES_H
