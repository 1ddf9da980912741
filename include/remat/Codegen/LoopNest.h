//===- LoopNest.h - a structured op as loops over flat buffers --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the loop emitter knows of a structured op on buffers. All shapes and
// layouts are static, so an access is an affine function of the loops' indices
// into a one-dimensional buffer. Adjacent loops that every access walks without
// a gap are one loop.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_LOOPNEST_H
#define REMAT_CODEGEN_LOOPNEST_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/BuiltinTypes.h"

namespace remat::codegen {

/// A memref as a part of the buffer that it is a view of.
struct BufferView {
  /// The argument, allocation or global at the end of the chain of views.
  mlir::Value root;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int64_t> strides;

  /// Whether this is all of the root, in order.
  bool isWhole() const;
  /// Whether no element of this can be one of `other`.
  bool isDisjoint(const BufferView &other) const;
};

/// Looks through views. Fails with a diagnostic for layouts that are not
/// static.
mlir::FailureOr<BufferView> resolveView(mlir::Value memref);

/// One operand's element as a function of the loops.
struct Access {
  /// Null for a scalar operand, whose value is the element.
  mlir::Value root;
  mlir::Value scalar;
  mlir::Type elementType;
  int64_t offset = 0;
  /// A coefficient for each loop of the nest.
  llvm::SmallVector<int64_t> coefficients;
  /// If not null, what is to be added: an expression in the dimensions of the
  /// op for maps with divisions.
  mlir::AffineExpr nonlinear;
  /// If not null, added to the address.
  mlir::Value base;
  /// The body reads the element (inputs), or its former value (outputs).
  bool isRead = true;
};

/// One loop of a nest, over the indices 0 to `size` - 1.
struct Loop {
  int64_t size;
  bool isReduction;
  /// The dimensions of the op that the loop stands for, outermost first.
  llvm::SmallVector<unsigned> dims;
  /// The body uses the index of the dimension, so it stays on its own.
  bool pinned = false;
  /// If not null, the loop's only index: others have opened the loop.
  mlir::Value index = {};
  /// If not null, the loop's bounds: both, or an end below `size` alone.
  mlir::Value begin = {}, end = {};
  /// Whether the loop's index is given, so that there is no loop to emit.
  bool isOpen() const { return static_cast<bool>(index); }
};

/// The loops of a structured op, outermost first, with what its body reads and
/// writes at each of their points.
struct LoopNest {
  mlir::Operation *op;
  mlir::Block *body;
  llvm::SmallVector<Loop> loops;
  /// The body's arguments in order: inputs, then outputs.
  llvm::SmallVector<Access> inputs, outputs;
  /// For each output the constant that it starts from, or null.
  llvm::SmallVector<mlir::TypedAttr> inits;
  /// Different points write one element in a way that a reduction is not, so
  /// the loops run in order and on one thread.
  bool sequential = false;
  /// Reductions are done in the order of their loops, as they do not combine.
  bool isOrdered = false;
  /// Whether a loop has no iterations.
  bool isEmpty() const;
  /// Units of one addition that the body takes.
  int64_t bodyCost() const;
  /// How often the body runs. The largest number there is if it is larger.
  int64_t numPoints() const;
  /// The loop that stands for dimension `dim` alone, or null.
  Loop *findLoop(unsigned dim);
};

/// Rewrites the copies and fills of a bufferized kernel as linalg.generic, as
/// everything else in it is. Fails with a diagnostic at one that cannot be.
mlir::LogicalResult generalizeOps(mlir::func::FuncOp function);

/// Describes a linalg.generic on memrefs. Loops of size 1 are dropped, the
/// others sorted from large to small strides and joined where possible, those
/// of the dimensions `kept` excepted.
mlir::FailureOr<LoopNest> makeLoopNest(mlir::linalg::GenericOp op,
                                       llvm::ArrayRef<int64_t> kept = {});

/// Where a map is linear in the dimensions, `coefficients[dim]` and `offset`
/// with the given strides; the rest is returned as an expression or null.
mlir::AffineExpr flattenMap(mlir::AffineMap map,
                            llvm::ArrayRef<int64_t> strides,
                            llvm::MutableArrayRef<int64_t> coefficients,
                            int64_t &offset);

/// Units of one addition that an op in a body takes.
int64_t getOpCost(mlir::Operation *op);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_LOOPNEST_H
