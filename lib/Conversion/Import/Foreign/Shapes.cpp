//===- Shapes.cpp - constants, and the same elements elsewhere ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/IR/Matchers.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// The number that all elements of `dense` are.
static Value createComplexNumber(OpBuilder &builder, Location loc,
                                 DenseElementsAttr dense) {
  auto type = cast<ComplexType>(dense.getElementType());
  auto number = *dense.getValues<std::complex<APFloat>>().begin();
  Attribute parts[] = {FloatAttr::get(type.getElementType(), number.real()),
                       FloatAttr::get(type.getElementType(), number.imag())};
  return createScalarConstant(builder, loc, type, builder.getArrayAttr(parts));
}

static LogicalResult lowerConstant(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  Attribute attr = getAttr(op, "value");
  if (auto elements = dyn_cast_or_null<ElementsAttr>(attr)) {
    ShapedType given = elements.getShapedType();
    if (given.getShape() != type.getShape() ||
        makeSignless(given.getElementType()) != type.getElementType())
      return op->emitOpError("has a value of type ")
             << given << ", expected that of the result, "
             << op->getResult(0).getType();
  }
  if (auto resource = dyn_cast_or_null<DenseResourceElementsAttr>(attr)) {
    attr = DenseResourceElementsAttr::get(type, resource.getRawHandle());
  } else if (auto dense = dyn_cast_or_null<DenseIntOrFPElementsAttr>(attr)) {
    attr = DenseElementsAttr::getFromRawBuffer(type, dense.getRawData());
  } else {
    return op->emitOpError("expected elements as 'value', got ") << attr;
  }
  auto dense = dyn_cast<DenseElementsAttr>(attr);
  if (lowering.isScalar() && (!dense || type.getNumElements() != 1))
    return op->emitOpError("is a tensor in a body of scalars");
  if (isa<ComplexType>(type.getElementType()) && dense && dense.isSplat()) {
    Value number = createComplexNumber(builder, op->getLoc(), dense);
    return lowering.set(
        op, lowering.isScalar()
                ? number
                : createFilled(builder, op->getLoc(), type, number));
  }
  if (!lowering.isScalar())
    return lowering.set(op, arith::ConstantOp::create(builder, op->getLoc(),
                                                      cast<TypedAttr>(attr))
                                .getResult());
  return lowering.set(
      op, arith::ConstantOp::create(
              builder, op->getLoc(),
              cast<TypedAttr>(*dense.getValues<Attribute>().begin()))
              .getResult());
}

static LogicalResult lowerIota(Operation *op, Lowering &lowering) {
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  int64_t dim = getInteger(op, "iota_dimension", -1);
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("has iota_dimension ")
           << dim << ", expected less than " << type.getRank();
  Value counted = createElementwise(
      lowering.builder, op->getLoc(), {}, type,
      [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
        Type element = type.getElementType();
        Type counter =
            isa<IntegerType>(element) ? element : nested.getI64Type();
        Value index = linalg::IndexOp::create(nested, loc, dim);
        index = arith::IndexCastOp::create(nested, loc, counter, index);
        return createConverted(nested, loc, index, element, false);
      });
  return lowering.set(op, counted);
}

static LogicalResult lowerBroadcast(Operation *op, Lowering &lowering) {
  if (failed(checkElements(op)))
    return failure();
  OpBuilder &builder = lowering.builder;
  Value value = lowering.get(op->getOperand(0));
  if (lowering.isScalar())
    return lowering.set(op, value);
  auto from = cast<RankedTensorType>(value.getType());
  RankedTensorType to = lowering.getTensorType(op->getResult(0));
  SmallVector<int64_t> dims = getIntegers(op, "broadcast_dimensions");
  if (static_cast<int64_t>(dims.size()) != from.getRank() ||
      !areDims(dims, to.getRank()))
    return op->emitOpError("has broadcast_dimensions that are not one "
                           "dimension of the result for each of the operand");
  for (auto [size, dim] : llvm::zip(from.getShape(), dims))
    if (size != 1 && size != to.getDimSize(dim))
      return op->emitOpError("repeats dimensions of size ")
             << size << " as " << to.getDimSize(dim)
             << ", expected dimensions of size 1";
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return lowering.set(op, arith::ConstantOp::create(builder, op->getLoc(),
                                                      constant.resizeSplat(to))
                                .getResult());
  // Dimensions of size 1 come without elements.
  if (from.getNumElements() == to.getNumElements() && llvm::is_sorted(dims))
    return lowering.set(
        op, createReshape(builder, op->getLoc(), value, to.getShape()));
  SmallVector<AffineExpr> exprs;
  for (auto [number, dim] : llvm::enumerate(dims))
    exprs.push_back(from.getDimSize(number) == 1 && to.getDimSize(dim) != 1
                        ? builder.getAffineConstantExpr(0)
                        : builder.getAffineDimExpr(dim));
  Value empty = tensor::EmptyOp::create(builder, op->getLoc(), to.getShape(),
                                        to.getElementType());
  AffineMap map = AffineMap::get(to.getRank(), 0, exprs, builder.getContext());
  return lowering.set(
      op, createGeneric(builder, op->getLoc(), value, empty,
                        {map, builder.getMultiDimIdentityMap(to.getRank())},
                        to.getRank(), 0,
                        [](OpBuilder &nested, Location loc, ValueRange args) {
                          linalg::YieldOp::create(nested, loc, args[0]);
                        })
              .getResult(0));
}

