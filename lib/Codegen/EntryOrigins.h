//===- EntryOrigins.h - where a NaN may come from ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the run time says of a task that made a NaN or an infinity: the
// operations that can, their places, layers, and for a derivative the forward
// operation.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_ENTRYORIGINS_H
#define REMAT_LIB_CODEGEN_ENTRYORIGINS_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Runtime/StepTableBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::codegen {

class EntryOrigins {
public:
  /// Of the tasks that call the kernels of `module`.
  explicit EntryOrigins(mlir::ModuleOp module);

  /// Sets what the entry of `task` says of this.
  void describe(TaskOp task, StepEntry &entry) const;

private:
  std::string describeOps(mlir::func::FuncOp kernel, mlir::Location task) const;
  std::string describePlace(mlir::Operation *op, mlir::Location task,
                            bool isOwn) const;

  /// The names of the forward operations that have a location.
  llvm::DenseMap<mlir::Location, llvm::SmallVector<llvm::StringRef, 1>> forward;
};

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_ENTRYORIGINS_H
