//===- ElementCodecs.cpp - numbers in fewer bits --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/ElementCodecs.h"

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <cmath>

using namespace mlir;
using namespace remat;

bool remat::hasScales(ElementCodec codec) {
  return codec != ElementCodec::BF16;
}

static int64_t countBlocks(RankedTensorType type) {
  return llvm::divideCeil(type.getNumElements(), codecBlockSize);
}

/// Scales of f64 have its range, all others that of f32.
static Type getScaleType(Type element) {
  return element.isF64() ? element : Float32Type::get(element.getContext());
}

SmallVector<RankedTensorType> remat::getPackedTypes(RankedTensorType type,
                                                    ElementCodec codec) {
  MLIRContext *context = type.getContext();
  if (!hasScales(codec))
    return {type.clone(BFloat16Type::get(context))};
  int64_t blocks = countBlocks(type);
  int64_t bytes =
      codec == ElementCodec::Int4 ? codecBlockSize / 2 : codecBlockSize;
  return {RankedTensorType::get({blocks, bytes}, IntegerType::get(context, 8)),
          RankedTensorType::get(blocks, getScaleType(type.getElementType()))};
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

namespace {
/// Emits the scalar arithmetic of a codec.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  Value constant(Type type, double value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(type, value));
  }
  Value f32(double value) { return constant(builder.getF32Type(), value); }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  }
  Value bits(Value number) {
    return arith::BitcastOp::create(builder, loc, builder.getI32Type(), number);
  }
  Value number(Value bits) {
    return arith::BitcastOp::create(builder, loc, builder.getF32Type(), bits);
  }
  template <typename Op>
  Value apply(Value lhs, Value rhs) {
    return Op::create(builder, loc, lhs, rhs);
  }
  Value select(Value condition, Value yes, Value no) {
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  Value compare(arith::CmpFPredicate predicate, Value lhs, Value rhs) {
    return arith::CmpFOp::create(builder, loc, predicate, lhs, rhs);
  }

  Value convert(Value value, Type type);
  Value toInteger(Value number);
  Value toByte(Value integer) {
    return arith::TruncIOp::create(builder, loc, builder.getI8Type(), integer);
  }
  Value divide(Value number, Value scale, double largest);
  Value encodeE4M3(Value number);
  Value decodeE4M3(Value byte);
};
} // namespace

/// Through f32 if neither type holds the numbers of the other.
Value Scalars::convert(Value value, Type type) {
  unsigned from = value.getType().getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from == to)
    value = arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  return arith::TruncFOp::create(builder, loc, type, value);
}

/// The nearest integer, of two the even one.
Value Scalars::toInteger(Value number) {
  Value rounded = math::RoundEvenOp::create(builder, loc, number);
  return arith::FPToSIOp::create(builder, loc, builder.getI32Type(), rounded);
}

/// The quotient in f32, which is within `largest` even where a tiny scale is
/// not exact. It is 0 where the scale says that the block is all zeros or holds
/// what is not finite.
Value Scalars::divide(Value number, Value scale, double largest) {
  Type type = scale.getType();
  number = convert(number, type);
  Value isUsual = apply<arith::AndIOp>(
      compare(arith::CmpFPredicate::OGT, scale, constant(type, 0)),
      compare(arith::CmpFPredicate::OLT, scale, constant(type, INFINITY)));
  Value ratio =
      select(isUsual, apply<arith::DivFOp>(number, scale), constant(type, 0));
  ratio = apply<arith::MinimumFOp>(ratio, constant(type, largest));
  ratio = apply<arith::MaximumFOp>(ratio, constant(type, -largest));
  return convert(ratio, builder.getF32Type());
}

// E4M3 has a sign, 4 bits of exponent with a bias of 7, and 3 of mantissa. Its
// largest number is 448, its smallest normal one 2^-6, and numbers below that
// are multiples of 2^-9.

