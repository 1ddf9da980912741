//===- TmTensor.cpp - what torch-mlir leaves over -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations of tm_tensor write into operands that they are given, as those of
// linalg do: inputs come first and then what the results begin with. Their
// regions hold operations of arith on scalars.
//
//===----------------------------------------------------------------------===//

#include "Scatters.h"
#include "Sorts.h"
#include "Windows.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Splits the operands into inputs and what results begin with.
static LogicalResult readOperands(Operation *op, Lowering &lowering,
                                  unsigned inits, SmallVectorImpl<Value> &ins,
                                  SmallVectorImpl<Value> &outs) {
  unsigned count = op->getNumOperands();
  if (count < inits || op->getNumResults() != inits)
    return op->emitOpError("expected ") << inits << " outputs and results";
  llvm::append_range(ins, lowering.get(op->getOperands().drop_back(inits)));
  llvm::append_range(outs, lowering.get(op->getOperands().take_back(inits)));
  for (Value value : outs)
    if (!isa<RankedTensorType>(value.getType()))
      return op->emitOpError("is supported on tensors only");
  return success();
}

static FailureOr<int64_t> readDimension(Operation *op, RankedTensorType type) {
  int64_t dim = getInteger(op, "dimension", -1);
  if (dim < 0 || dim >= type.getRank())
    return op->emitOpError("has dimension ")
           << dim << ", expected less than " << type.getRank();
  return dim;
}

//===----------------------------------------------------------------------===//
// Scans
//===----------------------------------------------------------------------===//

/// The results are all partial results and the last of them. An exclusive scan
/// begins with what the second output holds.
static LogicalResult lowerTmScan(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  SmallVector<Value> ins, outs;
  if (failed(readOperands(op, lowering, 2, ins, outs)))
    return failure();
  if (ins.size() != 1)
    return op->emitOpError("has ") << ins.size() << " inputs, expected 1";
  Value value = ins[0];
  auto type = cast<RankedTensorType>(value.getType());
  FailureOr<int64_t> dim = readDimension(op, type);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> without(type.getShape());
  without.erase(without.begin() + *dim);
  if (outs[0].getType() != type || outs[1].getType() != type.clone(without))
    return op->emitOpError("has outputs of types ")
           << outs[0].getType() << " and " << outs[1].getType() << ", expected "
           << type << " and " << type.clone(without);
  if (type.getNumElements() == 0)
    return lowering.set(op, {value, outs[1]});
  FailureOr<bool> isInclusive = readFlag(op, "inclusive");
  if (failed(isInclusive))
    return failure();
  if (!*isInclusive) {
    SmallVector<int64_t> begin(type.getRank(), 0), strides(type.getRank(), 1),
        first(type.getShape()), rest(type.getShape());
    first[*dim] = 1;
    rest[*dim] -= 1;
    Value start = createReshape(builder, loc, outs[1], first);
    if (rest[*dim] > 0)
      start = tensor::ConcatOp::create(
          builder, loc, type, *dim,
          ValueRange{start,
                     createSlice(builder, loc, value, begin, rest, strides)});
    value = start;
  }
  auto all = createCumulative(op, lowering, op->getRegion(0), value, *dim,
                              /*isReversed=*/false);
  if (failed(all))
    return failure();
  Value last =
      createTaken(builder, loc, all->front(), *dim, type.getDimSize(*dim) - 1);
  return lowering.set(op, {all->front(), last});
}

//===----------------------------------------------------------------------===//
// Scatters
//===----------------------------------------------------------------------===//

