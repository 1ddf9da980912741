//===- Pointwise.h - operations element by element --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_POINTWISE_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_POINTWISE_H

#include "Lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat::foreign {

/// What the body of an operation is built from: operands that are scalars, or
/// whole tensors.
struct Pointwise {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Operation *op;
  mlir::ValueRange args;
  /// The type of the result.
  mlir::Type type;

  // What the elements of the first operand are.
  bool isFloat() const;
  bool isComplex() const;
  bool isBool() const;
  bool isInteger() const;
  bool isUnsigned() const;
  unsigned getWidth() const;

  /// Constants of the type of the first operand.
  mlir::Value number(double value) const;
  mlir::Value integer(int64_t value) const;

  template <typename Op, typename... Operands>
  mlir::Value make(Operands... operands) const {
    return Op::create(builder, loc, operands...);
  }
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a,
                      mlir::Value b) const;
  mlir::Value compare(mlir::arith::CmpFPredicate predicate, mlir::Value a,
                      mlir::Value b) const;
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;
  /// Reports that the elements are of the wrong kind.
  mlir::Value refuse() const;
};

/// An operation of floats, and the one of complex numbers if there is one.
template <typename FloatOp, typename ComplexOp = void>
mlir::Value buildUnary(Pointwise &p) {
  if (p.isFloat())
    return p.make<FloatOp>(p.args[0]);
  if constexpr (!std::is_void_v<ComplexOp>)
    if (p.isComplex())
      return p.make<ComplexOp>(p.args[0]);
  return p.refuse();
}

/// Builds the result; an empty value if that was refused.
using PointwiseBody = mlir::Value (*)(Pointwise &);

llvm::LogicalResult lowerPointwise(mlir::Operation *op, Lowering &lowering,
                                   PointwiseBody body);

/// The same as an entry of a `LoweringTable`.
template <PointwiseBody body>
llvm::LogicalResult lowerPointwise(mlir::Operation *op, Lowering &lowering) {
  return lowerPointwise(op, lowering, body);
}

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_POINTWISE_H
