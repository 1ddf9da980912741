//===- OptimizerUpdates.h - what optimizers do with an element --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H
#define REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H

#include "OptimizerTensors.h"
#include "remat/Transforms/Optimizer.h"

namespace remat {

/// A weight, its gradient and its state as they are and, later, as they become.
/// The state is at least f32, and so is a master, if there is one.
struct WeightUpdate {
  mlir::Value weight, gradient, master;
  llvm::SmallVector<mlir::Value, 2> state;
};

/// Numbers that are the same for all elements; null where not used.
struct StepNumbers {
  /// The learning rate; of Adam corrected for a mean that began with zeros.
  OptimizerScalar rate;
  /// What AdamW and Lion multiply weights by.
  OptimizerScalar decay;
  /// Of Adam: what the root of the mean square is divided by, as that began
  /// with zeros, too.
  OptimizerScalar rootCorrection;
  /// Of SGD with dampening and of masters, i1: whether there is no state yet.
  OptimizerScalar isFirst;
  /// Of Adafactor: the share of a new mean square that is this step's.
  OptimizerScalar share;
  /// What gradients are multiplied by, as the loss was multiplied.
  OptimizerScalar unscale;
  /// What all gradients are multiplied by, then, to bound their norm.
  OptimizerScalar clip;
  /// i1: whether no gradient has an infinite element or a NaN; else the step
  /// leaves everything as it was.
  OptimizerScalar isFinite;
};

/// All of them.
llvm::ArrayRef<OptimizerScalar StepNumbers::*> getStepNumbers();

/// Adds those that there are to `inputs`, converted to `element`.
void addNumbers(const StepNumbers &numbers, mlir::Type element,
                const OptimizerLoops &loops,
                llvm::SmallVectorImpl<OptimizerOperand> &inputs);

/// Takes them out of the elements that a body has for these inputs.
StepNumbers readNumbers(const StepNumbers &added,
                        llvm::ArrayRef<OptimizerScalar> elements);

/// The type of state and arithmetic.
mlir::Type getComputedType(mlir::Type element);

/// Whether weights get smaller by themselves, not by way of their gradients.
bool decaysWeights(const OptimizerOptions &options);

/// Whether updates depend on the number of the step.
bool countsSteps(const OptimizerOptions &options);

/// A part of the state of a weight.
struct StateTensor {
  llvm::StringRef name;
  llvm::SmallVector<int64_t> shape;
};

/// What is kept of a weight of this shape, masters apart.
llvm::SmallVector<StateTensor> getState(const OptimizerOptions &options,
                                        llvm::ArrayRef<int64_t> shape);

/// A gradient's element as the update reads it.
OptimizerScalar prepareGradient(const OptimizerOptions &options,
                                OptimizerScalar gradient,
                                const StepNumbers &numbers);

/// Emits an update and makes weight, state and master the new ones.
void emitUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                const OptimizerOptions &options, WeightUpdate &update,
                const StepNumbers &numbers);

/// The same for Adafactor, whose update takes more than one pass.
void updateByAdafactor(mlir::OpBuilder &builder, mlir::Location loc,
                       const OptimizerOptions &options, WeightUpdate &update,
                       const StepNumbers &numbers);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_OPTIMIZERUPDATES_H
