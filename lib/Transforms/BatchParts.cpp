//===- BatchParts.cpp - what of a function belongs to a batch -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchParts.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

Type remat::getSumElement(Type element) {
  if (auto type = dyn_cast<ComplexType>(element))
    return ComplexType::get(getSumElement(type.getElementType()));
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(element.getContext())
                                      : element;
}

/// What `map` makes of a float, or of both parts of a complex number.
static Value mapParts(OpBuilder &builder, Location loc, Value value,
                      function_ref<Value(Value)> map) {
  if (!isa<ComplexType>(value.getType()))
    return map(value);
  Value real = map(complex::ReOp::create(builder, loc, value));
  Value imaginary = map(complex::ImOp::create(builder, loc, value));
  return complex::CreateOp::create(
      builder, loc, ComplexType::get(real.getType()), real, imaginary);
}

Value remat::convertFloats(OpBuilder &builder, Location loc, Value value,
                           Type element) {
  Type type = value.getType();
  Type old = getElementTypeOrSelf(type);
  if (old == element)
    return value;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return createElementwise(
        builder, loc, value, tensor.clone(element),
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          return convertFloats(nested, loc, args[0], element);
        });
  if (auto type = dyn_cast<ComplexType>(element))
    return mapParts(builder, loc, value, [&](Value part) {
      return convertFloats(builder, loc, part, type.getElementType());
    });
  if (old.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, element, value);
  return arith::TruncFOp::create(builder, loc, element, value);
}

FailureOr<func::FuncOp>
remat::findBatchFunction(ModuleOp module, StringRef name, int64_t parts) {
  auto function =
      dyn_cast_or_null<func::FuncOp>(findEntry(module, name).getOperation());
  if (!function || function.isExternal() || !function.getBody().hasOneBlock())
    return module.emitError("has no function '")
           << name << "' of one block to run for parts of a batch";
  if (parts < 1)
    return function.emitOpError("cannot run for ")
           << parts << " parts of a batch, expected 1 or more";
  for (auto [number, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape())
      return function.emitOpError("argument #")
             << number << " has type " << type
             << ", expected a tensor of static shape to run for parts of a "
                "batch";
  }
  return function;
}

static bool isDifferentiable(Type type) {
  return isa<FloatType, ComplexType>(getElementTypeOrSelf(type));
}

FailureOr<DenseSet<int64_t>>
BatchParts::findDifferentiated(ArrayRef<int64_t> wrt) {
  DenseSet<int64_t> numbers;
  int64_t count = function.getNumArguments();
  for (int64_t number : wrt) {
    if (number < 0 || number >= count)
      return function.emitOpError("has ")
             << count << " arguments, cannot differentiate with respect to #"
             << number;
    Type type = function.getArgumentTypes()[number];
    if (!isDifferentiable(type))
      return function.emitOpError("argument #")
             << number << " has type " << type
             << ", expected floating-point or complex elements to "
                "differentiate with respect to";
    numbers.insert(number);
  }
  if (wrt.empty())
    for (BlockArgument argument : function.getArguments())
      if (isDifferentiable(argument.getType()))
        numbers.insert(argument.getArgNumber());
  return numbers;
}

LogicalResult BatchParts::findBatch(const DenseSet<int64_t> &differentiated) {
  auto getRows = [&](int64_t number) -> std::optional<int64_t> {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[number]);
    return type.getRank() == 0 ? std::nullopt
                               : std::optional(type.getDimSize(0));
  };
  int64_t count = function.getNumArguments();
  bool isGiven = !batch.empty();
  for (int64_t number : batch) {
    if (number < 0 || number >= count)
      return function.emitOpError("has ")
             << count << " arguments, cannot split #" << number
             << " into parts";
    if (!getRows(number))
      return function.emitOpError("argument #")
             << number << " has type " << function.getArgumentTypes()[number]
             << ", expected a first dimension to split into parts";
  }
  for (int64_t number = 0; number < count && !isGiven; ++number) {
    std::optional<int64_t> size = getRows(number);
    if (!size || differentiated.contains(number) ||
        getDonatedResult(function, number))
      continue;
    if (batch.empty())
      rows = *size;
    if (*size == rows)
      batch.push_back(number);
  }
  if (batch.empty())
    return function.emitOpError(
        "has no argument to split into parts: expected one with a first "
        "dimension that the function is not differentiated with respect to; "
        "'batch-arguments' says which");
  rows = *getRows(batch.front());
  for (int64_t number = 0; number < count; ++number) {
    if (isBatch(number) || getDonatedResult(function, number) ||
        !function.getArgAttr(number, keyAttrName))
      continue;
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[number]);
    if (type.getRank() != 0 || !type.getElementType().isSignlessInteger(64))
      return function.emitOpError("argument #")
             << number << " has '" << keyAttrName << "' and type " << type
             << ", expected a tensor<i64>";
    keys.push_back(number);
  }
  return success();
}

std::optional<int64_t> BatchParts::getGradientArgument(unsigned result) {
  for (StringRef name : {gradientAttrName, dataGradientAttrName})
    if (auto of = function.getResultAttrOfType<IntegerAttr>(result, name))
      return of.getInt();
  return std::nullopt;
}

