//===- NarrowFloats.cpp - f16 and bf16 on every CPU -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM calls functions of compiler-rt for conversions that a CPU has no
// instruction for. Neither the C library nor the run time defines them. And the
// instruction that rounds to bfloat (VCVTNEPS2BF16) takes subnormal numbers for
// zero, which those functions do not. LLVM even converts where a value is only
// moved: where bfloat is no type of the CPU, it is a float between two blocks.
//
// So narrow values are integers of 16 bits here, and conversions are written
// out:
//
// * To a narrower type, they round to the nearest value, of two to the even
//   one, once. Subnormal numbers are numbers like others. A NaN stays a NaN, is
//   quiet, and keeps its sign and as much of its payload as there is room for.
// * To a wider type, they are exact. A signalling NaN of half becomes quiet, as
//   instructions have it; one of bfloat is moved as it is, as everyone does.
//
// Arithmetic is done in float and rounded. That is the same as rounding the
// exact result once: float has more than twice as many digits as both types,
// and two [Figueroa, When is double rounding innocuous?, 1995]. It does not
// hold for fused products and for integers, which go another way.
//
// No step depends on whether the CPU flushes subnormal floats.
//
//===----------------------------------------------------------------------===//

#include "NarrowFloats.h"
#include "PlainNaNs.h"

#include "remat/Target/CPU/TargetMachine.h"

#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/Analysis/VectorUtils.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;
using namespace remat::cpu;

/// Whether there are instructions between half and float, in both directions.
/// They give the bits that are promised above.
static bool hasHalfConversions(const TargetMachine &machine) {
  return hasX86Feature(machine, "f16c") ||
         machine.getTargetTriple().isAArch64();
}

static bool isNarrow(Type *type) {
  Type *scalar = type->getScalarType();
  return scalar->isHalfTy() || scalar->isBFloatTy();
}

namespace {

/// Expands the operations of one function.
class Expansion {
public:
  Expansion(Function &function, bool hasHalf)
      : function(function), builder(function.getContext()), hasHalf(hasHalf) {}

  Error run();

private:
  /// What takes the place of `op`: bits if it is narrow. Null if it stays.
  Expected<Value *> expand(Instruction &op);
  Expected<Value *> expandCall(CallInst &call);
  Error makeError(Instruction &op) const;
  void keep(Instruction &op);
  void fillPhis();

  Value *getBits(Value *value);
  Value *moveBits(Instruction &op);
  Value *movePhi(PHINode &phi);

  Value *widen(Value *value);
  Value *widen(Value *value, Type *type);
  Value *widenHalf(Value *bits);
  Value *narrow(Value *value, Type *type);
  Value *narrowToBFloat(Value *value);
  Value *narrowToHalf(Value *value);
  Value *roundToOddFloat(Value *value);
  Value *convertInteger(Value *value, bool isSigned, Type *type);
  Value *multiplyAdd(CallInst &call);
  Value *widenOperands(Instruction &op);
  Value *widenArguments(CallInst &call);

  /// `scalar`, or a vector of it that has as many elements as `type`.
  static Type *getLike(Type *type, Type *scalar) {
    return type->getWithNewType(scalar);
  }
  Type *getInt(Type *type, unsigned width) {
    return getLike(type, builder.getIntNTy(width));
  }
  Type *getFloat(Type *type) { return getLike(type, builder.getFloatTy()); }
  Type *getDouble(Type *type) { return getLike(type, builder.getDoubleTy()); }
  static Constant *get(Type *type, uint64_t value) {
    return ConstantInt::get(type, value);
  }
  Value *toBits(Value *value) {
    Type *type = value->getType();
    return builder.CreateBitCast(value,
                                 getInt(type, type->getScalarSizeInBits()));
  }
  Value *toFloat(Value *bits) {
    return builder.CreateBitCast(bits, getFloat(bits->getType()));
  }
  Value *toMagnitude(Value *bits) {
    Type *type = bits->getType();
    return builder.CreateAnd(
        bits,
        get(type, maskTrailingOnes<uint64_t>(type->getScalarSizeInBits() - 1)));
  }