/// Updates have one dimension that goes through the places, and then those of
/// the tensor, with or without the dimensions that are indexed.
static LogicalResult lowerTmScatter(Operation *op, Lowering &lowering) {
  SmallVector<Value> ins, outs;
  if (failed(readOperands(op, lowering, 1, ins, outs)))
    return failure();
  if (ins.size() != 2)
    return op->emitOpError("expected updates and indices");
  auto type = cast<RankedTensorType>(outs[0].getType());
  auto update = cast<RankedTensorType>(ins[0].getType());
  auto indices = cast<RankedTensorType>(ins[1].getType());
  SmallVector<int64_t> dims = getIntegers(op, "dimension_map");
  if (indices.getRank() != 2)
    return op->emitOpError("expected indices of two dimensions, got ")
           << indices;
  if (dims.empty())
    llvm::append_range(dims, llvm::seq<int64_t>(0, indices.getDimSize(1)));
  auto places = findPlaces(op, lowering, op->getOperand(1), dims, 1);
  if (!places)
    return failure();
  bool isWhole = update.getRank() == type.getRank() + 1;
  SmallVector<int64_t> windowDims;
  int64_t next = 1;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    windowDims.push_back(!isWhole && llvm::is_contained(dims, dim) ? -1
                                                                   : next++);
  bool fits = next == update.getRank() && areDims(dims, type.getRank()) &&
              update.getDimSize(0) == indices.getDimSize(0) &&
              update.getElementType() == type.getElementType();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = windowDims[dim] < 0 ||
           update.getDimSize(windowDims[dim]) <= type.getDimSize(dim);
  if (!fits)
    return op->emitOpError("has updates of type ")
           << update << ", which do not fit indices of type " << indices
           << " and a tensor of type " << type;
  ScatterBuilder builder(op, lowering, *places, type, update.getShape(),
                         windowDims, {0}, outs, ins[0], /*updatesFirst=*/true);
  // `unique_indices` is set where the program has not said so.
  auto results = builder.build(/*isUnique=*/false);
  return failed(results) ? failure() : lowering.set(op, *results);
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// Replaces nan, with which every comparison of a region is false, so that it
/// is in the order as PyTorch has it: larger than all numbers, of which the
/// other one becomes the least, and equal to nan.
static void replaceNan(OpBuilder &nested, Location loc, Value &a, Value &b) {
  auto type = dyn_cast<FloatType>(a.getType());
  if (!type || !llvm::APFloat::semanticsHasInf(type.getFloatSemantics()))
    return;
  double infinity = std::numeric_limits<double>::infinity();
  Value most = createConstant(nested, loc, type, infinity),
        least = createConstant(nested, loc, type, -infinity);
  auto isNan = [&](Value value) -> Value {
    return arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::UNO, value,
                                 value);
  };
  Value isNanA = isNan(a), isNanB = isNan(b);
  auto replace = [&](Value value, Value isOwn, Value isOther) -> Value {
    value = arith::SelectOp::create(nested, loc, isOther, least, value);
    return arith::SelectOp::create(nested, loc, isOwn, most, value);
  };
  a = replace(a, isNanA, isNanB);
  b = replace(b, isNanB, isNanA);
}

/// Whether the elements `a` come before `b`, by the region of `op`, whose
/// arguments are pairs of elements of several tensors, of which only the first
/// is compared.
static Value createBefore(Operation *op, Lowering &lowering, OpBuilder &nested,
                          ArrayRef<Value> a, ArrayRef<Value> b, bool &isBuilt) {
  SmallVector<Value> arguments;
  for (auto [first, second] : llvm::zip(a, b)) {
    arguments.push_back(first);
    arguments.push_back(second);
  }
  replaceNan(nested, op->getLoc(), arguments[0], arguments[1]);
  auto yielded = lowering.lowerScalars(nested, op->getRegion(0), arguments,
                                       TypeRange(nested.getI1Type()));
  isBuilt &= succeeded(yielded);
  return succeeded(yielded)
             ? yielded->front()
             : createInteger(nested, op->getLoc(), nested.getI1Type(), 0);
}

/// The order of `values` along their last dimension, by the region of `op`.
static FailureOr<Value> createRegionOrder(Operation *op, Lowering &lowering,
                                          ArrayRef<Value> values) {
  bool isBuilt = true;
  Value order = createOrder(
      lowering.builder, op->getLoc(), values,
      [&](OpBuilder &nested, Location, ArrayRef<Value> a, ArrayRef<Value> b) {
        return createBefore(op, lowering, nested, a, b, isBuilt);
      });
  if (!isBuilt)
    return failure();
  return order;
}

/// Refuses `values` of another shape.
static LogicalResult checkShapes(Operation *op, ArrayRef<Value> values,
                                 ArrayRef<int64_t> shape) {
  for (Value value : values)
    if (cast<RankedTensorType>(value.getType()).getShape() != shape)
      return op->emitOpError("has an operand of type ")
             << value.getType() << ", expected one of shape [" << shape << "]";
  return success();
}

