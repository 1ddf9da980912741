//===- Windows.cpp - reductions over windows ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A window that reaches from each element back to the first, or on to the last,
// is how JAX writes a cumulative sum. Such a window is doubled in size step by
// step instead of being reduced at each element.
//
//===----------------------------------------------------------------------===//

#include "Windows.h"
#include "Reductions.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// The windows of an operation.
struct Windows {
  SmallVector<int64_t> sizes, strides, spread, dilations, low, high;
};
} // namespace

static FailureOr<Windows> readWindows(Operation *op, unsigned rank) {
  Windows windows;
  windows.sizes = getIntegers(op, "window_dimensions", rank, 1);
  windows.strides = getIntegers(op, "window_strides", rank, 1);
  windows.spread = getIntegers(op, "base_dilations", rank, 1);
  windows.dilations = getIntegers(op, "window_dilations", rank, 1);
  SmallVector<int64_t> padding = getIntegers(op, "padding", 2 * rank, 0);
  for (unsigned dim = 0; dim < rank && padding.size() == 2 * rank; ++dim) {
    windows.low.push_back(padding[2 * dim]);
    windows.high.push_back(padding[2 * dim + 1]);
  }
  for (ArrayRef<int64_t> numbers :
       {ArrayRef(windows.sizes), ArrayRef(windows.strides),
        ArrayRef(windows.spread), ArrayRef(windows.dilations),
        ArrayRef(windows.low)})
    if (numbers.size() != rank)
      return op->emitOpError("expected windows of ") << rank << " dimensions";
  for (ArrayRef<int64_t> numbers :
       {ArrayRef(windows.sizes), ArrayRef(windows.strides),
        ArrayRef(windows.spread), ArrayRef(windows.dilations)})
    if (!areAtLeast(numbers, 1))
      return op->emitOpError("expected windows whose sizes, strides and "
                             "dilations are at least 1");
  return windows;
}

/// How many windows there are in a tensor of `shape`.
static FailureOr<SmallVector<int64_t>>
countWindows(Operation *op, const Windows &windows, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> counts;
  for (auto [dim, own] : llvm::enumerate(shape)) {
    FailureOr<int64_t> size = getPaddedSize(
        op, own, windows.spread[dim], windows.low[dim], windows.high[dim]);
    if (failed(size))
      return failure();
    int64_t reach = getSpread(windows.sizes[dim], windows.dilations[dim]);
    counts.push_back(
        *size < reach ? 0 : (*size - reach) / windows.strides[dim] + 1);
  }
  return counts;
}

//===----------------------------------------------------------------------===//
// Cumulative reductions
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
foreign::createCumulative(Operation *op, Lowering &lowering, Region &region,
                          ValueRange inputs, int64_t dim, bool isReversed) {
  OpBuilder &builder = lowering.builder;
  SmallVector<Value> values(inputs);
  auto type = cast<RankedTensorType>(inputs[0].getType());
  int64_t rank = type.getRank(), size = type.getDimSize(dim);
  SmallVector<int64_t> ones(rank, 1);
  // Behind each step, an element has what `reach` elements before it had.
  for (int64_t reach = 1; reach < size; reach *= 2) {
    SmallVector<int64_t> first(rank, 0), second(rank, 0),
        shape(type.getShape()), rest(type.getShape());
    shape[dim] = size - reach;
    rest[dim] = reach;
    second[dim] = reach;
    SmallVector<int64_t> untouched(rank, 0);
    if (isReversed)
      untouched[dim] = size - reach;
    SmallVector<Value> arguments, inits, parts;
    for (bool isElement : {false, true})
      for (Value value : values)
        arguments.push_back(
            createSlice(builder, op->getLoc(), value,
                        isElement != isReversed ? second : first, shape, ones));
    for (Value value : values)
      inits.push_back(tensor::EmptyOp::create(builder, op->getLoc(), shape,
                                              getElementTypeOrSelf(value)));
    SmallVector<AffineMap> maps(arguments.size() + inits.size(),
                                builder.getMultiDimIdentityMap(rank));
    bool isBuilt = true;
    auto combined = createGeneric(
        builder, op->getLoc(), arguments, inits, maps, rank, 0,
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          auto yielded = lowering.lowerScalars(
              nested, region, args.take_front(arguments.size()),
              args.take_back(values.size()).getTypes());
          isBuilt = succeeded(yielded);
          linalg::YieldOp::create(nested, loc,
                                  isBuilt ? ValueRange(*yielded)
                                          : args.take_back(values.size()));
        });
    if (!isBuilt)
      return failure();
    for (auto [value, part] : llvm::zip(values, combined.getResults())) {
      Value kept =
          createSlice(builder, op->getLoc(), value, untouched, rest, ones);
      SmallVector<Value> joined = {kept, part};
      if (isReversed)
        std::swap(joined[0], joined[1]);
      value = tensor::ConcatOp::create(builder, op->getLoc(),
                                       cast<RankedTensorType>(value.getType()),
                                       dim, joined);
    }
  }
  return values;
}

