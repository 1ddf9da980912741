//===- Builders.cpp - what several families of operations build -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/Matchers.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

bool foreign::isUnsigned(Value value) {
  Type type = getElementTypeOrSelf(value);
  return type.isUnsignedInteger() || type.isInteger(1);
}

RankedTensorType foreign::getForeignType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool foreign::areDims(ArrayRef<int64_t> numbers, int64_t rank) {
  llvm::SmallDenseSet<int64_t> seen;
  return llvm::all_of(numbers, [&](int64_t number) {
    return number >= 0 && number < rank && seen.insert(number).second;
  });
}

bool foreign::isIntegerScalar(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 0 && isa<IntegerType>(type.getElementType());
}

int64_t foreign::getSpread(int64_t size, int64_t step) {
  if (size == 0)
    return 0;
  return addCounts(multiplyCounts(size - 1, step), 1);
}

FailureOr<int64_t> foreign::getPaddedSize(Operation *op, int64_t size,
                                          int64_t step, int64_t low,
                                          int64_t high) {
  int64_t spread = getSpread(size, step);
  if (std::max({spread, step, low, high}) > maxBufferBytes ||
      std::min(low, high) < -maxBufferBytes)
    return op->emitOpError("spreads ")
           << size << " elements that become " << step
           << " apart, and pads them by " << low << " and " << high
           << ", expected at most " << maxBufferBytes << " elements of each";
  return spread + low + high;
}

bool foreign::areAtLeast(ArrayRef<int64_t> numbers, int64_t least) {
  return llvm::all_of(numbers, [&](int64_t number) { return number >= least; });
}

LogicalResult foreign::checkShape(Operation *op, ArrayRef<int64_t> shape,
                                  unsigned number) {
  RankedTensorType type = getForeignType(op->getResult(number));
  if (type.getShape() == shape)
    return success();
  return op->emitOpError("has a result of type ")
         << type << ", expected one of shape [" << shape << "]";
}

LogicalResult foreign::checkElements(Operation *op) {
  Type operand = op->getOperand(0).getType(),
       result = op->getResult(0).getType();
  if (getElementTypeOrSelf(operand) == getElementTypeOrSelf(result))
    return success();
  return op->emitOpError("has a result of type ")
         << result << ", expected the elements of " << operand;
}

/// Whether elements of type `from` may be computed with in the type `to`.
static bool isPromotable(Type from, Type to) {
  auto fromComplex = dyn_cast<ComplexType>(from);
  auto toComplex = dyn_cast<ComplexType>(to);
  if (fromComplex && toComplex)
    return isPromotable(fromComplex.getElementType(),
                        toComplex.getElementType());
  bool areIntegers = isa<IntegerType>(from) && isa<IntegerType>(to),
       areFloats = isa<FloatType>(from) && isa<FloatType>(to);
  return (areIntegers || areFloats) && !from.isInteger(1) &&
         from.getIntOrFloatBitWidth() < to.getIntOrFloatBitWidth();
}

FailureOr<Value> foreign::createPromoted(Operation *op, Lowering &lowering,
                                         Value operand, Type element) {
  Value value = lowering.get(operand);
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType() == element)
    return value;
  if (!isPromotable(type.getElementType(), element))
    return op->emitOpError("has an operand of type ")
           << operand.getType() << ", expected elements of type " << element;
  auto convert = [&](OpBuilder &nested, Location loc, ValueRange args) {
    return createConverted(nested, loc, args[0], element, isUnsigned(operand));
  };
  // The dialect `complex` knows scalars only.
  if (isa<ComplexType>(element))
    return createElementwise(lowering.builder, op->getLoc(), value,
                             type.clone(element), convert);
  return convert(lowering.builder, op->getLoc(), value);
}

Type foreign::withElements(Type type, Type element) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? Type(tensor.clone(element)) : element;
}

static Value createAttr(OpBuilder &builder, Location loc, Type type,
                        TypedAttr element) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(tensor, element));
  return arith::ConstantOp::create(builder, loc, element);
}

Value foreign::createConstant(OpBuilder &builder, Location loc, Type type,
                              double value) {
  Type element = getElementTypeOrSelf(type);
  return createAttr(builder, loc, type, builder.getFloatAttr(element, value));
}

Value foreign::createInteger(OpBuilder &builder, Location loc, Type type,
                             const APInt &value) {
  Type element = getElementTypeOrSelf(type);
  return createAttr(builder, loc, type, builder.getIntegerAttr(element, value));
}

Value foreign::createInteger(OpBuilder &builder, Location loc, Type type,
                             int64_t value) {
  unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  return createInteger(
      builder, loc, type,
      APInt(64, static_cast<uint64_t>(value)).sextOrTrunc(width));
}