/// The byte, in an i32, for a number from -448 to 448.
Value Scalars::encodeE4M3(Value number) {
  Value size = math::AbsFOp::create(builder, loc, number);
  Value sizeBits = bits(size);
  Value isOdd =
      apply<arith::AndIOp>(apply<arith::ShRUIOp>(sizeBits, i32(20)), i32(1));
  Value rounded = apply<arith::AddIOp>(
      sizeBits, apply<arith::AddIOp>(isOdd, i32((1 << 19) - 1)));
  Value normal = apply<arith::SubIOp>(apply<arith::ShRUIOp>(rounded, i32(20)),
                                      i32((127 - 7) << 3));
  Value small = toInteger(apply<arith::MulFOp>(size, f32(512)));
  Value code = select(compare(arith::CmpFPredicate::OLT, size, f32(0x1p-6)),
                      small, normal);
  Value sign = apply<arith::AndIOp>(
      apply<arith::ShRUIOp>(bits(number), i32(24)), i32(0x80));
  return apply<arith::OrIOp>(code, sign);
}

/// The number of a byte in an i32.
Value Scalars::decodeE4M3(Value byte) {
  Value code = apply<arith::AndIOp>(byte, i32(0x7f));
  Value small = apply<arith::MulFOp>(
      arith::SIToFPOp::create(builder, loc, builder.getF32Type(), code),
      f32(0x1p-9));
  Value normal = apply<arith::AddIOp>(apply<arith::ShLIOp>(code, i32(20)),
                                      i32((127 - 7) << 23));
  Value isSmall = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        code, i32(8));
  Value sign =
      apply<arith::ShLIOp>(apply<arith::AndIOp>(byte, i32(0x80)), i32(24));
  return number(
      apply<arith::OrIOp>(select(isSmall, bits(small), normal), sign));
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// What the largest magnitude of a block becomes.
static double getLargestCode(ElementCodec codec) {
  if (codec == ElementCodec::FP8)
    return 448;
  return codec == ElementCodec::Int8 ? 127 : 7;
}

/// An operation on blocks x elements and on scales, which are `inputs` of
/// rank 2 and 1.
static Value createOnBlocks(OpBuilder &builder, Location loc, ValueRange inputs,
                            Value init, ScalarBody body,
                            bool isReduction = false) {
  AffineMap all = builder.getMultiDimIdentityMap(2);
  AffineMap blocks = AffineMap::get(2, 0, builder.getAffineDimExpr(0));
  SmallVector<AffineMap> maps;
  auto addMap = [&](Value value) {
    bool isScale = cast<RankedTensorType>(value.getType()).getRank() == 1;
    maps.push_back(isScale ? blocks : all);
  };
  for (Value input : inputs)
    addMap(input);
  addMap(init);
  SmallVector<utils::IteratorType> iterators(2, utils::IteratorType::parallel);
  if (isReduction)
    iterators[1] = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             builder, loc, init.getType(), inputs, init, maps, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(nested, loc, body(nested, loc, args));
             })
      .getResult(0);
}

/// The largest magnitude of each block over that of a code.
static Value createScales(OpBuilder &builder, Location loc, Value value,
                          ElementCodec codec) {
  auto type = cast<RankedTensorType>(value.getType());
  auto scales = RankedTensorType::get(type.getDimSize(0),
                                      getScaleType(type.getElementType()));
  Value init = createZeros(builder, loc, scales);
  Value largest = createOnBlocks(
      builder, loc, value, init,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Scalars scalars = {nested, loc};
        Value number = scalars.convert(args[0], args[1].getType());
        Value size = math::AbsFOp::create(nested, loc, number);
        return arith::MaximumFOp::create(nested, loc, args[1], size);
      },
      /*isReduction=*/true);
  return createElementwise(
      builder, loc, largest, scales,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Scalars scalars = {nested, loc};
        return scalars.apply<arith::DivFOp>(
            args[0],
            scalars.constant(args[0].getType(), getLargestCode(codec)));
      });
}