  Function &function;
  IRBuilder<> builder;
  bool hasHalf;
  /// The bits of narrow values.
  DenseMap<Value *, Value *> bits;
  SmallVector<PHINode *> phis;
};

} // namespace

//===----------------------------------------------------------------------===//
// Narrow values as integers
//===----------------------------------------------------------------------===//

Value *Expansion::getBits(Value *value) {
  if (isa<Constant>(value))
    return toBits(value);
  Value *&result = bits[value];
  if (result)
    return result;
  // Of an operation that stays, or an argument.
  IRBuilder<>::InsertPointGuard guard(builder);
  if (auto *op = dyn_cast<Instruction>(value))
    builder.SetInsertPoint(*op->getInsertionPointAfterDef());
  else
    builder.SetInsertPoint(&*function.getEntryBlock().getFirstInsertionPt());
  return result = toBits(value);
}

/// The same operation on bits.
Value *Expansion::moveBits(Instruction &op) {
  Instruction *move = op.clone();
  for (Use &operand : move->operands())
    if (isNarrow(operand->getType()))
      operand = getBits(operand);
  if (isNarrow(move->getType()))
    move->mutateType(getInt(move->getType(), 16));
  return builder.Insert(move);
}

/// Its values are not all known yet.
Value *Expansion::movePhi(PHINode &phi) {
  phis.push_back(&phi);
  return builder.CreatePHI(getInt(phi.getType(), 16),
                           phi.getNumIncomingValues());
}

void Expansion::fillPhis() {
  for (PHINode *phi : phis)
    for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i)
      cast<PHINode>(bits[phi])->addIncoming(getBits(phi->getIncomingValue(i)),
                                            phi->getIncomingBlock(i));
}

/// Gives an operation that stays the narrow operands that it expects.
void Expansion::keep(Instruction &op) {
  builder.SetInsertPoint(&op);
  for (Use &operand : op.operands())
    if (isNarrow(operand->getType()) && !isa<Constant>(operand))
      operand = builder.CreateBitCast(getBits(operand), operand->getType());
}

//===----------------------------------------------------------------------===//
// To wider types
//===----------------------------------------------------------------------===//

/// A half as a float. All bits of its exponent and significand are in their
/// places after a shift; the exponent is then off by the difference of the
/// biases, 112.
Value *Expansion::widenHalf(Value *bits) {
  bits = builder.CreateZExt(bits, getInt(bits->getType(), 32));
  Type *type = bits->getType();
  Value *sign = builder.CreateShl(builder.CreateAnd(bits, get(type, 0x8000)),
                                  get(type, 16));
  Value *magnitude = builder.CreateShl(
      builder.CreateAnd(bits, get(type, 0x7fff)), get(type, 13));
  constexpr uint32_t bias = 112u << 23, one = 1u << 23;
  constexpr uint32_t infinity = 0x1fu << 23, quiet = 1u << 22;
  Value *normal = builder.CreateAdd(magnitude, get(type, bias));
  // A subnormal number lacks the leading one: it is put there, and subtracted.
  Value *leading = toFloat(get(type, bias + one));
  Value *subnormal = toBits(builder.CreateFSub(
      toFloat(builder.CreateAdd(normal, get(type, one))), leading));
  // The largest exponent has to be the largest again.
  Value *isNan = builder.CreateICmpSGT(magnitude, get(type, infinity));
  Value *special = builder.CreateOr(
      builder.CreateAdd(normal, get(type, bias)),
      builder.CreateSelect(isNan, get(type, quiet), get(type, 0)));
  Value *result = builder.CreateSelect(
      builder.CreateICmpSLT(magnitude, get(type, one)), subnormal, normal);
  result = builder.CreateSelect(
      builder.CreateICmpSLT(magnitude, get(type, infinity)), result, special);
  return toFloat(builder.CreateOr(result, sign));
}

/// A narrow value as a float.
Value *Expansion::widen(Value *value) {
  Type *type = value->getType();
  Value *bits = getBits(value);
  if (type->getScalarType()->isBFloatTy()) {
    bits = builder.CreateZExt(bits, getInt(type, 32));
    return toFloat(builder.CreateShl(bits, get(bits->getType(), 16)));
  }
  if (hasHalf)
    return builder.CreateFPExt(builder.CreateBitCast(bits, type),
                               getFloat(type));
  return widenHalf(bits);
}

