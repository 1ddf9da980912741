//===- Orders.cpp - the order of elements by integer keys -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The dimension that is sorted is the last one here. A pass sorts integers of
// 64 bits that each hold 32 bits of a key above the number of its element: no
// two are equal, and elements of equal keys keep their order. So passes for the
// less significant bits come first.
//
//===----------------------------------------------------------------------===//

#include "Foreign/Sorts.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"

#include "llvm/Support/MathExtras.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTORDERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// How long runs are at most in which all pairs of elements are compared. Their
/// first elements cost less to merge where only few are asked for.
static constexpr int64_t longestRun = 256, fewElements = 64;

namespace {
class OrderExpander {
public:
  OrderExpander(OrderOp op, OpBuilder::Listener &listener)
      : builder(op, &listener), loc(op.getLoc()), op(op),
        shape(
            cast<RankedTensorType>(op.getKeys().front().getType()).getShape()),
        count(op.getOrder().getType().getDimSize(op.getDimension())) {
    std::swap(shape[op.getDimension()], shape.back());
  }

  Value expand();

private:
  RankedTensorType getType(int64_t last) const {
    SmallVector<int64_t> sizes(shape);
    sizes.back() = last;
    return RankedTensorType::get(sizes, builder.getI64Type());
  }
  Value number(OpBuilder &nested, int64_t value) {
    return createInteger(nested, loc, nested.getI64Type(), value);
  }
  template <typename OpT>
  Value binary(OpBuilder &nested, Value lhs, Value rhs) {
    return OpT::create(nested, loc, lhs, rhs);
  }
  Value compare(OpBuilder &nested, arith::CmpIPredicate predicate, Value lhs,
                Value rhs) {
    return arith::CmpIOp::create(nested, loc, predicate, lhs, rhs);
  }

  Value exchangeDims(Value value);
  SmallVector<Value> splitKeys();
  Value pack(Value digits, int64_t size);
  Value sortRuns(Value packed);
  Value merge(Value runs);
  Value sort(Value digits, int64_t first);

  mutable OpBuilder builder;
  Location loc;
  OrderOp op;
  SmallVector<int64_t> shape;
  int64_t count;
};
} // namespace

/// Exchanges the dimension that is sorted and the last one.
Value OrderExpander::exchangeDims(Value value) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, shape.size()));
  std::swap(permutation[op.getDimension()], permutation.back());
  return createTranspose(builder, loc, value, permutation);
}

/// Tensors of signed integers of 32 bits, which are of 64 for what comes, the
/// least significant ones first.
SmallVector<Value> OrderExpander::splitKeys() {
  SmallVector<Value> parts;
  for (Value key : llvm::reverse(op.getKeys())) {
    key = exchangeDims(key);
    unsigned width = getElementTypeOrSelf(key).getIntOrFloatBitWidth();
    auto map = [&](ScalarBody body) {
      parts.push_back(
          createElementwise(builder, loc, key, getType(shape.back()), body));
    };
    if (width <= 32) {
      map([&](OpBuilder &nested, Location, ValueRange args) -> Value {
        return arith::ExtSIOp::create(nested, loc, nested.getI64Type(),
                                      args[0]);
      });
      continue;
    }
    auto widen = [&](OpBuilder &nested, Value value) -> Value {
      return width == 64 ? value
                         : arith::ExtSIOp::create(nested, loc,
                                                  nested.getI64Type(), value)
                               .getResult();
    };
    map([&](OpBuilder &nested, Location, ValueRange args) -> Value {
      Value low = binary<arith::AndIOp>(nested, widen(nested, args[0]),
                                        number(nested, UINT32_MAX));
      return binary<arith::AddIOp>(nested, low, number(nested, INT32_MIN));
    });
    map([&](OpBuilder &nested, Location, ValueRange args) -> Value {
      return binary<arith::ShRSIOp>(nested, widen(nested, args[0]),
                                    number(nested, 32));
    });
  }
  return parts;
}

/// `size` elements of each row: the `digits` above their numbers. Elements
/// behind those that there are come last.
Value OrderExpander::pack(Value digits, int64_t size) {
  SmallVector<int64_t> none(shape.size(), 0), high(none);
  high.back() = size - shape.back();
  if (high.back() != 0)
    digits = createPadded(builder, loc, digits, number(builder, INT32_MAX),
                          none, high, none);
  return createElementwise(
      builder, loc, digits, getType(size),
      [&](OpBuilder &nested, Location, ValueRange args) -> Value {
        Value own = linalg::IndexOp::create(nested, loc, shape.size() - 1);
        own = arith::IndexCastOp::create(nested, loc, nested.getI64Type(), own);
        return binary<arith::OrIOp>(
            nested, binary<arith::ShLIOp>(nested, args[0], number(nested, 32)),
            own);
      });
}

