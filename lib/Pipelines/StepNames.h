//===- StepNames.h - names of what a step does ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_STEPNAMES_H
#define REMAT_LIB_PIPELINES_STEPNAMES_H

#include "remat/Dialect/Remat/IR/Remat.h"

#include <string>

namespace remat {

/// The kind of work that a kernel with this name does, in words: "softmax" of
/// "sub_select_add_softmax_select_rows_1", "sub mul add" of "sub_mul_add".
std::string describeKind(llvm::StringRef kernel);

/// Whether that is a well-known name, such as "softmax".
bool isKnownKind(llvm::StringRef kernel);

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

private:
  std::string findOwn(TaskOp task, llvm::ArrayRef<std::string> gradients) const;
  llvm::StringRef findBefore(mlir::Operation *op, bool ofBackward) const;
  void inferFromBefore(GraphOp graph, bool ofBackward);
  void inferFromBehind(GraphOp graph, bool ofBackward);

  llvm::DenseMap<mlir::Operation *, std::string> layers;
  /// Those whose layer is not inferred.
  llvm::DenseSet<mlir::Operation *> known;
};

} // namespace remat

#endif // REMAT_LIB_PIPELINES_STEPNAMES_H
