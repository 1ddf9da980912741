//===- Random.cpp - random bits -------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The default generator of XLA is Philox4x32-10. Its state is a key and a
// counter of 128 bits; where it has two numbers only, the key is also the high
// half of the counter.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// Builds the words of one block, as scalars.
class Philox {
public:
  Philox(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// The four words for `key` and the counter, of which `low` and `high` are
  /// the halves.
  SmallVector<Value> build(Value key, Value low, Value high);

private:
  Value word(uint32_t value) {
    return createInteger(builder, loc, builder.getI32Type(), APInt(32, value));
  }
  std::pair<Value, Value> split(Value wide) {
    Value shift = createInteger(builder, loc, builder.getI64Type(), 32);
    Value high = arith::ShRUIOp::create(builder, loc, wide, shift);
    Type narrow = builder.getI32Type();
    return {arith::TruncIOp::create(builder, loc, narrow, wide),
            arith::TruncIOp::create(builder, loc, narrow, high)};
  }
  std::pair<Value, Value> multiply(Value a, uint32_t factor) {
    Type wide = builder.getI64Type();
    Value product = arith::MulIOp::create(
        builder, loc, arith::ExtUIOp::create(builder, loc, wide, a),
        createInteger(builder, loc, wide, APInt(64, factor)));
    return split(product);
  }
  Value exclusiveOr(Value a, Value b, Value c) {
    return arith::XOrIOp::create(builder, loc,
                                 arith::XOrIOp::create(builder, loc, a, b), c);
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

SmallVector<Value> Philox::build(Value key, Value low, Value high) {
  auto [key0, key1] = split(key);
  auto [x0, x1] = split(low);
  auto [x2, x3] = split(high);
  Value k0 = key0, k1 = key1;
  SmallVector<Value> x = {x0, x1, x2, x3};
  for (unsigned round = 0; round < 10; ++round) {
    auto [low0, high0] = multiply(x[0], 0xD2511F53);
    auto [low1, high1] = multiply(x[2], 0xCD9E8D57);
    x = {exclusiveOr(high1, x[1], k0), low1, exclusiveOr(high0, x[3], k1),
         low0};
    k0 = arith::AddIOp::create(builder, loc, k0, word(0x9E3779B9));
    k1 = arith::AddIOp::create(builder, loc, k1, word(0xBB67AE85));
  }
  return x;
}

static Value createWide(OpBuilder &builder, Location loc, int64_t value) {
  return createInteger(builder, loc, builder.getI64Type(), value);
}

/// The number of the element that a body computes, in row-major order.
static Value createElementNumber(OpBuilder &builder, Location loc,
                                 ArrayRef<int64_t> shape) {
  Value number = createIndex(builder, loc, 0);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    number = arith::MulIOp::create(builder, loc, number,
                                   createIndex(builder, loc, size));
    number = arith::AddIOp::create(builder, loc, number,
                                   linalg::IndexOp::create(builder, loc, dim));
  }
  return arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
}

static Value choose(OpBuilder &builder, Location loc, Value number,
                    ArrayRef<Value> values) {
  Value chosen = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) {
    Value is = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                     number, createWide(builder, loc, i));
    chosen = arith::SelectOp::create(builder, loc, is, values[i], chosen);
  }
  return chosen;
}

static LogicalResult lowerBits(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  StringRef algorithm = getEnum(op, "rng_algorithm");
  if (algorithm != "DEFAULT" && algorithm != "PHILOX")
    return op->emitOpError("has the algorithm ")
           << algorithm << ", which is not supported, expected DEFAULT or "
           << "PHILOX";
  Value state = lowering.get(op->getOperand(0));
  auto stateType = cast<RankedTensorType>(state.getType());
  RankedTensorType type = lowering.getTensorType(op->getResult(1));
  auto element = dyn_cast<IntegerType>(type.getElementType());
  if (stateType.getRank() != 1 || !stateType.getElementType().isInteger(64) ||
      stateType.getDimSize(0) < 2 || stateType.getDimSize(0) > 3 || !element ||
      (element.getWidth() > 32 && element.getWidth() != 64))
    return op->emitOpError("expected a state of two or three integers of 64 "
                           "bits and integers as results");
  bool isWide = element.getWidth() == 64;
  int64_t perBlock = isWide ? 2 : 4;
  Value key = createTaken(builder, loc, state, 0, 0),
        low = createTaken(builder, loc, state, 0, 1),
        high = stateType.getDimSize(0) == 3
                   ? createTaken(builder, loc, state, 0, 2)
                   : key;
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  AffineMap none = AffineMap::get(type.getRank(), 0, {}, builder.getContext());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), element);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value number = createElementNumber(nested, loc, type.getShape());
    Value count = createWide(nested, loc, perBlock);
    Value block = arith::DivUIOp::create(nested, loc, number, count);
    Value counter = arith::AddIOp::create(nested, loc, args[1], block);
    Value carry = arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::ult,
                                        counter, block);
    Value top = arith::AddIOp::create(
        nested, loc, args[2],
        arith::ExtUIOp::create(nested, loc, nested.getI64Type(), carry));
    SmallVector<Value> words = Philox(nested, loc).build(args[0], counter, top);
    if (isWide)
      for (unsigned half = 0; half < 2; ++half) {
        Value first =
                  arith::ExtUIOp::create(nested, loc, element, words[2 * half]),
              second = arith::ExtUIOp::create(nested, loc, element,
                                              words[2 * half + 1]);
        second = arith::ShLIOp::create(nested, loc, second,
                                       createWide(nested, loc, 32));
        words[half] = arith::OrIOp::create(nested, loc, first, second);
      }
    words.resize(perBlock);
    Value rest = arith::RemUIOp::create(nested, loc, number, count);
    Value bits = choose(nested, loc, rest, words);
    if (element.getWidth() < 32)
      bits = arith::TruncIOp::create(nested, loc, element, bits);
    linalg::YieldOp::create(nested, loc, bits);
  };
  Value bits =
      createGeneric(builder, loc, {key, low, high}, empty,
                    {none, none, none, identity}, type.getRank(), 0, body)
          .getResult(0);
  // The counter goes on behind the blocks that were used.
  int64_t blocks = llvm::divideCeil(type.getNumElements(), perBlock);
  Value next = createElementwise(
      builder, loc, state, stateType,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value place =
            arith::IndexCastOp::create(nested, loc, nested.getI64Type(),
                                       linalg::IndexOp::create(nested, loc, 0));
        Value isCounter =
            arith::CmpIOp::create(nested, loc, arith::CmpIPredicate::eq, place,
                                  createWide(nested, loc, 1));
        Value counter = arith::AddIOp::create(nested, loc, args[0],
                                              createWide(nested, loc, blocks));
        return arith::SelectOp::create(nested, loc, isCounter, counter,
                                       args[0]);
      });
  return lowering.set(op, {next, bits});
}

void foreign::addRandom(LoweringTable &table) {
  table["stablehlo.rng_bit_generator"] = {lowerBits, 1, 2};
}
