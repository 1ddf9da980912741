//===- ComputeOps.cpp - computations upstream has no op for ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/IndexBounds.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// CheckIndexOp
//===----------------------------------------------------------------------===//

/// A constant index that is in bounds needs no check.
OpFoldResult CheckIndexOp::fold(FoldAdaptor adaptor) {
  std::optional<int64_t> index = getConstantIntValue(adaptor.getIndex());
  std::optional<int64_t> bound = getConstantIntValue(adaptor.getBound());
  if (index && bound && *index >= 0 && *index < *bound)
    return getIndex();
  return {};
}

//===----------------------------------------------------------------------===//
// ScatterOp
//===----------------------------------------------------------------------===//

SmallVector<AffineMap> ScatterOp::getIndexingMapsArray() {
  return llvm::to_vector(
      getIndexingMaps().getAsValueRange<AffineMapAttr, AffineMap>());
}

static LogicalResult verifyScatterMaps(ScatterOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (maps.size() != op.getInputs().size())
    return op.emitOpError("has ")
           << maps.size() << " indexing maps, expected one for each of its "
           << op.getInputs().size() << " inputs";
  for (auto [number, map, input] : llvm::enumerate(maps, op.getInputs())) {
    auto type = cast<ShapedType>(input.getType());
    if (map.getNumDims() != op.getNumLoops() || map.getNumSymbols() != 0)
      return op.emitOpError("indexing map ")
             << number << " has " << map.getNumDims() << " dimensions and "
             << map.getNumSymbols() << " symbols, expected " << op.getNumLoops()
             << " and 0";
    if (static_cast<int64_t>(map.getNumResults()) != type.getRank())
      return op.emitOpError("indexing map ")
             << number << " has " << map.getNumResults()
             << " results, expected the rank " << type.getRank()
             << " of the input";
    if (failed(verifyIndexingMap(op, "input " + Twine(number), map,
                                 type.getShape(), op.getSizes())))
      return failure();
  }
  return success();
}

static LogicalResult verifyScatterBody(ScatterOp op) {
  Block &body = op.getBody().front();
  unsigned loops = op.getNumLoops();
  if (body.getNumArguments() != loops + op.getInputs().size())
    return op.emitOpError("body has ")
           << body.getNumArguments() << " arguments, expected " << loops
           << " coordinates and " << op.getInputs().size() << " elements";
  for (BlockArgument argument : op.getPointArguments())
    if (!argument.getType().isIndex())
      return op.emitOpError("body argument ")
             << argument.getArgNumber() << " is a coordinate, expected type "
             << "'index', got " << argument.getType();
  for (auto [argument, input] :
       llvm::zip(op.getElementArguments(), op.getInputs()))
    if (argument.getType() != getElementTypeOrSelf(input))
      return op.emitOpError("body argument ")
             << argument.getArgNumber() << " has type " << argument.getType()
             << ", expected " << getElementTypeOrSelf(input);

  auto yield = dyn_cast<YieldOp>(body.getTerminator());
  auto initType = cast<ShapedType>(op.getInit().getType());
  if (!yield ||
      static_cast<int64_t>(yield.getValues().size()) != initType.getRank() + 1)
    return op.emitOpError("body must yield ")
           << initType.getRank() << " indices and an update";
  for (Value index : yield.getValues().drop_back())
    if (!index.getType().isIndex())
      return op.emitOpError("body yields an index of type ")
             << index.getType() << ", expected 'index'";
  Type update = yield.getValues().back().getType();
  Type element = initType.getElementType();
  if (update == element)
    return success();
  auto wide = dyn_cast<FloatType>(update),
       narrow = dyn_cast<FloatType>(element);
  if (wide && narrow && wide.getWidth() > narrow.getWidth())
    return success();
  return op.emitOpError("body yields an update of type ")
         << update << ", expected " << element
         << (narrow ? " or a wider float" : "");
}

