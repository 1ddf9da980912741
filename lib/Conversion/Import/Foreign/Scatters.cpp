//===- Scatters.cpp - slices that are written at computed places ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Updates that are added become a remat.scatter. Where at most one update
// counts for each element, because places differ or the last one overwrites the
// others, the number of that update is scattered, and each element then reads
// it. A maximum, minimum or product is a reduction over all updates for each
// element. Any other combination is a loop over the updates. Updates whose
// slice would leave the tensor are dropped.
//
//===----------------------------------------------------------------------===//

#include "Scatters.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Loops over more updates are not unrolled.
static constexpr int64_t maxLoop = 256;

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

int64_t ScatterBuilder::countPlaces() const {
  int64_t count = 1;
  for (int64_t size : places.shape)
    count *= size;
  return count;
}

int64_t ScatterBuilder::getWindowSize(int64_t dim) const {
  return windowDims[dim] < 0 ? 1 : updateShape[windowDims[dim]];
}

bool ScatterBuilder::mayOverlap() const {
  return llvm::any_of(places.dims,
                      [&](int64_t dim) { return getWindowSize(dim) != 1; });
}

bool ScatterBuilder::hasWindows() const {
  return llvm::any_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t dim) {
    bool isIndexed = llvm::is_contained(places.dims, dim);
    return getWindowSize(dim) != (isIndexed ? 1 : type.getDimSize(dim));
  });
}

static Value createIndexOf(OpBuilder &nested, Location loc, Value part,
                           bool isUnsigned) {
  Type index = nested.getIndexType();
  if (isUnsigned)
    return arith::IndexCastUIOp::create(nested, loc, index, part);
  return arith::IndexCastOp::create(nested, loc, index, part);
}

/// The place that `parts` select, within the tensor, and whether it was.
std::pair<SmallVector<Value>, Value>
ScatterBuilder::createPlace(OpBuilder &nested, Location loc, ValueRange parts) {
  SmallVector<Value> place(type.getRank());
  Value valid;
  for (auto [part, dim] : llvm::zip(parts, places.dims)) {
    int64_t last = type.getDimSize(dim) - getWindowSize(dim);
    Value index = createIndexOf(nested, loc, part, places.isUnsigned);
    // A negative index is a large one without a sign.
    Value inside = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ule,
                                         index, createIndex(nested, loc, last));
    valid = valid ? arith::AndIOp::create(nested, loc, valid, inside) : inside;
    place[dim] = createClampedIndex(nested, loc, index, false, last);
  }
  if (!valid)
    valid = createInteger(nested, loc, nested.getI1Type(), 1);
  return {place, valid};
}

