//===- Builders.cpp - small tensor computations ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;

Value remat::createScalarConstant(OpBuilder &builder, Location loc, Type type,
                                  Attribute value) {
  if (isa<ComplexType>(type))
    return complex::ConstantOp::create(builder, loc, type,
                                       cast<ArrayAttr>(value));
  return arith::ConstantOp::create(builder, loc, cast<TypedAttr>(value));
}

Value remat::createZeroConstant(OpBuilder &builder, Location loc, Type type) {
  if (auto complexType = dyn_cast<ComplexType>(type)) {
    Attribute zero = builder.getZeroAttr(complexType.getElementType());
    return createScalarConstant(builder, loc, type,
                                builder.getArrayAttr({zero, zero}));
  }
  // There is no attribute for a tensor of complex zeros.
  if (auto tensor = dyn_cast<RankedTensorType>(type);
      tensor && isa<ComplexType>(tensor.getElementType()))
    return createZeros(builder, loc, tensor);
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

Value remat::createZeros(OpBuilder &builder, Location loc,
                         RankedTensorType type) {
  Value zero = createZeroConstant(builder, loc, type.getElementType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
}

Value remat::createElementwise(OpBuilder &builder, Location loc,
                               ValueRange inputs, RankedTensorType type,
                               ScalarBody body) {
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, inputs, empty, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Value result = body(nested, loc, args.drop_back());
               linalg::YieldOp::create(nested, loc, result);
             })
      .getResult(0);
}

static Value createScalarSum(OpBuilder &builder, Location loc, Value lhs,
                             Value rhs) {
  Type type = lhs.getType();
  if (isa<ComplexType>(type))
    return complex::AddOp::create(builder, loc, lhs, rhs);
  if (isa<FloatType>(type))
    return arith::AddFOp::create(builder, loc, lhs, rhs);
  if (type.isInteger(1))
    return arith::OrIOp::create(builder, loc, lhs, rhs);
  return arith::AddIOp::create(builder, loc, lhs, rhs);
}

Value remat::createSum(OpBuilder &builder, Location loc, Value lhs, Value rhs) {
  auto type = dyn_cast<RankedTensorType>(lhs.getType());
  if (!type)
    return createScalarSum(builder, loc, lhs, rhs);
  return createElementwise(
      builder, loc, {lhs, rhs}, type,
      [](OpBuilder &nested, Location loc, ValueRange args) {
        return createScalarSum(nested, loc, args[0], args[1]);
      });
}

Value remat::createComplexLog(OpBuilder &builder, Location loc, Value number) {
  Value size = complex::AbsOp::create(builder, loc, number);
  // As C has it: infinite where a part is, also if the other one is NaN.
  auto type = cast<FloatType>(size.getType());
  Value infinity = arith::ConstantOp::create(
      builder, loc,
      FloatAttr::get(type, APFloat::getInf(type.getFloatSemantics())));
  for (Value part : {complex::ReOp::create(builder, loc, number).getResult(),
                     complex::ImOp::create(builder, loc, number).getResult()}) {
    Value magnitude = math::AbsFOp::create(builder, loc, part);
    Value isInfinite = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OEQ, magnitude, infinity);
    size = arith::SelectOp::create(builder, loc, isInfinite, infinity, size);
  }
  return complex::CreateOp::create(
      builder, loc, number.getType(), math::LogOp::create(builder, loc, size),
      complex::AngleOp::create(builder, loc, number));
}