/// Sorts along the last dimension: an element belongs where as many elements of
/// its run are less.
Value OrderExpander::sortRuns(Value packed) {
  auto type = cast<RankedTensorType>(packed.getType());
  int64_t rank = type.getRank(), run = type.getShape().back();
  MLIRContext *context = builder.getContext();
  AffineMap own =
      AffineMap::getMultiDimIdentityMap(rank + 1, context).getMajorSubMap(rank);
  SmallVector<AffineExpr> exprs(own.getResults());
  exprs.back() = builder.getAffineDimExpr(rank);
  AffineMap other = AffineMap::get(rank + 1, 0, exprs, context);
  Value zeros = createZeros(builder, loc, type);
  Value places =
      createGeneric(
          builder, loc, {packed, packed}, zeros, {own, other, own}, rank, 1,
          [&](OpBuilder &nested, Location, ValueRange args) {
            Value isLess =
                compare(nested, arith::CmpIPredicate::slt, args[1], args[0]);
            Value one = arith::ExtUIOp::create(nested, loc,
                                               type.getElementType(), isLess);
            linalg::YieldOp::create(
                nested, loc, binary<arith::AddIOp>(nested, args[2], one));
          })
          .getResult(0);

  auto block = std::make_unique<Block>();
  for (int64_t dim = 0; dim < rank; ++dim)
    block->addArgument(builder.getIndexType(), loc);
  Value place = block->addArgument(type.getElementType(), loc);
  Value element = block->addArgument(type.getElementType(), loc);
  OpBuilder nested(builder.getContext());
  nested.setInsertionPointToEnd(block.get());
  SmallVector<Value> yields(block->getArguments().take_front(rank));
  yields.back() = createClampedIndex(nested, loc, place, false, run - 1);
  yields.push_back(element);
  YieldOp::create(nested, loc, yields);
  AffineMap identity = builder.getMultiDimIdentityMap(rank);
  auto scatter = ScatterOp::create(
      builder, loc, TypeRange(type), ValueRange{places, packed}, zeros,
      builder.getAffineMapArrayAttr({identity, identity}),
      builder.getDenseI64ArrayAttr(type.getShape()));
  scatter.getBody().push_back(block.release());
  return scatter.getResult();
}

/// Merges each pair of sorted runs, which are the last dimension but one, into
/// one of no more elements than are asked for. A last run without another one
/// stays alone.
Value OrderExpander::merge(Value runs) {
  auto type = cast<RankedTensorType>(runs.getType());
  int64_t rank = type.getRank(), run = type.getShape().back(),
          numRuns = type.getDimSize(rank - 2);
  SmallVector<int64_t> sizes(type.getShape());
  sizes[rank - 2] = llvm::divideCeil(numRuns, 2);
  sizes.back() = std::min(2 * run, count);
  auto merged = RankedTensorType::get(sizes, type.getElementType());
  auto body = [&](OpBuilder &nested, Location, ValueRange) -> Value {
    auto constant = [&](int64_t value) {
      return createIndex(nested, loc, value);
    };
    SmallVector<Value> at;
    for (int64_t dim = 0; dim < rank; ++dim)
      at.push_back(linalg::IndexOp::create(nested, loc, dim));
    Value place = at.back(), zero = constant(0), last = constant(run - 1);
    Value first = binary<arith::MulIOp>(nested, at[rank - 2], constant(2));
    Value second = binary<arith::AddIOp>(nested, first, constant(1));
    Value available = constant(run);
    if (numRuns % 2 != 0) {
      Value isThere =
          compare(nested, arith::CmpIPredicate::ult, second, constant(numRuns));
      available =
          arith::SelectOp::create(nested, loc, isThere, available, zero);
      second =
          arith::MinUIOp::create(nested, loc, second, constant(numRuns - 1));
    }
    auto read = [&](Value which, Value element) -> Value {
      at[rank - 2] = which;
      at.back() = arith::MinUIOp::create(nested, loc, element, last);
      return tensor::ExtractOp::create(nested, loc, runs, at);
    };
    // How many of the elements before the place are of the first run, by its
    // binary digits: so many that the last of them is less than what the second
    // run has at the same place.
    Value taken = zero;
    for (int64_t step = llvm::bit_floor<uint64_t>(run); step > 0; step /= 2) {
      Value more = binary<arith::AddIOp>(nested, taken, constant(step));
      Value before = binary<arith::SubIOp>(nested, more, constant(1));
      Value left = binary<arith::SubIOp>(nested, place, more);
      Value fits = binary<arith::AndIOp>(
          nested, compare(nested, arith::CmpIPredicate::ule, more, place),
          compare(nested, arith::CmpIPredicate::ule, more, constant(run)));
      Value isLess = binary<arith::OrIOp>(
          nested, compare(nested, arith::CmpIPredicate::uge, left, available),
          compare(nested, arith::CmpIPredicate::slt, read(first, before),
                  read(second, left)));
      taken = arith::SelectOp::create(
          nested, loc, binary<arith::AndIOp>(nested, fits, isLess), more,
          taken);
    }
    Value left = binary<arith::SubIOp>(nested, place, taken);
    Value most = number(nested, INT64_MAX);
    auto readOr = [&](Value which, Value element, Value end) -> Value {
      return arith::SelectOp::create(
          nested, loc, compare(nested, arith::CmpIPredicate::ult, element, end),
          read(which, element), most);
    };
    return arith::MinSIOp::create(nested, loc,
                                  readOr(first, taken, constant(run)),
                                  readOr(second, left, available));
  };
  return createElementwise(builder, loc, {}, merged, body);
}

