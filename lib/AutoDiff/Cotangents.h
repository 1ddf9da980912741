//===- Cotangents.h - sums of cotangents ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cotangents of the values of a function while it is swept. A term is
// added as soon as it comes, so that two of them are alive at most. Slices
// that do not overlap are kept apart: together they may be a concatenation.
// Terms may be of a wider element type than the value; then the sum is, too,
// and it is converted when it is complete.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_COTANGENTS_H
#define REMAT_LIB_AUTODIFF_COTANGENTS_H

#include "remat/Utils/TensorParts.h"

namespace remat {

class Cotangents {
public:
  /// The cotangent of `forward`, or null if it is zero.
  mlir::Value get(mlir::Value forward, mlir::OpBuilder &builder,
                  mlir::Location loc);
  void add(mlir::Value forward, mlir::Value term, mlir::OpBuilder &builder,
           mlir::Location loc);
  /// Adds a term that is zero but for a slice.
  void addSlice(mlir::Value forward, TensorPart slice, mlir::OpBuilder &builder,
                mlir::Location loc);

private:
  /// The sum of all terms, of the type of the widest of them.
  mlir::Value getSum(mlir::Value forward, mlir::OpBuilder &builder,
                     mlir::Location loc);

  struct Sum {
    mlir::Value whole;
    llvm::SmallVector<TensorPart> slices;
  };
  llvm::DenseMap<mlir::Value, Sum> sums;
};

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_COTANGENTS_H
