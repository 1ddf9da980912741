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
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Tags.h"

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

namespace {
/// What a region hides from backward operations of `level` and above, up to the
/// next of these: with its number, that of such operations before it. A
/// function may be differentiated several times, and its regions are in each
/// copy.
struct WholeRegion {
  SetVector<Operation *> hidden;
  unsigned level = 1;
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
  auto isBackwardOp = [&](Operation *op) {
    return getBackwardLevel(op) >= region.level;
  };
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
    copyBackward(first, demanded);
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
    // By level.
    SmallVector<unsigned> numBackward;
    for (Operation &op : getOperation().getBody().front()) {
      auto tag = dyn_cast<TagOp>(op);
      if (unsigned level = getBackwardLevel(&op); level != 0 && !tag) {
        numBackward.resize(std::max<size_t>(numBackward.size(), level), 0);
        for (unsigned &number : MutableArrayRef(numBackward).take_front(level))
          ++number;
      }
      if (!tag || !tag.getWholeRegion())
        continue;
      tags.push_back(tag);
      Operation *producer = getProducer(tag.getInput());
      unsigned level = getTagLevel(tag);
      if (!producer || getBackwardLevel(producer) >= level)
        continue;
      unsigned before =
          level <= numBackward.size() ? numBackward[level - 1] : 0;
      WholeRegion &region = regions[{int64_t(*tag.getWholeRegion()), before}];
      region.hidden.insert(producer);
      region.level = level;
    }
    for (auto &entry : regions)
      numDemands += demand(entry.second);
    for (TagOp tag : tags)
      tag.removeWholeRegionAttr();
  }
};
} // namespace