/// A narrow value as one of `type`.
Value *Expansion::widen(Value *value, Type *type) {
  Value *wide = widen(value);
  return wide->getType() == type ? wide : builder.CreateFPExt(wide, type);
}

//===----------------------------------------------------------------------===//
// To narrower types
//===----------------------------------------------------------------------===//

/// Half a unit of the last place is added, less one bit where the last place
/// is even. A carry into the exponent is right, up to infinity.
Value *Expansion::narrowToBFloat(Value *value) {
  Value *bits = toBits(value);
  Type *type = bits->getType();
  Value *odd =
      builder.CreateAnd(builder.CreateLShr(bits, get(type, 16)), get(type, 1));
  Value *rounded =
      builder.CreateAdd(bits, builder.CreateAdd(odd, get(type, 0x7fff)));
  if (!hasPlainNaNs(value)) {
    Value *quiet = builder.CreateOr(bits, get(type, 1u << 22));
    Value *isNan = builder.CreateFCmpUNO(value, value);
    rounded = builder.CreateSelect(isNan, quiet, rounded);
  }
  return builder.CreateTrunc(builder.CreateLShr(rounded, get(type, 16)),
                             getInt(type, 16));
}

Value *Expansion::narrowToHalf(Value *value) {
  Value *bits = toBits(value);
  Type *type = bits->getType();
  Value *sign = builder.CreateAnd(builder.CreateLShr(bits, get(type, 16)),
                                  get(type, 0x8000));
  Value *magnitude = toMagnitude(bits);
  Value *shifted = builder.CreateLShr(magnitude, get(type, 13));
  constexpr uint32_t bias = 112u << 23, smallest = 113u << 23;
  constexpr uint32_t overflow = 143u << 23, infinity = 255u << 23;
  // As for bfloat, with the other bias.
  Value *normal = builder.CreateLShr(
      builder.CreateAdd(
          builder.CreateAdd(magnitude,
                            builder.CreateAnd(shifted, get(type, 1))),
          get(type, uint32_t(0xfffu - bias))),
      get(type, 13));
  // The last place of 0.5 is that of a subnormal half, so a sum with 0.5 is
  // rounded there.
  Value *half = ConstantFP::get(value->getType(), 0.5);
  Value *subnormal = builder.CreateSub(
      toBits(builder.CreateFAdd(toFloat(magnitude), half)), toBits(half));
  Value *nan = builder.CreateOr(builder.CreateAnd(shifted, get(type, 0x3ff)),
                                get(type, 0x7e00));
  Value *result = builder.CreateSelect(
      builder.CreateICmpSLT(magnitude, get(type, smallest)), subnormal, normal);
  result = builder.CreateSelect(
      builder.CreateICmpSLT(magnitude, get(type, overflow)), result,
      get(type, 0x7c00));
  result = builder.CreateSelect(
      builder.CreateICmpSGT(magnitude, get(type, infinity)), nan, result);
  return builder.CreateTrunc(builder.CreateOr(result, sign), getInt(type, 16));
}

