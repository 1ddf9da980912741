//===- RowSlicer.h - a contraction and what is sliced with it ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is sliced together stands together: operations that run for one slice,
// then for the next. Logits and their gradient do, and a hidden layer does not,
// as its gradient is made much later. So a slicer may work in phases: what the
// forward computation does with the rows is one of them, and what the backward
// computation does is another. Slices are the same in all, and a phase reads
// those that an earlier one has made. They are values of their own, which a
// plan keeps or makes again one by one.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_ROWSLICER_H
#define REMAT_LIB_TRANSFORMS_ROWSLICER_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Structured.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace remat {

/// Consecutive rows, as a box in the dimensions that make up the rows.
struct Slab {
  llvm::SmallVector<int64_t> offsets, sizes;
};

/// One contraction and what is sliced with it.
class RowSlicer {
public:
  /// Slices have about `sliceRows` rows. Where these are fewer than the target
  /// asks for, what is wide enough to be sliced is smaller by as much. With
  /// `inPhases`, forward and backward computation are sliced apart.
  RowSlicer(mlir::Block &body, int64_t sliceRows, bool inPhases = false)
      : body(body), builder(body.getParentOp()),
        target(getTargetFacts(body.getParentOp())), sliceRows(sliceRows),
        inPhases(inPhases) {}

  /// Slices `contraction` if it can be and is worth it, and says in how many
  /// slices. `gone` receives what it erases.
  int64_t run(mlir::linalg::ContractOp contraction,
              llvm::DenseSet<mlir::Operation *> &gone);

private:
  /// Members that stand together.
  struct Phase {
    /// The members, and what depends on them between the first and the last.
    llvm::SmallVector<mlir::Operation *> sorted, behind;
    /// The first operation behind all of that.
    mlir::Operation *end = nullptr;
  };

  bool start(mlir::linalg::ContractOp contraction);
  bool isEligible(mlir::Operation *op);
  std::optional<LoopList> getRows(mlir::linalg::LinalgOp op);
  bool tryAdd(mlir::Operation *op, bool asProducer);
  bool canAddUp(mlir::OpResult sum);
  /// Whether `value` has about as many elements as the contraction.
  bool isWide(mlir::Value value) const {
    return 2 * llvm::cast<mlir::RankedTensorType>(value.getType())
                   .getNumElements() >
           wideElements;
  }
  bool addReaders();
  bool addProducers();
  /// In which phase `op` is sliced.
  unsigned getPhase(mlir::Operation *op) const;
  bool addBetween(unsigned number, bool &changed);
  bool order();
  bool standApart() const;
  bool collectForward();
  unsigned getHighestMark(const Phase &phase) const;
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
  void findBegins(const Phase &phase);
  void slice(Phase &phase);
  void concatenateRead(const Phase &phase);
  void replace();
  void clone(mlir::Operation *op, int64_t slice);
  mlir::Operation *cloneWidened(mlir::Operation *op,
                                llvm::ArrayRef<mlir::Value> operands);
  mlir::Value narrow(mlir::Value sum, mlir::RankedTensorType type);
  mlir::Value getPart(mlir::Value value, mlir::AffineMap map,
                      mlir::Operation *op, const Slab &slab);
  mlir::Value getChunk(mlir::Value value, int64_t slice);
  void shiftIndices(mlir::Operation *op, mlir::Operation *clone, int64_t slice,
                    const Slab &slab);
  mlir::Value concatenate(mlir::OpResult result);

  mlir::Block &body;
  mlir::OpBuilder builder;
  TargetAttr target;
  int64_t sliceRows;
  bool inPhases;
  int64_t rows = 0, wideBytes = 0, wideElements = 0, slices = 0;
  /// With the loops that walk the rows.
  llvm::MapVector<mlir::Operation *, LoopList> members;
  /// Members that reduce over the rows.
  llvm::DenseSet<mlir::Operation *> sums;
  /// In the order of the program.
  std::map<unsigned, Phase> phases;
  /// What becomes a part of the backward computation.
  llvm::SmallVector<mlir::Operation *> forward;
  /// What sums over the rows are added to, and the additions.
  llvm::DenseMap<mlir::Value, mlir::Value> begins;
  llvm::MapVector<mlir::Operation *, mlir::Value> additions;
  /// Results of members, of each slice so far.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Value>> parts;
};

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_ROWSLICER_H