Value foreign::createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value foreign::createClampedIndex(OpBuilder &builder, Location loc, Value value,
                                  bool isUnsigned, int64_t last) {
  if (last <= 0)
    return createIndex(builder, loc, 0);
  Type index = builder.getIndexType();
  if (isUnsigned)
    value = arith::IndexCastUIOp::create(builder, loc, index, value);
  else if (!value.getType().isIndex())
    value = arith::IndexCastOp::create(builder, loc, index, value);
  // A large number of 64 bits is negative as an index.
  if (isUnsigned)
    return arith::MinUIOp::create(builder, loc, value,
                                  createIndex(builder, loc, last));
  value =
      arith::MaxSIOp::create(builder, loc, value, createIndex(builder, loc, 0));
  return arith::MinSIOp::create(builder, loc, value,
                                createIndex(builder, loc, last));
}

Value foreign::createElementOf(OpBuilder &builder, Location loc, Value tensor) {
  DenseElementsAttr constant;
  if (matchPattern(tensor, m_Constant(&constant)) && constant.isSplat())
    if (auto number = dyn_cast<TypedAttr>(constant.getSplatValue<Attribute>()))
      return arith::ConstantOp::create(builder, loc, number);
  return tensor::ExtractOp::create(builder, loc, tensor, ValueRange());
}

Value foreign::createReshape(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<int64_t> shape) {
  auto from = cast<RankedTensorType>(value.getType());
  RankedTensorType to = from.clone(shape);
  if (from == to)
    return value;
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)))
    return arith::ConstantOp::create(builder, loc, constant.reshape(to));
  if (from.getNumElements() == 0)
    return tensor::EmptyOp::create(builder, loc, shape, from.getElementType());
  if (auto groups = getReassociationIndicesForReshape(from, to))
    return from.getRank() > to.getRank()
               ? tensor::CollapseShapeOp::create(builder, loc, to, value,
                                                 *groups)
                     .getResult()
               : tensor::ExpandShapeOp::create(builder, loc, to, value, *groups)
                     .getResult();
  ReassociationIndices all;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    all.push_back(dim);
  RankedTensorType flat = from.clone({from.getNumElements()});
  if (from.getRank() != 1)
    value = tensor::CollapseShapeOp::create(
        builder, loc, flat, value, SmallVector<ReassociationIndices>{all});
  if (to.getRank() == 1)
    return value;
  all.clear();
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    all.push_back(dim);
  return tensor::ExpandShapeOp::create(builder, loc, to, value,
                                       SmallVector<ReassociationIndices>{all});
}

Value foreign::createTranspose(OpBuilder &builder, Location loc, Value value,
                               ArrayRef<int64_t> permutation) {
  if (llvm::equal(permutation, llvm::seq<int64_t>(0, permutation.size())))
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, empty, permutation)
      ->getResult(0);
}

Value foreign::createSlice(OpBuilder &builder, Location loc, Value value,
                           ArrayRef<int64_t> begin, ArrayRef<int64_t> sizes,
                           ArrayRef<int64_t> strides) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == sizes)
    return value;
  if (llvm::is_contained(sizes, 0))
    return tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return tensor::ExtractSliceOp::create(
      builder, loc, type.clone(sizes), value,
      getAsIndexOpFoldResult(builder.getContext(), begin),
      getAsIndexOpFoldResult(builder.getContext(), sizes),
      getAsIndexOpFoldResult(builder.getContext(), strides));
}

Value foreign::createTaken(OpBuilder &builder, Location loc, Value value,
                           int64_t dim, int64_t index) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> begin(type.getRank(), 0), strides(type.getRank(), 1),
      sizes(type.getShape());
  begin[dim] = index;
  sizes[dim] = 1;
  Value slice = createSlice(builder, loc, value, begin, sizes, strides);
  sizes.erase(sizes.begin() + dim);
  return createReshape(builder, loc, slice, sizes);
}

Value foreign::createFilled(OpBuilder &builder, Location loc,
                            RankedTensorType type, Value value) {
  Attribute constant;
  if (matchPattern(value, m_Constant(&constant)) &&
      isa<IntegerAttr, FloatAttr>(constant))
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, constant));
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return linalg::FillOp::create(builder, loc, value, empty).getResult(0);
}

