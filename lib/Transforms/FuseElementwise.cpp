//===- FuseElementwise.cpp - fuse elementwise operations ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream fuses one producer into one consumer and moves reshapes; which, and
// in what order, is decided here. Consumers are visited in program order, so
// that a producer is as large as it gets when it is considered.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseSums.h"
#include "FusionTraffic.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/FuseElementwise.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// What is fused
//===----------------------------------------------------------------------===//

/// Whether `op` only moves data and casts it.
static bool isLayout(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), isCast);
}

/// Whether `op` does nothing but cast a tensor to more bytes, which several
/// operations read: each of them does so for itself, and what is in memory is
/// the narrow one.
static bool isSharedWidening(linalg::GenericOp op) {
  if (!isLayout(op) || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op->hasOneUse())
    return false;
  auto from = cast<RankedTensorType>(op.getInputs()[0].getType());
  auto to = cast<RankedTensorType>(op.getResult(0).getType());
  return from.hasStaticShape() && isBufferType(from) && isBufferType(to) &&
         from.getNumElements() == to.getNumElements() &&
         getBufferBytes(from) < getBufferBytes(to) &&
         llvm::all_of(
             op->getUses(),
             [&](OpOperand &use) {
               auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
               return reader && reader->getBlock() == op->getBlock() &&
                      reader.hasPureTensorSemantics() &&
                      reader.isDpsInput(&use);
             });
}

/// Whether `op` makes numbers from nothing but indices, cheaply.
static bool isMask(linalg::GenericOp op) {
  return op.getInputs().empty() &&
         getBodySize(op) <= FusionTuning::maxMaskSize &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<linalg::IndexOp>(inner) ||
                  isa<arith::ArithDialect>(inner.getDialect());
         });
}

/// Whether `op` adds up tensors and does nothing else.
static bool isSum(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getBody()->without_terminator(), isPartOfSum) &&
         llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::AddFOp>(inner);
         });
}

/// Whether fusing two sums makes one that needs too many tensors at once.
static bool isLongSum(linalg::GenericOp producer, linalg::GenericOp consumer) {
  return isSum(producer) && isSum(consumer) &&
         producer.getNumDpsInputs() + consumer.getNumDpsInputs() - 1 >
             FusionTuning::maxTerms;
}

/// The tag of a region that `value` is the result of, if nothing but that reads
/// what is tagged, and nothing but one operation the tag. What is fused into
/// its only reader is kept for nobody, and the tag has nothing more to say.
/// Null if there is none.
static TagOp getOnlyRegionTag(Value value) {
  auto tag = value.getDefiningOp<TagOp>();
  if (!tag || !isOnlyOfRegion(tag) || !tag->hasOneUse() ||
      !tag.getInput().hasOneUse())
    return {};
  return tag;
}

