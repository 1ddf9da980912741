//===- TileMatmul.cpp - contractions of tiles by a block ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors of 16 bits go to tensor cores, others to multiply-add units.
//
//===----------------------------------------------------------------------===//

#include "RowEmitter.h"
#include "WarpOps.h"

#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static constexpr auto nsw = arith::IntegerOverflowFlags::nsw;

static Type getElementType(const TileMatrix &matrix) {
  return cast<MemRefType>(matrix.buffer.getType()).getElementType();
}

/// Each thread has some rows of one column in registers, and neighbouring
/// threads have neighbouring columns.
static void emitScalarMatmul(LaunchBuilder &launch, Location loc,
                             const TileMatmul &p, Value isFirst) {
  OpBuilder &builder = launch.builder;
  OpBuilder::InsertionGuard guard(builder);
  constexpr int64_t rows = 4;
  auto index = [&](int64_t value) { return emitIndex(builder, loc, value); };
  auto add = [&](Value a, Value b) -> Value {
    return arith::AddIOp::create(builder, loc, a, b, nsw);
  };
  auto mul = [&](Value a, int64_t b) -> Value {
    return arith::MulIOp::create(builder, loc, a, index(b), nsw);
  };
  Type f32 = builder.getF32Type();
  auto load = [&](const TileMatrix &matrix, Value row, Value column) -> Value {
    Value at =
        add(matrix.base, add(mul(row, matrix.row), mul(column, matrix.column)));
    Value value = memref::LoadOp::create(builder, loc, matrix.buffer, at);
    return convertFloat(builder, loc, value, f32);
  };
  int64_t groups = llvm::divideCeil(p.maxM, rows);
  Value number = openLoop(builder, loc, launch.thread, index(groups * p.n),
                          launch.threads);
  Value column = arith::RemUIOp::create(builder, loc, number, index(p.n));
  Value first =
      add(p.mBegin,
          mul(arith::DivUIOp::create(builder, loc, number, index(p.n)), rows));
  // Rows behind the end repeat the last one, and are not stored.
  Value last = arith::SubIOp::create(builder, loc, p.mEnd, index(1), nsw);
  SmallVector<Value> place, inside, sums;
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  openIf(builder, loc,
         arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, first,
                               p.mEnd));
  for (int64_t r = 0; r < rows; ++r) {
    Value row = add(first, index(r));
    inside.push_back(arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, row, p.mEnd));
    place.push_back(arith::MinSIOp::create(builder, loc, row, last));
    sums.push_back(p.accumulate ? load(p.c, place.back(), column) : zero);
    if (isFirst)
      sums.back() =
          arith::SelectOp::create(builder, loc, isFirst, zero, sums.back());
  }
  auto loop =
      scf::ForOp::create(builder, loc, p.kBegin, p.kEnd, index(1), sums);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value k = loop.getInductionVar();
    Value b = load(p.b, k, column);
    SmallVector<Value> updated;
    for (int64_t r = 0; r < rows; ++r) {
      Value term = arith::MulFOp::create(builder, loc, load(p.a, place[r], k),
                                         b, arith::FastMathFlags::contract);
      updated.push_back(arith::AddFOp::create(builder, loc,
                                              loop.getRegionIterArgs()[r], term,
                                              arith::FastMathFlags::contract));
    }
    scf::YieldOp::create(builder, loc, updated);
  }
  Type type = cast<MemRefType>(p.c.buffer.getType()).getElementType();
  for (int64_t r = 0; r < rows; ++r) {
    OpBuilder::InsertionGuard inner(builder);
    openIf(builder, loc, inside[r]);
    Value at =
        add(p.c.base, add(mul(place[r], p.c.row), mul(column, p.c.column)));
    memref::StoreOp::create(builder, loc,
                            convertFloat(builder, loc, loop.getResult(r), type),
                            p.c.buffer, at);
  }
}

namespace {

/// A warp takes 16 rows and 32 columns after the other.
class TensorCoreMatmul {
public:
  TensorCoreMatmul(LaunchBuilder &launch, Location loc, const TileMatmul &p,
                   Value isFirst, bool aInPairs, bool bInPairs)
      : launch(launch), builder(launch.builder), loc(loc), p(p),
        isFirst(isFirst), aInPairs(aInPairs), bInPairs(bInPairs) {}
  void emit();

private:
  static constexpr int64_t parts = 4;
  static constexpr int64_t columns = parts * coreColumns;