/// A double as a float. If it is none, it becomes the one of its two neighbours
/// whose last bit is odd. Rounding that to nearest, with at least two digits
/// less, gives what rounding the double gives [Boldo and Melquiond, Emulation
/// of FMA and correctly rounded sums, 2008].
Value *Expansion::roundToOddFloat(Value *value) {
  Type *type = getFloat(value->getType());
  Value *nearest = builder.CreateFPTrunc(value, type);
  Value *back = builder.CreateFPExt(nearest, value->getType());
  Value *isBeyond = builder.CreateFCmpOGT(
      builder.CreateUnaryIntrinsic(Intrinsic::fabs, back),
      builder.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value *isInexact = builder.CreateFCmpONE(back, value);
  Value *bits = toBits(nearest);
  Value *towardZero =
      builder.CreateSub(bits, builder.CreateZExt(isBeyond, bits->getType()));
  return toFloat(builder.CreateOr(
      towardZero, builder.CreateZExt(isInexact, bits->getType())));
}

/// The bits of a float or a double that is rounded to the narrow type `type`.
Value *Expansion::narrow(Value *value, Type *type) {
  if (value->getType()->getScalarType()->isDoubleTy())
    value = roundToOddFloat(value);
  if (type->getScalarType()->isBFloatTy())
    return narrowToBFloat(value);
  if (hasHalf)
    return toBits(builder.CreateFPTrunc(value, type));
  return narrowToHalf(value);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The bits of an integer, of at most 64 itself, that is rounded to the narrow
/// type `type`. It becomes a float or a double that holds it, or an odd double
/// where none does.
Value *Expansion::convertInteger(Value *value, bool isSigned, Type *type) {
  constexpr unsigned digits = 53, floatDigits = 24;
  unsigned width = value->getType()->getScalarSizeInBits();
  if (width > digits) {
    Type *wide = getInt(value->getType(), 64);
    value = builder.CreateIntCast(value, wide, isSigned);
    // The last bits are joined to one. Where they are digits, they stay.
    constexpr unsigned last = 64 - digits;
    constexpr uint64_t unit = 1u << last;
    Value *rest = builder.CreateAnd(value, get(wide, unit - 1));
    Value *sticky =
        builder.CreateSelect(builder.CreateICmpEQ(rest, get(wide, 0)),
                             get(wide, 0), get(wide, unit));
    Value *odd = builder.CreateOr(
        builder.CreateAnd(value, get(wide, ~(unit - 1))), sticky);
    Value *magnitude = isSigned ? builder.CreateBinaryIntrinsic(
                                      Intrinsic::abs, value, builder.getFalse())
                                : value;
    value = builder.CreateSelect(
        builder.CreateICmpULT(magnitude, get(wide, uint64_t(1) << digits)),
        value, odd);
  }
  Type *wide = width > floatDigits ? getDouble(type) : getFloat(type);
  return narrow(isSigned ? builder.CreateSIToFP(value, wide)
                         : builder.CreateUIToFP(value, wide),
                type);
}

/// a * b + c, rounded once: the product of doubles is exact, the sum becomes
/// odd by its rounding error [Knuth, The Art of Computer Programming, vol. 2,
/// 4.2.2, theorem B].
Value *Expansion::multiplyAdd(CallInst &call) {
  Type *type = getDouble(call.getType());
  Value *a = widen(call.getArgOperand(0), type);
  Value *b = widen(call.getArgOperand(1), type);
  Value *c = widen(call.getArgOperand(2), type);
  Value *product = builder.CreateFMul(a, b);
  Value *sum = builder.CreateFAdd(product, c);
  Value *added = builder.CreateFSub(sum, product);
  Value *error = builder.CreateFAdd(
      builder.CreateFSub(product, builder.CreateFSub(sum, added)),
      builder.CreateFSub(c, added));
  Value *zero = ConstantFP::getZero(type);
  Value *isInexact = builder.CreateFCmpONE(error, zero);
  // The sum lies beyond the exact value if the error has the other sign.
  Value *isBeyond = builder.CreateAnd(
      isInexact,
      builder.CreateICmpSLT(builder.CreateXor(toBits(error), toBits(sum)),
                            get(getInt(type, 64), 0)));
  Value *bits = toBits(sum);
  bits = builder.CreateSub(bits, builder.CreateZExt(isBeyond, bits->getType()));
  bits = builder.CreateOr(bits, builder.CreateZExt(isInexact, bits->getType()));
  return narrow(builder.CreateBitCast(bits, type), call.getType());
}

/// The same operation on floats.
Value *Expansion::widenOperands(Instruction &op) {
  Instruction *wide = op.clone();
  for (Use &operand : wide->operands())
    operand = widen(operand);
  if (isNarrow(wide->getType()))
    wide->mutateType(getFloat(wide->getType()));
  return builder.Insert(wide);
}

/// The same intrinsic on floats.
Value *Expansion::widenArguments(CallInst &call) {
  SmallVector<Value *> arguments;
  for (Value *argument : call.args())
    arguments.push_back(isNarrow(argument->getType()) ? widen(argument)
                                                      : argument);
  Type *type = call.getType();
  if (isNarrow(type))
    type = getFloat(type);
  return builder.CreateIntrinsic(type, call.getIntrinsicID(), arguments,
                                 isa<FPMathOperator>(call) ? &call : nullptr);
}

Expected<Value *> Expansion::expandCall(CallInst &call) {
  if (call.mayReadOrWriteMemory())
    return nullptr;
  Type *type = call.getType();
  switch (Intrinsic::ID id = call.getIntrinsicID()) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
    return multiplyAdd(call);
  default:
    // What works element by element gives the same on floats, rounded.
    if (id == Intrinsic::not_intrinsic || type->isStructTy() ||
        !isTriviallyVectorizable(id))
      return makeError(call);
    Value *wide = widenArguments(call);
    return isNarrow(type) ? narrow(wide, type) : wide;
  }
}

Expected<Value *> Expansion::expand(Instruction &op) {
  builder.SetInsertPoint(&op);
  Type *type = op.getType();
  bool isConcerned = isNarrow(type);
  for (Value *operand : op.operands())
    isConcerned |= isNarrow(operand->getType());
  if (!isConcerned)
    return nullptr;
  switch (op.getOpcode()) {
  case Instruction::FPExt:
    return widen(op.getOperand(0), type);
  case Instruction::FPTrunc:
    return narrow(op.getOperand(0), type);
  case Instruction::FNeg: {
    Value *bits = getBits(op.getOperand(0));
    return builder.CreateXor(bits, get(bits->getType(), 0x8000));
  }
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::FRem:
    return narrow(widenOperands(op), type);
  case Instruction::FCmp:
  case Instruction::FPToSI:
  case Instruction::FPToUI:
    return widenOperands(op);
  case Instruction::SIToFP:
  case Instruction::UIToFP:
    if (op.getOperand(0)->getType()->getScalarSizeInBits() > 64)
      return makeError(op);
    return convertInteger(op.getOperand(0),
                          op.getOpcode() == Instruction::SIToFP, type);
  case Instruction::Call:
    return expandCall(cast<CallInst>(op));
  case Instruction::PHI:
    return movePhi(cast<PHINode>(op));
  case Instruction::Select:
    return builder.CreateSelect(op.getOperand(0), getBits(op.getOperand(1)),
                                getBits(op.getOperand(2)));
  case Instruction::BitCast:
  case Instruction::Load:
  case Instruction::Store:
  case Instruction::Freeze:
  case Instruction::ExtractElement:
  case Instruction::InsertElement:
  case Instruction::ShuffleVector:
    return moveBits(op);
  default:
    return nullptr;
  }
}

Error Expansion::makeError(Instruction &op) const {
  std::string text;
  raw_string_ostream(text) << op;
  return createStringError(inconvertibleErrorCode(),
                           "no code on half or bfloat for '%s', expected an "
                           "operation that works element by element",
                           StringRef(text).ltrim().str().c_str());
}

Error Expansion::run() {
  EliminateUnreachableBlocks(function);
  // Operands come before those who use them, but for phis.
  SmallVector<Instruction *> ops, replaced;
  for (BasicBlock *block : ReversePostOrderTraversal(&function))
    for (Instruction &op : *block)
      ops.push_back(&op);
  for (Instruction *op : ops) {
    Expected<Value *> value = expand(*op);
    if (!value)
      return value.takeError();
    if (!*value) {
      keep(*op);
      continue;
    }
    if (isNarrow(op->getType()))
      bits[op] = *value;
    else
      op->replaceAllUsesWith(*value);
    replaced.push_back(op);
  }
  fillPhis();
  for (Instruction *op : replaced)
    op->dropAllReferences();
  for (Instruction *op : replaced)
    op->eraseFromParent();
  return Error::success();
}

Error remat::cpu::expandNarrowFloats(Module &module,
                                     const TargetMachine &machine) {
  bool hasHalf = hasHalfConversions(machine);
  for (Function &function : module) {
    if (function.isDeclaration())
      continue;
    if (Error error = Expansion(function, hasHalf).run())
      return error;
  }
  return Error::success();
}