/// Whether `producer` may be fused into `consumer`, which uses it by way of
/// `value`: its result, or a tag or a reshape of it. With `keepNarrow`, what is
/// cast to fewer bytes is not, as differentiation may yet add readers.
static bool shouldFuse(linalg::GenericOp producer, Value value,
                       linalg::GenericOp consumer, bool keepNarrow) {
  if (producer->getBlock() != consumer->getBlock() ||
      producer->getNumResults() != 1 ||
      producer.getNumParallelLoops() != producer.getNumLoops() ||
      !producer.hasPureTensorSemantics() || !consumer.hasPureTensorSemantics())
    return false;
  unsigned level = getBackwardLevel(consumer);
  if (getBackwardLevel(producer) > level ||
      (!getOnlyRegionTag(value) && readsHidden(producer, level)))
    return false;
  for (BlockArgument init : producer.getBody()->getArguments().drop_front(
           producer.getInputs().size()))
    if (!init.use_empty())
      return false;
  if (getBodySize(producer) + getBodySize(consumer) > FusionTuning::maxBodySize)
    return false;
  bool isOnlyUse = producer->hasOneUse() && value.hasOneUse() &&
                   getNumPoints(producer) >= getNumPoints(consumer) &&
                   !isLongSum(producer, consumer);
  if (!isLayout(producer) && isSharedWidening(consumer))
    return false;
  // A cast back joins its readers, and not what it reads.
  bool isReadMore = !hasOneReader(producer->getResult(0)) ||
                    (isLayout(consumer) &&
                     llvm::any_of(consumer->getResults(), [](Value result) {
                       return !hasOneReader(result);
                     }));
  if ((keepNarrow || isReadMore) && isNarrowing(producer))
    return false;
  return (isOnlyUse || isLayout(producer) || isMask(producer) ||
          isAbsorbed(producer, keepNarrow) ||
          (value == producer.getResult(0) && completes(producer, consumer))) &&
         isMemoryEffectFree(producer);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// Whether `op` reads the index of a loop that is split where the groups of
/// dimensions of a tensor with this map become several each.
static bool readsSplitIndex(linalg::GenericOp op, AffineMap map,
                            ArrayRef<ReassociationIndices> groups) {
  llvm::SmallBitVector isRead(op.getNumLoops());
  for (auto index : op.getBody()->getOps<linalg::IndexOp>())
    isRead.set(index.getDim());
  for (auto [result, group] : llvm::zip_equal(map.getResults(), groups)) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (group.size() > 1 && isRead.any() &&
        (!dim || isRead.test(dim.getPosition())))
      return true;
  }
  return false;
}

/// The reshape between a producer and a consumer that would fuse without it.
static bool shouldMoveReshape(OpOperand *operand, bool keepNarrow) {
  // The operand of a consumer that reads a collapse, or of an expand.
  Operation *reshape = isa<linalg::GenericOp>(operand->getOwner())
                           ? operand->get().getDefiningOp()
                           : operand->getOwner();
  if (!isa_and_present<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          reshape) ||
      !reshape->hasOneUse())
    return false;
  auto producer = reshape->getOperand(0).getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(*reshape->user_begin());
  if (!producer || !consumer || !producer->hasOneUse())
    return false;
  // Computations of an index would have to be split or joined as well.
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(reshape);
  if (collapse
          ? readsSplitIndex(
                consumer,
                consumer.getMatchingIndexingMap(&*reshape->use_begin()),
                collapse.getReassociationIndices())
          : readsSplitIndex(
                producer,
                producer.getIndexingMapMatchingResult(
                    cast<OpResult>(reshape->getOperand(0))),
                cast<tensor::ExpandShapeOp>(reshape).getReassociationIndices()))
    return false;
  return shouldFuse(producer, reshape->getResult(0), consumer, keepNarrow);
}

/// Moves reshapes out from between operations that fuse without them. Loops
/// are only ever split, so this ends.
static bool moveReshapes(func::FuncOp function, bool keepNarrow) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(
      patterns, [keepNarrow](OpOperand *operand) {
        return shouldMoveReshape(operand, keepNarrow);
      });
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     function.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       function.getContext());
  linalg::FillOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  // Most operations are not beside a reshape. The last of these is taken first.
  SetVector<Operation *> ops;
  function.walk([&](Operation *op) {
    if (!isViewOp(op))
      return;
    if (Operation *producer = op->getOperand(0).getDefiningOp())
      ops.insert(producer);
    ops.insert(op);
    ops.insert_range(op->getUsers());
  });
  SmallVector<Operation *> reversed(llvm::reverse(ops));
  bool changed = false;
  BackwardMarkListener marks;
  (void)applyOpPatternsGreedily(reversed, std::move(patterns),
                                GreedyRewriteConfig().setListener(&marks),
                                &changed);
  return changed;
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {
class Fuser {
public:
  Fuser(func::FuncOp function, bool keepNarrow)
      : function(function), keepNarrow(keepNarrow),
        rewriter(function.getContext()) {}

  /// Fuses what can be; returns how many producers were.
  unsigned run();

private:
  linalg::GenericOp fuseOne(linalg::GenericOp consumer);

  func::FuncOp function;
  bool keepNarrow;
  IRRewriter rewriter;
};
} // namespace