LogicalResult BatchParts::classifyResults() {
  donors = getDonors(function);
  for (auto [number, type] : llvm::enumerate(function.getResultTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    bool isFloat = isDifferentiable(tensor);
    std::optional<int64_t> of = getGradientArgument(number);
    bool isGradient = of.has_value();
    if (isGradient && *of >= function.getNumArguments())
      return function.emitOpError("result #")
             << number << " is marked as the gradient of argument #" << *of
             << ", but there are " << function.getNumArguments()
             << " arguments";
    if (donors[number])
      kinds.push_back(PartResult::Carried);
    else if (isFloat && isGradient && isBatch(*of))
      kinds.push_back(PartResult::StackedShares);
    else if (isFloat && (isGradient || tensor.getRank() == 0))
      kinds.push_back(PartResult::Mean);
    else
      kinds.push_back(PartResult::Stacked);
    if (isGradient && !isFloat)
      return function.emitOpError("result #")
             << number << " is a gradient of type " << type
             << ", expected floating-point or complex elements for the mean of "
                "parts";
    if (donors[number] && isBatch(donors[number].getArgNumber()))
      return function.emitOpError("argument #")
             << donors[number].getArgNumber()
             << " gives its buffer to a result, expected this of no argument "
                "that is split into parts";
  }
  return success();
}

RankedTensorType BatchParts::addParts(RankedTensorType type) const {
  SmallVector<int64_t> shape = {parts};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

void BatchParts::widenBatch() {
  for (int64_t number : batch) {
    BlockArgument argument = function.getArgument(number);
    auto type = cast<RankedTensorType>(argument.getType());
    SmallVector<int64_t> shape = llvm::to_vector(type.getShape());
    shape[0] *= parts;
    argument.setType(type.clone(shape));
  }
}

/// Groups of dimensions of which the first two are one.
static SmallVector<ReassociationIndices> groupFirst(int64_t rank) {
  SmallVector<ReassociationIndices> groups = {{0, 1}};
  for (int64_t dim = 1; dim < rank; ++dim)
    groups.push_back({dim + 1});
  return groups;
}

Value BatchParts::split(OpBuilder &builder, Value argument) const {
  auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> shape = {parts, type.getDimSize(0) / parts};
  llvm::append_range(shape, type.getShape().drop_front());
  return tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                       argument, groupFirst(type.getRank()));
}

Value BatchParts::makeKeys(OpBuilder &builder, Value argument) const {
  auto type = cast<RankedTensorType>(argument.getType());
  // An odd number as far from others as can be: two to the power of 64 by the
  // golden ratio. So no two steps whose keys are near have a key in common.
  constexpr auto distance = static_cast<int64_t>(0x9e3779b97f4a7c15);
  SmallVector<int64_t> offsets;
  for (int64_t part = 0; part < parts; ++part)
    offsets.push_back(static_cast<int64_t>(static_cast<uint64_t>(part) *
                                           static_cast<uint64_t>(distance)));
  RankedTensorType all = addParts(type);
  Value table = arith::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(all, ArrayRef(offsets)));
  Value init = tensor::EmptyOp::create(builder, loc, all.getShape(),
                                       all.getElementType());
  AffineMap first = builder.getMultiDimIdentityMap(1);
  return linalg::GenericOp::create(
             builder, loc, TypeRange(all), ValueRange({argument, table}), init,
             ArrayRef<AffineMap>{AffineMap::get(1, 0, builder.getContext()),
                                 first, first},
             utils::IteratorType::parallel,
             [](OpBuilder &nested, Location loc, ValueRange args) {
               linalg::YieldOp::create(
                   nested, loc,
                   arith::AddIOp::create(nested, loc, args[0], args[1])
                       .getResult());
             })
      .getResult(0);
}

Value BatchParts::getSlices(OpBuilder &builder, int64_t argument) {
  Value value = function.getArgument(argument);
  return isBatch(argument) ? split(builder, value) : makeKeys(builder, value);
}

Value BatchParts::createShare(OpBuilder &builder, Location loc, Value value,
                              Type element) const {
  return mapParts(
      builder, loc, convertFloats(builder, loc, value, element),
      [&](Value part) -> Value {
        Value share = arith::ConstantOp::create(
            builder, loc,
            builder.getFloatAttr(part.getType(), 1.0 / double(parts)));
        return arith::MulFOp::create(builder, loc, part, share);
      });
}

Value BatchParts::join(OpBuilder &builder, Value stack, RankedTensorType type,
                       PartResult kind) const {
  if (kind == PartResult::StackedShares)
    stack = createElementwise(
        builder, loc, stack, cast<RankedTensorType>(stack.getType()),
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          Type wide = getSumElement(type.getElementType());
          return convertFloats(nested, loc,
                               createShare(nested, loc, args[0], wide),
                               type.getElementType());
        });
  if (type.getRank() == 0 || type.getDimSize(0) != rows)
    return stack;
  SmallVector<int64_t> shape = {parts * rows};
  llvm::append_range(shape, type.getShape().drop_front());
  return tensor::CollapseShapeOp::create(builder, loc, type.clone(shape), stack,
                                         groupFirst(type.getRank()));
}

void BatchParts::finish(ArrayRef<Operation *> old, ValueRange values) {
  Block &block = function.front();
  block.getTerminator()->setOperands(values);
  for (Operation *op : llvm::reverse(old))
    op->erase();
  function.setFunctionType(FunctionType::get(
      function.getContext(), block.getArgumentTypes(), values.getTypes()));
}
