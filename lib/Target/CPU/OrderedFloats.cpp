//===- OrderedFloats.cpp - floats as integers in their order --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits of floats without a sign, read as integers, are in the order of the
// floats. Those with a sign are in the opposite order, which all bits but the
// sign turn around.
//
//===----------------------------------------------------------------------===//

#include "OrderedFloats.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

bool remat::cpu::hasOrderedKey(const Accumulator &accumulator) {
  return accumulator.type.isF32() &&
         isa_and_nonnull<arith::MaximumFOp, arith::MinimumFOp>(
             accumulator.combiner);
}

/// The largest integer: all bits but the sign.
static APInt getAllButSign(Type type) {
  return APInt::getSignedMaxValue(type.getIntOrFloatBitWidth());
}

static Value emitConstant(OpBuilder &builder, Location loc, Type type,
                          const APInt &value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}

/// Turns the order of negative integers around; twice, it changes nothing.
static Value emitTurned(OpBuilder &builder, Location loc, Value bits) {
  Type type = bits.getType();
  Value last = emitConstant(
      builder, loc, type,
      APInt(type.getIntOrFloatBitWidth(), type.getIntOrFloatBitWidth() - 1));
  Value sign = arith::ShRSIOp::create(builder, loc, bits, last);
  Value rest = emitConstant(builder, loc, type, getAllButSign(type));
  return arith::XOrIOp::create(builder, loc, bits,
                               arith::AndIOp::create(builder, loc, sign, rest));
}

Value remat::cpu::emitOrderedKey(OpBuilder &builder, Location loc,
                                 const Accumulator &accumulator, Value value) {
  Type type = builder.getIntegerType(value.getType().getIntOrFloatBitWidth());
  Value bits = arith::BitcastOp::create(builder, loc, type, value);
  Value key = emitTurned(builder, loc, bits);
  APInt most = getAllButSign(type);
  if (isa<arith::MinimumFOp>(accumulator.combiner))
    most.flipAllBits();
  Value isNaN = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UNO,
                                      value, value);
  return arith::SelectOp::create(builder, loc, isNaN,
                                 emitConstant(builder, loc, type, most), key);
}

Value remat::cpu::emitKeptKey(OpBuilder &builder, Location loc,
                              const Accumulator &accumulator, Value lhs,
                              Value rhs) {
  if (isa<arith::MaximumFOp>(accumulator.combiner))
    return arith::MaxSIOp::create(builder, loc, lhs, rhs);
  return arith::MinSIOp::create(builder, loc, lhs, rhs);
}

Value remat::cpu::emitFromKey(OpBuilder &builder, Location loc, Value key,
                              Type type) {
  return arith::BitcastOp::create(builder, loc, type,
                                  emitTurned(builder, loc, key));
}
