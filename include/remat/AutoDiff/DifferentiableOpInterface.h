//===- DifferentiableOpInterface.h - derivative rules -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a derivative rule sees: which values are active, where forward values,
// cotangents and tangents come from and where its results go. Functions and
// the scalar bodies of structured operations are differentiated through the
// same classes.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H
#define REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace remat {

class IdiomLog;

/// Which values a derivative is about: those that depend on what one
/// differentiates with respect to and on which the result depends.
class Activity {
public:
  virtual ~Activity() = default;
  virtual bool isActive(mlir::Value value) const = 0;
};

/// The surroundings of one rule: where its operations go and where forward
/// values come from.
class DerivativeContext : public Activity {
public:
  explicit DerivativeContext(mlir::OpBuilder &builder) : builder(&builder) {}

  /// Inserts where the derivative goes.
  mlir::OpBuilder &getBuilder() { return *builder; }

  /// The location for the operations of the rule that runs now.
  mlir::Location getLoc() const { return *loc; }
  void setLoc(mlir::Location newLoc) { loc = newLoc; }

  /// The value that `forward` had in the forward computation.
  virtual mlir::Value primal(mlir::Value forward) = 0;

  /// In a body: the element of the tensor `forward`, from outside of it, that
  /// `map` selects at each point. Null elsewhere.
  virtual mlir::Value primalElement(mlir::Value, mlir::AffineMap) {
    return nullptr;
  }

  /// Where the sweeps of this derivative, those of bodies included, take down
  /// the idioms that they find. Null: they look for none.
  IdiomLog *getIdiomLog() const { return idiomLog; }
  void setIdiomLog(IdiomLog *log) { idiomLog = log; }

protected:
  /// For contexts that own their builder; they set it when it exists.
  DerivativeContext() = default;
  void setBuilder(mlir::OpBuilder &owned) { builder = &owned; }

private:
  mlir::OpBuilder *builder = nullptr;
  std::optional<mlir::Location> loc;
  IdiomLog *idiomLog = nullptr;
};

/// The surroundings of one reverse sweep.
class ReverseContext : public virtual DerivativeContext {
public:
  /// The cotangent of `forward`, of the same type, or null if it is zero.
  virtual mlir::Value cotangent(mlir::Value forward) = 0;

  /// Adds `term`, of the type of `forward`, to the cotangent of `forward`. A
  /// null term is zero. Nothing happens if `forward` is not active. The terms
  /// for a tensor of a function may have wider elements and are added in these.
  virtual void accumulate(mlir::Value forward, mlir::Value term) = 0;

  /// The same for a part of the tensor `forward`: `term` has the shape `sizes`
  /// or, with dimensions of size 1 left out, a smaller rank.
  virtual void accumulateSlice(mlir::Value forward, mlir::Value term,
                               llvm::ArrayRef<int64_t> offsets,
                               llvm::ArrayRef<int64_t> sizes,
                               llvm::ArrayRef<int64_t> strides);
};

/// The surroundings of one forward sweep.
class ForwardContext : public virtual DerivativeContext {
public:
  /// The tangent of `forward`, of the same type, or null if it is zero.
  virtual mlir::Value tangent(mlir::Value forward) = 0;

  /// Adds `term`, of the type of `forward`, to the tangent of `forward`, a
  /// result of the operation whose rule runs. A null term is zero.
  void addTangent(mlir::Value forward, mlir::Value term);

  /// The tangent of `forward`, made if it is zero. Null if `forward` does not
  /// carry derivatives.
  mlir::Value tangentOrZero(mlir::Value forward);

protected:
  virtual void setTangent(mlir::Value forward, mlir::Value value) = 0;
};

/// Whether values of `type` carry derivatives: floating-point and complex
/// scalars, and tensors of them.
bool isDifferentiableType(mlir::Type type);

/// The operands of `op` and the values from outside that its regions use.
llvm::SmallVector<mlir::Value> getDependencies(mlir::Operation *op);

/// Emits the derivative of `op`, that of an idiom or by its rule, into a
/// scratch block and returns the forward values that were asked for, in the
/// order of the first requests.
llvm::SmallVector<mlir::Value> probeNeededPrimals(mlir::Operation *op,
                                                  const Activity &activity);

/// Pushes tangents through `op` by its reverse rule. That is a linear function
/// of the cotangents; its transpose, which a reverse sweep over the emitted
/// operations computes, is the forward rule.
llvm::LogicalResult emitTransposedVJP(mlir::Operation *op,
                                      ForwardContext &context);

} // namespace remat

#include "remat/AutoDiff/DifferentiableOpInterface.h.inc"

#endif // REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_H
