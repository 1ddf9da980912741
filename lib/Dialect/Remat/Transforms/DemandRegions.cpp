//===- DemandRegions.cpp - regions that are recomputed whole --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recomputation is driven by demand, so it stops early by itself. Where it must
// not, something has to read what nothing else does.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "llvm/ADT/MapVector.h"

namespace remat {
#define GEN_PASS_DEF_DEMANDREGIONSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` gives its operand another shape, or none but a name.
static bool passesOn(Operation *op) {
  return isViewOp(op) || isTransparentOp(op);
}

/// Whether `op` is a part of the backward computation.
static bool isBackwardOp(Operation *op) {
  return op->hasAttr(RematDialect::backwardAttrName);
}

namespace {
/// What a region hides, up to the next backward operation: with its number,
/// that of the backward operation before it. A function may be differentiated
/// several times, and its regions are in each copy.
struct WholeRegion {
  SetVector<Operation *> hidden;
};
using RegionKey = std::pair<int64_t, unsigned>;
} // namespace

/// All that reads `value`, seen through views and tags.
static void findReaders(Value value, SetVector<Operation *> &readers) {
  for (Operation *user : value.getUsers()) {
    if (passesOn(user))
      findReaders(user->getResult(0), readers);
    else if (Operation *inBlock =
                 value.getParentBlock()->findAncestorOpInBlock(*user))
      readers.insert(inBlock);
  }
}

static SetVector<Operation *> findReaders(Operation *op) {
  SetVector<Operation *> readers;
  for (Value result : op->getResults())
    findReaders(result, readers);
  return readers;
}

/// Demands what the region would not recompute for others: what none of them
/// reads, and what the function returns, which is there to be read. How much
/// that is.
static unsigned demand(const WholeRegion &region) {
  Operation *first = nullptr;
  SmallVector<Operation *> last;
  for (Operation *op : region.hidden) {
    bool isMade = false;
    SetVector<Operation *> readers = findReaders(op);
    bool isReturned = llvm::any_of(readers, [](Operation *reader) {
      return reader->hasTrait<OpTrait::IsTerminator>();
    });
    for (Operation *reader : readers) {
      isMade |= !isReturned && region.hidden.contains(reader);
      if (isBackwardOp(reader) && op->isBeforeInBlock(reader) &&
          (!first || reader->isBeforeInBlock(first)))
        first = reader;
    }
    if (!isMade)
      last.push_back(op);
  }
  if (!first)
    return 0;
  // Not before what its first reader waits for.
  SetVector<Value> after;
  for (Value operand : first->getOperands())
    if (Operation *producer = getProducer(operand);
        producer && isBackwardOp(producer) &&
        isa<RankedTensorType>(operand.getType()) &&
        !producer->hasTrait<OpTrait::ConstantLike>() &&
        !isa<tensor::EmptyOp, linalg::FillOp>(producer))
      after.insert(operand);
  OpBuilder builder(first);
  auto none = RankedTensorType::get({0}, builder.getI8Type());
  for (Operation *op : last) {
    auto value = llvm::find_if(op->getResults(), [](Value result) {
      return isa<RankedTensorType>(result.getType());
    });
    auto demanded = DemandOp::create(builder, op->getLoc(), none, *value,
                                     after.getArrayRef());
    demanded->setAttr(RematDialect::backwardAttrName, builder.getUnitAttr());
  }
  return last.size();
}

namespace {
struct DemandRegions : remat::impl::DemandRegionsPassBase<DemandRegions> {
  void runOnOperation() override {
    if (!getOperation().getBody().hasOneBlock())
      return;
    llvm::MapVector<RegionKey, WholeRegion> regions;
    SmallVector<TagOp> tags;
    unsigned numBackward = 0;
    for (Operation &op : getOperation().getBody().front()) {
      auto tag = dyn_cast<TagOp>(op);
      if (isBackwardOp(&op) && !tag)
        ++numBackward;
      if (!tag || !tag.getWholeRegion())
        continue;
      tags.push_back(tag);
      Operation *producer = getProducer(tag.getInput());
      if (producer && !isBackwardOp(producer))
        regions[{int64_t(*tag.getWholeRegion()), numBackward}].hidden.insert(
            producer);
    }
    for (auto &entry : regions)
      numDemands += demand(entry.second);
    for (TagOp tag : tags)
      tag.removeWholeRegionAttr();
  }
};
} // namespace