/// All tensors are sorted by the comparison of their elements.
static LogicalResult lowerTmSort(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  SmallVector<Value> ins, outs;
  if (failed(readOperands(op, lowering, op->getNumResults(), ins, outs)))
    return failure();
  if (outs.empty() || !ins.empty())
    return op->emitOpError("has ")
           << ins.size() << " inputs and " << outs.size()
           << " outputs, expected none and at least 1";
  auto type = cast<RankedTensorType>(outs[0].getType());
  if (failed(checkShapes(op, outs, type.getShape())))
    return failure();
  FailureOr<int64_t> dim = readDimension(op, type);
  if (failed(dim))
    return failure();
  if (type.getDimSize(*dim) <= 1 || type.getNumElements() == 0)
    return lowering.set(op, outs);
  SmallVector<int64_t> permutation = exchangeLast(type.getRank(), *dim);
  for (Value &value : outs)
    value = createTranspose(builder, loc, value, permutation);
  FailureOr<Value> order = createRegionOrder(op, lowering, outs);
  if (failed(order))
    return failure();
  for (Value &value : outs)
    value = createTranspose(builder, loc,
                            createReadInOrder(builder, loc, value, *order),
                            permutation);
  return lowering.set(op, outs);
}

/// The first elements of the order of the values, and their numbers, or what a
/// second input says of them.
static LogicalResult lowerTmTopK(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  SmallVector<Value> ins, outs;
  if (failed(readOperands(op, lowering, 2, ins, outs)))
    return failure();
  if (ins.empty() || ins.size() > 2)
    return op->emitOpError("expected values and perhaps indices");
  auto type = cast<RankedTensorType>(ins[0].getType());
  auto result = cast<RankedTensorType>(outs[0].getType());
  FailureOr<int64_t> dim = readDimension(op, type);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> chosenShape(type.getShape());
  if (result.getRank() == type.getRank())
    chosenShape[*dim] = result.getDimSize(*dim);
  if (failed(checkShapes(op, ins, type.getShape())) ||
      failed(checkShapes(op, outs, chosenShape)))
    return failure();
  for (Value indices : {outs[1], ins.size() == 2 ? ins[1] : outs[1]})
    if (!isa<IntegerType>(getElementTypeOrSelf(indices)))
      return op->emitOpError("has indices of type ")
             << indices.getType() << ", expected integers";
  if (result.getDimSize(*dim) > type.getDimSize(*dim))
    return op->emitOpError("takes ") << result.getDimSize(*dim) << " of "
                                     << type.getDimSize(*dim) << " elements";
  if (result.getNumElements() == 0)
    return lowering.set(op, outs);
  SmallVector<int64_t> permutation = exchangeLast(type.getRank(), *dim);
  Value values = createTranspose(builder, loc, ins[0], permutation);
  FailureOr<Value> sorted = createRegionOrder(op, lowering, values);
  if (failed(sorted))
    return failure();
  SmallVector<int64_t> shape, begin(type.getRank(), 0),
      strides(type.getRank(), 1);
  for (int64_t from : permutation)
    shape.push_back(result.getDimSize(from));
  Value order = createSlice(builder, loc, *sorted, begin, shape, strides);
  Value numbers = order;
  if (ins.size() == 2)
    numbers = createReadInOrder(
        builder, loc, createTranspose(builder, loc, ins[1], permutation),
        order);
  numbers = createConverted(builder, loc, numbers,
                            getElementTypeOrSelf(outs[1]), false);
  Value chosen = createReadInOrder(builder, loc, values, order);
  return lowering.set(op,
                      {createTranspose(builder, loc, chosen, permutation),
                       createTranspose(builder, loc, numbers, permutation)});
}

void foreign::addTmTensor(LoweringTable &table) {
  auto add = [&](StringRef name, OpLowering lowering) {
    table[("tm_tensor." + name).str()] = {lowering, KnownOp::any, KnownOp::any,
                                          1};
  };
  add("scan", lowerTmScan);
  add("scatter", lowerTmScatter);
  add("sort", lowerTmSort);
  add("topk", lowerTmTopK);
}
