//===- OptimizerTensors.h - operations of updates ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_OPTIMIZERTENSORS_H
#define REMAT_LIB_TRANSFORMS_OPTIMIZERTENSORS_H

#include "OptimizerScalar.h"

namespace remat {

/// A tensor and the dimensions of a weight that it has.
struct OptimizerOperand {
  mlir::Value tensor;
  mlir::AffineMap map;
};

/// Makes operations whose loops are the dimensions of a weight.
class OptimizerLoops {
public:
  OptimizerLoops(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::ArrayRef<int64_t> shape)
      : builder(builder), loc(loc), shape(shape) {}

  using Body = llvm::function_ref<llvm::SmallVector<OptimizerScalar>(
      llvm::ArrayRef<OptimizerScalar>)>;
  using Term =
      llvm::function_ref<OptimizerScalar(llvm::ArrayRef<OptimizerScalar>)>;

  unsigned getRank() const { return shape.size(); }
  /// All dimensions but the one of number `omitted`, if there is one.
  mlir::AffineMap getMap(std::optional<unsigned> omitted = std::nullopt) const;
  OptimizerOperand whole(mlir::Value tensor) const {
    return {tensor, getMap()};
  }
  /// A tensor of rank 0, which all elements read.
  OptimizerOperand number(mlir::Value tensor) const {
    return {tensor, mlir::AffineMap::get(getRank(), 0, builder.getContext())};
  }

  /// Tensors of the weight's shape and of these types from elements of
  /// `inputs`.
  mlir::SmallVector<mlir::Value> map(llvm::ArrayRef<OptimizerOperand> inputs,
                                     llvm::ArrayRef<mlir::Type> elements,
                                     Body body) const;

  /// Sums of terms along the dimensions that `kept` lacks.
  mlir::Value sum(llvm::ArrayRef<OptimizerOperand> inputs, mlir::AffineMap kept,
                  mlir::Type element, Term term) const;

private:
  mlir::SmallVector<mlir::Value>
  createOp(llvm::ArrayRef<OptimizerOperand> inputs,
           llvm::ArrayRef<mlir::Value> inits, mlir::AffineMap initMap,
           Body body) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::ArrayRef<int64_t> shape;
};

/// A tensor of rank 0 as one of `element`, an i1 as it is.
OptimizerScalar convertNumber(OptimizerScalar number, mlir::Type element);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_OPTIMIZERTENSORS_H
