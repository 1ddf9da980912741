//===- LowerStacks.cpp - stacks of values that are no parts of loops ------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of what is stacked for a loop, or unstacked behind one, iterations use the
// elements where they lie. Whoever else reads a stack gets one that is written.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace remat {
#define GEN_PASS_DEF_LOWERSTACKSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// How an element of the first dimension of `stack` is grouped with that.
static SmallVector<ReassociationIndices> groupFirst(RankedTensorType stack) {
  SmallVector<ReassociationIndices> groups;
  if (stack.getRank() == 1)
    return groups;
  groups.push_back({0, 1});
  for (int64_t dim = 2; dim < stack.getRank(); ++dim)
    groups.push_back({dim});
  return groups;
}

/// The elements of `stack`, one behind the other.
static Value writeStack(OpBuilder &builder, StackOp stack) {
  RankedTensorType type = stack.getType();
  SmallVector<int64_t> shape(type.getShape());
  shape.front() = 1;
  SmallVector<Value> parts;
  for (Value element : stack.getElements()) {
    parts.push_back(tensor::ExpandShapeOp::create(
        builder, stack.getLoc(), type.clone(shape), element, groupFirst(type)));
    copyBackward(stack, parts.back().getDefiningOp());
  }
  if (parts.size() == 1)
    return parts.front();
  auto concat =
      tensor::ConcatOp::create(builder, stack.getLoc(), type, /*dim=*/0, parts);
  copyBackward(stack, concat);
  return concat;
}

/// Lets readers of elements read slices of what is unstacked.
static void readSlices(OpBuilder &builder, UnstackOp unstack) {
  auto type = cast<RankedTensorType>(unstack.getStack().getType());
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)), sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(builder.getIndexAttr(size));
  sizes.front() = builder.getIndexAttr(1);
  for (auto [number, element] : llvm::enumerate(unstack.getElements())) {
    if (element.use_empty())
      continue;
    offsets.front() = builder.getIndexAttr(number);
    auto slice = tensor::ExtractSliceOp::create(
        builder, unstack.getLoc(), cast<RankedTensorType>(element.getType()),
        unstack.getStack(), offsets, sizes, strides);
    copyBackward(unstack, slice);
    element.replaceAllUsesWith(slice);
  }
}

namespace {
struct LowerStacks : remat::impl::LowerStacksPassBase<LowerStacks> {
  using LowerStacksPassBase::LowerStacksPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Block &block = getOperation().front();
    for (auto stack : llvm::make_early_inc_range(block.getOps<StackOp>())) {
      auto isSlice = [](OpOperand &use) {
        auto loop = dyn_cast<LoopOp>(use.getOwner());
        return loop && llvm::is_contained(loop.getSlices(), use.get());
      };
      OpBuilder builder(stack);
      if (!llvm::all_of(stack->getUses(), isSlice)) {
        Value written = writeStack(builder, stack);
        stack.getResult().replaceUsesWithIf(
            written, [&](OpOperand &use) { return !isSlice(use); });
        ++numWritten;
      }
      if (stack.use_empty())
        stack.erase();
    }
    for (auto unstack : llvm::make_early_inc_range(block.getOps<UnstackOp>())) {
      auto loop = unstack.getStack().getDefiningOp<LoopOp>();
      if (loop && findUnstack(unstack.getStack()) &&
          llvm::is_contained(loop.getStacks(), unstack.getStack()))
        continue;
      OpBuilder builder(unstack);
      readSlices(builder, unstack);
      unstack.erase();
      ++numWritten;
    }
  }
};
} // namespace
