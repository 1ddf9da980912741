//===- PickEarly.cpp - pick elements before others read the whole ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cross entropy picks one logit of each row and takes the logarithm of the
// row's sum from it. As one operation it runs behind the sum, and the logits
// stay until then: their gradient, which is made together with the sum, cannot
// be written over them. So the elements are picked first.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_PICKEARLYPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// What computes the indices of `extract` in the body of `op`, in order.
/// Nothing if they depend on what the loops have made before.
static std::optional<llvm::SetVector<Operation *>>
findIndices(linalg::GenericOp op, tensor::ExtractOp extract) {
  llvm::DenseSet<Operation *> makers;
  SmallVector<Value> stack(extract.getIndices());
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (argument.getOwner() == op.getBody() &&
          argument.getArgNumber() >= op.getNumDpsInputs())
        return std::nullopt;
      continue;
    }
    Operation *maker = value.getDefiningOp();
    if (maker->getBlock() != op.getBody())
      continue;
    if (maker->getNumRegions() != 0 || !isMemoryEffectFree(maker))
      return std::nullopt;
    if (makers.insert(maker).second)
      llvm::append_range(stack, maker->getOperands());
  }
  llvm::SetVector<Operation *> inOrder;
  for (Operation &inner : *op.getBody())
    if (makers.contains(&inner))
      inOrder.insert(&inner);
  return inOrder;
}

namespace {
/// Finds where an element can be picked: behind what all of its indices are
/// made of, other than slices, which come along.
class PickPlace {
public:
  PickPlace(linalg::GenericOp op, tensor::ExtractOp extract,
            const llvm::SetVector<Operation *> &indices);

  /// The last of what is needed.
  Operation *get() const { return last; }
  /// Moves the slices there. Returns the last of them, or what they are behind.
  Operation *moveSlices();

private:
  void waitFor(Value value);
  bool maySlice(Operation *maker) const;

  linalg::GenericOp op;
  Operation *last;
  int64_t most;
  llvm::SetVector<Operation *> slices;
};
} // namespace

PickPlace::PickPlace(linalg::GenericOp op, tensor::ExtractOp extract,
                     const llvm::SetVector<Operation *> &indices)
    : op(op), last(extract.getTensor().getDefiningOp()),
      most(extract.getTensor().getType().getNumElements() /
           PickTuning::leastPart) {
  auto waitForInput = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    waitFor(argument && argument.getOwner() == op.getBody()
                ? op.getDpsInputs()[argument.getArgNumber()]
                : value);
  };
  llvm::for_each(extract.getIndices(), waitForInput);
  for (Operation *index : indices)
    llvm::for_each(index->getOperands(), waitForInput);
}

/// Whether `maker` takes a small part of a tensor, or only looks at one.
bool PickPlace::maySlice(Operation *maker) const {
  if (!isa<tensor::ExtractSliceOp>(maker) && !isViewOp(maker))
    return false;
  auto type = dyn_cast<RankedTensorType>(maker->getResult(0).getType());
  return type && type.hasStaticShape() && type.getNumElements() <= most;
}

void PickPlace::waitFor(Value value) {
  Operation *maker = value.getDefiningOp();
  if (!maker || maker->getBlock() != op->getBlock() || slices.contains(maker))
    return;
  if (maySlice(maker)) {
    llvm::for_each(maker->getOperands(), [&](Value part) { waitFor(part); });
    // Behind what it is a part of.
    slices.insert(maker);
  } else if (last->isBeforeInBlock(maker)) {
    last = maker;
  }
}

Operation *PickPlace::moveSlices() {
  Operation *behind = last;
  for (Operation *slice : slices)
    if (behind->isBeforeInBlock(slice)) {
      slice->moveAfter(behind);
      behind = slice;
    }
  return behind;
}

/// Whether `op` needs what another reader of `tensor` makes, which is not there
/// behind `earliest`.
static bool waitsForReader(linalg::GenericOp op, Operation *tensor,
                           Operation *earliest) {
  return llvm::any_of(getReadValues(op), [&](Value value) {
    Operation *maker = value.getDefiningOp();
    return maker && maker->getBlock() == op->getBlock() &&
           earliest->isBeforeInBlock(maker) &&
           llvm::is_contained(maker->getOperands(), tensor->getResult(0));
  });
}

/// Whether the picked elements are few beside the tensor.
static bool picksFew(linalg::GenericOp op, RankedTensorType type) {
  int64_t points = getNumPoints(op);
  return type.hasStaticShape() && points != ShapedType::kDynamic &&
         type.getNumElements() >= PickTuning::minElements &&
         type.getNumElements() / PickTuning::leastPart >= points;
}