/// For each loop over the updates the expression that a place is read with.
AffineMap ScatterBuilder::getPlaceMap(unsigned loops,
                                      ArrayRef<unsigned> placeLoops) {
  SmallVector<AffineExpr> exprs;
  for (unsigned loop : placeLoops)
    exprs.push_back(builder.getAffineDimExpr(loop));
  return AffineMap::get(loops, 0, exprs, builder.getContext());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Adds what `body` yields to the elements of `init`, or keeps the greatest.
Value ScatterBuilder::createScatter(
    Value init, ValueRange inputs, ArrayRef<AffineMap> maps,
    ArrayRef<int64_t> sizes,
    llvm::function_ref<void(OpBuilder &, ValueRange, ValueRange)> body,
    bool isMaximum) {
  auto block = std::make_unique<Block>();
  for (size_t i = 0; i < sizes.size(); ++i)
    block->addArgument(builder.getIndexType(), loc);
  for (Value input : inputs)
    block->addArgument(getElementTypeOrSelf(input.getType()), loc);
  OpBuilder nested(builder.getContext());
  nested.setInsertionPointToEnd(block.get());
  SmallVector<Value> arguments =
      llvm::to_vector_of<Value>(block->getArguments());
  body(nested, ArrayRef(arguments).take_front(sizes.size()),
       ArrayRef(arguments).drop_front(sizes.size()));
  auto scatter =
      ScatterOp::create(builder, loc, TypeRange(init.getType()), inputs, init,
                        builder.getAffineMapArrayAttr(maps), sizes, isMaximum);
  scatter.getBody().push_back(block.release());
  return scatter.getResult();
}

Value ScatterBuilder::add(Value operand, Value update) {
  unsigned loops = updateShape.size();
  SmallVector<Value> inputs(places.parts);
  SmallVector<AffineMap> maps(inputs.size(), getPlaceMap(loops, placeDims));
  inputs.push_back(update);
  maps.push_back(builder.getMultiDimIdentityMap(loops));
  return createScatter(
      operand, inputs, maps, updateShape,
      [&](OpBuilder &nested, ValueRange points, ValueRange elements) {
        auto [place, valid] = createPlace(nested, loc, elements.drop_back());
        addWindow(nested, place, points);
        Value term = elements.back();
        Type element = term.getType();
        // What is added to -0 has its own sign.
        Value nothing = isa<FloatType>(element)
                            ? createConstant(nested, loc, element, -0.0)
                            : createZeroConstant(nested, loc, element);
        place.push_back(
            arith::SelectOp::create(nested, loc, valid, term, nothing));
        YieldOp::create(nested, loc, place);
      });
}

/// Adds the coordinates within the slice, of which `points` has those of the
/// update.
void ScatterBuilder::addWindow(OpBuilder &nested, SmallVectorImpl<Value> &place,
                               ValueRange points) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (windowDims[dim] < 0 || getWindowSize(dim) == 1) {
      if (!place[dim])
        place[dim] = createIndex(nested, loc, 0);
      continue;
    }
    Value step = points[windowDims[dim]];
    place[dim] =
        place[dim]
            ? arith::AddIOp::create(nested, loc, place[dim], step).getResult()
            : step;
  }
}

//===----------------------------------------------------------------------===//
// Other combinations
//===----------------------------------------------------------------------===//

/// Each element with all updates that go to it, of which all others are
/// `neutral`.
FailureOr<Value> ScatterBuilder::reduce(Value neutral) {
  int64_t rank = type.getRank();
  unsigned loops = rank + places.shape.size();
  SmallVector<unsigned> placeLoops;
  SmallVector<AffineExpr> exprs(updateShape.size());
  for (unsigned i = 0; i < places.shape.size(); ++i) {
    placeLoops.push_back(rank + i);
    exprs[placeDims[i]] = builder.getAffineDimExpr(rank + i);
  }
  for (int64_t dim = 0; dim < rank; ++dim)
    if (windowDims[dim] >= 0)
      exprs[windowDims[dim]] = getWindowSize(dim) == 1
                                   ? builder.getAffineConstantExpr(0)
                                   : builder.getAffineDimExpr(dim);
  SmallVector<Value> inputs(places.parts);
  SmallVector<AffineMap> maps(inputs.size(), getPlaceMap(loops, placeLoops));
  inputs.push_back(updates[0]);
  maps.push_back(AffineMap::get(loops, 0, exprs, builder.getContext()));
  maps.push_back(createLoopsMap(builder, loops, 0, rank));
  bool isBuilt = true;
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value goesHere = createInteger(nested, loc, nested.getI1Type(), 1);
    for (auto [part, dim] : llvm::zip(args, places.dims)) {
      // A narrow type may not hold all numbers of a dimension.
      Value equal = arith::CmpIOp::create(
          nested, loc, arith::CmpIPredicate::eq,
          createIndexOf(nested, loc, part, places.isUnsigned),
          linalg::IndexOp::create(nested, loc, dim));
      goesHere = arith::AndIOp::create(nested, loc, goesHere, equal);
    }
    Value term = arith::SelectOp::create(nested, loc, goesHere,
                                         args[places.parts.size()], neutral);
    auto reduced = combineElements(nested, args.back(), term);
    isBuilt = succeeded(reduced);
    linalg::YieldOp::create(nested, loc,
                            isBuilt ? reduced->front() : args.back());
  };
  auto generic = createGeneric(builder, loc, inputs, operands[0], maps, rank,
                               places.shape.size(), body);
  if (!isBuilt)
    return failure();
  return generic.getResult(0);
}

