//===- StrideClusters.h - slices and concatenations in kernels --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_STRIDECLUSTERS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_STRIDECLUSTERS_H

#include "ClusterGrower.h"
#include "SliceUses.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {

/// Whether `op` is one of a block's that may share a kernel with `other`, as
/// far as phases, policies and other kernels go.
bool mayShareKernel(
    mlir::Operation *op, mlir::Operation *other,
    const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

/// Whether `reader` is all that reads `value` and views of it.
bool isReadBy(mlir::Value value, mlir::Operation *reader);

/// Calls `visit` for the uses of `value` and of views of it that are no views,
/// with the views between them and `value`. False, at once, if `visit` is.
bool walkReads(mlir::Value value,
               llvm::function_ref<bool(mlir::OpOperand &use,
                                       llvm::ArrayRef<mlir::Operation *> views)>
                   visit);

/// Concatenates what the operands of a concatenation are views of, and makes a
/// view of the whole, so that what makes the parts knows where they go.
void reshapeConcatenations(mlir::func::FuncOp function);

/// Moves slices that one operation reads in front of that, where what they are
/// parts of is in use until there.
void sinkSlices(mlir::func::FuncOp function);

/// Gives each of several elementwise readers slices of its own where all parts
/// of a tensor are read in the same phases, so that the whole is kept no longer
/// than they would be. `clusters` are those of the block so far; whether there
/// are others now.
bool spreadSlices(mlir::Block &body, llvm::ArrayRef<Cluster> clusters);

/// Gives each cluster of blocks of rows what makes its factors of one tensor
/// (queries, keys and values of a projection), where that is kept no longer, or
/// is no larger, than all that is kept of it otherwise. `clusters` are those of
/// the block so far; whether there are others now.
bool spreadFactors(mlir::Block &body, llvm::ArrayRef<Cluster> clusters);

/// Lets contractions in kernels of blocks of rows read factors as bf16 that are
/// widened to f32 for them alone (NarrowFactors.cpp). Whether there are others
/// now.
bool narrowFactors(mlir::Block &body);

/// Lets what makes a factor that is the same for all rows of a run join
/// `cluster`, of blocks of rows, where nothing else reads it. Those that have
/// joined.
llvm::SmallVector<mlir::Operation *>
addFactors(Cluster &cluster, BlockInfo &info,
           const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

/// An elementwise operation, with the slices that nothing else reads. Their
/// cluster, or an empty one. No operation is in another of `clusterOf`.
Cluster
readerOfSlices(mlir::linalg::GenericOp reader, BlockInfo &info, SliceUses &uses,
               const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

/// Lets the slices join `cluster`, of blocks of rows, that one of its
/// elementwise operations alone reads. Those that have joined.
llvm::SmallVector<mlir::Operation *>
addSlicesOfRows(Cluster &cluster, BlockInfo &info,
                const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

/// Lets what is elementwise in sums over the rows of `cluster` join it, and
/// concatenations of all that it makes (SumFinals.cpp). Those that have joined.
llvm::SmallVector<mlir::Operation *>
addFinals(Cluster &cluster, BlockInfo &info,
          const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

/// Gives `add` the cluster of each sum of `body` with what is elementwise in
/// its results, and with what is read together with that (SumTails.cpp), or an
/// empty one. `add` is expected to tell `clusterOf`. Moves operations, of which
/// `info` does not learn.
void addSumTails(mlir::Block &body, BlockInfo &info,
                 const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf,
                 llvm::function_ref<void(Cluster)> add);

/// A concatenation, with the elementwise operations that make its parts, and
/// the slices that are such or that these read, where nothing else reads them.
/// Their cluster, or an empty one.
Cluster
makersOfParts(mlir::tensor::ConcatOp concat, BlockInfo &info, SliceUses &uses,
              const llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_STRIDECLUSTERS_H
