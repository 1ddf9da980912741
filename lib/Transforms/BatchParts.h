//===- BatchParts.h - what of a function belongs to a batch -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that is written for one part of a batch becomes one for several.
// Whatever the order in which the parts run, its arguments and results are the
// same.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_BATCHPARTS_H
#define REMAT_LIB_TRANSFORMS_BATCHPARTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace remat {

/// What becomes of a result of the parts: their mean, what is carried from part
/// to part, all of them, or the shares that all of them have in their mean, as
/// of gradients with respect to what each part has its own of.
enum class PartResult { Mean, Carried, Stacked, StackedShares };

/// Whether there is one for each part.
inline bool isStacked(PartResult kind) {
  return kind == PartResult::Stacked || kind == PartResult::StackedShares;
}

/// What sums of `element` are kept in.
mlir::Type getSumElement(mlir::Type element);

/// `value`, a float, a complex number or a tensor of such, with elements of
/// another width.
mlir::Value convertFloats(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Type element);

/// The function called `name`, or the only one, that is to run for `parts`
/// parts of a batch. An error of the module or of the function if there is no
/// function of one block or no part.
llvm::FailureOr<mlir::func::FuncOp>
findBatchFunction(mlir::ModuleOp module, llvm::StringRef name, int64_t parts);

/// A function for one part, and the arguments and results of the one for all.
class BatchParts {
public:
  /// `batch` are the numbers of the arguments of which each part has its own.
  BatchParts(mlir::func::FuncOp function, int64_t parts,
             llvm::ArrayRef<int64_t> batch)
      : function(function), parts(parts), batch(batch.begin(), batch.end()),
        loc(function.getLoc()) {}

  /// The numbers of the arguments by which the function is differentiated:
  /// those in `wrt`, or all that can be if there are none.
  llvm::FailureOr<llvm::DenseSet<int64_t>>
  findDifferentiated(llvm::ArrayRef<int64_t> wrt);
  /// Finds out what belongs to the batch, where that is not given: arguments
  /// whose numbers are not in `differentiated`.
  llvm::LogicalResult findBatch(const llvm::DenseSet<int64_t> &differentiated);
  /// The number of the argument that a result is marked as a gradient of.
  std::optional<int64_t> getGradientArgument(unsigned result);
  /// Finds out what becomes of each result.
  llvm::LogicalResult classifyResults();

  bool isBatch(int64_t argument) const {
    return llvm::is_contained(batch, argument);
  }
  /// Whether each part has a slice of what stands for the argument.
  bool isSliced(int64_t argument) const {
    return isBatch(argument) || llvm::is_contained(keys, argument);
  }
  /// What parts have slices of, for an argument that is sliced.
  mlir::Value getSlices(mlir::OpBuilder &builder, int64_t argument);

  /// `type` with a dimension in front for the parts.
  mlir::RankedTensorType addParts(mlir::RankedTensorType type) const;
  /// Gives the arguments that belong to the batch the types of all parts.
  void widenBatch();
  /// The parts of an argument, one behind the other in its first dimension.
  mlir::Value split(mlir::OpBuilder &builder, mlir::Value argument) const;
  /// A key for each part. The first one has that which the function is given.
  mlir::Value makeKeys(mlir::OpBuilder &builder, mlir::Value argument) const;
  /// A result of all parts, of which each has `type`: one behind the other
  /// where a part has a row for each row of its batch, else in a dimension of
  /// its own.
  mlir::Value join(mlir::OpBuilder &builder, mlir::Value stack,
                   mlir::RankedTensorType type, PartResult kind) const;
  /// The share that a float or a complex number of a part has in the mean of
  /// all parts, of type `element`.
  mlir::Value createShare(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, mlir::Type element) const;
  /// Lets the function return `values`, which are made of nothing that the
  /// operations in `old` make, and erases these.
  void finish(llvm::ArrayRef<mlir::Operation *> old, mlir::ValueRange values);

  mlir::func::FuncOp function;
  int64_t parts;
  llvm::SmallVector<int64_t> batch;
  /// Numbers of the arguments that are keys of draws: each part draws others,
  /// as steps of a training loop do.
  llvm::SmallVector<int64_t> keys;
  int64_t rows = 0;
  mlir::Location loc;
  llvm::SmallVector<PartResult> kinds;
  /// For each result, the argument that gives it its buffer, or null.
  llvm::SmallVector<mlir::BlockArgument> donors;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_BATCHPARTS_H
