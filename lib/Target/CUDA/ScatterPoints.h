//===- ScatterPoints.h - points of a scatter and what they add --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SCATTERPOINTS_H
#define REMAT_LIB_TARGET_CUDA_SCATTERPOINTS_H

#include "ScatterEmitter.h"

#include "remat/Codegen/BodyEmitter.h"

#include <deque>

namespace remat::cuda {

/// What the coordinates of a point are made of: those of all dimensions that
/// `counts` holds for.
llvm::DenseSet<mlir::Value>
findCoordinates(ScatterOp op, llvm::function_ref<bool(unsigned)> counts);

/// A point, or as many neighbouring ones as a thread has.
class ScatterPoints {
public:
  enum Needs { Coordinates = 1, Values = 2, Both = 3 };

  /// `first` are the indices of the first of them, by loop. `other` is a value
  /// of the body that is needed, too, or null.
  ScatterPoints(const ScatterPlan &plan, LaunchBuilder &launch,
                llvm::ArrayRef<mlir::Value> first, Needs needs,
                mlir::Value other = {});
  ScatterPoints(const ScatterPoints &) = delete;

  /// Emits the coordinates. Neighbours share them but for one, unless they look
  /// for points.
  llvm::LogicalResult emitCoordinates();
  /// By dimension. Those of `lane` 0 are there for all neighbours that share.
  llvm::SmallVector<mlir::Value> getCoordinates(unsigned lane = 0);
  /// Emits what they add. Without coordinates, what both are made of is emitted
  /// here.
  llvm::LogicalResult emitValues();
  llvm::SmallVector<mlir::Value> getValues();
  /// What `other` is for each of them.
  llvm::SmallVector<mlir::Value> getOthers();

private:
  void defineBody(unsigned lane);
  mlir::Value emitElement(unsigned number, unsigned lane);
  llvm::LogicalResult emitDepth(unsigned depth);
  llvm::SmallVector<mlir::Value> lookup(mlir::Value value);

  const ScatterPlan &plan;
  ScatterOp op;
  LaunchBuilder &launch;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const Needs needs;
  const mlir::Value other;
  /// One for each of the neighbouring points, and where that is.
  std::deque<BodyEmitter> bodies;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> indices;
  /// What was read of inputs for all of them.
  llvm::DenseMap<unsigned, llvm::SmallVector<mlir::Value>> vectors;
};

/// The indices of loops of these sizes, of which the last is the fastest, from
/// one number.
llvm::SmallVector<mlir::Value> splitNumber(mlir::OpBuilder &builder,
                                           mlir::Location loc,
                                           mlir::Value number,
                                           llvm::ArrayRef<int64_t> sizes);

/// What neighbours have in the result, `address` being the first of them.
llvm::SmallVector<mlir::Value> loadResults(const ScatterPlan &plan,
                                           LaunchBuilder &launch,
                                           mlir::Value address);
void storeResults(const ScatterPlan &plan, LaunchBuilder &launch,
                  llvm::ArrayRef<mlir::Value> values, mlir::Value address);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SCATTERPOINTS_H