LogicalResult ScatterOp::verify() {
  bool onTensors = isa<TensorType>(getInit().getType());
  if (onTensors != static_cast<bool>(getResult()))
    return emitOpError(onTensors ? "on tensors must have a result"
                                 : "on memrefs must not have a result");
  if (onTensors && getResult().getType() != getInit().getType())
    return emitOpError("has a result of type ")
           << getResult().getType() << ", expected the type of 'outs' "
           << getInit().getType();
  if (llvm::any_of(getSizes(), [](int64_t size) { return size < 0; }))
    return emitOpError("sizes must not be negative");
  Type element = getElementTypeOrSelf(getInit().getType());
  if (getMaximum() && !element.isIntOrIndex())
    return emitOpError("has elements of type ")
           << element << ", expected integers, of which 'maximum' is";
  if (failed(verifyScatterMaps(*this)))
    return failure();
  return verifyScatterBody(*this);
}

Value ScatterOp::combine(OpBuilder &builder, Value element, Value update) {
  Location loc = getLoc();
  if (getMaximum())
    return arith::MaxSIOp::create(builder, loc, element, update);
  if (isa<FloatType>(update.getType()))
    return arith::AddFOp::create(builder, loc, element, update);
  if (isa<ComplexType>(update.getType()))
    return complex::AddOp::create(builder, loc, element, update);
  return arith::AddIOp::create(builder, loc, element, update);
}

//===----------------------------------------------------------------------===//
// OrderOp
//===----------------------------------------------------------------------===//

LogicalResult OrderOp::verify() {
  if (getKeys().empty())
    return emitOpError("has no keys, expected one or more");
  auto first = cast<RankedTensorType>(getKeys().front().getType());
  int64_t dim = getDimension();
  if (dim >= first.getRank())
    return emitOpError("has dimension ")
           << dim << ", expected less than the rank " << first.getRank();
  for (Value key : getKeys()) {
    auto type = cast<RankedTensorType>(key.getType());
    if (type.getShape() != first.getShape())
      return emitOpError("has a key of type ")
             << type << ", expected the shape of " << first;
    if (type.getElementTypeBitWidth() > 64)
      return emitOpError("has a key of type ")
             << type << ", expected integers of at most 64 bits";
  }
  RankedTensorType order = getOrder().getType();
  SmallVector<int64_t> shape(first.getShape());
  if (order.getRank() == first.getRank() &&
      (ShapedType::isDynamic(shape[dim]) ||
       (order.getDimSize(dim) >= 0 && order.getDimSize(dim) < shape[dim])))
    shape[dim] = order.getDimSize(dim);
  if (order.getShape() != ArrayRef(shape))
    return emitOpError("has a result of type ")
           << order << ", expected the shape of " << first
           << ", or less along dimension " << dim;
  return success();
}

//===----------------------------------------------------------------------===//
// ConvOp
//===----------------------------------------------------------------------===//

RankedTensorType ConvOp::getInputType() {
  return cast<RankedTensorType>(getKind() == ConvKind::InputGrad
                                    ? getResult().getType()
                                    : getLhs().getType());
}

RankedTensorType ConvOp::getFilterType() {
  return cast<RankedTensorType>(getKind() == ConvKind::FilterGrad
                                    ? getResult().getType()
                                    : getRhs().getType());
}

RankedTensorType ConvOp::getOutputType() {
  switch (getKind()) {
  case ConvKind::Forward:
    return cast<RankedTensorType>(getResult().getType());
  case ConvKind::InputGrad:
    return cast<RankedTensorType>(getLhs().getType());
  case ConvKind::FilterGrad:
    return cast<RankedTensorType>(getRhs().getType());
  }
  llvm_unreachable("unknown convolution kind");
}

/// Beyond this, sizes computed from the parameters could overflow.
static constexpr int64_t maxConvParameter = int64_t(1) << 31;

static LogicalResult verifyConvLayout(ConvOp op, StringRef name,
                                      ArrayRef<int64_t> layout,
                                      RankedTensorType type) {
  if (type.getRank() != static_cast<int64_t>(op.getSpatialRank()) + 2)
    return op.emitOpError("has a factor of type ")
           << type << ", expected rank " << op.getSpatialRank() + 2 << " for "
           << op.getSpatialRank() << " spatial dimensions";
  SmallVector<bool> seen(type.getRank(), false);
  bool valid = layout.size() == static_cast<size_t>(type.getRank());
  for (int64_t dim : layout) {
    valid = valid && dim >= 0 && dim < type.getRank() && !seen[dim];
    if (!valid)
      break;
    seen[dim] = true;
  }
  if (!valid)
    return op.emitOpError("'") << name << "' must be a permutation of "
                               << type.getRank() << " dimensions";
  return success();
}

