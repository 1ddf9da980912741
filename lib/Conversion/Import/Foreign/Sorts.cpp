//===- Sorts.cpp - sorting by any comparison ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An element belongs where as many elements are before it. In a short run, it
// is compared with all others to count them. Two sorted runs become one by
// counting, for each element, those of the other run, which a binary search
// does. So a sort is a permutation that is computed, by which all operands are
// then read: derivatives follow from that.
//
//===----------------------------------------------------------------------===//

#include "Sorts.h"

#include "SortKeys.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Runs in which all pairs of elements are compared.
static constexpr int64_t shortRun = 64;

namespace {
class Sorter {
public:
  /// The last dimension of `keys` is sorted.
  Sorter(OpBuilder &builder, Location loc, ArrayRef<Value> keys,
         foreign::IsBefore isBefore)
      : builder(builder), loc(loc), keys(keys), isBefore(isBefore),
        shape(cast<RankedTensorType>(keys[0].getType()).getShape()),
        rank(shape.size()), size(shape.back()) {}

  /// For each place of the result the number of the element that goes there.
  Value build();

private:
  /// The index that each element of a run of `run` elements has in the order.
  Value rankInRuns(Value order, int64_t run);
  /// The same in two runs of `run` elements together, both in `order`.
  Value rankInPairs(Value order, int64_t run);
  /// Puts the elements of `order` at the places `ranks`.
  Value permute(Value order, Value ranks);

  RankedTensorType getOrderType() const {
    return RankedTensorType::get(shape, builder.getI64Type());
  }
  Value constant(OpBuilder &nested, int64_t value) {
    return createIndex(nested, loc, value);
  }
  /// The coordinates of the loop, with `last` as the last one.
  SmallVector<Value> at(OpBuilder &nested, Value last);
  /// The keys of the element that is `number` in `order`.
  SmallVector<Value> readKeys(OpBuilder &nested, Value order, Value number);
  SmallVector<Value> readOwn(OpBuilder &nested, Value element);
  Value toIndex(OpBuilder &nested, Value number) {
    return arith::IndexCastOp::create(nested, loc, nested.getIndexType(),
                                      number);
  }
  Value negate(OpBuilder &nested, Value condition) {
    return arith::XOrIOp::create(
        nested, loc, condition,
        createInteger(nested, loc, nested.getI1Type(), 1));
  }
  /// Whether `a` is before `b`, and `b` before `a`. A comparison may hold for
  /// equal elements both ways; then neither is.
  std::pair<Value, Value> compare(OpBuilder &nested, ArrayRef<Value> a,
                                  ArrayRef<Value> b) {
    Value forth = isBefore(nested, loc, a, b),
          back = isBefore(nested, loc, b, a);
    return {arith::AndIOp::create(nested, loc, forth, negate(nested, back)),
            arith::AndIOp::create(nested, loc, back, negate(nested, forth))};
  }

  OpBuilder &builder;
  Location loc;
  SmallVector<Value> keys;
  foreign::IsBefore isBefore;
  SmallVector<int64_t> shape;
  int64_t rank, size;
};
} // namespace

SmallVector<Value> Sorter::at(OpBuilder &nested, Value last) {
  SmallVector<Value> place;
  for (int64_t dim = 0; dim + 1 < rank; ++dim)
    place.push_back(linalg::IndexOp::create(nested, loc, dim));
  place.push_back(last);
  return place;
}

SmallVector<Value> Sorter::readOwn(OpBuilder &nested, Value element) {
  SmallVector<Value> place = at(nested, element), elements;
  for (Value key : keys)
    elements.push_back(tensor::ExtractOp::create(nested, loc, key, place));
  return elements;
}

SmallVector<Value> Sorter::readKeys(OpBuilder &nested, Value order,
                                    Value number) {
  if (!order)
    return readOwn(nested, number);
  Value element =
      tensor::ExtractOp::create(nested, loc, order, at(nested, number));
  return readOwn(nested, toIndex(nested, element));
}

