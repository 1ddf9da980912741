//===- BodyEmitter.cpp - the scalar body of a structured op ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Codegen/BodyEmitter.h"

#include "remat/Utils/CollectOps.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

void BodyEmitter::defineArgument(BlockArgument argument, unsigned depth,
                                 EmitFn emit) {
  arguments[argument] = {depth, std::move(emit)};
}

void BodyEmitter::defineIndex(unsigned dim, unsigned depth, EmitFn emit) {
  indices[dim] = {depth, std::move(emit)};
}

/// Calls `visit` for all values that `op` or the ops inside of it use.
static void forEachUsedValue(Operation &op, function_ref<void(Value)> visit) {
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      visit(operand);
  });
}

unsigned BodyEmitter::getDepth(Operation &op) {
  unsigned depth = 0;
  forEachUsedValue(op, [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &body)
        depth = std::max(depth, arguments[argument].depth);
    } else if (Operation *producer = value.getDefiningOp();
               producer->getBlock() == &body) {
      // What the caller emits itself, it emits in the innermost loop.
      depth = std::max(depth, skipped.contains(producer) ? maxDepth
                                                         : depths[producer]);
    }
  });
  op.walk([&](linalg::IndexOp index) {
    depth = std::max(depth, indices[index.getDim()].depth);
  });
  return depth;
}

void BodyEmitter::prepare(unsigned innermost) {
  maxDepth = innermost;
  auto require = [&](Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == &body)
        neededArguments.insert(argument);
    } else if (value.getDefiningOp()->getBlock() == &body) {
      needed.insert(value.getDefiningOp());
    }
  };
  for (Value value : required)
    require(value);
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    bool asserts = false;
    op.walk([&](cf::AssertOp) { asserts = true; });
    if (skipped.contains(&op) || (!asserts && !needed.contains(&op)))
      continue;
    needed.insert(&op);
    forEachUsedValue(op, require);
  }
  for (Operation &op : body.without_terminator())
    if (needed.contains(&op) && !skipped.contains(&op))
      depths[&op] = getDepth(op);
}

LogicalResult BodyEmitter::emit(OpBuilder &builder, unsigned depth) {
  for (BlockArgument argument : body.getArguments())
    if (neededArguments.contains(argument) &&
        arguments[argument].depth == depth)
      mapping.map(argument, arguments[argument].emit(builder));
  for (Operation &op : body.without_terminator()) {
    if (!needed.contains(&op) || skipped.contains(&op) || depths[&op] != depth)
      continue;
    if (auto it = definedOps.find(&op); it != definedOps.end()) {
      mapping.map(op.getResults(), it->second(builder));
      continue;
    }
    if (auto index = dyn_cast<linalg::IndexOp>(&op)) {
      mapping.map(index.getResult(), indices[index.getDim()].emit(builder));
      continue;
    }
    Operation *clone = builder.clone(op, mapping);
    for (Operation *inner : collectOps<Operation *>(clone)) {
      if (auto index = dyn_cast<linalg::IndexOp>(inner)) {
        OpBuilder::InsertionGuard guard(builder);
        builder.setInsertionPoint(inner);
        index.getResult().replaceAllUsesWith(
            indices[index.getDim()].emit(builder));
        inner->erase();
        continue;
      }
      bool isClone = inner == clone;
      FailureOr<Value> replacement = kernel.lowerOp(inner);
      if (failed(replacement))
        return failure();
      if (isClone && *replacement)
        mapping.map(op.getResult(0), *replacement);
    }
  }
  return success();
}
