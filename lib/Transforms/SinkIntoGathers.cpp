//===- SinkIntoGathers.cpp - compute only what is picked ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cross entropy computes the logarithm of all probabilities and reads one of
// each row. Where nothing but tensor.extract reads an elementwise result, its
// body moves to where the elements are read. Where others read it, too, such as
// the gradient, few elements are computed once more: then those others may be
// one kernel with the operation, and nothing of it is in memory. What is
// widened for others is picked from before that.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

namespace remat {
#define GEN_PASS_DEF_SINKINTOGATHERSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The loop that walks each dimension of the result, if `op` computes each of
/// its elements on its own.
static std::optional<SmallVector<unsigned>>
matchElementwise(linalg::GenericOp op) {
  if (op->getNumResults() != 1 || op.getNumReductionLoops() != 0 ||
      !op.hasPureTensorSemantics() || !isMemoryEffectFree(op) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)))
    return std::nullopt;
  for (AffineMap map : op.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return std::nullopt;
  for (Value input : op.getDpsInputs())
    if (!isa<RankedTensorType>(input.getType()))
      return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!map.isPermutation())
    return std::nullopt;
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults())
    loops.push_back(cast<AffineDimExpr>(expr).getPosition());
  return loops;
}

/// Whether what computes the indices of `extract`, in the body of `consumer`,
/// needs a value of `dependent`, or what the loops have made before.
static bool needsForIndices(linalg::GenericOp consumer,
                            tensor::ExtractOp extract,
                            const llvm::SetVector<Operation *> &dependent) {
  SmallVector<Value> stack(extract.getIndices());
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == consumer.getBody()) {
      if (argument.getArgNumber() >= consumer.getNumDpsInputs())
        return true;
      value = consumer.getDpsInputs()[argument.getArgNumber()];
    }
    Operation *maker = value.getDefiningOp();
    if (maker && maker->getBlock() == consumer.getBody()) {
      if (maker->getNumRegions() != 0)
        return true;
      llvm::append_range(stack, maker->getOperands());
    } else if (maker && dependent.contains(maker)) {
      return true;
    }
  }
  return false;
}

/// What picks elements of the result of `op` and may compute them in its place.
/// All that reads it does so, at fewer points than there are. Or these points
/// are few, and known before `op`: what it reads need not be kept for them,
/// since elements of that can be picked early (PickEarly.cpp).
static SmallVector<tensor::ExtractOp> findPicks(linalg::GenericOp op) {
  SmallVector<tensor::ExtractOp> picks;
  unsigned level = getBackwardLevel(op);
  int64_t points = 0;
  bool isOnlyPicked = true;
  llvm::SetVector<Operation *> dependent;
  auto maySink = [&](Operation *user) {
    auto consumer = user->getParentOfType<linalg::GenericOp>();
    return isa<tensor::ExtractOp>(user) && consumer &&
           consumer->getBlock() == op->getBlock() &&
           user->getParentOp() == consumer &&
           getBackwardLevel(consumer) == level;
  };
  for (Operation *user : op->getUsers()) {
    if (!maySink(user)) {
      isOnlyPicked = false;
      continue;
    }
    picks.push_back(cast<tensor::ExtractOp>(user));
    points += getNumPoints(user->getParentOfType<linalg::GenericOp>());
  }
  if (isOnlyPicked)
    return points <= getNumPoints(op) ? picks
                                      : SmallVector<tensor::ExtractOp>();
  if (picks.empty() || getNumPoints(op) < PickTuning::minElements ||
      points > getNumPoints(op) / PickTuning::leastPart)
    return {};
  getForwardSlice(op.getOperation(), &dependent);
  llvm::erase_if(picks, [&](tensor::ExtractOp pick) {
    return needsForIndices(pick->getParentOfType<linalg::GenericOp>(), pick,
                           dependent);
  });
  return picks;
}

