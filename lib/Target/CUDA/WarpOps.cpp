//===- WarpOps.cpp - what the threads of a warp do together ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"

#include "remat/Dialect/Remat/IR/BufferTypes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

Value remat::cuda::emitShuffleXor(OpBuilder &builder, Location loc, Value value,
                                  int64_t distance) {
  auto constant = [&](Type type, int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  Type type = value.getType(), i32 = builder.getI32Type();
  if (type.isIndex()) {
    value =
        arith::IndexCastOp::create(builder, loc, builder.getI64Type(), value);
    return arith::IndexCastOp::create(
        builder, loc, type, emitShuffleXor(builder, loc, value, distance));
  }
  unsigned width = type.getIntOrFloatBitWidth();
  Type bits = builder.getIntegerType(width);
  auto shuffle = [&](Value word) -> Value {
    return gpu::ShuffleOp::create(builder, loc, word, constant(i32, distance),
                                  constant(i32, warpSize),
                                  gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, bits, value);
  if (width <= 32) {
    if (width < 32)
      value = arith::ExtUIOp::create(builder, loc, i32, value);
    value = shuffle(value);
    if (width < 32)
      value = arith::TruncIOp::create(builder, loc, bits, value);
  } else {
    // A register holds half of it.
    Value half = constant(bits, 32);
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    Value high = arith::TruncIOp::create(
        builder, loc, i32, arith::ShRUIOp::create(builder, loc, value, half));
    low = arith::ExtUIOp::create(builder, loc, bits, shuffle(low));
    high = arith::ExtUIOp::create(builder, loc, bits, shuffle(high));
    value = arith::OrIOp::create(
        builder, loc, low, arith::ShLIOp::create(builder, loc, high, half));
  }
  if (isa<FloatType>(type))
    value = arith::BitcastOp::create(builder, loc, type, value);
  return value;
}

void remat::cuda::emitWarpBarrier(OpBuilder &builder, Location loc) {
  Value all =
      arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(-1));
  NVVM::SyncWarpOp::create(builder, loc, all);
}

Value remat::cuda::emitOpaque(OpBuilder &builder, Location loc, Value index) {
  Type i32 = builder.getI32Type();
  Value word = arith::IndexCastUIOp::create(builder, loc, i32, index);
  word = LLVM::InlineAsmOp::create(
             builder, loc, TypeRange(i32), ValueRange(word), "mov.b32 $0, $1;",
             "=r,r", /*has_side_effects=*/true, /*is_align_stack=*/false,
             LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
             .getResult(0);
  return arith::IndexCastUIOp::create(builder, loc, builder.getIndexType(),
                                      word);
}

SmallVector<Value> remat::cuda::emitTensorCore(OpBuilder &builder, Location loc,
                                               Type type, ArrayRef<Value> a,
                                               ArrayRef<Value> b,
                                               ArrayRef<Value> c) {
  // Two of f16 are a vector, two of bf16 a word.
  bool isHalf = type.isF16();
  auto pack = [&](ArrayRef<Value> words) {
    SmallVector<Value> packed(words);
    if (isHalf)
      for (Value &word : packed)
        word = LLVM::BitcastOp::create(builder, loc, VectorType::get({2}, type),
                                       word);
    return packed;
  };
  auto factor = isHalf ? NVVM::MMATypes::f16 : NVVM::MMATypes::bf16;
  Type f32 = builder.getF32Type();
  Type result = LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                 {f32, f32, f32, f32});
  Value sums = NVVM::MmaOp::create(
      builder, loc, result, pack(a), pack(b), c,
      {coreRows, coreColumns, coreTerms}, std::nullopt, std::nullopt,
      std::array{factor, factor},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value> floats;
  for (int64_t i = 0; i < 4; ++i)
    floats.push_back(LLVM::ExtractValueOp::create(builder, loc, sums, i));
  return floats;
}

static Value emitFloat(OpBuilder &builder, Location loc, float number) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(number));
}

static Value emitPowerOfTwo(OpBuilder &builder, Location loc, Value exponent) {
  return LLVM::CallIntrinsicOp::create(builder, loc, builder.getF32Type(),
                                       builder.getStringAttr(powerOfTwoName),
                                       ValueRange(exponent))
      ->getResult(0);
}

/// The logarithm of e to the base 2.
static constexpr float log2e = 1.44269504f;

namespace {
/// How e^(x - y) is a power of two for one y and many x: that of factor * x -
/// exponent. The exponent is rounded, but all x have the same, so that
/// quotients of such powers do not depend on it. From 2^27 on, neighbours of y
/// are 16 apart, and rounding would be by powers that are too large; products
/// with log2 e overflow later. There, the exponent is y itself: the power is 1
/// where x is y, and next to nothing where it is less, whatever the base.
struct Reference {
  Reference(OpBuilder &builder, Location loc, Value y);

  Value isLarge, factor, exponent;
};
} // namespace

Reference::Reference(OpBuilder &builder, Location loc, Value y) {
  Value size = math::AbsFOp::create(builder, loc, y);
  isLarge = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE, size,
                                  emitFloat(builder, loc, 0x1p27f));
  factor = arith::SelectOp::create(builder, loc, isLarge,
                                   emitFloat(builder, loc, 1.0f),
                                   emitFloat(builder, loc, log2e));
  // Rounded on its own, also where it is a part of a sum.
  exponent = math::FmaOp::create(builder, loc, y, factor,
                                 emitFloat(builder, loc, -0.0f));
}

