//===- TileMatmul.cpp - contractions of tiles by a block ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Factors of 16 bits go to tensor cores, others to multiply-add units.
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "RowEmitter.h"
#include "WarpOps.h"

#include "remat/Codegen/IndexArithmetic.h"
#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static Type getElementType(const TileMatrix &matrix) {
  return cast<MemRefType>(matrix.buffer.getType()).getElementType();
}

/// Rows of the result that a thread of the multiply-add units takes.
static constexpr int64_t scalarRows = 4;

/// Where the columns end that are there.
static Value emitColumnEnd(OpBuilder &builder, Location loc,
                           const TileMatmul &p) {
  return p.nEnd ? p.nEnd : emitIndex(builder, loc, p.n);
}

/// Columns of a thread: as many as rows, so that each factor that it loads is
/// used often, if this leaves work for all threads.
static int64_t chooseColumns(const TileMatmul &p, int64_t threads) {
  int64_t groups = llvm::divideCeil(p.maxM, scalarRows);
  int64_t columns = scalarRows;
  while (columns > 1 &&
         groups * int64_t(llvm::divideCeil(p.n, columns)) < threads)
    columns /= 2;
  return columns;
}

namespace {

/// Each thread has some rows of some columns in registers, and neighbouring
/// threads have neighbouring columns. Terms are added in order.
class ScalarMatmul : IndexArithmetic {
public:
  ScalarMatmul(LaunchBuilder &launch, Location loc, const TileMatmul &p,
               Value isFirst)
      : IndexArithmetic(launch.builder, loc), launch(launch), p(p),
        isFirst(isFirst), width(chooseColumns(p, launch.threads)) {}
  void emit();

private:
  Value getAddress(const TileMatrix &matrix, Value row, Value column) {
    return add(matrix.base,
               add(mul(row, matrix.row), mul(column, matrix.column)));
  }
  Value load(const TileMatrix &matrix, Value row, Value column);
  void findElements(Value number, int64_t groups);
  SmallVector<Value> emitStarts();
  SmallVector<Value> emitTerms(Value k, ValueRange sums);
  void emitStores(ValueRange sums);

  LaunchBuilder &launch;
  const TileMatmul &p;
  const Value isFirst;
  const int64_t width;
  /// Where the thread's elements are, and whether they exist. Rows and columns
  /// behind the end repeat the last one.
  SmallVector<Value> rows, columns, isRow, isColumn;
};

} // namespace

Value ScalarMatmul::load(const TileMatrix &matrix, Value row, Value column) {
  Value value = memref::LoadOp::create(builder, loc, matrix.buffer,
                                       getAddress(matrix, row, column));
  return convertFloat(builder, loc, value, builder.getF32Type());
}

void ScalarMatmul::findElements(Value number, int64_t groups) {
  Value first = add(
      p.mBegin, mul(arith::DivUIOp::create(builder, loc, number, index(groups)),
                    scalarRows));
  Value column = arith::RemUIOp::create(builder, loc, number, index(groups));
  Value columnEnd = emitColumnEnd(builder, loc, p);
  Value lastRow = add(p.mEnd, index(-1)),
        lastColumn = add(columnEnd, index(-1));
  for (int64_t r = 0; r < scalarRows; ++r) {
    Value row = add(first, index(r));
    isRow.push_back(isBelow(row, p.mEnd));
    rows.push_back(arith::MinSIOp::create(builder, loc, row, lastRow));
  }
  for (int64_t c = 0; c < width; ++c) {
    Value mine = add(column, index(c * groups));
    isColumn.push_back(isBelow(mine, columnEnd));
    columns.push_back(arith::MinSIOp::create(builder, loc, mine, lastColumn));
  }
}

SmallVector<Value> ScalarMatmul::emitStarts() {
  SmallVector<Value> sums;
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  for (Value row : rows)
    for (Value column : columns) {
      sums.push_back(p.accumulate ? load(p.c, row, column) : zero);
      if (isFirst)
        sums.back() =
            arith::SelectOp::create(builder, loc, isFirst, zero, sums.back());
    }
  return sums;
}

