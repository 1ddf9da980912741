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
#include "VectorAccess.h"
#include "WarpOps.h"

#include "remat/Codegen/IndexArithmetic.h"
#include "remat/Codegen/Reduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

static Type getElementType(const TileMatrix &matrix) {
  return cast<MemRefType>(matrix.buffer.getType()).getElementType();
}

/// Whether `count` elements that follow each other along one side of a matrix,
/// from a multiple of as many on, are so in memory, at a multiple of as many,
/// wherever the tile is. The strides are those of this side and of the other.
static bool isInVectors(const TileMatrix &matrix, int64_t stride, int64_t other,
                        int64_t count, const LoopNest &nest,
                        const KernelContext &kernel) {
  if (stride != 1 || other % count != 0)
    return false;
  for (const Access &access : nest.inputs) {
    if (kernel.buffers.lookup(access.root) != matrix.buffer)
      continue;
    // Of inside buffers, the row of the tile is subtracted, times its stride.
    if (access.offset % count != 0 || access.nonlinear ||
        !isWholeVectors(access.root, count))
      return false;
    unsigned single = 0;
    for (int64_t coefficient : access.coefficients)
      single += coefficient % count != 0;
    if (single > 1)
      return false;
  }
  return true;
}

/// Rows of the result that a thread of the multiply-add units takes, and terms
/// that it loads at once.
static constexpr int64_t scalarRows = 4, scalarTerms = 4;

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

/// Each thread has some rows of some columns in registers. Neighbouring threads
/// have neighbouring columns, or groups of these where they are loaded so.
/// Terms are added in order.
class ScalarMatmul : IndexArithmetic {
public:
  ScalarMatmul(LaunchBuilder &launch, Location loc, const TileMatmul &p,
               const LoopNest &nest, bool isWhole, Value isFirst);
  void emit();

private:
  Value getAddress(const TileMatrix &matrix, Value row, Value column) {
    return add(matrix.base,
               add(mul(row, matrix.row), mul(column, matrix.column)));
  }
  /// What one load has of a factor: an element, terms of a row or column, or a
  /// term of neighbouring rows or columns.
  enum Form { Single, Terms, Lines };

  Value load(const TileMatrix &matrix, Value row, Value column);
  SmallVector<Value> loadLines(const TileMatrix &matrix, Form form,
                               ArrayRef<Value> lines, bool linesAreRows,
                               Value k, int64_t terms);
  void findElements(Value number, int64_t groups);
  SmallVector<Value> emitStarts();
  SmallVector<Value> emitTerms(Value k, int64_t terms, ValueRange sums);
  SmallVector<Value> emitLoop(Value begin, Value end, int64_t terms,
                              ValueRange sums);
  void emitStores(ValueRange sums);

  LaunchBuilder &launch;
  const TileMatmul &p;
  const Value isFirst;
  const int64_t width;
  Form formOfA = Single, formOfB = Single;
  /// Where the thread's elements are, and whether they exist. Rows and columns
  /// behind the end repeat the last one.
  SmallVector<Value> rows, columns, isRow, isColumn;
};

} // namespace

ScalarMatmul::ScalarMatmul(LaunchBuilder &launch, Location loc,
                           const TileMatmul &p, const LoopNest &nest,
                           bool isWhole, Value isFirst)
    : IndexArithmetic(launch.builder, loc), launch(launch), p(p),
      isFirst(isFirst), width(chooseColumns(p, launch.threads)) {
  auto isLoaded = [&](const TileMatrix &matrix, int64_t stride, int64_t other,
                      int64_t count = scalarTerms) {
    return isInVectors(matrix, stride, other, count, nest, launch.context);
  };
  // Where terms are rows, which begin at those of the block.
  if (matchPattern(p.kBegin, m_Zero()) ||
      (isWhole && p.maxK % scalarTerms == 0)) {
    if (isLoaded(p.a, p.a.column, p.a.row))
      formOfA = Terms;
    if (isLoaded(p.b, p.b.row, p.b.column))
      formOfB = Terms;
  }
  // Lines that do not exist repeat the last one, which is no neighbour.
  if (isWhole && p.maxM % scalarRows == 0 && isLoaded(p.a, p.a.row, p.a.column))
    formOfA = Lines;
  if ((isWhole || !p.nEnd) && width > 1 && p.n % width == 0 &&
      isLoaded(p.b, p.b.column, p.b.row, width))
    formOfB = Lines;
}

Value ScalarMatmul::load(const TileMatrix &matrix, Value row, Value column) {
  Value value = memref::LoadOp::create(builder, loc, matrix.buffer,
                                       getAddress(matrix, row, column));
  return convertFloat(builder, loc, value, builder.getF32Type());
}