/// What the producer's indices are for the consumer, upstream gives as maps:
/// makes arithmetic of these, which bodies may hold.
static void expandIndices(RewriterBase &rewriter, linalg::GenericOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  for (auto apply : llvm::make_early_inc_range(
           op.getBody()->getOps<affine::AffineApplyOp>())) {
    rewriter.setInsertionPoint(apply);
    AffineMap map = apply.getAffineMap();
    ValueRange operands = apply.getMapOperands();
    rewriter.replaceOp(apply, affine::expandAffineExpr(
                                  rewriter, apply.getLoc(), map.getResult(0),
                                  operands.take_front(map.getNumDims()),
                                  operands.drop_front(map.getNumDims())));
  }
}

/// Fuses one producer into `consumer` and returns the result; null if there is
/// none to fuse.
linalg::GenericOp Fuser::fuseOne(linalg::GenericOp consumer) {
  for (unsigned i = 0, e = consumer.getInputs().size(); i < e; ++i) {
    OpOperand *operand = &consumer->getOpOperand(i);
    Value read = operand->get();
    TagOp tag = getOnlyRegionTag(read);
    auto producer =
        (tag ? tag.getInput() : read).getDefiningOp<linalg::GenericOp>();
    if (!producer || !shouldFuse(producer, read, consumer, keepNarrow))
      continue;
    if (tag)
      operand->set(tag.getInput());
    if (!linalg::areElementwiseOpsFusable(operand)) {
      operand->set(read);
      continue;
    }
    if (tag)
      rewriter.eraseOp(tag);
    // Fusion keeps a result that others use; a copy of the producer has none.
    if (!producer->hasOneUse()) {
      rewriter.setInsertionPointAfter(producer);
      auto copy = cast<linalg::GenericOp>(rewriter.clone(*producer));
      operand->set(copy.getResult(0));
      producer = copy;
    }
    rewriter.setInsertionPoint(consumer);
    FailureOr<linalg::ElementwiseOpFusionResult> fusion =
        linalg::fuseElementwiseOps(rewriter, operand);
    if (failed(fusion))
      continue;
    SmallVector<Value> results;
    for (Value result : consumer.getResults())
      results.push_back(fusion->replacements.lookup(result));
    auto fused = cast<linalg::GenericOp>(fusion->fusedOp);
    expandIndices(rewriter, fused);
    fused->setLoc(consumer.getLoc());
    fused->setDiscardableAttrs(consumer->getDiscardableAttrDictionary());
    rewriter.replaceOp(consumer, results);
    rewriter.eraseOp(producer);
    return fused;
  }
  return {};
}

unsigned Fuser::run() {
  SmallVector<linalg::GenericOp> consumers =
      collectOps<linalg::GenericOp>(function);
  unsigned numFused = 0;
  for (linalg::GenericOp consumer : consumers) {
    consumer = simplifyGeneric(rewriter, consumer);
    while (consumer) {
      linalg::GenericOp fused = fuseOne(consumer);
      if (!fused)
        break;
      ++numFused;
      consumer = simplifyGeneric(rewriter, fused);
    }
  }
  return numFused;
}

//===----------------------------------------------------------------------===//
// Sums of sums
//===----------------------------------------------------------------------===//

/// Whether `op` adds two tensors of its result's shape.
static bool isAddition(linalg::GenericOp op) {
  return isSum(op) && !op.hasDynamicShape() && op.getNumDpsInputs() == 2 &&
         op->getNumResults() == 1 && getBodySize(op) == 1 &&
         !op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) &&
         llvm::all_of(op.getIndexingMapsArray(),
                      [](AffineMap map) { return map.isIdentity(); });
}

/// The sum along some dimensions of one tensor that makes `value` and that
/// nothing else uses, or null.
static linalg::GenericOp matchReducedSum(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || !op->hasOneUse() || op.getNumReductionLoops() == 0 ||
      op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      getBodySize(op) != 1 || !isZeroTensor(op.getDpsInits()[0]))
    return {};
  auto add = dyn_cast<arith::AddFOp>(op.getBody()->front());
  Value in = op.getBody()->getArgument(0), out = op.getBody()->getArgument(1);
  return add && ((add.getLhs() == in && add.getRhs() == out) ||
                 (add.getLhs() == out && add.getRhs() == in))
             ? op
             : linalg::GenericOp();
}

