//===- Indexed.h - operations as einsum writes them -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an algorithm of linear algebra does with tensors is read best in
// indices: `contract("bik,bkj->bij", x, y)` is a batched product of matrices,
// and `map("bij,bi->bij", {a, c}, divide)` divides rows by numbers. Each is one
// structured operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_INDEXED_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_INDEXED_H

#include "Lowering.h"

#include "remat/Utils/Builders.h"

namespace remat::foreign {

/// The notation `indices` names dimensions by letters: those of each operand,
/// between commas, and behind an arrow those of the result. A letter that is
/// not in the result is summed over, or reduced as the operation says. The
/// loops have the order of the result, and then that in which letters first
/// occur.
class Indexed {
public:
  Indexed(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  /// A function of elements. Its own indices are `linalg.index`. The result has
  /// the element type of the first operand, or `element`.
  mlir::Value map(llvm::StringRef indices, mlir::ValueRange operands,
                  ScalarBody body, mlir::Type element = {});

  /// A reduction that begins with `start`; `body` is given the elements of the
  /// operands and then what the result is so far.
  mlir::Value reduce(llvm::StringRef indices, mlir::ValueRange operands,
                     mlir::Value start, ScalarBody body);

  /// The sum of the operands' products.
  mlir::Value contract(llvm::StringRef indices, mlir::Value a, mlir::Value b);
  mlir::Value sum(llvm::StringRef indices, mlir::Value a);

  // Elementwise, on tensors of one shape.
  mlir::Value add(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  mlir::Value scale(mlir::Value a, double factor);

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::Value build(llvm::StringRef indices, mlir::ValueRange operands,
                    mlir::Value start, mlir::Type element, ScalarBody body);
};

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_INDEXED_H
