//===- ScalarLowering.h - loops and scalars to the LLVM dialect -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CPU_SCALARLOWERING_H
#define REMAT_TARGET_CPU_SCALARLOWERING_H

#include "mlir/IR/BuiltinOps.h"

namespace remat::cpu {

/// Converts functions of scf, memref, arith and math to the LLVM dialect.
/// Memrefs in signatures become bare pointers.
mlir::LogicalResult lowerScalars(mlir::ModuleOp module);

} // namespace remat::cpu

#endif // REMAT_TARGET_CPU_SCALARLOWERING_H
