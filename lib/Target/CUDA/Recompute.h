//===- Recompute.h - values of a kernel that are made again -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_RECOMPUTE_H
#define REMAT_LIB_TARGET_CUDA_RECOMPUTE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace remat::cuda {

/// Lets all readers of an elementwise value of a bufferized kernel compute it
/// for themselves, so that it needs no memory: a row that is too long for
/// shared memory is read again instead. Returns false and changes nothing where
/// this is not possible: for reductions and contractions, for factors of a
/// contraction, and for what is made of memory that is written in between. With
/// `some`, such readers are left out and keep the value.
bool recomputeInReaders(mlir::memref::AllocOp alloc, bool some = false);

/// Gives values of a bufferized kernel that share an allocation one each, as
/// an elementwise operation and what it overwrites do. A value that has its own
/// may be made again.
void separateValues(mlir::func::FuncOp function);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_RECOMPUTE_H