/// The dimension along which all windows begin with the first element, or end
/// with the last.
static std::optional<std::pair<int64_t, bool>>
findCumulative(const Windows &windows, ArrayRef<int64_t> shape) {
  std::optional<std::pair<int64_t, bool>> found;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (windows.strides[dim] != 1 || windows.spread[dim] != 1)
      return std::nullopt;
    int64_t low = windows.low[dim], high = windows.high[dim];
    if (windows.sizes[dim] == 1 && low == 0 && high == 0)
      continue;
    bool isWhole = windows.sizes[dim] == size && windows.dilations[dim] == 1;
    if (!isWhole || found || low + high != size - 1 || (low != 0 && high != 0))
      return std::nullopt;
    found = {dim, low == 0};
  }
  return found;
}

/// The only operation of `region`, if it is one of its two arguments.
static Operation *findOnlyOp(Region &region) {
  Block &block = region.front();
  Operation *op = &block.front();
  bool isOnly = block.getNumArguments() == 2 &&
                op->getNextNode() == &block.back() &&
                op->getNumOperands() == 2 && op->getNumResults() == 1 &&
                op->getOperand(0) != op->getOperand(1) &&
                llvm::all_of(op->getOperands(), [&](Value operand) {
                  return llvm::is_contained(block.getArguments(), operand);
                });
  return isOnly && ValueRange(block.back().getOperands()) ==
                       ValueRange(op->getResults())
             ? op
             : nullptr;
}

static bool isNeutralFloat(StringRef name, const APFloat &number) {
  return llvm::StringSwitch<bool>(name)
      .Case("stablehlo.add", number.isZero())
      .Case("stablehlo.multiply", number.isExactlyValue(1))
      .Case("stablehlo.minimum", number.isPosInfinity())
      .Case("stablehlo.maximum", number.isNegInfinity())
      .Default(false);
}

static bool isNeutralInteger(StringRef name, const APInt &number,
                             bool isUnsigned) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"stablehlo.add", "stablehlo.or", "stablehlo.xor"},
             number.isZero())
      .Case("stablehlo.multiply", number.isOne())
      .Case("stablehlo.and", number.isAllOnes())
      .Case("stablehlo.minimum",
            isUnsigned ? number.isMaxValue() : number.isMaxSignedValue())
      .Case("stablehlo.maximum",
            isUnsigned ? number.isMinValue() : number.isMinSignedValue())
      .Default(false);
}