  Value index(int64_t value) { return emitIndex(builder, loc, value); }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b, nsw);
  }
  Value mul(Value a, int64_t b) {
    return arith::MulIOp::create(builder, loc, a, index(b), nsw);
  }
  Value least(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value isBelow(Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
  }
  Value loadWord(const TileMatrix &matrix, Value line, int64_t lineStride,
                 Value term, int64_t termStride, bool inPairs);
  SmallVector<Value> emitTerms(Value begin, ValueRange sums);
  void forEachSum(llvm::function_ref<void(unsigned, Value, Value)> visit);

  LaunchBuilder &launch;
  OpBuilder &builder;
  Location loc;
  const TileMatmul &p;
  const Value isFirst;
  /// Words of factors are in memory as they are.
  const bool aInPairs, bInPairs;
  /// Where the thread's parts of A and C are, and the first column of the warp.
  Value group, place, row, firstColumn;
};

} // namespace

/// Two factors with neighbouring terms as a word; those behind the last term
/// are zero.
Value TensorCoreMatmul::loadWord(const TileMatrix &matrix, Value line,
                                 int64_t lineStride, Value term,
                                 int64_t termStride, bool inPairs) {
  Type i16 = builder.getI16Type(), i32 = builder.getI32Type();
  Value base = add(matrix.base, mul(line, lineStride));
  if (inPairs) {
    Value pair = vector::LoadOp::create(
        builder, loc, VectorType::get({2}, getElementType(matrix)),
        matrix.buffer, ValueRange(add(base, term)), /*nontemporal=*/false,
        llvm::MaybeAlign(4));
    Value word = vector::BitCastOp::create(builder, loc,
                                           VectorType::get({1}, i32), pair);
    return vector::ExtractOp::create(builder, loc, word, 0);
  }
  Value last = add(p.kEnd, index(-1));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(i16, 0));
  auto load = [&](int64_t distance) -> Value {
    Value mine = add(term, index(distance));
    Value element =
        memref::LoadOp::create(builder, loc, matrix.buffer,
                               add(base, mul(least(mine, last), termStride)));
    element = arith::BitcastOp::create(builder, loc, i16, element);
    element = arith::SelectOp::create(builder, loc, isBelow(mine, p.kEnd),
                                      element, zero);
    return arith::ExtUIOp::create(builder, loc, i32, element);
  };
  Value half =
      arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(i32, 16));
  return arith::OrIOp::create(
      builder, loc, load(0),
      arith::ShLIOp::create(builder, loc, load(1), half));
}

/// Adds 16 terms to the sums.
SmallVector<Value> TensorCoreMatmul::emitTerms(Value begin, ValueRange sums) {
  Value term = add(begin, mul(place, 2));
  Value next = add(term, index(8));
  Value lastRow = add(p.mEnd, index(-1)), lastColumn = index(p.n - 1);
  SmallVector<Value> a;
  for (Value k : {term, next})
    for (int64_t i : {0, 8})
      a.push_back(loadWord(p.a, least(add(row, index(i)), lastRow), p.a.row, k,
                           p.a.column, aInPairs));
  SmallVector<Value> updated;
  for (int64_t part = 0; part < parts; ++part) {
    Value column = least(
        add(firstColumn, add(group, index(part * coreColumns))), lastColumn);
    SmallVector<Value> b;
    for (Value k : {term, next})
      b.push_back(loadWord(p.b, column, p.b.column, k, p.b.row, bInPairs));
    SmallVector<Value> old(sums.slice(part * 4, 4));
    updated.append(
        emitTensorCore(builder, loc, getElementType(p.a), a, b, old));
  }
  return updated;
}

