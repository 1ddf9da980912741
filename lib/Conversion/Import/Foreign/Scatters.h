//===- Scatters.h - slices that are written at computed places --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SCATTERS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SCATTERS_H

#include "Places.h"

namespace remat::foreign {

/// Builds one scatter.
class ScatterBuilder {
public:
  /// For each dimension of the tensor, `windowDims` has that of an update along
  /// it, or -1; `placeDims` are those of the update that go through the places.
  /// The region of `op` combines elements of `operands` and `updates`, which
  /// may come first.
  ScatterBuilder(mlir::Operation *op, Lowering &lowering, const Places &places,
                 mlir::RankedTensorType type,
                 llvm::ArrayRef<int64_t> updateShape,
                 llvm::ArrayRef<int64_t> windowDims,
                 llvm::ArrayRef<unsigned> placeDims,
                 llvm::ArrayRef<mlir::Value> operands,
                 llvm::ArrayRef<mlir::Value> updates, bool updatesFirst = false)
      : op(op), lowering(lowering), builder(lowering.builder),
        loc(op->getLoc()), places(places), type(type), updateShape(updateShape),
        windowDims(windowDims), placeDims(placeDims), operands(operands),
        updates(updates), updatesFirst(updatesFirst) {}

  /// The results; `isUnique` says that no two updates go to one place.
  llvm::FailureOr<llvm::SmallVector<mlir::Value>> build(bool isUnique);

private:
  using Values = llvm::SmallVector<mlir::Value>;

  /// What the region makes of elements.
  llvm::FailureOr<Values> combineElements(mlir::OpBuilder &nested,
                                          mlir::ValueRange old,
                                          mlir::ValueRange added);
  llvm::StringRef findCombination();
  int64_t countPlaces() const;
  int64_t getWindowSize(int64_t dim) const;
  /// Whether updates of different places may go to one element, because a
  /// dimension that is indexed also has a slice of several elements.
  bool mayOverlap() const;
  /// Whether an update is anything but one element of each dimension that is
  /// indexed, and all of the others.
  bool hasWindows() const;
  std::pair<Values, mlir::Value> createPlace(mlir::OpBuilder &nested,
                                             mlir::Location loc,
                                             mlir::ValueRange parts);
  void addWindow(mlir::OpBuilder &nested,
                 llvm::SmallVectorImpl<mlir::Value> &place,
                 mlir::ValueRange points);
  mlir::AffineMap getPlaceMap(unsigned loops,
                              llvm::ArrayRef<unsigned> placeLoops);
  mlir::Value
  createScatter(mlir::Value init, mlir::ValueRange inputs,
                llvm::ArrayRef<mlir::AffineMap> maps,
                llvm::ArrayRef<int64_t> sizes,
                llvm::function_ref<void(mlir::OpBuilder &, mlir::ValueRange,
                                        mlir::ValueRange)>
                    body,
                bool isMaximum = false);
  mlir::Value add(mlir::Value operand, mlir::Value update);
  mlir::Value createNumbers(bool isFine);
  llvm::FailureOr<Values> combine();
  llvm::FailureOr<mlir::Value> reduce(mlir::Value neutral);
  llvm::FailureOr<Values> loop();

  mlir::Operation *op;
  Lowering &lowering;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  Places places;
  mlir::RankedTensorType type;
  llvm::SmallVector<int64_t> updateShape, windowDims;
  llvm::SmallVector<unsigned> placeDims;
  Values operands, updates;
  bool updatesFirst;
};

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_SCATTERS_H
