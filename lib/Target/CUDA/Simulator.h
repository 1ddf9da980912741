//===- Simulator.h - blocks of GPU threads on the CPU -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs launches on the CPU, to check GPU code where there is no GPU. Each
// thread of a block is a fiber that runs to its next barrier. Shared memory
// starts as NaN, and threads run in either order: what depends on a barrier
// that is missing gives other results in one of them.
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
/// block goes first. `barriers` is 0 where the code has none. A barrier that
/// only some threads reach ends the launch, and sets the status.
extern "C" void remat_simulate_launch(SimulatedThread code,
                                      void *const *buffers,
                                      remat_kernel_status *status,
                                      int64_t blocks, int64_t threads,
                                      int64_t shared_bytes, int32_t barriers,
                                      int32_t reverse);

/// Waits for the other threads of the block.
extern "C" void remat_simulate_barrier();

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SIMULATOR_H
