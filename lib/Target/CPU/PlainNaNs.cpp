//===- PlainNaNs.cpp - which floats are NaN in few ways -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainNaNs.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/KnownBits.h"

using namespace llvm;

/// How many zeros there are at the end.
static constexpr unsigned zeros = 16;

static bool isPlainConstant(Constant *constant) {
  if (isa<ConstantAggregateZero, UndefValue>(constant))
    return true;
  if (auto *number = dyn_cast<ConstantFP>(constant)) {
    const APFloat &value = number->getValueAPF();
    return !value.isNaN() || value.bitcastToAPInt().countr_zero() >= zeros;
  }
  auto *type = dyn_cast<FixedVectorType>(constant->getType());
  for (unsigned i = 0; type && i < type->getNumElements(); ++i) {
    Constant *element = constant->getAggregateElement(i);
    if (!element || !isPlainConstant(element))
      return false;
  }
  return type != nullptr;
}

/// Whether the intrinsic gives a NaN of one of its operands, or a new one.
static bool passesNaNs(Intrinsic::ID intrinsic) {
  switch (intrinsic) {
  case Intrinsic::fma:
  case Intrinsic::fmuladd:
  case Intrinsic::fabs:
  case Intrinsic::copysign:
  case Intrinsic::sqrt:
  case Intrinsic::minnum:
  case Intrinsic::maxnum:
  case Intrinsic::minimum:
  case Intrinsic::maximum:
  case Intrinsic::floor:
  case Intrinsic::ceil:
  case Intrinsic::trunc:
  case Intrinsic::rint:
  case Intrinsic::nearbyint:
  case Intrinsic::round:
  case Intrinsic::roundeven:
    return true;
  default:
    return false;
  }
}

namespace {
enum class Verdict { Plain, Other, LikeOperands };
} // namespace

/// What an instruction says of its value.
static Verdict judge(Instruction *op) {
  if (isa<UIToFPInst, SIToFPInst>(op))
    return Verdict::Plain;
  if (auto *extension = dyn_cast<FPExtInst>(op))
    return extension->getSrcTy()->getScalarType()->isBFloatTy()
               ? Verdict::Plain
               : Verdict::Other;
  if (auto *cast = dyn_cast<BitCastInst>(op)) {
    Type *from = cast->getSrcTy();
    bool isElementwise = from->getScalarType()->isIntegerTy(32);
    return isElementwise && computeKnownBits(cast->getOperand(0),
                                             op->getModule()->getDataLayout())
                                    .countMinTrailingZeros() >= zeros
               ? Verdict::Plain
               : Verdict::Other;
  }
  if (auto *call = dyn_cast<IntrinsicInst>(op))
    return passesNaNs(call->getIntrinsicID()) ? Verdict::LikeOperands
                                              : Verdict::Other;
  switch (op->getOpcode()) {
  case Instruction::FNeg:
  case Instruction::FAdd:
  case Instruction::FSub:
  case Instruction::FMul:
  case Instruction::FDiv:
  case Instruction::PHI:
  case Instruction::Select:
  case Instruction::ExtractElement:
  case Instruction::InsertElement:
  case Instruction::ShuffleVector:
    return Verdict::LikeOperands;
  default:
    return Verdict::Other;
  }
}

bool remat::cpu::hasPlainNaNs(Value *value) {
  // What a value of a loop is made of may be itself.
  SmallSetVector<Value *, 16> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i) {
    // Not the condition of a selection, nor the number of an element.
    if (!reached[i]->getType()->getScalarType()->isFloatTy())
      continue;
    if (auto *constant = dyn_cast<Constant>(reached[i])) {
      if (!isPlainConstant(constant))
        return false;
      continue;
    }
    auto *op = dyn_cast<Instruction>(reached[i]);
    Verdict verdict = op ? judge(op) : Verdict::Other;
    if (verdict == Verdict::Other)
      return false;
    if (verdict == Verdict::LikeOperands)
      for (Value *operand : op->operands())
        reached.insert(operand);
  }
  return true;
}
