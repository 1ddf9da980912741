//===- NarrowQuotients.cpp - quotients rounded to 16 bits -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rounded division takes about twelve instructions of a GPU, and a softmax in
// bf16 has one for each element. But of the quotient a / b only 8 or 11 bits
// stay. Let r be 1 / b, rounded, and low and high the numbers next to it, with
// low <= 1 / b <= high in magnitude. Rounding is monotonic: a * low, a / b and
// a * high are in this order after rounding to f32, and after rounding that to
// 16 bits. Where the first and the last are equal, so is the quotient, whatever
// a is. Where one element of a vector has others, which a few of 10,000 have,
// or where there are no such numbers, as for b = 0, the vector is divided.
//
//===----------------------------------------------------------------------===//

#include "NarrowQuotients.h"

#include "remat/Utils/CollectOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

/// Quotients with fewer elements are divided.
static constexpr int64_t minElements = 4;

namespace {
struct NarrowQuotients {
  SmallVector<Value> dividends;
  Value divisor;
};
} // namespace

/// The quotients that make `op`, if it has no other elements.
static std::optional<NarrowQuotients> match(vector::FromElementsOp op) {
  VectorType type = op.getType();
  if (type.getRank() != 1 || type.getNumElements() < minElements ||
      type.getNumElements() % 2 != 0 ||
      !(type.getElementType().isBF16() || type.getElementType().isF16()))
    return std::nullopt;
  NarrowQuotients found;
  for (Value element : op.getElements()) {
    auto rounded = element.getDefiningOp<arith::TruncFOp>();
    auto quotient =
        rounded ? rounded.getIn().getDefiningOp<arith::DivFOp>() : nullptr;
    if (!quotient || !rounded->hasOneUse() || !quotient->hasOneUse() ||
        !quotient.getType().isF32() ||
        (found.divisor && found.divisor != quotient.getRhs()))
      return std::nullopt;
    found.dividends.push_back(quotient.getLhs());
    found.divisor = quotient.getRhs();
  }
  return found;
}

/// The products of all dividends with `factor`, rounded.
static Value multiply(OpBuilder &builder, Location loc,
                      const NarrowQuotients &quotients, Value factor,
                      VectorType type) {
  SmallVector<Value> products;
  for (Value dividend : quotients.dividends)
    products.push_back(arith::MulFOp::create(builder, loc, dividend, factor));
  auto wide = VectorType::get(type.getShape(), builder.getF32Type());
  Value whole = vector::FromElementsOp::create(builder, loc, wide, products);
  return arith::TruncFOp::create(builder, loc, type, whole);
}

/// Whether two vectors have other bits, by words of two elements.
static Value differ(OpBuilder &builder, Location loc, Value a, Value b) {
  auto type = cast<VectorType>(a.getType());
  auto words =
      VectorType::get({type.getNumElements() / 2}, builder.getI32Type());
  Value changed = arith::XOrIOp::create(
      builder, loc, vector::BitCastOp::create(builder, loc, words, a),
      vector::BitCastOp::create(builder, loc, words, b));
  Value any;
  for (int64_t i = 0; i < words.getNumElements(); ++i) {
    Value word = vector::ExtractOp::create(builder, loc, changed, i);
    any =
        any ? arith::OrIOp::create(builder, loc, any, word).getResult() : word;
  }
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, any,
                               zero);
}

static void rewrite(vector::FromElementsOp op,
                    const NarrowQuotients &quotients) {
  OpBuilder builder(op);
  Location loc = op.getLoc();
  VectorType type = op.getType();
  Type word = builder.getI32Type(), real = builder.getF32Type();
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1));
  Value inverse = arith::DivFOp::create(builder, loc, one, quotients.divisor);
  Value bits = arith::BitcastOp::create(builder, loc, word, inverse);
  auto multiplyByNeighbour = [&](int32_t step) {
    Value distance = arith::ConstantOp::create(builder, loc,
                                               builder.getI32IntegerAttr(step));
    Value neighbour = arith::AddIOp::create(builder, loc, bits, distance);
    neighbour = arith::BitcastOp::create(builder, loc, real, neighbour);
    return multiply(builder, loc, quotients, neighbour, type);
  };
  Value low = multiplyByNeighbour(-1), high = multiplyByNeighbour(1);
  auto ifOp = scf::IfOp::create(builder, loc, TypeRange(type),
                                differ(builder, loc, low, high),
                                /*withElseRegion=*/true);
  builder.setInsertionPointToStart(ifOp.elseBlock());
  scf::YieldOp::create(builder, loc, low);
  builder.setInsertionPointToStart(ifOp.thenBlock());
  SmallVector<Value> divided;
  for (Value dividend : quotients.dividends)
    divided.push_back(arith::TruncFOp::create(
        builder, loc, type.getElementType(),
        arith::DivFOp::create(builder, loc, dividend, quotients.divisor)));
  scf::YieldOp::create(
      builder, loc,
      vector::FromElementsOp::create(builder, loc, type, divided).getResult());
  SmallVector<Operation *> old;
  for (Value element : op.getElements())
    old.push_back(element.getDefiningOp());
  op.replaceAllUsesWith(ifOp.getResult(0));
  op.erase();
  for (Operation *rounded : old) {
    Operation *quotient = rounded->getOperand(0).getDefiningOp();
    rounded->erase();
    quotient->erase();
  }
}

void remat::cuda::multiplyNarrowQuotients(gpu::GPUFuncOp function) {
  for (vector::FromElementsOp op :
       remat::collectOps<vector::FromElementsOp>(function))
    if (std::optional<NarrowQuotients> quotients = match(op))
      rewrite(op, *quotients);
}