/// Counts the elements of the own run that come before each element: smaller
/// ones, and earlier ones that are not larger.
Value Sorter::rankInRuns(Value order, int64_t run) {
  SmallVector<AffineExpr> own, other;
  for (int64_t dim = 0; dim < rank; ++dim)
    own.push_back(builder.getAffineDimExpr(dim));
  MLIRContext *context = builder.getContext();
  // The last loop goes through the run.
  Value steps = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>{run},
                                        builder.getI64Type());
  AffineMap all = AffineMap::getMultiDimIdentityMap(rank + 1, context);
  SmallVector<Value> inputs(keys);
  SmallVector<AffineMap> maps(keys.size(), all.getMajorSubMap(rank));
  inputs.push_back(steps);
  maps.push_back(all.getMinorSubMap(1));
  // In one run the other element is known by the loop alone.
  bool isWhole = run == size;
  SmallVector<AffineExpr> exprs(own);
  exprs.back() = builder.getAffineDimExpr(rank);
  if (isWhole)
    for (Value key : keys) {
      inputs.push_back(key);
      maps.push_back(AffineMap::get(rank + 1, 0, exprs, context));
    }
  maps.push_back(all.getMajorSubMap(rank));
  Value zeros = createZeros(builder, loc, getOrderType());
  auto body = [&](OpBuilder &nested, Location, ValueRange args) {
    Value self = linalg::IndexOp::create(nested, loc, rank - 1);
    Value step = linalg::IndexOp::create(nested, loc, rank);
    SmallVector<Value> a(args.take_front(keys.size())), b;
    Value other = step, exists;
    if (isWhole) {
      b.assign(args.drop_front(keys.size() + 1).drop_back().begin(),
               args.drop_front(keys.size() + 1).drop_back().end());
    } else {
      Value runs = constant(nested, run);
      Value begin = arith::MulIOp::create(
          nested, loc, arith::DivUIOp::create(nested, loc, self, runs), runs);
      other = arith::AddIOp::create(nested, loc, begin, step);
      exists = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult,
                                     other, constant(nested, size));
      other = arith::MinUIOp::create(nested, loc, other,
                                     constant(nested, size - 1));
      b = readOwn(nested, other);
    }
    auto [isSmaller, isLarger] = compare(nested, b, a);
    Value isEarlier = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::ult, other, self);
    Value before = arith::OrIOp::create(
        nested, loc, isSmaller,
        arith::AndIOp::create(nested, loc, negate(nested, isLarger),
                              isEarlier));
    if (exists)
      before = arith::AndIOp::create(nested, loc, before, exists);
    Value one =
        arith::ExtUIOp::create(nested, loc, nested.getI64Type(), before);
    linalg::YieldOp::create(
        nested, loc,
        arith::AddIOp::create(nested, loc, args.back(), one).getResult());
  };
  Value counts = createGeneric(builder, loc, inputs, zeros, maps, rank, 1, body)
                     .getResult(0);
  if (isWhole)
    return counts;
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, builder.getI64Type());
  return createGeneric(
             builder, loc, counts, empty, {identity, identity}, rank, 0,
             [&](OpBuilder &nested, Location, ValueRange args) {
               Value self = linalg::IndexOp::create(nested, loc, rank - 1);
               Value runs = constant(nested, run);
               Value begin = arith::MulIOp::create(
                   nested, loc, arith::DivUIOp::create(nested, loc, self, runs),
                   runs);
               begin = arith::IndexCastOp::create(nested, loc,
                                                  nested.getI64Type(), begin);
               linalg::YieldOp::create(
                   nested, loc,
                   arith::AddIOp::create(nested, loc, begin, args[0])
                       .getResult());
             })
      .getResult(0);
}

/// An element of the first run goes behind the smaller ones of the second, and
/// one of the second behind those of the first that are not larger.
Value Sorter::rankInPairs(Value order, int64_t run) {
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, builder.getI64Type());
  auto body = [&](OpBuilder &nested, Location, ValueRange args) {
    Value self = linalg::IndexOp::create(nested, loc, rank - 1);
    Value runs = constant(nested, run), last = constant(nested, size);
    Value number = arith::DivUIOp::create(nested, loc, self, runs);
    Value own = arith::MulIOp::create(nested, loc, number, runs);
    Value one = constant(nested, 1);
    Value isSecond = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::eq,
        arith::AndIOp::create(nested, loc, number, one), one);
    Value otherNumber = arith::XOrIOp::create(nested, loc, number, one);
    Value begin = arith::MinUIOp::create(
        nested, loc, arith::MulIOp::create(nested, loc, otherNumber, runs),
        last);
    Value end = arith::MinUIOp::create(
        nested, loc, arith::AddIOp::create(nested, loc, begin, runs), last);
    SmallVector<Value> mine = readOwn(nested, toIndex(nested, args[0]));
    // The elements from `low` on are behind the own one.
    Value low = begin, high = end;
    for (int64_t left = run; left > 0; left /= 2) {
      Value open = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult,
                                         low, high);
      Value middle = arith::ShRUIOp::create(
          nested, loc, arith::AddIOp::create(nested, loc, low, high), one);
      middle = arith::MinUIOp::create(nested, loc, middle,
                                      constant(nested, size - 1));
      SmallVector<Value> theirs = readKeys(nested, order, middle);
      auto [smaller, larger] = compare(nested, theirs, mine);
      Value before = arith::SelectOp::create(nested, loc, isSecond,
                                             negate(nested, larger), smaller);
      Value next = arith::AddIOp::create(nested, loc, middle, one);
      Value newLow = arith::SelectOp::create(nested, loc, before, next, low);
      Value newHigh =
          arith::SelectOp::create(nested, loc, before, high, middle);
      low = arith::SelectOp::create(nested, loc, open, newLow, low);
      high = arith::SelectOp::create(nested, loc, open, newHigh, high);
    }
    // The place in the pair: what is before it in both runs.
    Value place = arith::AddIOp::create(
        nested, loc, arith::MinUIOp::create(nested, loc, own, begin),
        arith::AddIOp::create(nested, loc,
                              arith::SubIOp::create(nested, loc, self, own),
                              arith::SubIOp::create(nested, loc, low, begin)));
    linalg::YieldOp::create(
        nested, loc,
        arith::IndexCastOp::create(nested, loc, nested.getI64Type(), place)
            .getResult());
  };
  return createGeneric(builder, loc, order, empty, {identity, identity}, rank,
                       0, body)
      .getResult(0);
}