SmallVector<Value> ScalarMatmul::emitTerms(Value k, ValueRange sums) {
  SmallVector<Value> factors, updated;
  for (Value column : columns)
    factors.push_back(load(p.b, k, column));
  for (Value row : rows) {
    Value a = load(p.a, row, k);
    for (Value b : factors) {
      Value term = arith::MulFOp::create(builder, loc, a, b,
                                         arith::FastMathFlags::contract);
      updated.push_back(arith::AddFOp::create(builder, loc,
                                              sums[updated.size()], term,
                                              arith::FastMathFlags::contract));
    }
  }
  return updated;
}

void ScalarMatmul::emitStores(ValueRange sums) {
  Type type = getElementType(p.c);
  for (int64_t r = 0; r < scalarRows; ++r)
    for (int64_t c = 0; c < width; ++c) {
      OpBuilder::InsertionGuard guard(builder);
      openIf(builder, loc,
             arith::AndIOp::create(builder, loc, isRow[r], isColumn[c]));
      memref::StoreOp::create(
          builder, loc, convertFloat(builder, loc, sums[r * width + c], type),
          p.c.buffer, getAddress(p.c, rows[r], columns[c]));
    }
}

void ScalarMatmul::emit() {
  OpBuilder::InsertionGuard guard(builder);
  int64_t groups = llvm::divideCeil(p.n, width);
  Value number = openLoop(builder, loc, launch.thread,
                          index(llvm::divideCeil(p.maxM, scalarRows) * groups),
                          launch.threads);
  findElements(number, groups);
  // The first row exists, or none does.
  openIf(builder, loc, isRow.front());
  auto loop = scf::ForOp::create(builder, loc, p.kBegin, p.kEnd, index(1),
                                 emitStarts());
  {
    OpBuilder::InsertionGuard inner(builder);
    builder.setInsertionPointToStart(loop.getBody());
    scf::YieldOp::create(
        builder, loc,
        emitTerms(loop.getInductionVar(), loop.getRegionIterArgs()));
  }
  emitStores(loop.getResults());
}

namespace {

/// A warp takes 16 rows and 32 columns after the other.
class TensorCoreMatmul : IndexArithmetic {
public:
  TensorCoreMatmul(LaunchBuilder &launch, Location loc, const TileMatmul &p,
                   Value isFirst, bool aInPairs, bool bInPairs)
      : IndexArithmetic(launch.builder, loc), launch(launch), p(p),
        isFirst(isFirst), aInPairs(aInPairs), bInPairs(bInPairs) {}
  void emit();

private:
  static constexpr int64_t parts = 4;
  static constexpr int64_t columns = parts * coreColumns;

  Value least(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value loadWord(const TileMatrix &matrix, Value line, int64_t lineStride,
                 Value term, int64_t termStride, bool inPairs);
  SmallVector<Value> emitTerms(Value begin, ValueRange sums);
  void forEachSum(llvm::function_ref<void(unsigned, Value, Value)> visit);

  LaunchBuilder &launch;
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
  Value lastRow = add(p.mEnd, index(-1));
  Value lastColumn = add(emitColumnEnd(builder, loc, p), index(-1));
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
  Value columnEnd = emitColumnEnd(builder, loc, p);
  for (unsigned number = 0; number < 4 * parts; ++number) {
    OpBuilder::InsertionGuard guard(builder);
    Value mine = add(row, index(number % 4 / 2 * 8));
    Value column =
        add(firstColumn,
            add(mul(place, 2), index(number / 4 * coreColumns + number % 2)));
    openIf(builder, loc,
           arith::AndIOp::create(builder, loc, isBelow(mine, p.mEnd),
                                 isBelow(column, columnEnd)));
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
    if (access.offset % 2 != 0 || access.nonlinear ||
        !isWholeVectors(access.root, 2))
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
    return ScalarMatmul(launch, loc, p, isFirst).emit();
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
