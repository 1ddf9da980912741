//===- ClusterGrower.h - the growth of a cluster ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERGROWER_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERGROWER_H

#include "Clusters.h"

#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// Whether `op` is a contraction that is added up in f32 and nothing else.
bool isFloatContraction(mlir::linalg::LinalgOp op);

/// What is asked of the operations of a block again and again. The block itself
/// would number its operations anew after each move.
class BlockInfo {
public:
  explicit BlockInfo(mlir::Block &body)
      : body(body), target(getTargetFacts(body.getParentOp())) {
    renumber();
  }

  /// Whether `a` stands before `b`; both are of the block.
  bool isBefore(mlir::Operation *a, mlir::Operation *b) const {
    return positions.at(a) < positions.at(b);
  }

  /// Operations that stood together, from the first to the last, now stand as
  /// in `order`.
  void reorder(llvm::ArrayRef<mlir::Operation *> order);

  /// There are operations in the block that are new.
  void renumber();

  /// `op` is going to be erased.
  void forget(mlir::Operation *op);

  /// Whether `op` may be in a cluster at all.
  bool isEligible(mlir::Operation *op);

  /// What the regions of `op` read from outside.
  llvm::ArrayRef<mlir::Value> getCaptured(mlir::Operation *op);

  mlir::Block *getBlock() const { return &body; }

  /// What the block is compiled for.
  TargetAttr getTarget() const { return target; }

private:
  mlir::Block &body;
  TargetAttr target;
  llvm::DenseMap<mlir::Operation *, unsigned> positions;
  llvm::DenseMap<mlir::Operation *, bool> eligible;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<mlir::Value, 0>> captured;
};

/// Grows one cluster from the operation that it begins with.
class ClusterGrower {
public:
  ClusterGrower(BlockInfo &info,
                llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf)
      : info(info), clusterOf(clusterOf), target(info.getTarget()) {}

  /// The cluster around `seed`, empty if there is none.
  Cluster grow(mlir::linalg::LinalgOp seed);

private:
  bool start(mlir::linalg::LinalgOp seed);
  bool tryAdd(mlir::Operation *op, bool asProducer);
  std::optional<LoopList> getRows(mlir::linalg::LinalgOp op, bool asProducer);
  bool mayAddContraction(mlir::linalg::LinalgOp op, const LoopList &loops,
                         bool asProducer);
  bool isOfChannels(mlir::linalg::LinalgOp op, const LoopList &loops) const;
  bool isReadByRows(mlir::Value value) const;
  bool mayWalk(llvm::ArrayRef<int64_t> sizes, int64_t summedRows);
  bool arrange(bool move);
  bool readsPlanesAgain() const;
  bool mayStream(int64_t rowBytes, int64_t reducedBytes);
  bool isWorthwhile();

  BlockInfo &info;
  /// Clusters that are there already, by number; no operation is in two.
  llvm::DenseMap<mlir::Operation *, unsigned> &clusterOf;
  TargetAttr target;
  llvm::DenseMap<mlir::Operation *, LoopList> members;
  /// The members that add up over blocks.
  llvm::DenseSet<mlir::Operation *> sums;
  int64_t rows = 0, blockRows = 0;
  /// Blocks are of so many rows that follow each other, the last loop of some
  /// member; that of others joins several of these, as where the heads that
  /// share a key are rows of one contraction.
  int64_t lastSize = 0;
  /// Rows that are added up by some member: a multiple of these, and few enough
  /// for more than one unit.
  int64_t summedRows = 1;
  bool isBlocked = false;
  /// Rows are channels, and nothing but them is made.
  bool isPlanes = false;
  mlir::Block *body = nullptr;
  mlir::Attribute mark;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_CLUSTERGROWER_H