/// Whether `region` makes of an element and the foreign value `start`, which
/// has elements of the type `element`, that element.
static bool isNeutral(Lowering &lowering, Region &region, Value start,
                      Type element) {
  DenseElementsAttr constant = lowering.findConstant(start);
  if (!constant || !constant.isSplat() ||
      makeSignless(constant.getElementType()) != element)
    return false;
  Operation *only = findOnlyOp(region);
  StringRef name = only ? only->getName().getStringRef() : "";
  if (isa<IntegerType>(element))
    return isNeutralInteger(name, constant.getSplatValue<APInt>(),
                            isUnsigned(start));
  if (isa<FloatType>(element)) {
    auto number = constant.getSplatValue<APFloat>();
    // The logarithm of a sum of exponentials takes several operations.
    bool isLong = region.getNumArguments() == 2 &&
                  region.front().getOperations().size() > 2;
    return only ? isNeutralFloat(name, number)
                : isLong && number.isNegInfinity();
  }
  auto number = constant.getSplatValue<std::complex<APFloat>>();
  return number.imag().isZero() &&
         (name == "stablehlo.add" || name == "stablehlo.multiply") &&
         isNeutralFloat(name, number.real());
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Whether windows reach beyond the tensor, or between its elements.
static bool reachBeyond(const Windows &windows) {
  auto isPositive = [](int64_t count) { return count > 0; };
  return llvm::any_of(windows.low, isPositive) ||
         llvm::any_of(windows.high, isPositive) ||
         llvm::any_of(windows.spread, [](int64_t step) { return step > 1; });
}

/// A number that changes nothing beyond the tensor, where windows have no
/// elements, as in XLA; null if none is known. `start`, of which `op` has the
/// foreign value, counts once in any case.
static Value findPadding(Operation *op, Lowering &lowering, Value start) {
  Region &region = op->getRegion(0);
  Operation *only = op->getNumOperands() == 2 ? findOnlyOp(region) : nullptr;
  if (!only)
    return {};
  Type element = start.getType();
  StringRef name = only->getName().getStringRef();
  // Twice the same number is that number to the first four.
  if (name == "stablehlo.maximum" || name == "stablehlo.minimum" ||
      name == "stablehlo.and" || name == "stablehlo.or" ||
      isNeutral(lowering, region, op->getOperand(1), element))
    return start;
  bool isSum = name == "stablehlo.add" || name == "stablehlo.xor";
  if (!element.isIntOrFloat() || (!isSum && name != "stablehlo.multiply"))
    return {};
  OpBuilder &builder = lowering.builder;
  return arith::ConstantOp::create(builder, op->getLoc(),
                                   isSum ? builder.getZeroAttr(element)
                                         : builder.getOneAttr(element));
}

static LogicalResult lowerReduceWindow(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  SmallVector<Value> inputs, starts;
  if (failed(readReduced(op, lowering, inputs, starts)))
    return failure();
  unsigned count = inputs.size();
  auto from = cast<RankedTensorType>(inputs[0].getType());
  RankedTensorType to = lowering.getTensorType(op->getResult(0));
  int64_t rank = from.getRank();
  FailureOr<Windows> windows = readWindows(op, rank);
  if (failed(windows))
    return failure();
  auto counts = countWindows(op, *windows, from.getShape());
  if (failed(counts))
    return failure();
  for (unsigned number = 0; number < count; ++number)
    if (failed(checkShape(op, *counts, number)))
      return failure();
  auto found = findCumulative(*windows, from.getShape());
  if (found && count == 1 &&
      isNeutral(lowering, op->getRegion(0), op->getOperand(1),
                from.getElementType())) {
    auto results = createCumulative(op, lowering, op->getRegion(0), inputs,
                                    found->first, found->second);
    return failed(results) ? failure() : lowering.set(op, *results);
  }
  SmallVector<int64_t> interior, loopDims, windowShape;
  SmallVector<AffineExpr> exprs;
  for (int64_t dim = 0; dim < rank; ++dim) {
    interior.push_back(windows->spread[dim] - 1);
    AffineExpr expr = builder.getAffineDimExpr(dim) * windows->strides[dim];
    if (windows->sizes[dim] != 1) {
      expr = expr + builder.getAffineDimExpr(rank + windowShape.size()) *
                        windows->dilations[dim];
      windowShape.push_back(windows->sizes[dim]);
    }
    exprs.push_back(expr);
  }
  unsigned loops = rank + windowShape.size();
  Value padding =
      reachBeyond(*windows) ? findPadding(op, lowering, starts[0]) : starts[0];
  auto pad = [&](Value tensor, Value number) {
    return createPadded(builder, loc, tensor, number, windows->low,
                        windows->high, interior);
  };
  SmallVector<Value> padded, inits;
  for (unsigned number = 0; number < count; ++number) {
    Value start = starts[number];
    padded.push_back(
        pad(inputs[number], count == 1 && padding ? padding : start));
    inits.push_back(createFilled(
        builder, loc, lowering.getTensorType(op->getResult(number)), start));
  }
  if (to.getNumElements() == 0)
    return lowering.set(op, inits);
  // Other bodies are told which elements there are.
  if (!padding) {
    Value yes = createInteger(builder, loc, builder.getI1Type(), 1),
          no = createInteger(builder, loc, builder.getI1Type(), 0);
    padded.push_back(pad(
        createFilled(builder, loc, from.clone(builder.getI1Type()), yes), no));
  }
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps(padded.size(),
                              AffineMap::get(loops, 0, exprs, context));
  // The sizes of windows are those of a tensor that is not read.
  if (!windowShape.empty()) {
    padded.push_back(tensor::EmptyOp::create(builder, loc, windowShape,
                                             from.getElementType()));
    maps.push_back(createLoopsMap(builder, loops, rank, windowShape.size()));
  }
  maps.append(count, createLoopsMap(builder, loops, 0, rank));
  auto generic = createReduction(op, lowering, op->getRegion(0), padded, inits,
                                 maps, rank, windowShape.size(),
                                 /*isMasked=*/!padding);
  if (failed(generic))
    return failure();
  return lowering.set(op, generic->getResults());
}

//===----------------------------------------------------------------------===//
// Chosen elements of windows
//===----------------------------------------------------------------------===//

namespace {
/// Adds each element of a source to the element of an operand that a window
/// chooses: the gradient of a maximum over windows.
class SelectAndScatter {
public:
  SelectAndScatter(Operation *op, Lowering &lowering, const Windows &windows)
      : op(op), lowering(lowering), builder(lowering.builder),
        loc(op->getLoc()), windows(windows),
        type(lowering.getTensorType(op->getOperand(0))),
        sumType(lowering.getTensorType(op->getResult(0))),
        places(lowering.getTensorType(op->getOperand(1))) {
    for (int64_t size : windows.sizes)
      count = multiplyCounts(count, size);
    // One number for each window is kept: as small as they can be.
    number = builder.getIntegerType(count <= INT8_MAX    ? 8
                                    : count <= INT16_MAX ? 16
                                                         : 64);
  }

  FailureOr<Value> build();

private:
  FailureOr<Value> findChosen();
  /// The coordinate in `dim` of element `step` of the window at `place`.
  Value createCoordinate(OpBuilder &nested, int64_t dim, Value place,
                         Value step);
  /// The same, moved into the operand where a window can reach beyond it.
  Value createInside(OpBuilder &nested, int64_t dim, Value coordinate);

  Operation *op;
  Lowering &lowering;
  OpBuilder &builder;
  Location loc;
  const Windows &windows;
  RankedTensorType type, sumType, places;
  /// The elements of a window, and the type of their numbers.
  int64_t count = 1;
  Type number;
};
} // namespace

Value SelectAndScatter::createInside(OpBuilder &nested, int64_t dim,
                                     Value coordinate) {
  int64_t last = type.getDimSize(dim) - 1;
  bool isInside = windows.low[dim] <= 0 && windows.high[dim] <= 0;
  return isInside ? coordinate
                  : createClampedIndex(nested, loc, coordinate, false, last);
}

Value SelectAndScatter::createCoordinate(OpBuilder &nested, int64_t dim,
                                         Value place, Value step) {
  Value index = arith::MulIOp::create(
      nested, loc, place, createIndex(nested, loc, windows.strides[dim]));
  index = arith::AddIOp::create(nested, loc, index, step);
  return arith::SubIOp::create(nested, loc, index,
                               createIndex(nested, loc, windows.low[dim]));
}

/// The number of the element of each window that is chosen, or -1. The region
/// says whether what was chosen so far stays so.
FailureOr<Value> SelectAndScatter::findChosen() {
  Value operand = lowering.get(op->getOperand(0));
  int64_t rank = type.getRank();
  unsigned loops = 2 * rank;
  Value shape = tensor::EmptyOp::create(builder, loc, windows.sizes,
                                        type.getElementType());
  Value none = createInteger(
      builder, loc, RankedTensorType::get(places.getShape(), this->number), -1);
  Value best = createZeros(builder, loc, places.clone(type.getElementType()));
  bool isBuilt = true;
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value number = createIndex(nested, loc, 0);
    Value inside = createInteger(nested, loc, nested.getI1Type(), 1);
    SmallVector<Value> place;
    for (int64_t dim = 0; dim < rank; ++dim) {
      Value step = linalg::IndexOp::create(nested, loc, rank + dim);
      number = arith::AddIOp::create(
          nested, loc,
          arith::MulIOp::create(nested, loc, number,
                                createIndex(nested, loc, windows.sizes[dim])),
          step);
      Value index = createCoordinate(
          nested, dim, linalg::IndexOp::create(nested, loc, dim), step);
      Value fits =
          arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult, index,
                                createIndex(nested, loc, type.getDimSize(dim)));
      inside = arith::AndIOp::create(nested, loc, inside, fits);
      place.push_back(createInside(nested, dim, index));
    }
    Value element = tensor::ExtractOp::create(nested, loc, operand, place);
    number = arith::IndexCastOp::create(nested, loc, this->number, number);
    auto stays =
        lowering.lowerScalars(nested, op->getRegion(0), {args[1], element},
                              TypeRange(nested.getI1Type()));
    isBuilt = succeeded(stays);
    if (!isBuilt)
      return linalg::YieldOp::create(nested, loc, args.drop_front()), void();
    Value isFirst =
        arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::slt, args[2],
                              createInteger(nested, loc, this->number, 0));
    Value changes = arith::XOrIOp::create(
        nested, loc, stays->front(),
        createInteger(nested, loc, nested.getI1Type(), 1));
    changes = arith::OrIOp::create(nested, loc, changes, isFirst);
    changes = arith::AndIOp::create(nested, loc, changes, inside);
    Value value =
        arith::SelectOp::create(nested, loc, changes, element, args[1]);
    Value chosen =
        arith::SelectOp::create(nested, loc, changes, number, args[2]);
    linalg::YieldOp::create(nested, loc, ValueRange{value, chosen});
  };
  auto generic = createGeneric(builder, loc, shape, {best, none},
                               {createLoopsMap(builder, loops, rank, rank),
                                createLoopsMap(builder, loops, 0, rank),
                                createLoopsMap(builder, loops, 0, rank)},
                               rank, rank, body);
  if (!isBuilt)
    return failure();
  return generic.getResult(1);
}