Value Sorter::permute(Value order, Value ranks) {
  auto block = std::make_unique<Block>();
  for (int64_t dim = 0; dim < rank; ++dim)
    block->addArgument(builder.getIndexType(), loc);
  SmallVector<Value> inputs = {ranks};
  if (order)
    inputs.push_back(order);
  for (size_t i = 0; i < inputs.size(); ++i)
    block->addArgument(builder.getI64Type(), loc);
  OpBuilder nested(builder.getContext());
  nested.setInsertionPointToEnd(block.get());
  SmallVector<Value> yields =
      llvm::to_vector_of<Value>(block->getArguments().take_front(rank));
  Value self = yields.back();
  yields.back() = createClampedIndex(nested, loc, block->getArgument(rank),
                                     false, size - 1);
  yields.push_back(
      order ? Value(block->getArgument(rank + 1))
            : arith::IndexCastOp::create(nested, loc, nested.getI64Type(), self)
                  .getResult());
  YieldOp::create(nested, loc, yields);
  Value zeros = createZeros(builder, loc, getOrderType());
  SmallVector<AffineMap> maps(inputs.size(),
                              builder.getMultiDimIdentityMap(rank));
  auto scatter = ScatterOp::create(
      builder, loc, TypeRange(zeros.getType()), inputs, zeros,
      builder.getAffineMapArrayAttr(maps), builder.getDenseI64ArrayAttr(shape));
  scatter.getBody().push_back(block.release());
  return scatter.getResult();
}

Value Sorter::build() {
  int64_t run = size <= 4 * shortRun ? size : shortRun;
  Value order = permute({}, rankInRuns({}, run));
  for (; run < size; run *= 2)
    order = permute(order, rankInPairs(order, run));
  return order;
}

Value foreign::createOrder(OpBuilder &builder, Location loc,
                           ArrayRef<Value> keys, IsBefore isBefore) {
  return Sorter(builder, loc, keys, isBefore).build();
}