/// The numbers of the `first` elements in the order of `digits`.
Value OrderExpander::sort(Value digits, int64_t first) {
  count = first;
  int64_t size = shape.back();
  bool isFew = size > longestRun && first <= fewElements;
  int64_t numRuns = llvm::divideCeil(size, isFew ? fewElements : longestRun);
  int64_t run = llvm::divideCeil(size, numRuns);
  SmallVector<int64_t> sizes(shape), none(shape.size() + 1, 0),
      ones(shape.size() + 1, 1);
  sizes.back() = numRuns;
  sizes.push_back(run);
  Value runs =
      sortRuns(createReshape(builder, loc, pack(digits, numRuns * run), sizes));
  if (count < run) {
    sizes.back() = count;
    runs = createSlice(builder, loc, runs, none, sizes, ones);
  }
  while (cast<RankedTensorType>(runs.getType()).getDimSize(shape.size() - 1) >
         1)
    runs = merge(runs);
  // Elements that there are not are last.
  sizes.assign(cast<RankedTensorType>(runs.getType()).getShape());
  sizes.back() = count;
  runs = createSlice(builder, loc, runs, none, sizes, ones);
  return createElementwise(
      builder, loc,
      createReshape(builder, loc, runs, getType(count).getShape()),
      getType(count),
      [&](OpBuilder &nested, Location, ValueRange args) -> Value {
        return binary<arith::AndIOp>(nested, args[0],
                                     number(nested, UINT32_MAX));
      });
}

Value OrderExpander::expand() {
  int64_t size = shape.back(), asked = count;
  if (size <= 1 || getType(asked).getNumElements() == 0)
    return createZeros(builder, loc, op.getOrder().getType());
  Value order;
  SmallVector<Value> parts = splitKeys();
  for (auto [number, digits] : llvm::enumerate(parts)) {
    if (order)
      digits = createReadInOrder(builder, loc, digits, order);
    Value next = sort(digits, number + 1 == parts.size() ? asked : size);
    order = order ? createReadInOrder(builder, loc, order, next) : next;
  }
  return exchangeDims(order);
}

namespace {
struct ImportOrders : public remat::impl::ImportOrdersPassBase<ImportOrders> {
  void runOnOperation() override {
    for (OrderOp op : collectOps<OrderOp>(getOperation())) {
      auto type = cast<RankedTensorType>(op.getKeys().front().getType());
      if (!type.hasStaticShape() || !op.getOrder().getType().hasStaticShape()) {
        op.emitOpError("has keys of type ")
            << type << ", expected static shapes";
        return signalPassFailure();
      }
      if (type.getDimSize(op.getDimension()) > INT32_MAX) {
        op.emitOpError("orders ")
            << type.getDimSize(op.getDimension())
            << " elements, expected at most " << INT32_MAX;
        return signalPassFailure();
      }
      BackwardMarkListener marks;
      marks.beginRewrite(op);
      op.getOrder().replaceAllUsesWith(OrderExpander(op, marks).expand());
      op.erase();
    }
  }
};
} // namespace
