//===- BatchResizer.h - a function of a batch of another size ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write sizes as numbers. Which of them have the batch as a factor is
// found by following it from the arguments through all operations, against
// their direction, too: what an operation writes into has the shape of what it
// writes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_BATCHRESIZER_H
#define REMAT_LIB_TRANSFORMS_BATCHRESIZER_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

namespace remat {

/// For each dimension of a value, by how much the positions of neighbours in
/// the batch differ in it, divided into what is before: the product of the
/// factors in front of the batch. Unset where the batch is no factor.
using BatchDims = llvm::SmallVector<std::optional<int64_t>>;

/// Gives the batch of a function another size, in the function itself.
class BatchResizer {
public:
  /// Every argument of floating point has a gradient if `wrt` is empty.
  BatchResizer(mlir::func::FuncOp function, int64_t size,
               llvm::ArrayRef<int64_t> wrt)
      : function(function), newSize(size), wrt(wrt) {}
  llvm::LogicalResult run(llvm::ArrayRef<int64_t> given);

private:
  llvm::LogicalResult findBatch(llvm::ArrayRef<int64_t> given);
  bool isDifferentiated(int64_t argument);
  bool mayBeData(int64_t argument);
  bool mayHaveBatch(mlir::BlockArgument argument);
  void separateConstants();
  llvm::LogicalResult mark(mlir::Operation *op, mlir::Value value, unsigned dim,
                           int64_t outer);
  llvm::LogicalResult follow(mlir::Operation *op);
  llvm::LogicalResult followLinalg(mlir::linalg::LinalgOp op);
  llvm::LogicalResult
  followGroups(mlir::Operation *op, mlir::Value wide, mlir::Value narrow,
               llvm::ArrayRef<mlir::ReassociationIndices> groups);
  llvm::LogicalResult followConv(ConvOp op);
  llvm::LogicalResult followSameShape(mlir::Operation *op);
  llvm::LogicalResult followPad(mlir::tensor::PadOp op);
  llvm::LogicalResult followSlice(mlir::tensor::ExtractSliceOp op);
  llvm::LogicalResult followInsert(mlir::tensor::InsertSliceOp op);
  llvm::LogicalResult followConcat(mlir::tensor::ConcatOp op);
  llvm::LogicalResult
  followReads(mlir::linalg::GenericOp op,
              llvm::SmallVectorImpl<std::optional<int64_t>> &loops);
  llvm::LogicalResult followScatter(ScatterOp op);
  llvm::LogicalResult followLoop(LoopOp op);
  llvm::LogicalResult followRegion(mlir::Operation *op);
  llvm::LogicalResult tie(mlir::Operation *op, mlir::Value a, mlir::Value b,
                          unsigned dimOfA = 0, unsigned dimOfB = 0);
  llvm::LogicalResult followBlock(mlir::Block &block);
  mlir::func::FuncOp findBody(LoopOp op);
  void findBodies(mlir::func::FuncOp around);
  bool isMarked(mlir::Value value) const {
    auto dims = marks.find(value);
    return dims != marks.end() &&
           llvm::any_of(dims->second, [](auto dim) { return dim.has_value(); });
  }
  std::optional<int64_t> getMark(mlir::Value value, unsigned dim) const {
    auto dims = marks.find(value);
    return dims == marks.end() ? std::nullopt : dims->second[dim];
  }
  llvm::SmallVector<int64_t> resize(mlir::Value value) const;
  void apply();
  void applyTo(mlir::Operation *op);

  mlir::func::FuncOp function;
  int64_t newSize, size = 0;
  llvm::ArrayRef<int64_t> wrt;
  llvm::SmallVector<int64_t> batch;
  llvm::DenseMap<mlir::Value, BatchDims> marks;
  /// The bodies of loops that the function runs.
  llvm::SetVector<mlir::func::FuncOp> bodies;
  /// Which loops of a scatter have the batch.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<std::optional<int64_t>>>
      scattered;
  bool hasChanged = false;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_BATCHRESIZER_H
