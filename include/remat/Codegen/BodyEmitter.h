//===- BodyEmitter.h - the scalar body of a structured op -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Clones the body of a structured op into loops. Every op of the body goes to
// the outermost loop in which its operands are known, and only ops that the
// results need are cloned.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_BODYEMITTER_H
#define REMAT_CODEGEN_BODYEMITTER_H

#include "remat/Codegen/KernelContext.h"

#include <functional>

namespace remat::codegen {

/// Emits one body into the loops around it, whose depth counts from 0 outside
/// of all of them. The caller defines what it knows, calls `prepare` once, and
/// `emit` for each depth, from the outside in.
class BodyEmitter {
public:
  BodyEmitter(mlir::Block &body, const KernelContext &kernel)
      : body(body), kernel(kernel), mapping(kernel.scalars) {}

  /// The argument is emitted by `emit` at `depth`. All arguments that are
  /// needed must be defined this way before `prepare`.
  using EmitFn = std::function<mlir::Value(mlir::OpBuilder &)>;
  void defineArgument(mlir::BlockArgument argument, unsigned depth,
                      EmitFn emit);
  /// linalg.index of `dim` is known at `depth`.
  void defineIndex(unsigned dim, unsigned depth, EmitFn emit);
  /// `op` is not cloned: `emit` gives its results where they are first known.
  using EmitOpFn =
      std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &)>;
  void defineOp(mlir::Operation *op, EmitOpFn emit) {
    definedOps[op] = std::move(emit);
  }
  /// `op` is emitted by the caller.
  void skip(mlir::Operation *op) { skipped.insert(op); }
  /// The caller needs `value`, whether or not an op that is emitted does.
  void require(mlir::Value value) { required.push_back(value); }

  /// Finds out what to emit where. `maxDepth` is the depth of the innermost
  /// loop.
  void prepare(unsigned maxDepth);
  /// Emits all that is known first at `depth`.
  mlir::LogicalResult emit(mlir::OpBuilder &builder, unsigned depth);

  /// What stands for a value of the body, or for a value from outside.
  mlir::Value lookup(mlir::Value value) {
    return mapping.lookupOrDefault(value);
  }
  /// Lets `to` stand for `from` from now on.
  void map(mlir::Value from, mlir::Value to) { mapping.map(from, to); }

private:
  struct Definition {
    unsigned depth;
    EmitFn emit;
  };
  unsigned getDepth(mlir::Operation &op);

  mlir::Block &body;
  const KernelContext &kernel;
  mlir::IRMapping mapping;
  llvm::DenseMap<mlir::Value, Definition> arguments;
  llvm::DenseMap<unsigned, Definition> indices;
  llvm::DenseMap<mlir::Operation *, EmitOpFn> definedOps;
  llvm::DenseSet<mlir::Operation *> skipped, needed;
  llvm::DenseSet<mlir::Value> neededArguments;
  llvm::SmallVector<mlir::Value> required;
  llvm::DenseMap<mlir::Operation *, unsigned> depths;
  unsigned maxDepth = 0;
};

} // namespace remat::codegen

#endif // REMAT_CODEGEN_BODYEMITTER_H
