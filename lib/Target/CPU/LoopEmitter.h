//===- LoopEmitter.h - loops for structured ops -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Chooses loops for a structured op and emits them. The outer part of the
// parallel loops is one linear range of *units*, which the runtime splits over
// threads; what a unit computes does not depend on the split.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_LOOPEMITTER_H
#define REMAT_LIB_TARGET_CPU_LOOPEMITTER_H

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/LoopNest.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <memory>

namespace remat {
class ScatterOp;
} // namespace remat

namespace remat::cpu {

using namespace codegen;

/// A part of a kernel that can be emitted for a range of its units.
class Emitter {
public:
  virtual ~Emitter() = default;
  /// The number of units, at least 1.
  virtual int64_t getExtent() const = 0;
  /// Units of one addition in all.
  virtual int64_t getCost() const = 0;
  /// Emits the units [begin, end).
  virtual mlir::LogicalResult emit(mlir::OpBuilder &builder, mlir::Value begin,
                                   mlir::Value end) = 0;
};

/// Elementwise loops and reductions.
std::unique_ptr<Emitter> makeNestEmitter(LoopNest nest,
                                         const KernelContext &kernel);

/// A remat.scatter on memrefs. With `start`, the result starts as a copy of
/// that buffer, which may be its own.
mlir::FailureOr<std::unique_ptr<Emitter>>
makeScatterEmitter(ScatterOp op, const KernelContext &kernel,
                   std::optional<BufferView> start);

/// A loop that is part of the range of units: `count` blocks of up to `block`
/// indices.
struct UnitLoop {
  unsigned loop;
  int64_t size;
  int64_t block;
  int64_t getCount() const { return llvm::divideCeil(size, block); }
};

/// Splits the number of a unit into blocks of the loops, outermost first.
/// Returns the first index and, for blocks of more than one, the end of each.
struct UnitBlock {
  mlir::Value begin, end;
};
llvm::SmallVector<UnitBlock> splitUnit(mlir::OpBuilder &builder,
                                       mlir::Location loc, mlir::Value unit,
                                       llvm::ArrayRef<UnitLoop> loops);

/// Opens a loop and moves the builder inside; the index. `carried` are the
/// loop's initial values and become those inside.
mlir::scf::ForOp openLoop(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value begin, mlir::Value end,
                          mlir::ValueRange carried = {});

/// Keeps LLVM from unrolling `loop`. It would unroll short loops before it
/// vectorizes, and then vectorize the loop around them instead, across memory.
/// With `vectors`, it works on so many at a time.
void keepLoop(mlir::scf::ForOp loop, unsigned vectors = 0);

/// Keeps LLVM from unrolling and from vectorizing `loop`, but not what is
/// inside. Where the elements of an iteration are next to each other, those of
/// several iterations would be gathered and scattered.
void keepScalar(mlir::scf::ForOp loop);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_LOOPEMITTER_H