FailureOr<Value> SelectAndScatter::build() {
  Type element = sumType.getElementType();
  FailureOr<Value> source =
      createPromoted(op, lowering, op->getOperand(1), element);
  if (failed(source))
    return failure();
  FailureOr<Value> start =
      createPromoted(op, lowering, op->getOperand(2), element);
  if (failed(start))
    return failure();
  Value init = createFilled(builder, loc, sumType,
                            createElementOf(builder, loc, *start));
  if (places.getNumElements() == 0)
    return init;
  FailureOr<Value> chosen = findChosen();
  if (failed(chosen))
    return failure();
  int64_t rank = type.getRank();
  auto block = std::make_unique<Block>();
  for (int64_t dim = 0; dim < rank; ++dim)
    block->addArgument(builder.getIndexType(), loc);
  Value chosenNumber = block->addArgument(number, loc);
  Value term = block->addArgument(element, loc);
  OpBuilder nested(builder.getContext());
  nested.setInsertionPointToEnd(block.get());
  Value zero = createIndex(nested, loc, 0);
  Value rest = arith::IndexCastOp::create(nested, loc, nested.getIndexType(),
                                          chosenNumber);
  Value exists =
      arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::sge, rest, zero);
  rest = createClampedIndex(nested, loc, rest, false, count - 1);
  SmallVector<Value> yields(rank + 1);
  int64_t larger = count;
  for (int64_t dim = rank; dim-- > 0;) {
    Value size = createIndex(nested, loc, windows.sizes[dim]), step = rest;
    larger /= windows.sizes[dim];
    if (windows.sizes[dim] == 1) {
      step = zero;
    } else if (larger != 1) {
      step = arith::RemUIOp::create(nested, loc, rest, size);
      rest = arith::DivUIOp::create(nested, loc, rest, size);
    }
    yields[dim] = createInside(
        nested, dim,
        createCoordinate(nested, dim, block->getArgument(dim), step));
  }
  yields[rank] = arith::SelectOp::create(
      nested, loc, exists, term, createZeroConstant(nested, loc, element));
  YieldOp::create(nested, loc, yields);
  AffineMap all = builder.getMultiDimIdentityMap(rank);
  auto scatter = ScatterOp::create(
      builder, loc, TypeRange(sumType), ValueRange{*chosen, *source}, init,
      builder.getAffineMapArrayAttr({all, all}),
      builder.getDenseI64ArrayAttr(places.getShape()));
  scatter.getBody().push_back(block.release());
  return scatter.getResult();
}

