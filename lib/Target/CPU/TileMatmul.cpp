//===- TileMatmul.cpp - matmuls of tiles in the cache ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileMatmul.h"
#include "LoopEmitter.h"
#include "MatrixUnit.h"
#include "Tuning.h"

#include "remat/Codegen/IndexArithmetic.h"
#include "remat/Target/CPU/TargetMachine.h"
#include "remat/Utils/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/bit.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

/// Lets the target fuse the two, where it can, in this sum alone.
constexpr auto contract = arith::FastMathFlags::contract;

class Emission : IndexArithmetic {
public:
  Emission(OpBuilder &builder, Location loc, const TileShape &tile,
           const TileMatmul &matmul)
      : IndexArithmetic(builder, loc), p(matmul), tile(tile),
        vectorType(VectorType::get({tile.lanes}, builder.getF32Type())) {}

  void emitPanelPack(Value panel, int64_t width, Value buffer, Value place);
  void emitPanel(Value panel, int64_t width, Value buffer, Value place);
  void emitScalar();
  TileMatrix emitWidened(Value buffer);
  /// Calls `emit(panel, width)` for all panels: a loop and a rest.
  template <typename Function>
  void forPanels(const Function &emit);
  Value getPlace(Value panel);

private:
  void emitRows(Value row, int64_t count, Value panel, int64_t width,
                Value buffer, Value place);
  Value emitTransposed(Value first, int64_t width, Value buffer, Value place);
  Value address(const TileMatrix &matrix, Value row, Value column) {
    return add(matrix.base,
               add(mul(row, matrix.row), mul(column, matrix.column)));
  }
  /// An element of a factor, in f32.
  Value load(const TileMatrix &matrix, Value row, Value column) {
    Value value = memref::LoadOp::create(builder, loc, matrix.buffer,
                                         address(matrix, row, column));
    if (value.getType().isF32())
      return value;
    return arith::ExtFOp::create(builder, loc, builder.getF32Type(), value);
  }
  /// The vector of a factor that begins there, in f32.
  Value loadVector(const TileMatrix &matrix, Value address) {
    Type element = getElementTypeOrSelf(matrix.buffer);
    Value value = vector::LoadOp::create(builder, loc,
                                         VectorType::get({tile.lanes}, element),
                                         matrix.buffer, ValueRange(address));
    if (element.isF32())
      return value;
    return arith::ExtFOp::create(builder, loc, vectorType, value);
  }
  void transpose(MutableArrayRef<Value> rows);
  Value mask(int64_t width) {
    return vector::ConstantMaskOp::create(
        builder, loc, VectorType::get({tile.lanes}, builder.getI1Type()),
        ArrayRef<int64_t>{width});
  }
  Value zero() {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getZeroAttr(vectorType));
  }
  scf::ForOp open(Value begin, Value end, int64_t step,
                  ValueRange carried = {}) {
    auto loop =
        scf::ForOp::create(builder, loc, begin, end, index(step), carried);
    builder.setInsertionPointToStart(loop.getBody());
    return loop;
  }

  const TileMatmul &p;
  const TileShape &tile;
  VectorType vectorType;
};

} // namespace

template <typename Function>
void Emission::forPanels(const Function &emit) {
  int64_t whole = p.n / tile.columns;
  Value needed;
  if (p.nEnd)
    needed =
        arith::CeilDivUIOp::create(builder, loc, p.nEnd, index(tile.columns));
  if (whole > 0) {
    OpBuilder::InsertionGuard guard(builder);
    Value count = index(whole);
    if (needed)
      count = arith::MinUIOp::create(builder, loc, count, needed);
    auto loop = open(index(0), count, 1);
    keepLoop(loop);
    emit(loop.getInductionVar(), tile.columns);
  }
  int64_t rest = p.n % tile.columns;
  if (rest == 0)
    return;
  OpBuilder::InsertionGuard guard(builder);
  if (needed) // once or never
    open(index(whole), needed, 1);
  emit(index(whole), rest);
}

/// Where a panel begins among all.
Value Emission::getPlace(Value panel) {
  return mul(panel, p.maxK * tile.columns);
}

/// Transposes as many vectors as they have lanes: halves of neighbouring blocks
/// change places, then quarters, and so on.
void Emission::transpose(MutableArrayRef<Value> rows) {
  for (int64_t distance = tile.lanes / 2; distance > 0; distance /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      bool isUpper = (lane & distance) != 0;
      low.push_back(isUpper ? tile.lanes + lane - distance : lane);
      high.push_back(isUpper ? tile.lanes + lane : lane + distance);
    }
    for (int64_t row = 0; row < tile.lanes; ++row) {
      if ((row & distance) != 0)
        continue;
      Value one = rows[row], other = rows[row + distance];
      rows[row] = vector::ShuffleOp::create(builder, loc, one, other, low);
      rows[row + distance] =
          vector::ShuffleOp::create(builder, loc, one, other, high);
    }
  }
}