Value foreign::createReadInOrder(OpBuilder &builder, Location loc, Value value,
                                 Value order) {
  auto from = cast<RankedTensorType>(order.getType());
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = from.getRank();
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  Value empty = tensor::EmptyOp::create(builder, loc, from.getShape(),
                                        type.getElementType());
  return createGeneric(
             builder, loc, order, empty, {identity, identity}, rank, 0,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               SmallVector<Value> place;
               for (int64_t dim = 0; dim + 1 < rank; ++dim)
                 place.push_back(linalg::IndexOp::create(nested, loc, dim));
               place.push_back(createClampedIndex(nested, loc, args[0], false,
                                                  type.getShape().back() - 1));
               Value element =
                   tensor::ExtractOp::create(nested, loc, value, place);
               linalg::YieldOp::create(nested, loc, element);
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

SmallVector<int64_t> foreign::exchangeLast(int64_t rank, int64_t dim) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(permutation[dim], permutation[rank - 1]);
  return permutation;
}

static LogicalResult lowerSort(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  if (op->getNumOperands() == 0)
    return op->emitOpError("has no operands, expected at least 1");
  for (Value operand : op->getOperands())
    if (getForeignType(operand).getShape() !=
        getForeignType(op->getOperand(0)).getShape())
      return op->emitOpError("has an operand of type ")
             << operand.getType() << ", expected the shape of "
             << op->getOperand(0).getType();
  if (op->getRegion(0).getNumArguments() != 2 * op->getNumOperands())
    return op->emitOpError("has a region of ")
           << op->getRegion(0).getNumArguments() << " arguments, expected "
           << 2 * op->getNumOperands();
  SmallVector<Value> inputs = lowering.get(op->getOperands());
  auto type = cast<RankedTensorType>(inputs[0].getType());
  int64_t rank = type.getRank(), dim = getInteger(op, "dimension", -1);
  if (dim < 0)
    dim += rank;
  if (dim < 0 || dim >= rank)
    return op->emitOpError("has dimension ")
           << dim << ", expected less than " << rank;
  if (type.getDimSize(dim) <= 1 || type.getNumElements() == 0)
    return lowering.set(op, inputs);
  SmallVector<int64_t> permutation = exchangeLast(rank, dim);
  for (Value &input : inputs)
    input = createTranspose(builder, loc, input, permutation);
  auto readAll = [&](Value order) {
    SmallVector<Value> results;
    for (Value input : inputs)
      results.push_back(createTranspose(
          builder, loc, createReadInOrder(builder, loc, input, order),
          permutation));
    return lowering.set(op, results);
  };
  FailureOr<SmallVector<Value>> integers =
      createRegionKeys(op, lowering, inputs);
  if (failed(integers))
    return failure();
  if (!integers->empty()) {
    auto shape = cast<RankedTensorType>(inputs[0].getType());
    return readAll(OrderOp::create(
        builder, loc, shape.clone(builder.getI64Type()), *integers, rank - 1));
  }
  // Operands that are not compared are no keys.
  Block &region = op->getRegion(0).front();
  SmallVector<Value> keys;
  SmallVector<unsigned> places(inputs.size(), 0);
  for (auto [number, input] : llvm::enumerate(inputs))
    if (!region.getArgument(2 * number).use_empty() ||
        !region.getArgument(2 * number + 1).use_empty() ||
        getElementTypeOrSelf(input) != getElementTypeOrSelf(inputs[0])) {
      places[number] = keys.size();
      keys.push_back(input);
    }
  if (keys.empty())
    keys.push_back(inputs[0]);
  bool isBuilt = true;
  auto isBefore = [&](OpBuilder &nested, Location loc, ArrayRef<Value> a,
                      ArrayRef<Value> b) -> Value {
    SmallVector<Value> arguments;
    for (unsigned place : places) {
      arguments.push_back(a[place]);
      arguments.push_back(b[place]);
    }
    auto yielded = lowering.lowerScalars(nested, op->getRegion(0), arguments,
                                         TypeRange(nested.getI1Type()));
    isBuilt &= succeeded(yielded);
    return succeeded(yielded)
               ? yielded->front()
               : createInteger(nested, loc, nested.getI1Type(), 0);
  };
  Value order = createOrder(builder, loc, keys, isBefore);
  if (!isBuilt)
    return failure();
  return readAll(order);
}

FailureOr<std::pair<Value, Value>>
foreign::createTopK(OpBuilder &builder, Location loc, Value value, int64_t k,
                    bool isUnsigned, bool isLargest) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  if (rank == 0 || k < 0 || k > type.getShape().back())
    return emitError(loc, "top_k takes ")
           << k << " elements of a tensor of type " << type;
  SmallVector<int64_t> shape(type.getShape());
  shape.back() = k;
  auto indexType = RankedTensorType::get(shape, builder.getI64Type());
  if (indexType.getNumElements() == 0)
    return std::pair<Value, Value>(createZeros(builder, loc, type.clone(shape)),
                                   createZeros(builder, loc, indexType));
  // Large elements come first, those of floating point in their total order,
  // unlike in a sort.
  unsigned width = type.getElementTypeBitWidth();
  Value keys = createElementwise(
      builder, loc, value, type.clone(builder.getIntegerType(width)),
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        return createKey(nested, loc, args[0],
                         {isUnsigned, isLargest, /*isTotal=*/true});
      });
  Value order = OrderOp::create(builder, loc, indexType, keys, rank - 1);
  return std::pair(createReadInOrder(builder, loc, value, order), order);
}

static LogicalResult lowerTopK(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  if (isa<ComplexType>(getElementTypeOrSelf(op->getOperand(0))) ||
      !isa<IntegerType>(getElementTypeOrSelf(op->getResult(1))))
    return op->emitOpError("of ")
           << op->getOperand(0).getType() << " is not supported with indices "
           << "of type " << op->getResult(1).getType();
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  bool isLargest = true;
  if (auto attrs =
          dyn_cast_or_null<DictionaryAttr>(getAttr(op, "mhlo.attributes")))
    if (auto flag = attrs.getAs<BoolAttr>("largest"))
      isLargest = flag.getValue();
  auto found =
      createTopK(builder, op->getLoc(), lowering.get(op->getOperand(0)),
                 type.getRank() ? type.getShape().back() : 0,
                 isUnsigned(op->getOperand(0)), isLargest);
  if (failed(found))
    return failure();
  Value indices = createConverted(
      builder, op->getLoc(), found->second,
      lowering.getTensorType(op->getResult(1)).getElementType(), false);
  return lowering.set(op, {found->first, indices});
}

void foreign::addSorts(LoweringTable &table) {
  table["stablehlo.sort"] = {lowerSort, KnownOp::any, KnownOp::any, 1};
  table["chlo.top_k"] = {lowerTopK, 1, 2};
}