/// Elements of a factor as f32: of each of its lines, so many terms.
SmallVector<Value> ScalarMatmul::loadLines(const TileMatrix &matrix, Form form,
                                           ArrayRef<Value> lines,
                                           bool linesAreRows, Value k,
                                           int64_t terms) {
  if (terms == 1)
    form = form == Terms ? Single : form;
  SmallVector<Value> loaded(lines.size() * terms);
  auto loadFrom = [&](Value line, Value term, int64_t count) {
    SmallVector<Value> values =
        loadVector(builder, loc, count, getElementType(matrix), matrix.buffer,
                   linesAreRows ? getAddress(matrix, line, term)
                                : getAddress(matrix, term, line));
    for (Value &value : values)
      value = convertFloat(builder, loc, value, builder.getF32Type());
    return values;
  };
  auto getTerm = [&](int64_t t) { return t == 0 ? k : add(k, index(t)); };
  if (form == Lines) {
    for (int64_t t = 0; t < terms; ++t)
      for (auto [line, value] :
           llvm::enumerate(loadFrom(lines.front(), getTerm(t), lines.size())))
        loaded[line * terms + t] = value;
    return loaded;
  }
  for (auto [number, line] : llvm::enumerate(lines))
    for (int64_t t = 0; t < terms; t += form == Terms ? terms : 1)
      llvm::copy(loadFrom(line, getTerm(t), form == Terms ? terms : 1),
                 loaded.begin() + number * terms + t);
  return loaded;
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
    rows.push_back(formOfA == Lines
                       ? row
                       : arith::MinSIOp::create(builder, loc, row, lastRow));
  }
  for (int64_t c = 0; c < width; ++c) {
    Value mine = formOfB == Lines ? add(mul(column, width), index(c))
                                  : add(column, index(c * groups));
    isColumn.push_back(isBelow(mine, columnEnd));
    columns.push_back(formOfB == Lines ? mine
                                       : arith::MinSIOp::create(
                                             builder, loc, mine, lastColumn));
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

SmallVector<Value> ScalarMatmul::emitTerms(Value k, int64_t terms,
                                           ValueRange sums) {
  SmallVector<Value> a = loadLines(p.a, formOfA, rows, true, k, terms),
                     b = loadLines(p.b, formOfB, columns, false, k, terms);
  SmallVector<Value> updated(sums);
  for (int64_t t = 0; t < terms; ++t)
    for (auto [number, sum] : llvm::enumerate(updated)) {
      Value term = arith::MulFOp::create(
          builder, loc, a[number / width * terms + t],
          b[number % width * terms + t], arith::FastMathFlags::contract);
      sum = arith::AddFOp::create(builder, loc, sum, term,
                                  arith::FastMathFlags::contract);
    }
  return updated;
}

SmallVector<Value> ScalarMatmul::emitLoop(Value begin, Value end, int64_t terms,
                                          ValueRange sums) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, index(terms), sums);
  // There is enough to do in one iteration, and no room for factors of several.
  // The name is that of the annotation on LLVM's branches.
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(
                    builder.getContext(), /*disableNonforced=*/{},
                    /*vectorize=*/{},
                    /*interleave=*/{},
                    LLVM::LoopUnrollAttr::get(builder.getContext(),
                                              builder.getBoolAttr(true), {}, {},
                                              {}, {}, {}, {}),
                    {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> updated(loop.getRegionIterArgs());
  for (int64_t t = 0; t < terms; t += scalarTerms)
    updated = emitTerms(t == 0 ? loop.getInductionVar()
                               : add(loop.getInductionVar(), index(t)),
                        std::min(terms, scalarTerms), updated);
  scf::YieldOp::create(builder, loc, updated);
  return SmallVector<Value>(loop.getResults());
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
  Value size = arith::SubIOp::create(builder, loc, p.kEnd, p.kBegin, nsw);
  const int64_t terms = width < scalarRows ? 2 * scalarTerms : scalarTerms;
  Value rest = arith::RemSIOp::create(builder, loc, size, index(terms));
  Value middle = arith::SubIOp::create(builder, loc, p.kEnd, rest, nsw);
  SmallVector<Value> sums = emitLoop(p.kBegin, middle, terms, emitStarts());
  emitStores(emitLoop(middle, p.kEnd, 1, sums));
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

void remat::cuda::emitTileMatmul(LaunchBuilder &launch, Location loc,
                                 const TileMatmul &p, const LoopNest &nest,
                                 bool isWhole, Value isFirst) {
  Type type = getElementType(p.a);
  if ((!type.isBF16() && !type.isF16()) || getElementType(p.b) != type)
    return ScalarMatmul(launch, loc, p, nest, isWhole, isFirst).emit();
  auto isReducedInPart = [](const Loop &loop) {
    return loop.isReduction && (loop.begin || loop.end);
  };
  bool hasWholeTerms = p.maxK % coreTerms == 0 &&
                       (isWhole || llvm::none_of(nest.loops, isReducedInPart));
  TensorCoreMatmul(launch, loc, p, isFirst,
                   hasWholeTerms && isInVectors(p.a, p.a.column, p.a.row, 2,
                                                nest, launch.context),
                   hasWholeTerms && isInVectors(p.b, p.b.row, p.b.column, 2,
                                                nest, launch.context))
      .emit();
}