/// The addition of `lhs` and `rhs`, if there is one in `block`.
static linalg::GenericOp findAddition(Value lhs, Value rhs, Block *block) {
  for (Operation *user : lhs.getUsers()) {
    auto op = dyn_cast<linalg::GenericOp>(user);
    if (op && op->getBlock() == block && isAddition(op) &&
        llvm::is_contained(op.getDpsInputs(), lhs) &&
        llvm::is_contained(op.getDpsInputs(), rhs))
      return op;
  }
  return {};
}

/// Sums two tensors up together whose sum is made anyway: a bias that is read
/// twice has as its gradient what both readers' gradients sum up to, and what
/// it was added to their sum. Then only that has to be in memory.
static void joinReducedSums(func::FuncOp function) {
  IRRewriter rewriter(function.getContext());
  SmallVector<linalg::GenericOp> sums;
  function.walk([&](linalg::GenericOp op) {
    if (isAddition(op))
      sums.push_back(op);
  });
  for (linalg::GenericOp sum : sums) {
    linalg::GenericOp lhs = matchReducedSum(sum.getDpsInputs()[0]);
    linalg::GenericOp rhs = matchReducedSum(sum.getDpsInputs()[1]);
    if (!lhs || !rhs || lhs == rhs ||
        lhs.getIndexingMaps() != rhs.getIndexingMaps() ||
        lhs.getIteratorTypes() != rhs.getIteratorTypes() ||
        lhs->getBlock() != sum->getBlock() ||
        rhs->getBlock() != sum->getBlock())
      continue;
    Value a = lhs.getDpsInputs()[0], b = rhs.getDpsInputs()[0];
    linalg::GenericOp whole =
        a == b ? linalg::GenericOp() : findAddition(a, b, sum->getBlock());
    if (!whole || getBackwardLevel(whole) != getBackwardLevel(sum))
      continue;
    // What it reads is made before `sum`; only its place may have to be new.
    if (sum->isBeforeInBlock(whole)) {
      rewriter.setInsertionPoint(sum);
      auto type = cast<RankedTensorType>(whole.getResult(0).getType());
      Value place = tensor::EmptyOp::create(
          rewriter, whole.getLoc(), type.getShape(), type.getElementType());
      copyBackward(whole, place.getDefiningOp());
      whole.getDpsInitsMutable()[0].assign(place);
      whole->moveBefore(sum);
    }
    rewriter.setInsertionPoint(sum);
    auto joined = cast<linalg::GenericOp>(rewriter.clone(*lhs));
    joined->setLoc(sum.getLoc());
    setBackwardLevel(joined, getBackwardLevel(sum));
    joined.getDpsInputOperand(0)->set(whole.getResult(0));
    rewriter.replaceOp(sum, joined.getResults());
  }
}

/// Erases operations that nothing uses, users before what they use.
static void eraseDead(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

unsigned remat::fuseElementwise(func::FuncOp function, bool keepNarrow) {
  unsigned numFused = 0;
  normalizeBackward(function);
  // Uses by dead operations must not count.
  eraseDead(function);
  joinReducedSums(function);
  eraseDead(function);
  for (unsigned round = 0; round < FusionTuning::maxRounds; ++round) {
    numFused += Fuser(function, keepNarrow).run();
    eraseDead(function);
    if (!moveReshapes(function, keepNarrow))
      break;
  }
  eraseDead(function);
  return numFused;
}

namespace {
struct FuseElementwise
    : public remat::impl::FuseElementwisePassBase<FuseElementwise> {
  using FuseElementwisePassBase::FuseElementwisePassBase;

  void runOnOperation() override {
    numFused += fuseElementwise(getOperation(), keepNarrow);
  }
};
} // namespace