/// The first or second half of the elements of each block.
static Value createHalf(OpBuilder &builder, Location loc, Value value,
                        bool isSecond) {
  int64_t blocks = cast<RankedTensorType>(value.getType()).getDimSize(0);
  auto indices = [&](int64_t rows, int64_t columns) {
    return SmallVector<OpFoldResult>{builder.getIndexAttr(rows),
                                     builder.getIndexAttr(columns)};
  };
  return tensor::ExtractSliceOp::create(
      builder, loc, value, indices(0, isSecond ? codecBlockSize / 2 : 0),
      indices(blocks, codecBlockSize / 2), indices(1, 1));
}

static Value createCodes(OpBuilder &builder, Location loc, Value value,
                         Value scales, ElementCodec codec) {
  double largest = getLargestCode(codec);
  auto divide = [&](Scalars &scalars, Value number, Value scale) {
    return scalars.divide(number, scale, largest);
  };
  int64_t blocks = cast<RankedTensorType>(value.getType()).getDimSize(0);
  bool hasPairs = codec == ElementCodec::Int4;
  Value empty = tensor::EmptyOp::create(
      builder, loc, {blocks, hasPairs ? codecBlockSize / 2 : codecBlockSize},
      builder.getI8Type());
  if (!hasPairs)
    return createOnBlocks(
        builder, loc, {value, scales}, empty,
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          Scalars scalars = {nested, loc};
          Value ratio = divide(scalars, args[0], args[1]);
          return scalars.toByte(codec == ElementCodec::FP8
                                    ? scalars.encodeE4M3(ratio)
                                    : scalars.toInteger(ratio));
        });
  // A byte has one element of the first half of its block in its lower bits,
  // and one of the second half in the others.
  return createOnBlocks(
      builder, loc,
      {createHalf(builder, loc, value, false),
       createHalf(builder, loc, value, true), scales},
      empty, [&](OpBuilder &nested, Location loc, ValueRange args) {
        Scalars scalars = {nested, loc};
        Value low = scalars.toInteger(divide(scalars, args[0], args[2]));
        Value high = scalars.toInteger(divide(scalars, args[1], args[2]));
        return scalars.toByte(scalars.apply<arith::OrIOp>(
            scalars.apply<arith::AndIOp>(low, scalars.i32(15)),
            scalars.apply<arith::ShLIOp>(high, scalars.i32(4))));
      });
}

/// All dimensions as one group; none for a scalar.
static SmallVector<ReassociationIndices> groupAll(RankedTensorType type) {
  if (type.getRank() == 0)
    return {};
  return {llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()))};
}

/// The elements in row-major order, as a tensor of another shape.
static Value reshape(OpBuilder &builder, Location loc, Value value,
                     RankedTensorType type) {
  auto from = cast<RankedTensorType>(value.getType());
  auto flat =
      RankedTensorType::get(type.getNumElements(), type.getElementType());
  if (from == type)
    return value;
  if (from.getRank() == 0)
    value = tensor::ExpandShapeOp::create(builder, loc, flat, value,
                                          groupAll(from));
  else if (from.getRank() > 1)
    value = tensor::CollapseShapeOp::create(builder, loc, flat, value,
                                            groupAll(from));
  if (type.getRank() == 0)
    return tensor::CollapseShapeOp::create(builder, loc, type, value,
                                           groupAll(type));
  if (type.getRank() > 1)
    return tensor::ExpandShapeOp::create(builder, loc, type, value,
                                         groupAll(type));
  return value;
}

/// The elements as blocks x 64, with zeros behind them.
static Value createBlocks(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  int64_t count = type.getNumElements(), blocks = countBlocks(type);
  auto blockType = RankedTensorType::get({blocks, codecBlockSize}, element);
  int64_t missing = blockType.getNumElements() - count;
  if (missing == 0)
    return reshape(builder, loc, value, blockType);
  value = reshape(builder, loc, value, RankedTensorType::get(count, element));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  value = tensor::PadOp::create(
      builder, loc, RankedTensorType::get(count + missing, element), value,
      ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(missing)}, zero);
  return reshape(builder, loc, value, blockType);
}

