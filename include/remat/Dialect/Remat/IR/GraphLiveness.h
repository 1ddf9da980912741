//===- GraphLiveness.h - when the buffers of a graph live -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a remat.graph keeps in memory at each of its operations, read off its
// order alone. Placement assigns addresses to these intervals and the graph's
// verifier counts them; the planner's simulator is not involved, so the two
// check each other.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_GRAPHLIVENESS_H
#define REMAT_DIALECT_REMAT_IR_GRAPHLIVENESS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// A buffer and the closed interval of positions at which it is live.
/// Position i is the i-th operation of the graph's block.
struct LiveBuffer {
  /// The value that owns the buffer; null for the workspace of a task.
  mlir::Value value;
  /// The operation that makes the value or needs the workspace.
  mlir::Operation *owner;
  MemorySpace space;
  /// Bytes, a multiple of the alignment of the graph's target.
  int64_t bytes;
  unsigned begin, end;
  /// The number of the result whose buffer it is or lies in: for values that
  /// the graph returns, and for those in space Reused.
  int64_t result = -1;
  /// The slot that the IR gives the buffer, if it is placed.
  SlotAttr slot;
};

/// When the buffers of a graph are live. A snapshot: it does not follow changes
/// of the graph.
struct GraphLiveness {
  explicit GraphLiveness(GraphOp graph);

  /// The value that owns the buffer in which `value` lies: behind views and
  /// results that are written in place.
  static mlir::Value getOwner(mlir::Value value);

  /// An operation that reads what another has overwritten in place, or null.
  mlir::Operation *brokenReader = nullptr;

  /// In the order of `begin`; arguments are not listed.
  llvm::SmallVector<LiveBuffer> buffers;

  /// The largest total of bytes that are live in `space` at one position, and
  /// where.
  struct Peak {
    int64_t bytes = 0;
    unsigned position = 0;
  };
  Peak peak(MemorySpace space) const;

  /// The positions at which the second and each later call of the step begins.
  llvm::SmallVector<unsigned> callBegins;
  /// The call that the operation at `position` belongs to.
  unsigned getCall(unsigned position) const;
  /// Whether a later call needs what is in the buffer.
  bool isState(const LiveBuffer &buffer) const {
    return getCall(buffer.begin) != getCall(buffer.end);
  }

private:
  unsigned numPositions = 0;
};

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_GRAPHLIVENESS_H
