//===- WarpOps.cpp - what the threads of a warp do together ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace remat::cuda;

Value remat::cuda::emitShuffleXor(OpBuilder &builder, Location loc, Value value,
                                  int64_t distance) {
  auto constant = [&](Type type, int64_t number) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, number));
  };
  Type type = value.getType(), i32 = builder.getI32Type();
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

void remat::cuda::loadWarpDialects(MLIRContext *context) {
  context->loadDialect<NVVM::NVVMDialect, LLVM::LLVMDialect>();
}