/// The inputs of `op` that are read by `extract` and what makes its indices.
static SmallVector<OpOperand *>
findInputs(linalg::GenericOp op, tensor::ExtractOp extract,
           const llvm::SetVector<Operation *> &indices) {
  SmallVector<OpOperand *> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    if (llvm::any_of(op.getMatchingBlockArgument(input).getUsers(),
                     [&](Operation *user) {
                       return user == extract || indices.contains(user);
                     }))
      inputs.push_back(input);
  return inputs;
}

/// An operation that picks what `extract` does at each point of the loops of
/// `op`, behind `earliest`.
static linalg::GenericOp createPick(linalg::GenericOp op,
                                    tensor::ExtractOp extract,
                                    const llvm::SetVector<Operation *> &indices,
                                    Operation *earliest) {
  OpBuilder builder(op.getContext());
  builder.setInsertionPointAfter(earliest);
  Location loc = extract.getLoc();
  SmallVector<OpOperand *> operands = findInputs(op, extract, indices);
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : operands) {
    inputs.push_back(input->get());
    maps.push_back(op.getMatchingIndexingMap(input));
  }
  unsigned numLoops = op.getNumLoops();
  maps.push_back(builder.getMultiDimIdentityMap(numLoops));
  auto type = RankedTensorType::get(getLoopSizes(op), extract.getType());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  SmallVector<utils::IteratorType> loops(numLoops,
                                         utils::IteratorType::parallel);
  auto pick = linalg::GenericOp::create(
      builder, loc, type, inputs, init, maps, loops,
      [&](OpBuilder &body, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [input, argument] : llvm::zip(operands, arguments))
          mapping.map(op.getMatchingBlockArgument(input), argument);
        for (Operation *inner : indices)
          body.clone(*inner, mapping);
        Operation *picked = body.clone(*extract, mapping);
        linalg::YieldOp::create(body, loc, picked->getResults());
      });
  copyBackward(op, pick);
  return pick;
}

/// Lets `op` read the elements from `picked`, one for each point of its loops.
static void readPicked(linalg::GenericOp op, tensor::ExtractOp extract,
                       Value picked) {
  OpBuilder builder(op);
  unsigned position = op.getNumDpsInputs();
  SmallVector<Value> inputs(op.getDpsInputs());
  inputs.push_back(picked);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.insert(maps.begin() + position,
              builder.getMultiDimIdentityMap(op.getNumLoops()));
  auto replacement = linalg::GenericOp::create(
      builder, op.getLoc(), op.getResultTypes(), inputs, op.getDpsInits(), maps,
      op.getIteratorTypesArray(), nullptr,
      getPrunedAttributeList(op, op.getAttributeNames()));
  replacement.getRegion().takeBody(op.getRegion());
  Value element = replacement.getBody()->insertArgument(
      position, extract.getType(), extract.getLoc());
  extract.replaceAllUsesWith(element);
  extract.erase();
  for (Operation &inner :
       llvm::make_early_inc_range(llvm::reverse(*replacement.getBody())))
    if (isOpTriviallyDead(&inner))
      inner.erase();
  op.replaceAllUsesWith(replacement);
  op.erase();
}

/// Picks the elements of one tensor that `op` reads early. Whether there was
/// one.
static bool pickEarly(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics())
    return false;
  for (auto extract : op.getBody()->getOps<tensor::ExtractOp>()) {
    Operation *tensor = extract.getTensor().getDefiningOp();
    if (!tensor || tensor->getBlock() != op->getBlock() ||
        tensor->getNumResults() != 1 || isa<tensor::EmptyOp>(tensor) ||
        getBackwardLevel(tensor) != getBackwardLevel(op) ||
        !picksFew(op, extract.getTensor().getType()))
      continue;
    std::optional<llvm::SetVector<Operation *>> indices =
        findIndices(op, extract);
    if (!indices)
      continue;
    PickPlace place(op, extract, *indices);
    if (!waitsForReader(op, tensor, place.get()))
      continue;
    linalg::GenericOp pick =
        createPick(op, extract, *indices, place.moveSlices());
    readPicked(op, extract, pick.getResult(0));
    return true;
  }
  return false;
}

namespace {
struct PickEarlyPass : public remat::impl::PickEarlyPassBase<PickEarlyPass> {
  void runOnOperation() override {
    for (linalg::GenericOp op : collectOps<linalg::GenericOp>(getOperation()))
      numPicked += pickEarly(op);
  }
};
} // namespace
