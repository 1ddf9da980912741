//===- MatrixUnit.cpp - matmuls of tiles on a matrix unit -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MatrixUnit.h"
#include "Tuning.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Codegen/IndexArithmetic.h"
#include "remat/Runtime/KernelCalls.h"
#include "remat/Runtime/StepTable.h"
#include "remat/Target/CPU/TargetMachine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Target/TargetMachine.h"

#include <cstddef>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

bool remat::cpu::hasMatrixUnit(const llvm::TargetMachine &machine) {
  // What is made for this machine itself names its features.
  bool isHere = !machine.getTargetFeatureString().empty();
  if (isHere && !remat_has_matrix_unit())
    return false;
  return llvm::all_of(
      ArrayRef<StringRef>{"amx-bf16", "amx-tile", "avx512bf16", "avx512bw",
                          "avx512dq", "avx512vl"},
      [&](StringRef feature) { return hasX86Feature(machine, feature); });
}

static Type getType(const TileMatrix &matrix) {
  return getElementTypeOrSelf(matrix.buffer);
}

bool remat::cpu::suitsMatrixUnit(const TileMatmul &matmul) {
  Type a = getType(matmul.a), b = getType(matmul.b);
  bool isNarrow =
      (a.isBF16() && (b.isBF16() || b.isF32())) || (a.isF32() && b.isBF16());
  return isNarrow && getType(matmul.c).isF32() && matmul.c.column == 1 &&
         matmul.maxM >= UnitTuning::minRows &&
         matmul.n >= UnitTuning::minColumns &&
         matmul.maxK >= UnitTuning::minTerms;
}

int64_t remat::cpu::getUnitPackedSize(const TileMatmul &matmul) {
  return remat_tile_packed_bytes(matmul.maxK, matmul.n,
                                 *getDtype(getType(matmul.b))) /
         static_cast<int64_t>(sizeof(float));
}

namespace {

/// The arguments of a call, one after the other.
class Call : IndexArithmetic {
public:
  Call(OpBuilder &builder, Location loc) : IndexArithmetic(builder, loc) {}

  void add(Value value) { arguments.push_back(value); }
  void add(int64_t value) { arguments.push_back(index(value)); }
  void addAddress(Value buffer) {
    add(memref::ExtractAlignedPointerAsIndexOp::create(builder, loc, buffer));
  }
  /// Where the element of a row and a column is.
  void addAddress(const TileMatrix &matrix, Value row, Value column) {
    Value place = IndexArithmetic::add(
        matrix.base,
        IndexArithmetic::add(mul(row, matrix.row), mul(column, matrix.column)));
    Value start = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc,
                                                                 matrix.buffer);
    int64_t bytes = getType(matrix).getIntOrFloatBitWidth() / 8;
    add(IndexArithmetic::add(start, mul(place, bytes)));
  }
  void addFactor(const TileMatrix &matrix, Value row, Value column) {
    addAddress(matrix, row, column);
    add(matrix.row);
    add(matrix.column);
    add(*getDtype(getType(matrix)));
  }
  void addExtent(Value begin, Value end) {
    add(arith::SubIOp::create(builder, loc, end, begin, nsw));
  }
  void emit(Value status, size_t offset);

private:
  SmallVector<Value> arguments;
};

} // namespace

/// Calls the function that is `offset` bytes behind the first one.
void Call::emit(Value status, size_t offset) {
  Type ptr = LLVM::LLVMPointerType::get(builder.getContext());
  auto load = [&](Value from, size_t bytes) -> Value {
    Value place = LLVM::GEPOp::create(
        builder, loc, ptr, builder.getI8Type(), from,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
    return LLVM::LoadOp::create(builder, loc, ptr, place);
  };
  Value calls = load(status, offsetof(remat_kernel_status, calls));
  SmallVector<Value> operands{load(calls, offset)};
  for (Value argument : arguments)
    operands.push_back(arith::IndexCastOp::create(
        builder, loc, builder.getI64Type(), argument));
  auto type = LLVM::LLVMFunctionType::get(
      LLVM::LLVMVoidType::get(builder.getContext()),
      SmallVector<Type>(arguments.size(), builder.getI64Type()));
  LLVM::CallOp::create(builder, loc, type, operands);
}

void remat::cpu::emitUnitPack(OpBuilder &builder, Location loc,
                              const TileMatmul &matmul, Value buffer,
                              Value status) {
  Call call(builder, loc);
  call.addFactor(matmul.b, matmul.kBegin, emitIndex(builder, loc, 0));
  call.addExtent(matmul.kBegin, matmul.kEnd);
  call.add(matmul.n);
  call.addAddress(buffer);
  call.emit(status, offsetof(remat_kernel_calls, pack));
}

void remat::cpu::emitUnitMatmul(OpBuilder &builder, Location loc,
                                const TileMatmul &matmul, Value status) {
  Value zero = emitIndex(builder, loc, 0);
  Call call(builder, loc);
  call.addFactor(matmul.a, matmul.mBegin, matmul.kBegin);
  call.addFactor(matmul.b, matmul.kBegin, zero);
  if (matmul.packed)
    call.addAddress(matmul.packed);
  else
    call.add(zero);
  call.add(matmul.maxK);
  call.addAddress(matmul.c, matmul.mBegin, zero);
  call.add(matmul.c.row);
  call.addExtent(matmul.mBegin, matmul.mEnd);
  if (matmul.nEnd)
    call.add(matmul.nEnd);
  else
    call.add(matmul.n);
  call.addExtent(matmul.kBegin, matmul.kEnd);
  call.add(matmul.accumulate);
  call.emit(status, offsetof(remat_kernel_calls, matmul));
}
