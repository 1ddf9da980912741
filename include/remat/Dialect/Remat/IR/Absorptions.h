//===- Absorptions.h - values that readers can make themselves --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task can be offered other kernels, each of which makes what some other
// tasks make as well as what it does, and reads what they read. A plan may let
// it call one of them where these values are not kept.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_ABSORPTIONS_H
#define REMAT_DIALECT_REMAT_IR_ABSORPTIONS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// On a task of a graph without a plan: an array of such offers.
constexpr llvm::StringLiteral absorptionsAttrName = "remat.absorptions";

/// On a task of a planned graph that calls such a kernel: the numbers of the
/// tasks that it absorbs, in ascending order.
constexpr llvm::StringLiteral absorbedAttrName = "remat.absorbed";

/// A kernel that a task can call instead of its own.
struct Absorption {
  mlir::FlatSymbolRefAttr kernel;
  /// The numbers of the tasks that it absorbs, in ascending order.
  llvm::SmallVector<int64_t, 4> tasks;
  /// What each argument of the kernel is: the number of the task that calls it
  /// or of one that is absorbed, and the number of an operand of it.
  llvm::SmallVector<std::pair<int64_t, unsigned>> operands;
  /// In nanoseconds, and in bytes.
  int64_t cost = 0, workspace = 0;
};

/// What `task` is offered.
llvm::SmallVector<Absorption> getAbsorptions(TaskOp task);
/// Replaces what `task` is offered.
void setAbsorptions(TaskOp task, llvm::ArrayRef<Absorption> absorptions);

/// Whether `attr` is what `setAbsorptions` makes.
bool isAbsorptionList(mlir::Attribute attr);

/// The numbers of the tasks that `task` has absorbed.
llvm::ArrayRef<int64_t> getAbsorbed(TaskOp task);

/// Removes all offers from the graphs of `module` that have a plan. Returns
/// whether there were any.
bool removeAbsorptions(mlir::ModuleOp module);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_ABSORPTIONS_H
