//===- MatrixStage.h - factors of tensor cores in shared memory -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile of a matrix of 16-bit elements, which a block copies from memory as it
// lies there, and which warps load as the factors of products. A gap of 16
// bytes behind each line lets the eight lines of a matrix of tensor cores begin
// in different banks. What is behind the end of the matrix is zero.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_MATRIXSTAGE_H
#define REMAT_LIB_TARGET_CUDA_MATRIXSTAGE_H

#include "Launch.h"

#include "remat/Codegen/IndexArithmetic.h"

namespace remat::cuda {

/// A tile in a flat buffer. Its element (i, j), the first number along the rows
/// or columns of scores, is at base + i * along + j * side.
struct StageSource {
  mlir::Value buffer, base;
  int64_t along = 0, side = 0;
  /// If not null, the tile has only so many along.
  mlir::Value count;
  /// The base, and buffers as a whole, are multiples of 8 elements.
  bool isAligned = false;
};

class MatrixStage : IndexArithmetic {
public:
  /// Room for `places` tiles of `lines` x `side` elements. Lines are a multiple
  /// of 16.
  MatrixStage(LaunchBuilder &launch, mlir::Location loc, int64_t lines,
              int64_t side, int64_t places, mlir::Type elementType);

  mlir::Type getElementType() const { return elementType; }

  /// Copies a tile to a place, an index; null for the only one. Who reads it
  /// waits for the thread's groups of copies, then for the block.
  void emitCopy(const StageSource &source, mlir::Value place);

  /// What is loaded from here on is of this place, and of the warp whose rows
  /// begin at `warpBegin`.
  void setPlace(mlir::Value warpBegin, mlir::Value place);
  /// Addresses are computed again, as another block of operations begins.
  void forgetPointers() { owned = swept = sweptTerms = mlir::Value(); }
  /// Words of a first factor: 16 rows of the warp, and 16 terms of the side
  /// from `k` on.
  llvm::SmallVector<mlir::Value> loadOwned(int64_t k);
  /// Words of two second factors: 8 columns each from `n` on, and 16 terms of
  /// the side from `k` on.
  llvm::SmallVector<mlir::Value> loadSwept(int64_t n, int64_t k);
  /// Words of two second factors: 8 columns of the side each from `n` on, and
  /// 16 terms along from `k` on.
  llvm::SmallVector<mlir::Value> loadSweptTerms(int64_t n, int64_t k);

private:
  int64_t getLines() const { return sideIsLine ? lines : paddedSide; }
  int64_t getLineSize() const { return sideIsLine ? paddedSide : lines; }
  int64_t getPitch() const { return getLineSize() + 8; }
  mlir::Value getPlaceBegin(mlir::Value place);
  void copyChunk(const StageSource &source, mlir::Value begin, mlir::Value line,
                 mlir::Value chunk);
  void copyElement(const StageSource &source, mlir::Value begin,
                   mlir::Value number);
  mlir::Value getPointer(mlir::Value &pointer, mlir::Value line,
                         mlir::Value element);
  llvm::SmallVector<mlir::Value>
  loadColumns(mlir::Value &pointer, bool termsAreLine, int64_t n, int64_t k);

  LaunchBuilder &launch;
  const int64_t lines, side, paddedSide;
  const mlir::Type elementType;
  mlir::Value buffer;
  /// The side is next to each other.
  bool sideIsLine = true;
  /// Where loads of this place begin, once there is one.
  mlir::Value warpBegin, place, owned, swept, sweptTerms;
};

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_MATRIXSTAGE_H