static LogicalResult lowerReshape(Operation *op, Lowering &lowering) {
  Value value = lowering.get(op->getOperand(0));
  if (lowering.isScalar())
    return lowering.set(op, value);
  if (getForeignType(op->getOperand(0)).getNumElements() !=
      getForeignType(op->getResult(0)).getNumElements())
    return op->emitOpError("from ")
           << op->getOperand(0).getType() << " to "
           << op->getResult(0).getType() << " does not keep all elements";
  return lowering.set(
      op, createReshape(lowering.builder, op->getLoc(), value,
                        lowering.getTensorType(op->getResult(0)).getShape()));
}

static LogicalResult lowerTranspose(Operation *op, Lowering &lowering) {
  Value value = lowering.get(op->getOperand(0));
  if (lowering.isScalar())
    return lowering.set(op, value);
  SmallVector<int64_t> permutation = getIntegers(op, "permutation");
  if (static_cast<int64_t>(permutation.size()) !=
          cast<RankedTensorType>(value.getType()).getRank() ||
      !isPermutationVector(permutation))
    return op->emitOpError("has a permutation that is none");
  return lowering.set(
      op, createTranspose(lowering.builder, op->getLoc(), value, permutation));
}

/// Refuses operands that do not make up the result along `dim`.
static LogicalResult checkParts(Operation *op, Lowering &lowering,
                                int64_t dim) {
  RankedTensorType whole = lowering.getTensorType(op->getResult(0));
  int64_t sum = 0;
  for (Value operand : op->getOperands()) {
    RankedTensorType type = lowering.getTensorType(operand);
    SmallVector<int64_t> shape(type.getShape());
    if (type.getRank() == whole.getRank()) {
      sum += shape[dim];
      shape[dim] = whole.getDimSize(dim);
    }
    if (type.clone(shape) != whole)
      return op->emitOpError("has an operand of type ")
             << type << ", which does not fit the result of type " << whole;
  }
  if (sum == whole.getDimSize(dim))
    return success();
  return op->emitOpError("has operands of ")
         << sum << " in dimension " << dim << ", expected those of the result, "
         << whole.getDimSize(dim);
}

static LogicalResult lowerConcatenate(Operation *op, Lowering &lowering) {
  SmallVector<Value> inputs = lowering.get(op->getOperands());
  int64_t dim = getInteger(op, "dimension", -1);
  llvm::erase_if(inputs, [&](Value input) {
    auto type = cast<RankedTensorType>(input.getType());
    return inputs.size() > 1 && type.getNumElements() == 0;
  });
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("has dimension ")
           << dim << ", expected less than " << type.getRank();
  if (failed(checkParts(op, lowering, dim)))
    return failure();
  if (inputs.empty() || type.getNumElements() == 0)
    return lowering.set(op, createZeros(lowering.builder, op->getLoc(), type));
  if (inputs.size() == 1)
    return lowering.set(op, inputs[0]);
  return lowering.set(op, tensor::ConcatOp::create(
                              lowering.builder, op->getLoc(), type, dim, inputs)
                              .getResult());
}

static LogicalResult lowerReverse(Operation *op, Lowering &lowering) {
  if (!areDims(getIntegers(op, "dimensions"),
               getForeignType(op->getOperand(0)).getRank()))
    return op->emitOpError("has dimensions that are none of the operand");
  return lowering.set(op, createReversed(lowering.builder, op->getLoc(),
                                         lowering.get(op->getOperand(0)),
                                         getIntegers(op, "dimensions")));
}

void foreign::addShapes(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering, int operands) {
    table[("stablehlo." + name).str()] = {lowering, operands, 1, 0,
                                          KnownOp::Scalars};
  };
  add("constant", lowerConstant, 0);
  add("broadcast_in_dim", lowerBroadcast, 1);
  add("reshape", lowerReshape, 1);
  add("transpose", lowerTranspose, 1);
  table["stablehlo.iota"] = {lowerIota, 0};
  table["stablehlo.concatenate"] = {lowerConcatenate, KnownOp::any};
  table["stablehlo.reverse"] = {lowerReverse, 1};
}
