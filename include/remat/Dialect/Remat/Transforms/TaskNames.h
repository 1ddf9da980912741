//===- TaskNames.h - names of what a step does ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_TASKNAMES_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_TASKNAMES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include <map>
#include <string>

namespace remat {

/// The kind of work that a kernel with this name does, in words: "softmax" of
/// "sub_select_add_softmax_select_rows_1", "sub mul add" of "sub_mul_add".
std::string describeKind(llvm::StringRef kernel);

/// Whether the task is a part of what an optimizer does: it updates a weight or
/// a state, or makes something that updates read, by its location.
bool isUpdate(TaskOp task);

/// The same of a task. What reads several results of a softmax or a norm, its
/// sums beside its values, is a part of its derivative; what an optimizer does
/// is an "update", whatever its arithmetic. A loop is called by the number of
/// its iterations and by what it makes again of them: "loop of 12 with 3
/// checkpoints", "thinned" where it saves a part of what its derivative reads,
/// "repeating 2 tasks" in each iteration.
std::string describeKind(TaskOp task);

/// What two layers or labels are both in: "h.0" of "h.0.attn" and "h.0.mlp".
llvm::StringRef findCommonScope(llvm::StringRef a, llvm::StringRef b);

/// "h.3.attn softmax": the work in the layer, which may be unknown.
std::string joinName(llvm::StringRef layer, llvm::StringRef kind);

/// The layers of tasks and transfers. Where a task reads no parameter of its
/// own and is in no scope, those of what is before and behind it say where it
/// is, or the parameter whose gradient it makes.
class LayerNames {
public:
  /// `gradients` has the name of the parameter that result i of the graph is
  /// the gradient of, or "".
  LayerNames(GraphOp graph, llvm::ArrayRef<std::string> gradients);

  llvm::StringRef getLayer(mlir::Operation *op) const {
    auto found = layers.find(op);
    return found == layers.end() ? llvm::StringRef() : found->second;
  }
  /// Whether the layer is not inferred.
  bool isKnown(mlir::Operation *op) const { return known.contains(op); }

private:
  std::string findOwn(TaskOp task, llvm::ArrayRef<std::string> gradients) const;
  llvm::StringRef findBefore(mlir::Operation *op, bool ofBackward) const;
  void inferFromBefore(GraphOp graph, bool ofBackward);
  void inferFromBehind(GraphOp graph, bool ofBackward);

  llvm::DenseMap<mlir::Operation *, std::string> layers;
  /// Those whose layer is not inferred.
  llvm::DenseSet<mlir::Operation *> known;
};

/// Names for messages and for the planner. The layer of a backward task is left
/// out unless it reads a parameter: which one it makes the gradient of is known
/// to those only who asked for it.
class TaskNames {
public:
  explicit TaskNames(GraphOp graph);

  /// "h.3.attn softmax, backward (task 7)", "wte.weight update (task 9)". With
  /// a result, its type is in the name, too.
  std::string describe(TaskOp task, mlir::Value result = {});

private:
  LayerNames layers;
  /// The tasks that others are clones of. Numbers may be any.
  std::map<int64_t, TaskOp> originals;
  /// Types are few, and describing one takes longer than the rest of a name.
  llvm::DenseMap<mlir::Type, std::string> types;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_TASKNAMES_H
