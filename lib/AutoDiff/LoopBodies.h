//===- LoopBodies.h - functions made of bodies of loops ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_LOOPBODIES_H
#define REMAT_LIB_AUTODIFF_LOOPBODIES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// The function that `loop` runs, which must be straight-line code.
llvm::FailureOr<mlir::func::FuncOp> getBody(LoopOp loop);

/// Puts `function` behind `body`, private, without attributes of arguments and
/// results, and with a name that begins with that of `body`.
void insertBehind(mlir::func::FuncOp body, mlir::func::FuncOp function,
                  llvm::StringRef suffix);

/// A copy of `body` behind it.
mlir::func::FuncOp copyBehind(mlir::func::FuncOp body, llvm::StringRef suffix);

/// Functions that are made while this lives, and that nobody uses in the end,
/// are erased: those of derivatives that were only tried, or copied elsewhere.
class TemporaryFunctions {
public:
  explicit TemporaryFunctions(mlir::ModuleOp module);
  ~TemporaryFunctions();

private:
  mlir::ModuleOp module;
  llvm::DenseSet<mlir::Operation *> known;
};

/// What `value` is, behind tags.
mlir::Value skipTags(mlir::Value value);

/// The value whose memory `value` is in: behind views and tags.
mlir::Value getStored(mlir::Value value);

/// Whether iterations make `value`, which is stored, again where a derivative
/// reads it.
bool isHidden(mlir::Value value);

/// Whether iterations that run again read `value`, which is stored, and do not
/// make it: a policy demands or prefers that.
bool isKept(mlir::Value value);

/// Whether the derivative of `loop`, which runs `body`, makes again all that it
/// reads of the loop, except what must be kept: a region around the loop hides
/// it, something asks that for what is carried, or it is in the body of another
/// loop, which stacks no more of it.
bool isHidden(LoopOp loop, mlir::func::FuncOp body);

/// Lets `body`, which carries so many values, also return what its derivative
/// in reverse reads: what is carried at the start of an iteration, and what it
/// makes of that.
void returnSaved(mlir::func::FuncOp body, unsigned numCarried);

/// The types of the results of a loop that runs `body` so many times.
llvm::SmallVector<mlir::Type> getLoopTypes(mlir::func::FuncOp body,
                                           unsigned numCarried, int64_t count);

/// Lets each `remat.loop` of `function` stack what its derivative in reverse
/// reads of it, with the names that it has and what is asked of it. One that is
/// hidden stacks only what it must not make again, and so do the loops in its
/// body, for each of its iterations.
llvm::LogicalResult stackSaved(mlir::func::FuncOp function);

/// Lets `body`, a copy of what `loop` runs, read what it must not make again
/// for the results `stacks` of the loop: it gets an argument for each of those
/// that are returned. Loops in it do the same.
llvm::SmallVector<unsigned> readKept(mlir::func::FuncOp body, LoopOp loop,
                                     llvm::ArrayRef<unsigned> stacks);

/// Replaces `loop`, which runs `body`, by one that reads what it must not make
/// again: of `known`, numbers of its results and the stacks that these are.
LoopOp runAgain(LoopOp loop, mlir::func::FuncOp body,
                llvm::ArrayRef<std::pair<unsigned, mlir::Value>> known);

/// `result` of a loop behind what is asked of it.
mlir::Value getTagged(mlir::Value result);

/// Lets readers of `loop` read the loop that carries tangents beside the same,
/// if there is one: then nothing is computed twice, and derivatives of both
/// read what one loop stacks. `getTangent` gives the tangent of a value.
void replaceByForwardLoop(
    LoopOp loop, llvm::function_ref<mlir::Value(mlir::Value)> getTangent);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_LOOPBODIES_H
