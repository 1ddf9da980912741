//===- TileMatmul.h - matmuls of tiles in the cache -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A matmul C (+)= A B on f32, small enough to stay in the cache, in the middle
// of a kernel where no library can be called. B is packed into panels; a block
// of C is kept in vector registers while the sum runs. The order of each sum is
// that of its index. Narrower factors are widened first.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_TILEMATMUL_H
#define REMAT_LIB_TARGET_CPU_TILEMATMUL_H

#include "remat/Codegen/RowSchedule.h"

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace remat::cpu {

using codegen::TileMatmul;
using codegen::TileMatrix;

/// The part of C that is kept in registers. Elements do not depend on it.
struct TileShape {
  /// Elements of f32 in a vector register.
  int64_t lanes;
  int64_t rows;
  /// Those of a panel of B, a multiple of `lanes`.
  int64_t columns;
  /// Whether factors of bf16 are multiplied on a matrix unit (MatrixUnit.h).
  bool hasMatrixUnit = false;
};

/// What the vector registers of `machine` have room for.
TileShape getTileShape(const llvm::TargetMachine &machine);

/// Floats that B takes in the form in which the matmul reads it.
int64_t getPackedSize(const TileShape &tile, const TileMatmul &matmul);

/// Packs B into `buffer`. `status` is the kernel's, here and below.
void emitPack(mlir::OpBuilder &builder, mlir::Location loc,
              const TileShape &tile, const TileMatmul &matmul,
              mlir::Value buffer, mlir::Value status);

/// Whether B is read where it lies, unless it is packed already.
bool canReadDirectly(const TileMatmul &matmul);

/// Buffers on the stack that the matmuls of a kernel use one after the other,
/// as large as the one that needs most; null before the first.
struct TileBuffers {
  mlir::Value panel, widened;
  /// The most bytes of the second.
  int64_t widenedBytes = 0;
};

/// Emits the matmul. `buffers` are allocated in `entry`.
void emitTileMatmul(mlir::OpBuilder &builder, mlir::Location loc,
                    const TileShape &tile, TileMatmul matmul,
                    mlir::Block *entry, mlir::Value status,
                    TileBuffers &buffers);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_TILEMATMUL_H
