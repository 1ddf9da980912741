//===- Launch.h - functions that a GPU runs on many threads -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of the step is one launch or several, one after the other. All of
// them take the kernel's buffers, and each is a gpu.func of its own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_LAUNCH_H
#define REMAT_LIB_TARGET_CUDA_LAUNCH_H

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/KernelWorkspace.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace remat::cuda {

using namespace codegen;

/// One launch: `blocks` blocks of `threads` threads each.
struct Launch {
  std::string function;
  int64_t blocks = 1;
  int64_t threads = 1;
  /// Memory of a block that its threads share.
  int64_t sharedBytes = 0;
};

/// Where the buffers of a kernel's launches are.
struct KernelBuffers {
  /// The memrefs of the bufferized kernel that stand for operands and results.
  llvm::SmallVector<mlir::Value> arguments;
  /// As in BufferizedKernel.
  llvm::SmallVector<unsigned> buffers;
  /// What lies in the workspace: allocations of the kernel, and partial sums,
  /// which have no memref there.
  struct Scratch {
    mlir::Value root;
    mlir::MemRefType type;
    int64_t offset;
  };
  llvm::SmallVector<Scratch> scratch;
  int64_t workspaceBytes = 0;

  /// Adds a buffer to the workspace and returns its number in `scratch`.
  unsigned addScratch(mlir::Value root, int64_t elements, mlir::Type type);
};

/// Writes the function of one launch. Its parameters are the flat buffers of
/// the arguments, then those of the workspace, then the status.
///
/// Threads work together in teams: a block is one, or several of a warp each.
/// What is written for a block is then done by a warp: `block` counts teams,
/// `thread` is a lane, and barriers and shared memory are those of the team.
class LaunchBuilder {
public:
  LaunchBuilder(mlir::gpu::GPUModuleOp module, mlir::Location loc,
                llvm::StringRef name, const KernelBuffers &buffers,
                CheckList &checks, int64_t blocks, int64_t threads,
                int64_t teams = 1);

  /// A part of the team's shared memory. Its address is a multiple of 16.
  mlir::Value addShared(int64_t elements, mlir::Type elementType);
  /// An element for each thread, which all reductions of the launch with as
  /// large elements share; `number` tells apart those that are used at once.
  mlir::Value getReductionScratch(unsigned number, mlir::Type elementType);
  /// The buffer in the workspace.
  mlir::Value getScratch(unsigned number) const { return scratch[number]; }

  /// Lets each thread have so many registers that a multiprocessor has room for
  /// as many blocks, but not for more.
  void setLeastBlocks(int64_t count);

  /// Waits for all threads of the team.
  void emitBarrier(mlir::Location loc);

  /// Ends the function.
  Launch finish();

  mlir::OpBuilder builder;
  KernelContext context;
  /// Which team of the grid and which thread of the team.
  mlir::Value block, thread;
  /// Blocks of the grid, threads of a team, and teams of a block.
  const int64_t blocks, threads, teams;

private:
  mlir::Value createShared(int64_t offset, int64_t elements,
                           mlir::Type elementType);

  mlir::gpu::GPUFuncOp function;
  llvm::SmallVector<mlir::Value> scratch;
  mlir::Value shared;
  /// Which team of its block a thread belongs to; null if there is one.
  mlir::Value team;
  int64_t sharedBytes = 0;
  /// Where the scratch of reductions is, by number and size of elements.
  llvm::DenseMap<std::pair<unsigned, int64_t>, int64_t> reductionScratch;
};

/// Adds the function that launches call when a check fails, with the parameters
/// (status, check, index, bound), at the insertion point. Of all failures of a
/// launch the status keeps the one of the lowest check, of these that of the
/// lowest index without a sign, whichever thread is the first.
void createFailFunction(mlir::OpBuilder &builder, mlir::Location loc);

/// Opens a loop, or an if, and leaves `builder` inside.
mlir::Value openLoop(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value begin, mlir::Value end, int64_t step = 1);
void openIf(mlir::OpBuilder &builder, mlir::Location loc,
            mlir::Value condition);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_LAUNCH_H
