//===- Packable.h - values that may be packed -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Which values of a step may be kept in a form that is not exact.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PACKABLE_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PACKABLE_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/SymbolTable.h"

namespace remat {

/// The values of a graph that may be packed.
class Packable {
public:
  explicit Packable(GraphOp graph);

  bool contains(mlir::OpResult value) const;

  /// Whether elements of a value may be rounded to 0 although they are not:
  /// unless what reads it divides by them, or takes their logarithm.
  bool mayBecomeZero(mlir::OpResult value);

private:
  bool isBackward(TaskOp task) const {
    return task.getBackwardLevel() >= level;
  }
  void exclude(TaskOp reader, bool throughBackward);

  unsigned level;
  mlir::SymbolTable symbols;
  /// Tasks of which nothing may be packed, and those whose operands are known
  /// to be results of such.
  llvm::DenseSet<mlir::Operation *> excluded, seen;
};
} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_PACKABLE_H