/// Visits the thread's sums with their rows and columns, where these are.
void TensorCoreMatmul::forEachSum(
    llvm::function_ref<void(unsigned, Value, Value)> visit) {
  for (unsigned number = 0; number < 4 * parts; ++number) {
    OpBuilder::InsertionGuard guard(builder);
    Value mine = add(row, index(number % 4 / 2 * 8));
    Value column =
        add(firstColumn,
            add(mul(place, 2), index(number / 4 * coreColumns + number % 2)));
    openIf(builder, loc,
           arith::AndIOp::create(builder, loc, isBelow(mine, p.mEnd),
                                 isBelow(column, index(p.n))));
    visit(number, mine, column);
  }
}

void TensorCoreMatmul::emit() {
  OpBuilder::InsertionGuard guard(builder);
  auto div = [&](Value a, int64_t b) -> Value {
    return arith::DivUIOp::create(builder, loc, a, index(b));
  };
  auto rem = [&](Value a, int64_t b) -> Value {
    return arith::RemUIOp::create(builder, loc, a, index(b));
  };
  Value lane = rem(launch.thread, warpSize);
  group = div(lane, 4);
  place = rem(lane, 4);
  int64_t units = llvm::divideCeil(p.maxM, coreRows);
  int64_t wide = llvm::divideCeil(p.n, columns);
  Value unit = openLoop(builder, loc, div(launch.thread, warpSize),
                        index(units * wide), launch.threads / warpSize);
  row = add(p.mBegin, add(mul(div(unit, wide), coreRows), group));
  firstColumn = mul(rem(unit, wide), columns);
  Type type = getElementType(p.c);
  auto getAddress = [&](Value i, Value j) {
    return add(p.c.base, add(mul(i, p.c.row), mul(j, p.c.column)));
  };
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  SmallVector<Value> sums(4 * parts, zero);
  auto loop = scf::ForOp::create(builder, loc, p.kBegin, p.kEnd,
                                 index(coreTerms), sums);
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        builder, loc,
        emitTerms(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  forEachSum([&](unsigned number, Value i, Value j) {
    Value address = getAddress(i, j);
    Value sum = loop.getResult(number);
    if (p.accumulate) {
      Value old = convertFloat(
          builder, loc,
          memref::LoadOp::create(builder, loc, p.c.buffer, address),
          builder.getF32Type());
      if (isFirst)
        old = arith::SelectOp::create(builder, loc, isFirst, zero, old);
      sum = arith::AddFOp::create(builder, loc, old, sum);
    }
    memref::StoreOp::create(builder, loc, convertFloat(builder, loc, sum, type),
                            p.c.buffer, address);
  });
}

/// Whether two terms that follow each other from an even one on are a word of
/// memory, wherever the tile is.
static bool isInPairs(const TileMatrix &matrix, int64_t lineStride,
                      int64_t termStride, const LoopNest &nest,
                      const KernelContext &kernel) {
  if (termStride != 1 || lineStride % 2 != 0)
    return false;
  for (const Access &access : nest.inputs) {
    if (kernel.buffers.lookup(access.root) != matrix.buffer)
      continue;
    // Of inside buffers, the row of the tile is subtracted, times its stride.
    if (access.offset % 2 != 0 || access.nonlinear)
      return false;
    unsigned odd = 0;
    for (int64_t coefficient : access.coefficients)
      odd += coefficient % 2 != 0;
    if (odd > 1)
      return false;
  }
  return true;
}

void remat::cuda::emitTileMatmul(LaunchBuilder &launch, Location loc,
                                 const TileMatmul &p, const LoopNest &nest,
                                 bool isWhole, Value isFirst) {
  Type type = getElementType(p.a);
  if ((!type.isBF16() && !type.isF16()) || getElementType(p.b) != type)
    return emitScalarMatmul(launch, loc, p, isFirst);
  auto isReducedInPart = [](const Loop &loop) {
    return loop.isReduction && (loop.begin || loop.end);
  };
  bool hasWholeTerms = p.maxK % coreTerms == 0 &&
                       (isWhole || llvm::none_of(nest.loops, isReducedInPart));
  TensorCoreMatmul(launch, loc, p, isFirst,
                   hasWholeTerms && isInPairs(p.a, p.a.row, p.a.column, nest,
                                              launch.context),
                   hasWholeTerms && isInPairs(p.b, p.b.column, p.b.row, nest,
                                              launch.context))
      .emit();
}