/// Copies the first rows of a panel of a B whose columns lie in memory, in
/// squares of vectors, and returns where the others begin.
Value Emission::emitTransposed(Value first, int64_t width, Value buffer,
                               Value place) {
  OpBuilder::InsertionGuard guard(builder);
  Value rows = arith::SubIOp::create(builder, loc, p.kEnd, p.kBegin, nsw);
  Value rest = arith::RemUIOp::create(builder, loc, rows, index(tile.lanes));
  Value end = arith::SubIOp::create(builder, loc, p.kEnd, rest, nsw);
  Value k = open(p.kBegin, end, tile.lanes).getInductionVar();
  Value row = arith::SubIOp::create(builder, loc, k, p.kBegin, nsw);
  Value to = add(place, mul(row, tile.columns));
  for (int64_t begin = 0; begin < width; begin += tile.lanes) {
    SmallVector<Value> square;
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      square.push_back(
          begin + lane < width
              ? loadVector(p.b,
                           address(p.b, k, add(first, index(begin + lane))))
              : zero());
    transpose(square);
    for (int64_t lane = 0; lane < tile.lanes; ++lane)
      vector::StoreOp::create(
          builder, loc, square[lane], buffer,
          ValueRange(add(to, index(lane * tile.columns + begin))));
  }
  return end;
}

/// Copies a panel, zeros behind its last column.
void Emission::emitPanelPack(Value panel, int64_t width, Value buffer,
                             Value place) {
  OpBuilder::InsertionGuard guard(builder);
  Value first = mul(panel, tile.columns);
  // The inner loop is the one that walks B in order.
  bool columnsInside = std::abs(p.b.column) <= std::abs(p.b.row);
  Value begin = p.kBegin;
  if (!columnsInside && p.b.row == 1 && p.maxK >= tile.lanes)
    begin = emitTransposed(first, width, buffer, place);
  auto copy = [&](int64_t columns, bool fill) {
    OpBuilder::InsertionGuard inner(builder);
    Value low = index(fill ? width : 0), high = index(columns);
    Value from = fill ? p.kBegin : begin, k, column;
    if (columnsInside) {
      k = open(from, p.kEnd, 1).getInductionVar();
      column = open(low, high, 1).getInductionVar();
    } else {
      auto columns = open(low, high, 1);
      keepScalar(columns);
      column = columns.getInductionVar();
      k = open(from, p.kEnd, 1).getInductionVar();
    }
    Value value;
    if (fill)
      value =
          arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
    else
      value = load(p.b, k, add(first, column));
    Value row = arith::SubIOp::create(builder, loc, k, p.kBegin, nsw);
    memref::StoreOp::create(builder, loc, value, buffer,
                            add(place, add(mul(row, tile.columns), column)));
  };
  copy(width, /*fill=*/false);
  if (width < tile.columns)
    copy(tile.columns, /*fill=*/true);
}

/// `count` rows of C from `row` on, in registers. Without a `buffer`, B is read
/// where it lies.
void Emission::emitRows(Value row, int64_t count, Value panel, int64_t width,
                        Value buffer, Value place) {
  OpBuilder::InsertionGuard guard(builder);
  int64_t vectors = llvm::divideCeil(width, tile.lanes);
  Value first = mul(panel, tile.columns);
  auto isPart = [&](int64_t v) { return (v + 1) * tile.lanes > width; };
  SmallVector<Value> rows, sums;
  for (int64_t r = 0; r < count; ++r)
    rows.push_back(r == 0 ? row : add(row, index(r)));
  auto getPlaceInC = [&](int64_t r, int64_t v) {
    return address(p.c, rows[r],
                   v == 0 ? first : add(first, index(v * tile.lanes)));
  };
  for (int64_t r = 0; r < count; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      if (!p.accumulate) {
        sums.push_back(zero());
        continue;
      }
      Value at = getPlaceInC(r, v);
      if (isPart(v))
        sums.push_back(vector::MaskedLoadOp::create(
            builder, loc, vectorType, p.c.buffer, at,
            mask(width - v * tile.lanes), zero()));
      else
        sums.push_back(vector::LoadOp::create(builder, loc, vectorType,
                                              p.c.buffer, ValueRange(at)));
    }
  scf::ForOp loop = open(p.kBegin, p.kEnd, 1, sums);
  Value k = loop.getInductionVar();
  Value step = arith::SubIOp::create(builder, loc, k, p.kBegin, nsw);
  Value from = buffer ? buffer : p.b.buffer;
  Value begin =
      buffer ? add(place, mul(step, tile.columns)) : address(p.b, k, first);
  SmallVector<Value> columns, updated;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = v == 0 ? begin : add(begin, index(v * tile.lanes));
    if (!buffer && isPart(v))
      columns.push_back(
          vector::MaskedLoadOp::create(builder, loc, vectorType, from, at,
                                       mask(width - v * tile.lanes), zero()));
    else
      columns.push_back(vector::LoadOp::create(builder, loc, vectorType, from,
                                               ValueRange(at)));
  }
  for (int64_t r = 0; r < count; ++r) {
    Value element = load(p.a, rows[r], k);
    Value factor =
        vector::BroadcastOp::create(builder, loc, vectorType, element);
    for (int64_t v = 0; v < vectors; ++v) {
      Value term =
          arith::MulFOp::create(builder, loc, factor, columns[v], contract);
      updated.push_back(arith::AddFOp::create(
          builder, loc, loop.getRegionIterArgs()[r * vectors + v], term,
          contract));
    }
  }
  scf::YieldOp::create(builder, loc, updated);
  builder.setInsertionPointAfter(loop);
  for (int64_t r = 0; r < count; ++r)
    for (int64_t v = 0; v < vectors; ++v) {
      Value at = getPlaceInC(r, v), sum = loop.getResult(r * vectors + v);
      if (isPart(v) && width % tile.lanes != 0)
        vector::MaskedStoreOp::create(builder, loc, p.c.buffer, at,
                                      mask(width - v * tile.lanes), sum);
      else
        vector::StoreOp::create(builder, loc, sum, p.c.buffer, ValueRange(at));
    }
}

