//===- TileProduct.h - products of tiles in the cache -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product C (+)= A B on f32, small enough to stay in the cache, in the middle
// of a kernel where no library can be called. B is packed into panels; a block
// of C is kept in vector registers while the sum runs. The order of each sum is
// that of its index. Narrower factors are widened first.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_TILEPRODUCT_H
#define REMAT_LIB_TARGET_CPU_TILEPRODUCT_H

#include "mlir/IR/Builders.h"

namespace remat::cpu {

/// Columns of a panel: two vectors of AVX-512, four of AVX2.
constexpr int64_t panelColumns = 32;

/// A matrix in a flat buffer: element (i, j) is at base + i * row + j * column.
struct TileMatrix {
  mlir::Value buffer;
  mlir::Value base;
  int64_t row = 0, column = 0;
};

struct TileProduct {
  TileMatrix a, b, c;
  /// Rows of A and C, and the index of the sum, as ranges that need not begin
  /// at 0.
  mlir::Value mBegin, mEnd, kBegin, kEnd;
  /// At least mEnd - mBegin.
  int64_t maxM = 0;
  int64_t n = 0;
  /// If not null, only the columns before this one are needed of the n: the end
  /// of a panel, or n.
  mlir::Value nEnd;
  /// At least kEnd - kBegin.
  int64_t maxK = 0;
  bool accumulate = false;
  /// B as panels, if it is packed already.
  mlir::Value packed;
};

/// Elements of B as panels.
int64_t getPackedSize(int64_t maxK, int64_t n);

/// Packs B into `buffer`.
void emitPack(mlir::OpBuilder &builder, mlir::Location loc,
              const TileProduct &product, mlir::Value buffer);

/// Buffers on the stack that the products of a kernel use one after the other,
/// as large as the one that needs most; null before the first.
struct TileBuffers {
  mlir::Value panel, widened;
};

/// Emits the product. `buffers` are allocated in `entry`.
void emitTileProduct(mlir::OpBuilder &builder, mlir::Location loc,
                     TileProduct product, mlir::Block *entry,
                     TileBuffers &buffers);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_TILEPRODUCT_H
