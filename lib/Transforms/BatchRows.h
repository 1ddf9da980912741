//===- BatchRows.h - the rows of a batch in a function ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where rows of a batch do not depend on each other, a function can be run for
// some of them at a time. The rows are followed from the arguments through all
// operations, as one dimension of each value, up to where they are added up.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_BATCHROWS_H
#define REMAT_LIB_TRANSFORMS_BATCHROWS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace remat {

/// Where a tensor has the rows of a batch: in one dimension, one behind the
/// other, each with as many elements as the others.
struct RowPlace {
  unsigned dim;
  /// The dimension is so many runs of equal size, and each has all rows, as
  /// that of tokens and sentences if tokens come first.
  int64_t runs = 1;

  bool operator==(const RowPlace &other) const {
    return dim == other.dim && runs == other.runs;
  }
  bool operator!=(const RowPlace &other) const { return !(*this == other); }
};

/// Where an operation has the rows of a batch in its operands and results.
struct RowDims {
  llvm::SmallVector<std::optional<RowPlace>> operands, results;
  /// Of a structured operation, the loop that walks the rows, and in how many
  /// runs.
  std::optional<unsigned> loop;
  int64_t runs = 1;
  /// The rows are reduced: no result has them.
  bool isReduced = false;
};

/// One operand or result of an operation, and where it has rows.
struct RowAnchor {
  bool isResult;
  unsigned number;
  RowPlace place;
};

/// Where `op` has the rows that are in `anchor`; nothing if `op` mixes them or
/// is none that is known. Dimensions of operands are those that the rows would
/// have: a mask may be the same for all of them.
std::optional<RowDims> relateRows(mlir::Operation *op, RowAnchor anchor);

/// The operation by which each result of a reduction takes in one more point,
/// or null if that is not one operation with a neutral element.
mlir::Operation *findReducer(mlir::linalg::LinalgOp op, unsigned result);

/// What `total` begins with before it adds up rows, or null for zeros.
mlir::Value findStart(mlir::OpResult total);

/// The rows of a batch in a function of one block.
class BatchRows {
public:
  BatchRows(mlir::func::FuncOp function, int64_t parts)
      : function(function), parts(parts) {}

  /// Follows the rows of the arguments `batch`, in their first dimension. An
  /// error at the first operation that mixes rows, or that reads what all rows
  /// add up to beside single ones.
  llvm::LogicalResult follow(llvm::ArrayRef<int64_t> batch);

  /// Where the rows are, if `value` depends on them.
  std::optional<RowPlace> getPlace(mlir::Value value) const {
    auto found = places.find(value);
    return found == places.end() ? std::nullopt : std::optional(found->second);
  }
  /// The operations that run for each part, in order, and where they have the
  /// rows.
  const llvm::MapVector<mlir::Operation *, RowDims> &getOps() const {
    return ops;
  }
  /// Whether `value` depends on what all rows add up to.
  bool isOfTotals(mlir::Value value) const { return totals.contains(value); }
  /// What single rows need of all of them, such as the number of labels that
  /// count. It depends on the arguments `batch` only, so that it can be there
  /// before the first part.
  llvm::ArrayRef<mlir::Value> getEarly() const { return early.getArrayRef(); }
  /// Whether `value`, which has no rows, may be made for the rows of a part:
  /// there, it has equal parts, or counts rows.
  bool isFree(mlir::Value value, RowPlace place) const;
  /// `type` with the rows of a part in dimension `dim`.
  mlir::RankedTensorType getPartType(mlir::Type type, unsigned dim) const;

private:
  llvm::LogicalResult add(mlir::Operation *op);
  std::optional<RowDims> relateBody(mlir::linalg::LinalgOp op) const;
  bool readsRowsOf(mlir::linalg::LinalgOp op, const RowDims &related) const;

  mlir::func::FuncOp function;
  int64_t parts;
  llvm::DenseMap<mlir::Value, RowPlace> places;
  llvm::MapVector<mlir::Operation *, RowDims> ops;
  /// Depend on what all rows add up to.
  llvm::DenseSet<mlir::Value> totals;
  /// Depend on other arguments than those of the batch, or on effects.
  llvm::DenseSet<mlir::Value> others;
  llvm::SetVector<mlir::Value> early;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_BATCHROWS_H
