//===- Emit.cpp - small tensor computations -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emit.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace remat;

Value remat::createScalarConversion(OpBuilder &builder, Location loc,
                                    Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (value.getType().getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, type, value);
  if (value.getType().getIntOrFloatBitWidth() > type.getIntOrFloatBitWidth())
    return arith::TruncFOp::create(builder, loc, type, value);
  // f16 and bf16: through a type that holds both.
  Value wide = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  return arith::TruncFOp::create(builder, loc, type, wide);
}

Value remat::createConversion(OpBuilder &builder, Location loc, Value tensor,
                              Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == element)
    return tensor;
  return createElementwise(
      builder, loc, tensor, type.clone(element),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        return createScalarConversion(nested, loc, args[0], element);
      });
}

Type remat::getAccumulatorType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  if (type && type.getWidth() < 32)
    return Float32Type::get(element.getContext());
  return element;
}

Value remat::createTotal(OpBuilder &builder, Location loc, Value tensor) {
  auto type = cast<RankedTensorType>(tensor.getType());
  Type element = type.getElementType();
  Type sumType = getAccumulatorType(element);
  Value zeros = createZeros(builder, loc, RankedTensorType::get({}, sumType));
  SmallVector<AffineMap> maps = {
      builder.getMultiDimIdentityMap(type.getRank()),
      AffineMap::get(type.getRank(), 0, builder.getContext())};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::reduction);
  Value total =
      linalg::GenericOp::create(
          builder, loc, zeros.getType(), tensor, zeros, maps, iterators,
          [&](OpBuilder &nested, Location loc, ValueRange args) {
            Value term = createScalarConversion(nested, loc, args[0], sumType);
            Value sum = createSum(nested, loc, args[1], term);
            linalg::YieldOp::create(nested, loc, sum);
          })
          .getResult(0);
  return createConversion(builder, loc, total, element);
}

Value remat::createUnitReshape(OpBuilder &builder, Location loc, Value tensor,
                               RankedTensorType type) {
  auto from = cast<RankedTensorType>(tensor.getType());
  if (from == type)
    return tensor;
  if (from.getRank() < type.getRank()) {
    auto groups = getReassociationIndicesForReshape(from, type);
    if (groups)
      return tensor::ExpandShapeOp::create(builder, loc, type, tensor, *groups);
  }
  auto groups = getReassociationIndicesForReshape(from, type);
  assert(groups && "shapes differ in more than dimensions of size 1");
  return tensor::CollapseShapeOp::create(builder, loc, type, tensor, *groups);
}

static SmallVector<OpFoldResult> getAttrs(OpBuilder &builder,
                                          ArrayRef<int64_t> values) {
  return getAsIndexOpFoldResult(builder.getContext(), values);
}

Value remat::createInsertSlice(OpBuilder &builder, Location loc, Value source,
                               Value target, ArrayRef<int64_t> offsets,
                               ArrayRef<int64_t> sizes,
                               ArrayRef<int64_t> strides) {
  // Nothing, which may not even be behind the end.
  if (llvm::is_contained(sizes, 0))
    return target;
  return tensor::InsertSliceOp::create(
      builder, loc, source, target, getAttrs(builder, offsets),
      getAttrs(builder, sizes), getAttrs(builder, strides));
}

Value remat::createExtractSlice(OpBuilder &builder, Location loc, Value source,
                                RankedTensorType type,
                                ArrayRef<int64_t> offsets,
                                ArrayRef<int64_t> sizes,
                                ArrayRef<int64_t> strides) {
  if (llvm::is_contained(sizes, 0))
    return createZeros(builder, loc, type);
  return tensor::ExtractSliceOp::create(
      builder, loc, type, source, getAttrs(builder, offsets),
      getAttrs(builder, sizes), getAttrs(builder, strides));
}