/// Checks one size of a factor against what the others demand.
static LogicalResult verifyConvSize(ConvOp op, StringRef what, int64_t actual,
                                    int64_t expected) {
  if (actual == expected)
    return success();
  return op.emitOpError() << what << " is " << actual << ", expected "
                          << expected;
}

static LogicalResult verifyConvShapes(ConvOp op) {
  RankedTensorType input = op.getInputType(), filter = op.getFilterType(),
                   output = op.getOutputType();
  auto inputDim = [&](int64_t dim) {
    return input.getDimSize(op.getInputLayout()[dim]);
  };
  auto filterDim = [&](int64_t dim) {
    return filter.getDimSize(op.getFilterLayout()[dim]);
  };
  auto outputDim = [&](int64_t dim) {
    return output.getDimSize(op.getOutputLayout()[dim]);
  };
  int64_t groups = op.getGroups();
  if (filterDim(0) % groups != 0)
    return op.emitOpError("has ")
           << filterDim(0) << " output features, "
           << "expected a multiple of " << groups << " groups";
  if (failed(verifyConvSize(op, "output batch", outputDim(0), inputDim(0))) ||
      failed(
          verifyConvSize(op, "output features", outputDim(1), filterDim(0))) ||
      failed(verifyConvSize(op, "input features", inputDim(1),
                            filterDim(1) * groups)))
    return failure();
  for (unsigned i = 0, e = op.getSpatialRank(); i < e; ++i) {
    int64_t padded =
        inputDim(i + 2) + op.getPadding()[2 * i] + op.getPadding()[2 * i + 1];
    int64_t window = (filterDim(i + 2) - 1) * op.getDilations()[i] + 1;
    int64_t expected = filterDim(i + 2) == 0 || padded < window
                           ? 0
                           : (padded - window) / op.getStrides()[i] + 1;
    if (failed(verifyConvSize(op, "output size of a spatial dimension",
                              outputDim(i + 2), expected)))
      return failure();
  }
  return success();
}

LogicalResult ConvOp::verify() {
  unsigned rank = getSpatialRank();
  if (rank == 0 || getDilations().size() != rank ||
      getPadding().size() != 2 * rank)
    return emitOpError("expected as many 'dilations' as 'strides' and twice "
                       "as many 'padding', got ")
           << getDilations().size() << ", " << rank << " and "
           << getPadding().size();
  auto positive = [](int64_t value) { return value > 0; };
  if (!llvm::all_of(getStrides(), positive) ||
      !llvm::all_of(getDilations(), positive) ||
      static_cast<int64_t>(getGroups()) <= 0)
    return emitOpError("strides, dilations and groups must be positive");
  if (llvm::any_of(getPadding(), [](int64_t value) { return value < 0; }))
    return emitOpError("padding must not be negative");
  auto large = [](int64_t value) { return value > maxConvParameter; };
  if (llvm::any_of(getStrides(), large) ||
      llvm::any_of(getDilations(), large) ||
      llvm::any_of(getPadding(), large) || large(getGroups()))
    return emitOpError(
               "strides, dilations, padding and groups must be at most ")
           << maxConvParameter;
  for (RankedTensorType type :
       {getInputType(), getFilterType(), getOutputType()})
    if (!isBufferType(type))
      return emitOpError("needs numbers and static shapes, got ") << type;
  if (failed(verifyConvLayout(*this, "input_layout", getInputLayout(),
                              getInputType())) ||
      failed(verifyConvLayout(*this, "filter_layout", getFilterLayout(),
                              getFilterType())) ||
      failed(verifyConvLayout(*this, "output_layout", getOutputLayout(),
                              getOutputType())))
    return failure();
  return verifyConvShapes(*this);
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

LogicalResult RandomOp::verify() {
  auto type = cast<RankedTensorType>(getResult().getType());
  Type element = type.getElementType();
  if (!type.hasStaticShape())
    return emitOpError("result has type ")
           << type << ", expected a static shape";
  if (!element.isInteger(32) && !element.isF32() && !element.isF64() &&
      !element.isF16() && !element.isBF16())
    return emitOpError("result has type ")
           << type << ", expected elements of type i32, f16, bf16, f32 or f64";
  return success();
}
