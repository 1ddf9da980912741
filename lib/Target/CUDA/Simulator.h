//===- Simulator.h - blocks of GPU threads on the CPU -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs launches on the CPU, to check GPU code where there is no GPU. Each
// thread of a block is a fiber that runs to its next barrier, or to where the
// threads of its warp exchange something. Shared memory starts as NaN, and
// threads run in either order: what depends on a barrier that is missing gives
// other results in one of them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SIMULATOR_H
#define REMAT_LIB_TARGET_CUDA_SIMULATOR_H

#include "remat/Runtime/StepTable.h"

namespace remat::cuda {

/// What a thread runs: the kernel's buffers, the status, the block's shared
/// memory, the number of the block and that of the thread.
using SimulatedThread = void (*)(void *const *buffers,
                                 remat_kernel_status *status, void *shared,
                                 int64_t block, int64_t thread);

/// Runs all blocks, one after the other. With `reverse`, the last thread of a
/// block goes first. `together` is 0 where no thread waits for another. A
/// barrier that only some threads reach ends the launch, and sets the status;
/// so does an exchange that some of the warp do not.
extern "C" void remat_simulate_launch(SimulatedThread code,
                                      void *const *buffers,
                                      remat_kernel_status *status,
                                      int64_t blocks, int64_t threads,
                                      int64_t sharedBytes, int32_t together,
                                      int32_t reverse);

/// Waits for the other threads of the block.
extern "C" void remat_simulate_barrier();

/// What the thread of the warp whose number differs in the bits of `distance`
/// gives for `value`.
extern "C" int32_t remat_simulate_shuffle(int32_t value, int32_t distance);

/// A thread's part of a product on tensor cores (see WarpOps.h); `half` tells
/// that factors are f16. Its four sums can be read afterwards, by number.
extern "C" void remat_simulate_tensor_core(uint32_t a0, uint32_t a1,
                                           uint32_t a2, uint32_t a3,
                                           uint32_t b0, uint32_t b1, float c0,
                                           float c1, float c2, float c3,
                                           int32_t half);
extern "C" float remat_simulate_sum(int32_t number);

/// A thread's part of a load of four matrices (see WarpOps.h): `row` are the 16
/// bytes that it names. Its four words can be read afterwards, by number.
extern "C" void remat_simulate_matrix_load(const void *row, int32_t transposes);
extern "C" int32_t remat_simulate_word(int32_t number);

/// Begins a copy of 16 bytes, `bytes` of which are read and the others zero; it
/// is made when the thread waits for its group.
extern "C" void remat_simulate_copy(void *target, const void *source,
                                    int32_t bytes);
/// Makes a group of the copies that the thread has begun since the last one.
extern "C" void remat_simulate_copy_group();
/// Waits for all groups of the thread but the last `pending`.
extern "C" void remat_simulate_copy_wait(int32_t pending);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SIMULATOR_H
