//===- Sweep.h - differentiation of straight-line code ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two sweeps over a sequence of operations: in reverse from cotangents of
// what it computes, and forwards from tangents of what it reads.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_SWEEP_H
#define REMAT_LIB_AUTODIFF_SWEEP_H

#include "Cotangents.h"

#include "remat/AutoDiff/DifferentiableOpInterface.h"

namespace remat {

/// The values of a sequence of operations on the way from `inputs` to
/// `outputs`.
class SequenceActivity : public Activity {
public:
  SequenceActivity(llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Value> inputs,
                   llvm::ArrayRef<mlir::Value> outputs);
  bool isActive(mlir::Value value) const override {
    return active.contains(value);
  }

private:
  llvm::DenseSet<mlir::Value> active;
};

/// Sweeps operations in reverse. Cotangents that are zero are never made.
class ReverseSweep : public ReverseContext {
public:
  ReverseSweep(mlir::OpBuilder &builder, const Activity &activity,
               mlir::Location loc)
      : DerivativeContext(builder), activity(activity) {
    setLoc(loc);
  }

  bool isActive(mlir::Value value) const override {
    return activity.isActive(value);
  }
  mlir::Value primal(mlir::Value forward) override { return forward; }
  mlir::Value cotangent(mlir::Value forward) override;
  void accumulate(mlir::Value forward, mlir::Value term) override;
  void accumulateSlice(mlir::Value forward, mlir::Value term,
                       llvm::ArrayRef<int64_t> offsets,
                       llvm::ArrayRef<int64_t> sizes,
                       llvm::ArrayRef<int64_t> strides) override;

  /// Emits the derivatives of `ops` where the builder stands.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

private:
  const Activity &activity;
  Cotangents cotangents;
};

/// Sweeps operations forwards. Tangents that are zero are never made.
class ForwardSweep : public ForwardContext {
public:
  ForwardSweep(mlir::OpBuilder &builder, const Activity &activity,
               mlir::Location loc)
      : DerivativeContext(builder), activity(activity) {
    setLoc(loc);
  }

  bool isActive(mlir::Value value) const override {
    return activity.isActive(value);
  }
  mlir::Value primal(mlir::Value forward) override { return forward; }
  mlir::Value tangent(mlir::Value forward) override {
    return isActive(forward) ? tangents.lookup(forward) : mlir::Value();
  }
  void setTangent(mlir::Value forward, mlir::Value value) override {
    tangents[forward] = value;
  }

  /// Emits the tangents of each of `ops` behind it: a tangent needs no forward
  /// value that is older than its operation's operands.
  llvm::LogicalResult run(llvm::ArrayRef<mlir::Operation *> ops);

private:
  const Activity &activity;
  llvm::DenseMap<mlir::Value, mlir::Value> tangents;
};

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_SWEEP_H