void Emission::emitPanel(Value panel, int64_t width, Value buffer,
                         Value place) {
  // The last rows are few: 4, 2 and 1 of them, at most once each.
  Value begin = p.mBegin;
  for (int64_t count = tile.rows; count > 0;
       count = llvm::bit_floor(static_cast<uint64_t>(count - 1))) {
    OpBuilder::InsertionGuard guard(builder);
    Value rows = arith::SubIOp::create(builder, loc, p.mEnd, begin, nsw);
    Value rest = arith::RemUIOp::create(builder, loc, rows, index(count));
    Value end = arith::SubIOp::create(builder, loc, p.mEnd, rest, nsw);
    auto loop = open(begin, end, count);
    emitRows(loop.getInductionVar(), count, panel, width, buffer, place);
    begin = end;
  }
}

/// For results whose columns are not next to each other.
void Emission::emitScalar() {
  OpBuilder::InsertionGuard guard(builder);
  Value row = open(p.mBegin, p.mEnd, 1).getInductionVar();
  Value column =
      open(index(0), p.nEnd ? p.nEnd : index(p.n), 1).getInductionVar();
  Value at = address(p.c, row, column);
  Value start;
  if (p.accumulate)
    start = memref::LoadOp::create(builder, loc, p.c.buffer, at);
  else
    start =
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0.0));
  scf::ForOp loop = open(p.kBegin, p.kEnd, 1, start);
  Value k = loop.getInductionVar();
  Value term = arith::MulFOp::create(builder, loc, load(p.a, row, k),
                                     load(p.b, k, column));
  Value sum =
      arith::AddFOp::create(builder, loc, loop.getRegionIterArgs()[0], term);
  scf::YieldOp::create(builder, loc, sum);
  builder.setInsertionPointAfter(loop);
  memref::StoreOp::create(builder, loc, loop.getResult(0), p.c.buffer, at);
}

/// A in f32, as it lies: the matmuls read each of its elements many times.
TileMatrix Emission::emitWidened(Value buffer) {
  OpBuilder::InsertionGuard guard(builder);
  TileMatrix wide;
  wide.buffer = buffer;
  bool byRow = std::abs(p.a.column) <= std::abs(p.a.row);
  wide.row = byRow ? p.maxK : 1;
  wide.column = byRow ? 1 : p.maxM;
  Value first = add(mul(p.mBegin, wide.row), mul(p.kBegin, wide.column));
  wide.base = arith::SubIOp::create(builder, loc, index(0), first, nsw);
  Value row, k;
  if (byRow) {
    row = open(p.mBegin, p.mEnd, 1).getInductionVar();
    k = open(p.kBegin, p.kEnd, 1).getInductionVar();
  } else {
    k = open(p.kBegin, p.kEnd, 1).getInductionVar();
    row = open(p.mBegin, p.mEnd, 1).getInductionVar();
  }
  memref::StoreOp::create(builder, loc, load(p.a, row, k), wide.buffer,
                          address(wide, row, k));
  return wide;
}

TileShape remat::cpu::getTileShape(const llvm::TargetMachine &machine) {
  auto make = [&](int64_t lanes, int64_t rows) {
    return TileShape{lanes, rows, TileTuning::panelVectors * lanes,
                     hasMatrixUnit(machine)};
  };
  if (hasX86Feature(machine, "avx512f"))
    return make(16, TileTuning::manyRows);
  if (hasX86Feature(machine, "avx"))
    return make(8, TileTuning::fewRows);
  return make(4, machine.getTargetTriple().isX86() ? TileTuning::fewRows
                                                   : TileTuning::manyRows);
}