Value foreign::createPadded(OpBuilder &builder, Location loc, Value value,
                            Value padding, ArrayRef<int64_t> low,
                            ArrayRef<int64_t> high,
                            ArrayRef<int64_t> interior) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> zeros(rank, 0), ones(rank, 1), spread(type.getShape()),
      strides;
  for (int64_t dim = 0; dim < rank; ++dim) {
    strides.push_back(interior[dim] + 1);
    if (spread[dim] > 0)
      spread[dim] = (spread[dim] - 1) * strides[dim] + 1;
  }
  if (spread != type.getShape() && type.getNumElements() != 0)
    value = tensor::InsertSliceOp::create(
        builder, loc, value,
        createFilled(builder, loc, type.clone(spread), padding),
        getAsIndexOpFoldResult(builder.getContext(), zeros),
        getAsIndexOpFoldResult(builder.getContext(), type.getShape()),
        getAsIndexOpFoldResult(builder.getContext(), strides));
  // What is cut off comes first, so that no size is negative in between.
  SmallVector<int64_t> begin, sizes, padLow, padHigh, shape;
  for (int64_t dim = 0; dim < rank; ++dim) {
    int64_t cutLow = std::min(std::max<int64_t>(-low[dim], 0), spread[dim]);
    int64_t cutHigh =
        std::min(std::max<int64_t>(-high[dim], 0), spread[dim] - cutLow);
    begin.push_back(cutLow);
    sizes.push_back(spread[dim] - cutLow - cutHigh);
    // More may be cut off on one side than there is, and padded on the other.
    int64_t wanted = spread[dim] + low[dim] + high[dim];
    padLow.push_back(
        std::clamp<int64_t>(low[dim], 0, std::max<int64_t>(wanted, 0)));
    padHigh.push_back(wanted - sizes.back() - padLow.back());
    shape.push_back(wanted);
  }
  RankedTensorType result = type.clone(shape);
  if (llvm::is_contained(sizes, 0))
    return createFilled(builder, loc, result, padding);
  value = createSlice(builder, loc, value, begin, sizes, ones);
  if (value.getType() == result)
    return value;
  // The body of a tensor.pad may capture constants only.
  if (!matchPattern(padding, m_Constant()))
    return tensor::InsertSliceOp::create(
        builder, loc, value, createFilled(builder, loc, result, padding),
        getAsIndexOpFoldResult(builder.getContext(), padLow),
        getAsIndexOpFoldResult(builder.getContext(), sizes),
        getAsIndexOpFoldResult(builder.getContext(), ones));
  return tensor::PadOp::create(
      builder, loc, result, value,
      getAsIndexOpFoldResult(builder.getContext(), padLow),
      getAsIndexOpFoldResult(builder.getContext(), padHigh), padding);
}

Value foreign::createReversed(OpBuilder &builder, Location loc, Value value,
                              ArrayRef<int64_t> dims) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr expr = builder.getAffineDimExpr(dim);
    if (llvm::is_contained(dims, dim))
      expr = type.getDimSize(dim) - 1 - expr;
    exprs.push_back(expr);
  }
  AffineMap map =
      AffineMap::get(type.getRank(), 0, exprs, builder.getContext());
  if (map.isIdentity() || type.getNumElements() == 0)
    return value;
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  return createGeneric(builder, loc, value, empty,
                       {map, builder.getMultiDimIdentityMap(type.getRank())},
                       type.getRank(), 0,
                       [](OpBuilder &nested, Location loc, ValueRange args) {
                         linalg::YieldOp::create(nested, loc, args[0]);
                       })
      .getResult(0);
}

Value foreign::createWithRules(OpBuilder &builder, Location loc, Value x,
                               Value result,
                               llvm::function_ref<Value(Value)> reverse,
                               llvm::function_ref<Value(Value)> forward) {
  OperationState state(loc, CustomRuleOp::getOperationName());
  state.addOperands({x, result});
  state.addTypes(result.getType());
  state.addAttribute("operandSegmentSizes",
                     builder.getDenseI32ArrayAttr({1, 1}));
  for (llvm::function_ref<Value(Value)> rule : {reverse, forward}) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block =
        builder.createBlock(state.addRegion(), {}, {x.getType()}, {loc});
    YieldOp::create(builder, loc, rule(block->getArgument(0)));
  }
  return builder.create(state)->getResult(0);
}

Value foreign::createWithRule(OpBuilder &builder, Location loc, Value x,
                              Value result,
                              llvm::function_ref<Value(Value)> rule) {
  return createWithRules(builder, loc, x, result, rule, rule);
}

AffineMap foreign::createLoopsMap(OpBuilder &builder, unsigned loops,
                                  unsigned begin, unsigned count) {
  SmallVector<AffineExpr> exprs;
  for (unsigned loop = begin; loop < begin + count; ++loop)
    exprs.push_back(builder.getAffineDimExpr(loop));
  return AffineMap::get(loops, 0, exprs, builder.getContext());
}

linalg::GenericOp foreign::createGeneric(OpBuilder &builder, Location loc,
                                         ValueRange inputs, ValueRange inits,
                                         ArrayRef<AffineMap> maps,
                                         unsigned parallelLoops,
                                         unsigned reductionLoops,
                                         BodyBuilder body) {
  SmallVector<utils::IteratorType> iterators(parallelLoops,
                                             utils::IteratorType::parallel);
  iterators.append(reductionLoops, utils::IteratorType::reduction);
  return linalg::GenericOp::create(builder, loc, inits.getTypes(), inputs,
                                   inits, maps, iterators, body);
}
