//===- SeparateTags.cpp - a buffer for each of two demands (L1) -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-separate-tags`.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace remat {
#define GEN_PASS_DEF_SEPARATETAGSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// `value`, which is a view of `root`, as a view of `other`.
static Value rebuildView(OpBuilder &builder, Value value, Value root,
                         Value other) {
  if (value == root)
    return other;
  Operation *op = value.getDefiningOp();
  Value source = rebuildView(builder, op->getOperand(0), root, other);
  if (isTransparentOp(op))
    return source;
  Operation *view = builder.clone(*op);
  view->setOperand(0, source);
  return view->getResult(0);
}

namespace {
struct SeparateTags : remat::impl::SeparateTagsPassBase<SeparateTags> {
  void runOnOperation() override {
    for (Block &block : getOperation().getBody())
      for (auto tag : llvm::make_early_inc_range(block.getOps<TagOp>()))
        if (tag.getPolicy() && isMust(*tag.getPolicy()))
          separate(tag);
  }

private:
  /// Gives `tag` a value that no other policy is demanded of.
  void separate(TagOp tag) {
    Value root = getTaggedValue(tag);
    if (!holdsPolicy(root))
      return;
    auto result = cast<OpResult>(root);
    // Task formation says what is wrong with the others.
    if (!isMemoryEffectFree(result.getOwner()) || runsOnce(result.getOwner()))
      return;
    auto [it, isFirst] = valuesOf.try_emplace(root);
    llvm::SmallMapVector<Policy, Value, 2> &values = it->second;
    if (isFirst) {
      auto own = result.getOwner()->getAttrOfType<PolicyAttr>(
          RematDialect::policyAttrName);
      if (own && isMust(own.getValue()))
        values.insert({own.getValue(), root});
    }
    if (values.empty())
      values.insert({*tag.getPolicy(), root});
    Value &value = values[*tag.getPolicy()];
    if (value == root)
      return;
    if (!value) {
      OpBuilder builder(result.getOwner());
      builder.setInsertionPointAfter(result.getOwner());
      Operation *clone = builder.clone(*result.getOwner());
      clone->removeAttr(RematDialect::policyAttrName);
      value = clone->getResult(result.getResultNumber());
      ++numRepeated;
    }
    OpBuilder builder(tag);
    tag.getInputMutable().assign(
        rebuildView(builder, tag.getInput(), root, value));
  }

  /// For each value that a policy is demanded of, what has which policy.
  DenseMap<Value, llvm::SmallMapVector<Policy, Value, 2>> valuesOf;
};
} // namespace