/// Whether code for `op` at each of `picks` is little, or its only one. Chains
/// of operations that each read several elements of the one before, such as the
/// merges of a sort, would be written out many times.
static bool isLittleCode(linalg::GenericOp op,
                         ArrayRef<tensor::ExtractOp> picks) {
  return picks.size() <= 1 ||
         picks.size() * op.getBody()->getOperations().size() <=
             PickTuning::mostWritten;
}

/// Computes the element that `extract` reads in its place.
static void inlineBody(linalg::GenericOp op, ArrayRef<unsigned> loops,
                       tensor::ExtractOp extract) {
  OpBuilder builder(extract);
  Location loc = extract.getLoc();
  SmallVector<Value> indices(loops.size());
  for (auto [loop, index] : llvm::zip(loops, extract.getIndices()))
    indices[loop] = index;
  IRMapping mapping;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(input);
    if (argument.use_empty())
      continue;
    SmallVector<Value> at;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults()) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      at.push_back(
          dim ? indices[dim.getPosition()]
              : Value(arith::ConstantIndexOp::create(builder, loc, 0)));
    }
    mapping.map(argument,
                tensor::ExtractOp::create(builder, loc, input->get(), at));
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(&inner)) {
      mapping.map(index.getResult(), indices[index.getDim()]);
      continue;
    }
    Operation *clone = builder.clone(inner, mapping);
    clone->walk([&](linalg::IndexOp index) {
      index.getResult().replaceAllUsesWith(indices[index.getDim()]);
    });
  }
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  extract.replaceAllUsesWith(mapping.lookupOrDefault(yielded));
  extract.erase();
}

/// The operation that only widens a tensor, of which `value` is a view; null if
/// there is none. `views` receives the views, the last one first.
static linalg::GenericOp matchWidened(Value value,
                                      SmallVectorImpl<Operation *> &views) {
  while (value.getDefiningOp() && isViewOp(value.getDefiningOp())) {
    views.push_back(value.getDefiningOp());
    value = views.back()->getOperand(0);
  }
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || !matchElementwise(op) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !llvm::hasSingleElement(op.getBody()->without_terminator()) ||
      !isa<arith::ExtFOp>(op.getBody()->front()))
    return {};
  return op;
}

/// Reads the element before it is widened, so that nobody has to keep it after.
static bool pickNarrow(tensor::ExtractOp extract) {
  SmallVector<Operation *> views;
  linalg::GenericOp op = matchWidened(extract.getTensor(), views);
  if (!op || extract->getBlock() == op->getBlock())
    return false;
  OpBuilder builder(op);
  Value source = op.getDpsInputs()[0];
  Type narrow = getElementTypeOrSelf(source);
  for (Operation *view : llvm::reverse(views)) {
    builder.setInsertionPointAfter(view);
    Operation *copy = builder.clone(*view);
    auto type = cast<RankedTensorType>(view->getResult(0).getType());
    copy->setOperand(0, source);
    copy->getResult(0).setType(type.clone(narrow));
    source = copy->getResult(0);
  }
  builder.setInsertionPoint(extract);
  Location loc = extract.getLoc();
  Value element =
      tensor::ExtractOp::create(builder, loc, source, extract.getIndices());
  Value wide = arith::ExtFOp::create(builder, loc, extract.getType(), element);
  extract.replaceAllUsesWith(wide);
  extract.erase();
  return true;
}

namespace {
struct FuseGathers : public remat::impl::SinkIntoGathersPassBase<FuseGathers> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops =
        collectOps<linalg::GenericOp>(getOperation());
    // From the end, so that a chain ends up where its last result is read.
    for (linalg::GenericOp op : llvm::reverse(ops)) {
      std::optional<SmallVector<unsigned>> loops = matchElementwise(op);
      if (!loops)
        continue;
      SmallVector<tensor::ExtractOp> picks = findPicks(op);
      if (!isLittleCode(op, picks))
        continue;
      for (tensor::ExtractOp pick : picks)
        inlineBody(op, *loops, pick);
      numFused += !picks.empty();
      if (!picks.empty() && op->use_empty())
        op.erase();
    }
    getOperation().walk(
        [&](tensor::ExtractOp extract) { numFused += pickNarrow(extract); });
  }
};
} // namespace
