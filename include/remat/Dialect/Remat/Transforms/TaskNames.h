//===- TaskNames.h - names of what a step does ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The body of a loop is a graph whose arguments have no names of their own.
// They are called by what the loop gets, and what a loop stacks is called by
// what its iterations make.
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

/// What a value is called, and the part of the model that it is of.
struct ValueName {
  /// "h.3.fc.weight" or "h.3.at softmax"; "" if unknown.
  std::string name;
  std::string layer;
  /// Whether it is an argument of the step that has a name. What reads it is in
  /// its layer.
  bool isNamedArgument = false;
};

/// The layers of tasks and transfers. Where a task reads no parameter of its
/// own and is in no scope, those of what is before and behind it say where it
/// is, or the parameter whose gradient it makes.
class LayerNames {
public:
  /// `gradients` has the name of the parameter that result i of the graph is
  /// the gradient of, or "". `arguments` are those of a body of a loop.
  LayerNames(GraphOp graph, llvm::ArrayRef<std::string> gradients,
             llvm::ArrayRef<ValueName> arguments = {});

  /// The layer of a task or transfer; "" if it is in none.
  llvm::StringRef getLayer(mlir::Operation *op) const {
    auto found = layers.find(op);
    return found == layers.end() ? llvm::StringRef() : found->second;
  }
  /// Whether the layer is not inferred.
  bool isKnown(mlir::Operation *op) const { return known.contains(op); }

private:
  std::string findOwn(TaskOp task, llvm::ArrayRef<std::string> gradients) const;
  const ValueName *findArgument(mlir::Value value) const;
  llvm::StringRef findBefore(mlir::Operation *op, bool ofBackward) const;
  void inferFromBefore(GraphOp graph, bool ofBackward);
  void inferFromBehind(GraphOp graph, bool ofBackward);

  llvm::SmallVector<ValueName, 0> arguments;
  llvm::DenseMap<mlir::Operation *, std::string> layers;
  /// Those whose layer is not inferred.
  llvm::DenseSet<mlir::Operation *> known;
};

/// The names of the values of one graph. It must not change meanwhile.
class ValueNames {
public:
  /// `gradients` is that of LayerNames. `arguments` are the names of the
  /// arguments of a body; without, they are those that the graph gives them.
  explicit ValueNames(GraphOp graph, llvm::ArrayRef<std::string> gradients = {},
                      llvm::ArrayRef<ValueName> arguments = {});

  const LayerNames &getLayers() const { return layers; }
  /// The name of `value`, or of what it is a view or a copy of.
  ValueName get(mlir::Value value);
  /// The names of the arguments of `body`, which `loop` runs, and which `task`
  /// of this graph runs. Equal layers are one: "h.*.fc.weight".
  llvm::SmallVector<ValueName> nameArguments(TaskOp task, LoopOp loop,
                                             GraphOp body);
  /// Of each result of `task`, which runs a loop, what iterations make of it:
  /// "h.*.at softmax, of 8 iterations", or "of iteration 3" of one element. ""
  /// for what is carried.
  llvm::ArrayRef<ValueName> getLoopResults(TaskOp task);

private:
  GraphOp graph;
  llvm::SmallVector<ValueName> arguments;
  LayerNames layers;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<ValueName, 0>>
      loopResults;
};

/// Names for messages and for the planner. The layer of a backward task is left
/// out unless it reads a parameter: which one it makes the gradient of is known
/// to those only who asked for it.
class TaskNames {
public:
  explicit TaskNames(GraphOp graph);

  /// "h.3.attn softmax, backward (task 7)", "wte.weight update (task 9)". With
  /// a result, its type is in the name, too; one that a loop stacks is called
  /// by what iterations make.
  std::string describe(TaskOp task, mlir::Value result = {});

private:
  ValueNames names;
  /// The tasks that others are clones of. Numbers may be any.
  std::map<int64_t, TaskOp> originals;
  /// What tasks do, by the same numbers. A loop of layers has thousands of
  /// results, and all of its body says what it does.
  std::map<int64_t, std::string> kinds;
  /// Types are few, and describing one takes longer than the rest of a name.
  llvm::DenseMap<mlir::Type, std::string> types;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_TASKNAMES_H
