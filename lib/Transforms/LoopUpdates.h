//===- LoopUpdates.h - updates of weights in loops' bodies ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_LOOPUPDATES_H
#define REMAT_LIB_TRANSFORMS_LOOPUPDATES_H

#include "OptimizerUpdates.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "llvm/ADT/MapVector.h"

namespace remat {

/// Weights of which each iteration of a loop makes the gradient of one, as the
/// reverse loop of layers does.
struct LoopWeights {
  UnstackOp gradients;
  /// For each iteration, a number that the caller has given the weight.
  llvm::SmallVector<unsigned> numbers;
};

/// The loops whose iterations can update the weights that they make gradients
/// of, each with these. `gradients` and `weights` are given in the order of
/// their numbers.
llvm::MapVector<LoopOp, llvm::SmallVector<LoopWeights>>
findLoopWeights(llvm::ArrayRef<mlir::Value> gradients,
                llvm::ArrayRef<mlir::Value> weights);

/// Emits an update and makes weight, state and master the new ones. The numbers
/// are those that the caller has given, where they can be read.
using EmitUpdate = llvm::function_ref<void(mlir::OpBuilder &, WeightUpdate &,
                                           const StepNumbers &)>;

/// Lets the body of `loop` update `weights` by `emit`: in place of their
/// gradients the loop then makes the new weights, which may be of another type,
/// and with them their new state. Of `updates`, which are in the order of
/// numbers, these become the new values.
void updateInLoop(LoopOp loop, llvm::ArrayRef<LoopWeights> weights,
                  mlir::Location loc, const StepNumbers &numbers,
                  llvm::MutableArrayRef<WeightUpdate> updates, EmitUpdate emit);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_LOOPUPDATES_H
