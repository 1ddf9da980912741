//===- PaddedRows.h - tensors whose rows have gaps between them -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A buffer of a graph may have rows, lines along the last dimension, that begin
// at better addresses than they would if they followed each other without gaps.
// It has the type of a tensor with longer rows. A kernel reads the slice that
// means something of an argument, and inserts what it makes into an empty
// tensor, so that all that is known of tensors holds for it. What looks for
// forms of kernels looks at the kernel without the slices.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_PADDEDROWS_H
#define REMAT_UTILS_PADDEDROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace remat {

/// The elements of a row that mean something, and from how many elements behind
/// its beginning the next row begins. Both are 0 where there are no gaps.
struct PaddedRow {
  int64_t elements = 0, stride = 0;

  explicit operator bool() const { return stride != 0; }
  bool operator==(const PaddedRow &other) const {
    return elements == other.elements && stride == other.stride;
  }
  bool operator!=(const PaddedRow &other) const { return !(*this == other); }
};

/// A kernel on tensors without gaps, and which of them have gaps in memory.
struct UnpaddedKernel {
  mlir::OwningOpRef<mlir::func::FuncOp> function;
  llvm::SmallVector<PaddedRow> arguments, results;
};

/// `kernel` without the slices of arguments and the insertions into results
/// that gaps between rows are; nothing if it has none.
std::optional<UnpaddedKernel> removePadding(mlir::func::FuncOp kernel);

/// The rows of result `number` of `kernel`.
PaddedRow getResultRow(mlir::func::FuncOp kernel, unsigned number);

/// Gives arguments and results of `kernel` rows that begin every so many
/// elements; 0 leaves one as it is. Each of the results must be returned once.
void addPadding(mlir::func::FuncOp kernel, llvm::ArrayRef<int64_t> arguments,
                llvm::ArrayRef<int64_t> results);

/// The type with rows of so many elements.
mlir::RankedTensorType withRows(mlir::RankedTensorType type, int64_t elements);

/// Whether a view of a graph leaves rows what they are, so that it is a view of
/// padded rows as well.
bool keepsRows(mlir::Operation *view);

} // namespace remat

#endif // REMAT_UTILS_PADDEDROWS_H
