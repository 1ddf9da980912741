//===- OptimizerScalar.h - arithmetic of updates ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Formulas of optimizers are written as such: each operator makes an operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_OPTIMIZERSCALAR_H
#define REMAT_LIB_TRANSFORMS_OPTIMIZERSCALAR_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace remat {

/// A number: a scalar in the body of an operation, or a tensor of rank 0.
struct OptimizerScalar {
  mlir::OpBuilder *builder;
  mlir::Value value;

  explicit operator bool() const { return bool(value); }

  OptimizerScalar constant(double number) const {
    mlir::Type element = mlir::getElementTypeOrSelf(value);
    mlir::TypedAttr attr = builder->getFloatAttr(element, number);
    if (auto tensor = mlir::dyn_cast<mlir::ShapedType>(value.getType()))
      attr = mlir::DenseElementsAttr::get(tensor, mlir::Attribute(attr));
    return {builder,
            mlir::arith::ConstantOp::create(*builder, value.getLoc(), attr)};
  }
  template <typename Op>
  OptimizerScalar apply() const {
    return {builder, Op::create(*builder, value.getLoc(), value)};
  }
  template <typename Op>
  OptimizerScalar apply(OptimizerScalar other) const {
    return {builder, Op::create(*builder, value.getLoc(), value, other.value)};
  }
  OptimizerScalar compare(mlir::arith::CmpFPredicate predicate,
                          OptimizerScalar other) const {
    return {builder,
            mlir::arith::CmpFOp::create(*builder, value.getLoc(), predicate,
                                        value, other.value)};
  }
  /// Where this is an i1.
  OptimizerScalar select(OptimizerScalar yes, OptimizerScalar no) const {
    return {builder, mlir::arith::SelectOp::create(*builder, value.getLoc(),
                                                   value, yes.value, no.value)};
  }
};

inline OptimizerScalar operator+(OptimizerScalar a, OptimizerScalar b) {
  return a.apply<mlir::arith::AddFOp>(b);
}
inline OptimizerScalar operator-(OptimizerScalar a, OptimizerScalar b) {
  return a.apply<mlir::arith::SubFOp>(b);
}
inline OptimizerScalar operator*(OptimizerScalar a, OptimizerScalar b) {
  return a.apply<mlir::arith::MulFOp>(b);
}
inline OptimizerScalar operator/(OptimizerScalar a, OptimizerScalar b) {
  return a.apply<mlir::arith::DivFOp>(b);
}
inline OptimizerScalar operator+(OptimizerScalar a, double b) {
  return a + a.constant(b);
}
inline OptimizerScalar operator-(double a, OptimizerScalar b) {
  return b.constant(a) - b;
}
inline OptimizerScalar operator*(double a, OptimizerScalar b) {
  return b.constant(a) * b;
}
inline OptimizerScalar operator/(double a, OptimizerScalar b) {
  return b.constant(a) / b;
}
inline OptimizerScalar operator/(OptimizerScalar a, double b) {
  return a / a.constant(b);
}
inline OptimizerScalar sqrt(OptimizerScalar a) {
  return a.apply<mlir::math::SqrtOp>();
}
inline OptimizerScalar atLeast(OptimizerScalar a, double bound) {
  return a.apply<mlir::arith::MaximumFOp>(a.constant(bound));
}
inline OptimizerScalar atMost(OptimizerScalar a, double bound) {
  return a.apply<mlir::arith::MinimumFOp>(a.constant(bound));
}

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_OPTIMIZERSCALAR_H
