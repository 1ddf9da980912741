//===- LowerRandom.cpp - random numbers as arithmetic ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox4x32-10 of J. K. Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011), with integers of 64 bits for the products of words. All
// back ends compile the same operations, so they draw the same bits.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_LOWERRANDOMPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Emits arithmetic on words of 32 bits, each in the low half of an i64.
class WordBuilder {
public:
  WordBuilder(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value constant(int64_t value) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  template <typename Op>
  Value emit(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value low(Value value) {
    return emit<arith::AndIOp>(value, constant(0xffffffff));
  }
  Value high(Value value) { return emit<arith::ShRUIOp>(value, constant(32)); }
  Value word(Value number) {
    return low(emit<arith::RemUIOp>(number, constant(4)));
  }

  /// Ten rounds on a counter of four words under a key of two.
  void mix(SmallVectorImpl<Value> &counter, SmallVectorImpl<Value> &key) {
    for (int round = 0; round < 10; ++round) {
      if (round > 0) {
        key[0] = low(emit<arith::AddIOp>(key[0], constant(0x9E3779B9)));
        key[1] = low(emit<arith::AddIOp>(key[1], constant(0xBB67AE85)));
      }
      Value a = emit<arith::MulIOp>(counter[0], constant(0xD2511F53));
      Value b = emit<arith::MulIOp>(counter[2], constant(0xCD9E8D57));
      Value first =
          emit<arith::XOrIOp>(emit<arith::XOrIOp>(high(b), counter[1]), key[0]);
      Value third =
          emit<arith::XOrIOp>(emit<arith::XOrIOp>(high(a), counter[3]), key[1]);
      counter.assign({first, low(b), third, low(a)});
    }
  }

private:
  OpBuilder &builder;
  Location loc;
};
} // namespace

/// The number in row-major order of the element at the current point.
static Value emitNumber(OpBuilder &builder, Location loc,
                        ArrayRef<int64_t> shape) {
  WordBuilder words(builder, loc);
  Value number = words.constant(0);
  for (auto [dim, size] : llvm::enumerate(shape)) {
    Value index = linalg::IndexOp::create(builder, loc, dim);
    index =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), index);
    number = words.emit<arith::MulIOp>(number, words.constant(size));
    number = words.emit<arith::AddIOp>(number, index);
  }
  return number;
}

/// A word as a number in [0, 1) with as many digits as `type` has.
static Value emitUniform(OpBuilder &builder, Location loc, Value word,
                         FloatType type) {
  WordBuilder words(builder, loc);
  int64_t digits = std::min(32u, type.getFPMantissaWidth());
  Value bits = words.emit<arith::ShRUIOp>(word, words.constant(32 - digits));
  Type wide = type.getWidth() < 32 ? builder.getF32Type() : Type(type);
  Value value = arith::UIToFPOp::create(builder, loc, wide, bits);
  Value scale = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(wide, std::ldexp(1.0, -digits)));
  value = arith::MulFOp::create(builder, loc, value, scale);
  return wide == type ? value
                      : arith::TruncFOp::create(builder, loc, type, value);
}

static Value emitElement(OpBuilder &builder, Location loc, RandomOp op,
                         Value keyBits, Value offset) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  WordBuilder words(builder, loc);
  Value number = emitNumber(builder, loc, type.getShape());
  Value block = words.emit<arith::AddIOp>(
      offset, words.emit<arith::ShRUIOp>(number, words.constant(2)));
  Value copy = words.constant(0);
  if (op.getFresh()) {
    copy = CopyNumberOp::create(builder, loc, builder.getI32Type());
    copy = arith::ExtUIOp::create(builder, loc, builder.getI64Type(), copy);
  }
  SmallVector<Value> counter = {words.low(block), words.high(block), copy,
                                words.constant(0)};
  SmallVector<Value> key = {words.low(keyBits), words.high(keyBits)};
  words.mix(counter, key);
  Value which = words.word(number);
  Value word = counter[3];
  for (int64_t i = 2; i >= 0; --i) {
    Value isThis = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         which, words.constant(i));
    word = arith::SelectOp::create(builder, loc, isThis, counter[i], word);
  }
  Type element = type.getElementType();
  if (auto floating = dyn_cast<FloatType>(element))
    return emitUniform(builder, loc, word, floating);
  return arith::TruncIOp::create(builder, loc, element, word);
}

static void lower(RandomOp op) {
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                        type.getElementType());
  AffineMap none = AffineMap::get(type.getRank(), 0, op.getContext());
  SmallVector<AffineMap> maps = {
      none, none, builder.getMultiDimIdentityMap(type.getRank())};
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  auto generic = linalg::GenericOp::create(
      builder, op.getLoc(), type, ValueRange{op.getKey(), op.getOffset()},
      empty, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        linalg::YieldOp::create(nested, loc,
                                emitElement(nested, loc, op, args[0], args[1]));
      });
  op.replaceAllUsesWith(generic.getResult(0));
  op.erase();
}

namespace {
struct LowerRandom : remat::impl::LowerRandomPassBase<LowerRandom> {
  void runOnOperation() override {
    getOperation().walk([](RandomOp op) { lower(op); });
  }
};
} // namespace
