//===- Reduction.h - outputs that a nest adds up ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code for reductions of any target asks of a nest: which outputs stay
// the same over the reduction loops, by what op they grow, and in what type the
// sum is kept.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_REDUCTION_H
#define REMAT_CODEGEN_REDUCTION_H

#include "remat/Codegen/BodyEmitter.h"
#include "remat/Codegen/LoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace remat::codegen {

/// An output that does not depend on the reduction loops.
struct Accumulator {
  unsigned output;
  /// The op that adds to it, if its order may be changed; else null.
  mlir::Operation *combiner = nullptr;
  /// The type it is kept in.
  mlir::Type type;
  /// Its value in registers, or its buffer on the stack.
  mlir::Value value;
};

/// Sums of at least this many floats are kept in f64, so that their error does
/// not grow with their length. Decides their bits.
constexpr int64_t longSum = 256;

/// The body's arguments that stand for the outputs.
mlir::Block::BlockArgListType getOutputArguments(const LoopNest &nest);

/// The accumulators of a nest; none for one that has no reduction loops or runs
/// in order.
llvm::SmallVector<Accumulator> findAccumulators(const LoopNest &nest);

/// `value` as a float of `type`, or itself.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type type);

/// What the body adds to `accumulator`, in the accumulator's type. It must have
/// a combiner, whose operands `body` has emitted.
mlir::Value emitTerm(mlir::OpBuilder &builder, const LoopNest &nest,
                     BodyEmitter &body, const Accumulator &accumulator);

/// `old` and `term` combined. Sums and products are marked with `flags`.
mlir::Value emitCombination(
    mlir::OpBuilder &builder, const LoopNest &nest,
    const Accumulator &accumulator, mlir::Value old, mlir::Value term,
    mlir::arith::FastMathFlags flags = mlir::arith::FastMathFlags::none);

/// Tells `body` which values the nest needs of it: of outputs with a combiner
/// the term, which `emitTerm` takes, of others the value.
void requireResults(BodyEmitter &body, const LoopNest &nest,
                    llvm::ArrayRef<Accumulator> accumulators);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_REDUCTION_H
