//===- MatrixUnit.h - matmuls of tiles on a matrix unit ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matmuls in the middle of a kernel with a factor of bf16, as calls of the
// runtime (KernelCalls.h) on CPUs that have Intel's AMX.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_MATRIXUNIT_H
#define REMAT_LIB_TARGET_CPU_MATRIXUNIT_H

#include "TileMatmul.h"

namespace remat::cpu {

/// Whether code for `machine` may use such calls.
bool hasMatrixUnit(const llvm::TargetMachine &machine);

/// Whether the unit multiplies such factors, and enough of them.
bool suitsMatrixUnit(const TileMatmul &matmul);

/// Floats that B takes as the unit reads it.
int64_t getUnitPackedSize(const TileMatmul &matmul);

/// Packs B into `buffer`. `status` is the kernel's.
void emitUnitPack(mlir::OpBuilder &builder, mlir::Location loc,
                  const TileMatmul &matmul, mlir::Value buffer,
                  mlir::Value status);

void emitUnitMatmul(mlir::OpBuilder &builder, mlir::Location loc,
                    const TileMatmul &matmul, mlir::Value status);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_MATRIXUNIT_H