static LogicalResult lowerSelectAndScatter(Operation *op, Lowering &lowering) {
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  FailureOr<Windows> windows = readWindows(op, type.getRank());
  if (failed(windows))
    return failure();
  Operation *sum = findOnlyOp(op->getRegion(1));
  if (!sum || sum->getName().getStringRef() != "stablehlo.add" ||
      type.getElementType().isInteger(1))
    return op->emitOpError("combines by something else than an addition, which "
                           "is not supported");
  for (Type part : op->getRegion(1).getArgumentTypes())
    if (makeSignless(getElementTypeOrSelf(part)) != type.getElementType())
      return op->emitOpError("combines elements of type ")
             << part << ", expected those of " << type;
  RankedTensorType operand = getForeignType(op->getOperand(0)),
                   source = getForeignType(op->getOperand(1)),
                   init = getForeignType(op->getOperand(2));
  if (failed(checkShape(op, operand.getShape())))
    return failure();
  auto counts = countWindows(op, *windows, operand.getShape());
  if (failed(counts))
    return failure();
  if (ArrayRef<int64_t>(*counts) != source.getShape() || init.getRank() != 0)
    return op->emitOpError("has operands of types ")
           << source << " and " << init
           << ", expected one element for each window of " << operand
           << " and rank 0";
  if (type.getNumElements() == 0)
    return lowering.set(op, createZeros(lowering.builder, op->getLoc(), type));
  FailureOr<Value> result = SelectAndScatter(op, lowering, *windows).build();
  return failed(result) ? failure() : lowering.set(op, *result);
}

void foreign::addWindows(LoweringTable &table) {
  table["stablehlo.reduce_window"] = {lowerReduceWindow, KnownOp::any,
                                      KnownOp::any, 1};
  table["stablehlo.select_and_scatter"] = {lowerSelectAndScatter, 3, 1, 2};
}