Value remat::cuda::emitGrowth(OpBuilder &builder, Location loc, Value before,
                              Value now) {
  Value difference = arith::SubFOp::create(builder, loc, before, now);
  Value exact = arith::MulFOp::create(builder, loc, difference,
                                      emitFloat(builder, loc, log2e));
  Reference old(builder, loc, before), young(builder, loc, now);
  Value exponent =
      arith::SubFOp::create(builder, loc, old.exponent, young.exponent);
  Value isLarge =
      arith::OrIOp::create(builder, loc, old.isLarge, young.isLarge);
  return emitPowerOfTwo(
      builder, loc,
      arith::SelectOp::create(builder, loc, isLarge, exact, exponent));
}

Value remat::cuda::emitExp(OpBuilder &builder, Location loc, Value value,
                           bool isRough) {
  auto constant = [&](float number) { return emitFloat(builder, loc, number); };
  auto fma = [&](Value a, Value b, Value c) -> Value {
    return math::FmaOp::create(builder, loc, a, b, c);
  };
  // Beyond these it is zero or infinite, and there would be no rest.
  if (!isRough) {
    value = arith::MaximumFOp::create(builder, loc, value, constant(-104.0f));
    value = arith::MinimumFOp::create(builder, loc, value, constant(104.0f));
  }
  // What is subtracted is the same for many values.
  if (auto difference = value.getDefiningOp<arith::SubFOp>();
      isRough && difference) {
    Reference reference(builder, loc, difference.getRhs());
    return emitPowerOfTwo(
        builder, loc,
        fma(difference.getLhs(), reference.factor,
            arith::NegFOp::create(builder, loc, reference.exponent)));
  }
  Value exponent = arith::MulFOp::create(builder, loc, value, constant(log2e));
  Value power = emitPowerOfTwo(builder, loc, exponent);
  if (isRough)
    return power;
  // What the exponent was rounded by is made good.
  Value rest = fma(value, constant(log2e),
                   arith::NegFOp::create(builder, loc, exponent));
  return arith::MulFOp::create(
      builder, loc, power, fma(rest, constant(0.693147181f), constant(1.0f)));
}

/// The address of an element, as a pointer into `space`.
static Value emitPointer(OpBuilder &builder, Location loc, Value buffer,
                         Value place, NVVM::NVVMMemorySpace space) {
  int64_t bytes =
      getElementBytes(cast<MemRefType>(buffer.getType()).getElementType());
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer);
  Value distance = arith::MulIOp::create(
      builder, loc, place, arith::ConstantIndexOp::create(builder, loc, bytes));
  address = arith::AddIOp::create(builder, loc, address, distance);
  address =
      arith::IndexCastOp::create(builder, loc, builder.getI64Type(), address);
  return LLVM::IntToPtrOp::create(
      builder, loc,
      LLVM::LLVMPointerType::get(builder.getContext(),
                                 static_cast<unsigned>(space)),
      address);
}

Value remat::cuda::emitSharedPointer(OpBuilder &builder, Location loc,
                                     Value buffer, Value place) {
  return emitPointer(builder, loc, buffer, place,
                     NVVM::NVVMMemorySpace::Shared);
}

Value remat::cuda::emitPointerBehind(OpBuilder &builder, Location loc,
                                     Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(),
                             builder.getI8Type(), pointer,
                             ArrayRef<LLVM::GEPArg>(int32_t(bytes)));
}

SmallVector<Value> remat::cuda::emitMatrixLoad(OpBuilder &builder, Location loc,
                                               Value pointer, bool transposes) {
  MLIRContext *context = builder.getContext();
  Type i32 = builder.getI32Type();
  Type type = LLVM::LLVMStructType::getLiteral(context, {i32, i32, i32, i32});
  Value loaded = NVVM::LdMatrixOp::create(
      builder, loc, type, pointer, 4,
      transposes ? NVVM::MMALayout::col : NVVM::MMALayout::row,
      NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
      NVVM::LdStMatrixEltType::B16);
  SmallVector<Value> words;
  for (int64_t i = 0; i < 4; ++i)
    words.push_back(LLVM::ExtractValueOp::create(builder, loc, loaded, i));
  return words;
}

void remat::cuda::emitAsyncCopy(OpBuilder &builder, Location loc, Value target,
                                Value source, Value place, Value bytes) {
  Value pointer =
      emitPointer(builder, loc, source, place, NVVM::NVVMMemorySpace::Global);
  NVVM::CpAsyncOp::create(builder, loc, target, pointer, 16,
                          NVVM::LoadCacheModifierKind::CG, bytes);
}

void remat::cuda::emitCopyGroup(OpBuilder &builder, Location loc) {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}

void remat::cuda::emitCopyWait(OpBuilder &builder, Location loc,
                               int64_t pending) {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, pending);
}

void remat::cuda::loadWarpDialects(MLIRContext *context) {
  context->loadDialect<NVVM::NVVMDialect, LLVM::LLVMDialect>();
}
