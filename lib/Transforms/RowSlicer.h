//===- RowSlicer.h - a contraction and what is sliced with it ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ROWSLICER_H
#define REMAT_LIB_TRANSFORMS_ROWSLICER_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Structured.h"

#include "llvm/ADT/MapVector.h"

namespace remat {

/// Consecutive rows, as a box in the dimensions that make up the rows.
struct Slab {
  llvm::SmallVector<int64_t> offsets, sizes;
};

/// One contraction and what is sliced with it.
class RowSlicer {
public:
  /// Slices have about `sliceRows` rows. Where these are fewer than the target
  /// asks for, what is wide enough to be sliced is smaller by as much.
  RowSlicer(mlir::Block &body, int64_t sliceRows)
      : body(body), builder(body.getParentOp()),
        target(getTargetFacts(body.getParentOp())), sliceRows(sliceRows) {}

  /// Slices `contraction` if it can be and is worth it, and says in how many
  /// slices. `gone` receives what it erases.
  int64_t run(mlir::linalg::ContractOp contraction,
              llvm::DenseSet<mlir::Operation *> &gone);

private:
  bool start(mlir::linalg::ContractOp contraction);
  bool isEligible(mlir::Operation *op);
  std::optional<LoopList> getRows(mlir::linalg::LinalgOp op);
  bool tryAdd(mlir::Operation *op, bool asProducer);
  /// Whether `value` has about as many elements as the contraction.
  bool isWide(mlir::Value value) const {
    return 2 * llvm::cast<mlir::RankedTensorType>(value.getType())
                   .getNumElements() >
           wideElements;
  }
  bool addReaders();
  bool addProducers();
  bool addBetween(bool &changed);
  bool order();
  bool collectForward();
  unsigned getHighestMark() const;
  /// `amount` of the target, for slices of so many rows.
  int64_t scale(int64_t amount) const {
    return std::max<int64_t>(
        static_cast<int64_t>(static_cast<double>(amount) *
                             static_cast<double>(sliceRows) /
                             static_cast<double>(target.getSliceRows())),
        1);
  }
  bool chooseSlices();
  bool isWorthwhile();

  llvm::SmallVector<int64_t> getRowSizes(mlir::Operation *op);
  int64_t getStart(int64_t slice) const { return slice * rows / slices; }
  void findBegins();
  void replace();
  void clone(mlir::Operation *op, int64_t slice);
  mlir::Value getPart(mlir::Value value, mlir::AffineMap map,
                      mlir::Operation *op, const Slab &slab);
  mlir::Value getChunk(mlir::Value value, int64_t count);
  void shiftIndices(mlir::Operation *op, mlir::Operation *clone,
                    const Slab &slab);
  mlir::Value concatenate(mlir::OpResult result);

  mlir::Block &body;
  mlir::OpBuilder builder;
  TargetAttr target;
  int64_t sliceRows;
  int64_t rows = 0, wideBytes = 0, wideElements = 0, slices = 0;
  /// With the loops that walk the rows.
  llvm::MapVector<mlir::Operation *, LoopList> members;
  /// Members that reduce over the rows.
  llvm::DenseSet<mlir::Operation *> sums;
  /// The members, and what depends on them between the first and the last.
  llvm::SmallVector<mlir::Operation *> sorted, behind;
  /// What becomes a part of the backward computation.
  llvm::SmallVector<mlir::Operation *> forward;
  /// What sums over the rows are added to, and the additions.
  llvm::DenseMap<mlir::Value, mlir::Value> begins;
  llvm::MapVector<mlir::Operation *, mlir::Value> additions;
  /// Results of members, of the current slice, and of all.
  llvm::DenseMap<mlir::Value, mlir::Value> current;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> parts;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ROWSLICER_H