static bool usesMatrixUnit(const TileShape &tile, const TileMatmul &matmul) {
  return tile.hasMatrixUnit && suitsMatrixUnit(matmul);
}

int64_t remat::cpu::getPackedSize(const TileShape &tile,
                                  const TileMatmul &matmul) {
  if (usesMatrixUnit(tile, matmul))
    return getUnitPackedSize(matmul);
  return matmul.maxK * llvm::alignTo(matmul.n, tile.columns);
}

void remat::cpu::emitPack(OpBuilder &builder, Location loc,
                          const TileShape &tile, const TileMatmul &matmul,
                          Value buffer, Value status) {
  if (usesMatrixUnit(tile, matmul)) {
    emitUnitPack(builder, loc, matmul, buffer, status);
    return;
  }
  Emission emission(builder, loc, tile, matmul);
  emission.forPanels([&](Value panel, int64_t width) {
    emission.emitPanelPack(panel, width, buffer, emission.getPlace(panel));
  });
}

// For few rows of C, a copy takes as long as the sums.
bool remat::cpu::canReadDirectly(const TileMatmul &matmul) {
  return matmul.b.column == 1 && matmul.maxM <= TileTuning::maxDirectRows &&
         getElementTypeOrSelf(matmul.b.buffer).isF32();
}

/// `buffer`, with at least `size` floats.
static Value reserve(Value &buffer, int64_t size, Block *entry, Location loc) {
  OpBuilder builder = OpBuilder::atBlockBegin(entry);
  auto type = MemRefType::get({size}, builder.getF32Type());
  if (!buffer)
    buffer = memref::AllocaOp::create(builder, loc, type,
                                      builder.getI64IntegerAttr(64));
  else if (cast<MemRefType>(buffer.getType()).getNumElements() < size)
    buffer.setType(type);
  return buffer;
}

void remat::cpu::emitTileMatmul(OpBuilder &builder, Location loc,
                                const TileShape &tile, TileMatmul matmul,
                                Block *entry, Value status,
                                TileBuffers &buffers) {
  if (usesMatrixUnit(tile, matmul)) {
    emitUnitMatmul(builder, loc, matmul, status);
    return;
  }
  Emission emission(builder, loc, tile, matmul);
  if (matmul.c.column != 1) {
    emission.emitScalar();
    return;
  }
  if (!getElementTypeOrSelf(matmul.a.buffer).isF32() &&
      // A larger factor is widened where it is read, not in a buffer.
      matmul.maxM * matmul.maxK * static_cast<int64_t>(sizeof(float)) <=
          buffers.widenedBytes)
    matmul.a = emission.emitWidened(
        reserve(buffers.widened, matmul.maxM * matmul.maxK, entry, loc));
  if (matmul.packed) {
    emission.forPanels([&](Value panel, int64_t width) {
      emission.emitPanel(panel, width, matmul.packed, emission.getPlace(panel));
    });
    return;
  }
  if (canReadDirectly(matmul)) {
    emission.forPanels([&](Value panel, int64_t width) {
      emission.emitPanel(panel, width, /*buffer=*/{}, /*place=*/{});
    });
    return;
  }
  int64_t rows = std::min(matmul.maxK, TileTuning::maxPanelRows);
  Value buffer = reserve(buffers.panel, rows * tile.columns, entry, loc);
  Value start = emitIndex(builder, loc, 0);
  emission.forPanels([&](Value panel, int64_t width) {
    auto emitPart = [&](const TileMatmul &part) {
      Emission emission(builder, loc, tile, part);
      emission.emitPanelPack(panel, width, buffer, start);
      emission.emitPanel(panel, width, buffer, start);
    };
    if (rows == matmul.maxK) {
      emitPart(matmul);
      return;
    }
    // The first part of a long sum, then the others are added to it.
    OpBuilder::InsertionGuard guard(builder);
    TileMatmul part = matmul;
    part.maxK = rows;
    auto setEnd = [&] {
      part.kEnd = arith::MinSIOp::create(
          builder, loc, matmul.kEnd,
          arith::AddIOp::create(builder, loc, part.kBegin,
                                emitIndex(builder, loc, rows), nsw));
    };
    if (!matmul.accumulate) {
      setEnd();
      emitPart(part);
      part.kBegin = part.kEnd;
      part.accumulate = true;
    }
    auto loop = scf::ForOp::create(builder, loc, part.kBegin, matmul.kEnd,
                                   emitIndex(builder, loc, rows));
    builder.setInsertionPointToStart(loop.getBody());
    part.kBegin = loop.getInductionVar();
    setEnd();
    emitPart(part);
  });
}