SmallVector<Value> remat::createPacked(OpBuilder &builder, Location loc,
                                       Value value, ElementCodec codec) {
  auto type = cast<RankedTensorType>(value.getType());
  if (codec == ElementCodec::BF16)
    return {createElementwise(
        builder, loc, value, getPackedTypes(type, codec).front(),
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          return Scalars{nested, loc}.convert(args[0], nested.getBF16Type());
        })};
  value = createBlocks(builder, loc, value);
  Value scales = createScales(builder, loc, value, codec);
  return {createCodes(builder, loc, value, scales, codec), scales};
}

/// The elements of blocks x 64, or of blocks x 2 x 32, of which each pair has a
/// byte.
static Value createNumbers(OpBuilder &builder, Location loc, ValueRange packed,
                           RankedTensorType type, ElementCodec codec) {
  AffineExpr block = builder.getAffineDimExpr(0);
  unsigned rank = type.getRank();
  AffineExpr last = builder.getAffineDimExpr(rank - 1);
  SmallVector<AffineMap> maps = AffineMap::inferFromExprList(
      {ArrayRef<AffineExpr>{block, last}, {block}}, builder.getContext());
  // Maps of all dimensions.
  for (AffineMap &map : maps)
    map = AffineMap::get(rank, 0, map.getResults(), builder.getContext());
  maps.push_back(builder.getMultiDimIdentityMap(rank));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::GenericOp::create(
             builder, loc, type, packed, empty, maps,
             SmallVector<utils::IteratorType>(rank,
                                              utils::IteratorType::parallel),
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Scalars scalars = {nested, loc};
               Value code = arith::ExtSIOp::create(
                   nested, loc, nested.getI32Type(), args[0]);
               if (codec == ElementCodec::Int4) {
                 Value half = arith::IndexCastOp::create(
                     nested, loc, nested.getI32Type(),
                     linalg::IndexOp::create(nested, loc, 1));
                 // The bits of this half, and then their sign.
                 Value left = scalars.apply<arith::SubIOp>(
                     scalars.i32(28),
                     scalars.apply<arith::ShLIOp>(half, scalars.i32(2)));
                 code = scalars.apply<arith::ShRSIOp>(
                     scalars.apply<arith::ShLIOp>(code, left), scalars.i32(28));
               }
               Value number = codec == ElementCodec::FP8
                                  ? scalars.decodeE4M3(code)
                                  : arith::SIToFPOp::create(
                                        nested, loc, nested.getF32Type(), code)
                                        .getResult();
               number = scalars.apply<arith::MulFOp>(
                   scalars.convert(number, args[1].getType()), args[1]);
               linalg::YieldOp::create(
                   nested, loc, scalars.convert(number, type.getElementType()));
             })
      .getResult(0);
}

Value remat::createUnpacked(OpBuilder &builder, Location loc, ValueRange packed,
                            RankedTensorType type, ElementCodec codec) {
  if (codec == ElementCodec::BF16)
    return createElementwise(
        builder, loc, packed, type,
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          return Scalars{nested, loc}.convert(args[0], type.getElementType());
        });
  Type element = type.getElementType();
  SmallVector<int64_t> shape = {countBlocks(type), codecBlockSize};
  if (codec == ElementCodec::Int4)
    shape = {shape[0], 2, codecBlockSize / 2};
  Value numbers = createNumbers(builder, loc, packed,
                                RankedTensorType::get(shape, element), codec);
  int64_t count = type.getNumElements();
  if (count % codecBlockSize == 0)
    return reshape(builder, loc, numbers, type);
  numbers = reshape(
      builder, loc, numbers,
      RankedTensorType::get(countBlocks(type) * codecBlockSize, element));
  numbers = tensor::ExtractSliceOp::create(
      builder, loc, RankedTensorType::get(count, element), numbers,
      ArrayRef<OpFoldResult>{builder.getIndexAttr(0)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(count)},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  return reshape(builder, loc, numbers, type);
}