/// One update after the other.
FailureOr<SmallVector<Value>> ScatterBuilder::loop() {
  int64_t count = countPlaces();
  if (count > maxLoop)
    return op->emitOpError("combines ")
           << count
           << " updates in a way that is neither an addition, maximum, "
           << "minimum, product nor replacement, expected at most " << maxLoop
           << " of them, or 'unique_indices'";
  SmallVector<Value> values(operands);
  int64_t rank = type.getRank();
  SmallVector<int64_t> window, ones(rank, 1);
  for (int64_t dim = 0; dim < rank; ++dim)
    window.push_back(getWindowSize(dim));
  for (int64_t number = 0; number < count; ++number) {
    SmallVector<int64_t> at(places.shape.size());
    int64_t rest = number;
    for (unsigned i = at.size(); i-- > 0; rest /= places.shape[i])
      at[i] = rest % places.shape[i];
    SmallVector<Value> indices, parts, slices, inputs;
    for (int64_t coordinate : at)
      indices.push_back(createIndex(builder, loc, coordinate));
    for (Value part : places.parts)
      parts.push_back(tensor::ExtractOp::create(builder, loc, part, indices));
    auto [place, valid] = createPlace(builder, loc, parts);
    SmallVector<OpFoldResult> offsets;
    for (Value index : place)
      offsets.push_back(index ? OpFoldResult(index)
                              : OpFoldResult(builder.getIndexAttr(0)));
    auto sizes = getAsIndexOpFoldResult(builder.getContext(), window),
         strides = getAsIndexOpFoldResult(builder.getContext(), ones);
    for (Value value : values)
      inputs.push_back(tensor::ExtractSliceOp::create(
          builder, loc, cast<RankedTensorType>(value.getType()).clone(window),
          value, offsets, sizes, strides));
    slices = inputs;
    for (Value update : updates) {
      SmallVector<int64_t> begin(updateShape.size(), 0), shape(updateShape),
          steps(updateShape.size(), 1);
      for (unsigned i = 0; i < at.size(); ++i) {
        begin[placeDims[i]] = at[i];
        shape[placeDims[i]] = 1;
      }
      Value slice = createSlice(builder, loc, update, begin, shape, steps);
      inputs.push_back(createReshape(builder, loc, slice, window));
    }
    Value inside = tensor::FromElementsOp::create(
        builder, loc, RankedTensorType::get({}, builder.getI1Type()),
        ValueRange(valid));
    inputs.push_back(inside);
    SmallVector<AffineMap> maps(inputs.size() - 1,
                                builder.getMultiDimIdentityMap(rank));
    maps.push_back(AffineMap::get(rank, 0, {}, builder.getContext()));
    maps.append(values.size(), builder.getMultiDimIdentityMap(rank));
    SmallVector<Value> inits;
    for (Value slice : slices)
      inits.push_back(tensor::EmptyOp::create(builder, loc, window,
                                              getElementTypeOrSelf(slice)));
    bool isBuilt = true;
    auto generic = createGeneric(
        builder, loc, inputs, inits, maps, rank, 0,
        [&](OpBuilder &nested, Location loc, ValueRange args) {
          auto combined =
              combineElements(nested, args.take_front(values.size()),
                              args.slice(values.size(), values.size()));
          isBuilt = succeeded(combined);
          SmallVector<Value> yields;
          for (unsigned i = 0; i < values.size(); ++i)
            yields.push_back(isBuilt ? arith::SelectOp::create(
                                           nested, loc, args[2 * values.size()],
                                           (*combined)[i], args[i])
                                           .getResult()
                                     : args[i]);
          linalg::YieldOp::create(nested, loc, yields);
        });
    if (!isBuilt)
      return failure();
    for (auto [value, slice] : llvm::zip(values, generic.getResults()))
      value = tensor::InsertSliceOp::create(builder, loc, slice, value, offsets,
                                            sizes, strides);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

FailureOr<SmallVector<Value>>
ScatterBuilder::combineElements(OpBuilder &nested, ValueRange old,
                                ValueRange added) {
  SmallVector<Value> elements(updatesFirst ? added : old);
  llvm::append_range(elements, updatesFirst ? old : added);
  return lowering.lowerScalars(nested, op->getRegion(0), elements,
                               old.getTypes());
}

/// How the region combines an element and an update: an operation on both, or
/// "set"; empty if it is something else.
StringRef ScatterBuilder::findCombination() {
  Block &block = op->getRegion(0).front();
  unsigned count = operands.size(), first = updatesFirst ? 0 : count;
  OperandRange results = block.back().getOperands();
  if (block.getNumArguments() != 2 * count || results.size() != count)
    return "";
  // What does not fit is refused where the region is lowered.
  for (BlockArgument argument : block.getArguments())
    if (makeSignless(getElementTypeOrSelf(argument)) !=
        getElementTypeOrSelf(operands[argument.getArgNumber() % count]))
      return "";
  if (llvm::all_of(llvm::enumerate(results), [&](auto pair) {
        return pair.value() == block.getArgument(first + pair.index());
      }))
    return "set";
  Operation *made = count == 1 ? results[0].getDefiningOp() : nullptr;
  if (!made || made->getNumOperands() != 2 || made->getNumResults() != 1 ||
      made->getResult(0).getType() != block.getArgument(0).getType() ||
      made->getOperand(0) == made->getOperand(1) ||
      !llvm::all_of(made->getOperands(), [&](Value operand) {
        return llvm::is_contained(block.getArguments(), operand);
      }))
    return "";
  return llvm::StringSwitch<StringRef>(made->getName().getStringRef())
      .Cases({"stablehlo.add", "arith.addf", "arith.addi"}, "add")
      .Cases({"stablehlo.multiply", "arith.mulf", "arith.muli"}, "multiply")
      .Cases({"stablehlo.maximum", "arith.maximumf", "arith.maxsi"}, "maximum")
      .Cases({"stablehlo.minimum", "arith.minimumf", "arith.minsi"}, "minimum")
      .Default("");
}

/// What changes nothing in a reduction; none where that is not one.
static Value createNeutral(OpBuilder &builder, Location loc, StringRef name,
                           Type type, bool isUnsigned) {
  if (name != "maximum" && name != "minimum" && name != "multiply")
    return {};
  bool isMaximum = name == "maximum";
  if (isa<FloatType>(type)) {
    double infinity = std::numeric_limits<double>::infinity();
    return createConstant(builder, loc, type,
                          name == "multiply" ? 1
                          : isMaximum        ? -infinity
                                             : infinity);
  }
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  unsigned width = integer.getWidth();
  if (name == "multiply")
    return createInteger(builder, loc, type, 1);
  return createInteger(builder, loc, type,
                       isUnsigned  ? (isMaximum ? APInt::getMinValue(width)
                                                : APInt::getMaxValue(width))
                       : isMaximum ? APInt::getSignedMinValue(width)
                                   : APInt::getSignedMaxValue(width));
}

FailureOr<SmallVector<Value>> ScatterBuilder::build(bool isUnique) {
  if (llvm::is_contained(updateShape, 0) || type.getNumElements() == 0)
    return SmallVector<Value>(operands);
  StringRef name = findCombination();
  bool isBool = getElementTypeOrSelf(operands[0]).isInteger(1);
  if (name == "add" && !isBool)
    return SmallVector<Value>{add(operands[0], updates[0])};
  isUnique |= countPlaces() == 1;
  if (isUnique || (name == "set" && !mayOverlap()))
    return combine();
  if (operands.size() == 1 && !hasWindows())
    if (Value neutral =
            createNeutral(builder, loc, name, getElementTypeOrSelf(operands[0]),
                          isUnsigned(op->getResult(0)))) {
      FailureOr<Value> reduced = reduce(neutral);
      if (failed(reduced))
        return failure();
      return SmallVector<Value>{*reduced};
    }
  return loop();
}

/// Operands or updates of `op`, with elements as the results have them; all
/// must have one shape.
static LogicalResult readSide(Operation *op, Lowering &lowering,
                              ValueRange operands,
                              SmallVectorImpl<Value> &side) {
  for (auto [operand, result] : llvm::zip_equal(operands, op->getResults())) {
    if (getForeignType(operand).getShape() !=
        getForeignType(operands[0]).getShape())
      return op->emitOpError("has an operand of type ")
             << operand.getType() << ", expected the shape of "
             << operands[0].getType();
    FailureOr<Value> value = createPromoted(
        op, lowering, operand, lowering.getTensorType(result).getElementType());
    if (failed(value))
      return failure();
    side.push_back(*value);
  }
  return success();
}

static LogicalResult refuseNumbers(Operation *op) {
  return op->emitOpError("has dimension numbers that do not fit its types");
}

static LogicalResult lowerScatter(Operation *op, Lowering &lowering) {
  unsigned count = op->getNumResults();
  if (count == 0 || op->getNumOperands() != 2 * count + 1)
    return op->emitOpError("expected operands, indices and as many updates");
  Fields fields(op, "scatter_dimension_numbers");
  Value indices = op->getOperand(count);
  int64_t vectorDim = fields.getInteger("index_vector_dim", 0);
  auto places =
      findPlaces(op, lowering, indices,
                 fields.getIntegers("scatter_dims_to_operand_dims"), vectorDim);
  if (!places)
    return failure();
  SmallVector<int64_t> windows = fields.getIntegers("update_window_dims"),
                       inserted = fields.getIntegers("inserted_window_dims"),
                       batching = fields.getIntegers("input_batching_dims"),
                       indicesBatching =
                           fields.getIntegers("scatter_indices_batching_dims");
  SmallVector<Value> operands, updates;
  if (failed(readSide(op, lowering, op->getOperands().take_front(count),
                      operands)) ||
      failed(
          readSide(op, lowering, op->getOperands().take_back(count), updates)))
    return failure();
  auto type = cast<RankedTensorType>(operands[0].getType());
  auto update = cast<RankedTensorType>(updates[0].getType());
  SmallVector<int64_t> reduced(inserted), indexed(places->dims);
  llvm::append_range(reduced, batching);
  llvm::append_range(indexed, batching);
  if (!areDims(reduced, type.getRank()) || !areDims(indexed, type.getRank()) ||
      !areDims(windows, update.getRank()) ||
      !areBatches(type, batching, getForeignType(indices), indicesBatching,
                  vectorDim) ||
      windows.size() + reduced.size() != static_cast<size_t>(type.getRank()))
    return refuseNumbers(op);
  // The number of a batch is one more index, of a type that holds all.
  for (auto [dim, indexDim] : llvm::zip(batching, indicesBatching)) {
    int64_t own = indexDim > vectorDim ? indexDim - 1 : indexDim;
    Type element = lowering.builder.getI64Type();
    places->parts.push_back(createElementwise(
        lowering.builder, op->getLoc(), {},
        RankedTensorType::get(places->shape, element),
        [&](OpBuilder &nested, Location loc, ValueRange) -> Value {
          return arith::IndexCastOp::create(
              nested, loc, element, linalg::IndexOp::create(nested, loc, own));
        }));
    places->dims.push_back(dim);
  }
  SmallVector<int64_t> windowDims, placeShape;
  unsigned next = 0;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    bool isReduced = llvm::is_contained(reduced, dim);
    windowDims.push_back(isReduced ? -1 : windows[next++]);
    if (!isReduced &&
        update.getDimSize(windowDims.back()) > type.getDimSize(dim))
      return op->emitOpError("has updates of type ")
             << update << ", which are larger than " << type;
  }
  SmallVector<unsigned> placeDims;
  for (int64_t dim = 0; dim < update.getRank(); ++dim)
    if (!llvm::is_contained(windows, dim)) {
      placeDims.push_back(dim);
      placeShape.push_back(update.getDimSize(dim));
    }
  if (placeShape != places->shape)
    return refuseNumbers(op);
  ScatterBuilder builder(op, lowering, *places, type, update.getShape(),
                         windowDims, placeDims, operands, updates);
  FailureOr<bool> isUnique = readFlag(op, "unique_indices");
  if (failed(isUnique))
    return failure();
  auto results = builder.build(*isUnique);
  return failed(results) ? failure() : lowering.set(op, *results);
}

void foreign::addScatters(LoweringTable &table) {
  table["stablehlo.scatter"] = {lowerScatter, KnownOp::any, KnownOp::any, 1};
}
