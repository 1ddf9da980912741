//===- CheckpointSequential.cpp - segments of a chain ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/SetVector.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_CHECKPOINTSEQUENTIALPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` is made anew wherever it is needed.
static bool isFree(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         (isa<tensor::EmptyOp, linalg::FillOp>(op) &&
          llvm::all_of(op->getOperands(), [](Value value) {
            return value.getDefiningOp() && isFree(value.getDefiningOp());
          }));
}

/// Moves `ops`, which follow each other, into a region.
static void checkpoint(ArrayRef<Operation *> ops) {
  llvm::SetVector<Value> found;
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      for (Operation *user : result.getUsers())
        if (!llvm::is_contained(
                ops, ops.front()->getBlock()->findAncestorOpInBlock(*user)))
          found.insert(result);
  SmallVector<Value> escaping = found.takeVector();
  OpBuilder builder(ops.front());
  OperationState state(ops.front()->getLoc(), CheckpointOp::getOperationName());
  state.addTypes(llvm::to_vector(ValueRange(escaping).getTypes()));
  state.addRegion();
  auto region = cast<CheckpointOp>(builder.create(state));
  Block &body = region.getBody().emplaceBlock();
  for (auto [value, result] : llvm::zip_equal(escaping, region.getResults()))
    value.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !llvm::is_contained(
          ops, region->getBlock()->findAncestorOpInBlock(*use.getOwner()));
    });
  for (Operation *op : ops)
    op->moveBefore(&body, body.end());
  builder.setInsertionPointToEnd(&body);
  YieldOp::create(builder, region.getLoc(), escaping);
}

namespace {
struct CheckpointSequential
    : remat::impl::CheckpointSequentialPassBase<CheckpointSequential> {
  using CheckpointSequentialPassBase::CheckpointSequentialPassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return;
    if (!function.getBody().hasOneBlock()) {
      function.emitOpError("must have one block to be cut into segments");
      return signalPassFailure();
    }
    Block &block = function.front();
    // What is free belongs to no segment.
    Operation *last = nullptr;
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!isFree(&op))
        continue;
      if (last)
        op.moveAfter(last);
      else
        op.moveBefore(&block, block.begin());
      last = &op;
    }
    // The operations of each link; a call ends one.
    bool hasCalls = !block.getOps<func::CallOp>().empty();
    SmallVector<SmallVector<Operation *>> links;
    bool open = false;
    for (Operation &op : block.without_terminator()) {
      if (isFree(&op))
        continue;
      if (!open)
        links.emplace_back();
      links.back().push_back(&op);
      open = hasCalls && !isa<func::CallOp>(op);
    }
    if (segments < 1 || segments > int64_t(links.size())) {
      function.emitOpError("has ")
          << links.size() << " links to cut, expected "
          << "from 1 to as many segments, got " << int64_t(segments);
      return signalPassFailure();
    }
    size_t size = links.size() / segments;
    for (int64_t segment = 0; segment + 1 < segments; ++segment) {
      SmallVector<Operation *> ops;
      for (size_t link = 0; link < size; ++link)
        llvm::append_range(ops, links[segment * size + link]);
      checkpoint(ops);
    }
  }
};
} // namespace
