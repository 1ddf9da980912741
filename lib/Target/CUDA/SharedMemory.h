//===- SharedMemory.h - shared memory of a block ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How much shared memory a block may have depends on the device: 163 KiB with
// compute capability 8.0, 227 KiB with 9.0, and 99 KiB with 8.6, 8.9 and 12.0,
// which run the code for 8.0 or compile its PTX ("Technical Specifications per
// Compute Capability" in the CUDA C++ Programming Guide). Code that is not for
// devices of 9.0 alone keeps to what all of them have.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SHAREDMEMORY_H
#define REMAT_LIB_TARGET_CUDA_SHAREDMEMORY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::cuda {

/// The fact `block_bytes` for devices of 9.0: two blocks of a multiprocessor
/// with 228 KiB find room with the scratch of their reductions.
constexpr int64_t blockBytesOfHopper = 108 << 10;
/// The fact for all devices.
constexpr int64_t blockBytesOfAll = 96 << 10;

/// Bytes of shared memory that a block has on each device that the code of `op`
/// is for, by the target's facts.
int64_t getMostSharedBytes(mlir::Operation *op);

/// Bytes that the results of a sum may take that the threads of a block add up
/// through shared memory.
constexpr int64_t maxScratchBytes = 48 << 10;

/// Bytes of shared memory that what stays inside of `kernel` may take: no more
/// than the target's facts or `blockBytesOfHopper` say, and what the scratch of
/// its reductions leaves, in which each of at most `threads` threads has a
/// place for its results.
int64_t getMaxInsideBytes(mlir::func::FuncOp kernel, int64_t threads);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SHAREDMEMORY_H
