//===- LoopElements.h - when a loop uses elements of lists ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_LOOPELEMENTS_H
#define REMAT_DIALECT_REMAT_IR_LOOPELEMENTS_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace remat {

/// What reads an element of lists that a loop gets (`remat.stack`).
struct ElementReader {
  /// The slices of which it is the element.
  unsigned numSlices = 0;
  /// The place in the order of iterations of the last one that reads it: by its
  /// number, as the element of a slice, or when states are made again (`again`
  /// of the loop), which happens for the last time while that iteration runs.
  /// Below 0 if none has to.
  int64_t last = -1;
};

/// Of the values that lists of `loop` are made of, those that it reads in no
/// other way, if all iterations run.
llvm::DenseMap<mlir::Value, ElementReader> findElementReaders(LoopOp loop);

/// Of a task that runs a loop, which operands and results are elements of
/// lists (`remat.stack`, `remat.unstack`), each of which belongs to one
/// iteration. So what one iteration reads may lie where a later one writes.
class LoopElements {
public:
  /// Without a loop in `kernel`, that of `task`, or with one of which it is not
  /// known how many iterations run, there are no elements.
  LoopElements(TaskOp task, mlir::func::FuncOp kernel);

  /// Whether there are elements of both kinds.
  bool hasBoth() const { return !reads.empty() && !writes.empty(); }

  /// The place in the order of iterations of the last one that reads `value`,
  /// an operand of the task or what operands are views of; unset if it is no
  /// element, or several operands are.
  std::optional<int64_t> getReader(mlir::Value value) const;
  /// The same of the one that writes result `number` of the task.
  std::optional<int64_t> getWriter(unsigned number) const;

  /// Whether the last iteration that reads `value` has ended when that begins
  /// which writes result `number`.
  bool isReadBefore(mlir::Value value, unsigned number) const;

private:
  /// By what operands are or view; unset if there are several reads.
  llvm::DenseMap<mlir::Value, std::optional<int64_t>> reads;
  llvm::DenseMap<unsigned, int64_t> writes;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_LOOPELEMENTS_H
