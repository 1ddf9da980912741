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

#include "Utils.h"

#include "remat/Dialect/Remat/IR/LoopSizes.h"

#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/Iterators.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Bodies larger than this take nothing more in: the time to compile a body
/// grows faster than its size.
static constexpr int64_t maxBodySize = 256;

/// An operation without inputs of at most this size, as a causal mask is, is
/// computed anew by each of its users.
static constexpr int64_t maxMaskSize = 16;

/// The gradient of what is used many times is a sum of as many terms. One sum
/// would hold all of them; parts are added to, in place, as the terms are made.
static constexpr int64_t maxTerms = 4;

/// Moving reshapes out of the way and fusing alternate at most this often.
static constexpr unsigned maxRounds = 4;

//===----------------------------------------------------------------------===//
// What is fused
//===----------------------------------------------------------------------===//

static int64_t getBodySize(linalg::GenericOp op) {
  return llvm::range_size(op.getBody()->without_terminator());
}

static bool isCast(Operation &op) {
  return isa<CastOpInterface>(op) && isa<arith::ArithDialect>(op.getDialect());
}

/// Whether `op` only moves data and casts it.
static bool isLayout(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), isCast);
}

/// Whether `op` makes numbers from nothing but indices, cheaply.
static bool isMask(linalg::GenericOp op) {
  return op.getInputs().empty() && getBodySize(op) <= maxMaskSize &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<linalg::IndexOp>(inner) ||
                  isa<arith::ArithDialect>(inner.getDialect());
         });
}

/// An operation of at most this size that reads one large tensor is computed
/// anew by all of its users, who then read that tensor instead of its result.
static constexpr int64_t maxCheapSize = 4;

static int64_t getNumPoints(linalg::GenericOp op) {
  int64_t points = 1;
  for (int64_t size : getLoopSizes(op))
    points *= size;
  return points;
}

/// Whether all users of `op` can do without its result at no cost in memory
/// traffic: centering in a normalization, for instance.
static bool isAbsorbed(linalg::GenericOp op) {
  if (getBodySize(op) > maxCheapSize || op.getNumReductionLoops() != 0 ||
      op.hasIndexSemantics() ||
      !llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
        return isCast(inner) ||
               isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp,
                   arith::MaximumFOp, arith::CmpFOp, arith::SelectOp>(inner);
      }))
    return false;
  int64_t points = getNumPoints(op), numLarge = 0;
  for (Value input : op.getInputs()) {
    auto type = dyn_cast<RankedTensorType>(input.getType());
    if (type && type.getNumElements() * 8 > points)
      ++numLarge;
  }
  return numLarge <= 1 && llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto generic = dyn_cast<linalg::GenericOp>(user);
           return generic && generic->getBlock() == op->getBlock() &&
                  getBodySize(op) + getBodySize(generic) <= maxBodySize &&
                  getNumPoints(generic) <= points &&
                  (import::isBackwardLoc(generic.getLoc()) ||
                   !import::isBackwardLoc(op.getLoc())) &&
                  llvm::none_of(generic.getOutputs(), [&](Value init) {
                    return init == op.getResult(0);
                  });
         });
}

/// Whether `op` adds up tensors and does nothing else.
static bool isSum(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::AddFOp>(inner);
         });
}

/// Whether fusing two sums makes one that needs too many tensors at once.
static bool isLongSum(linalg::GenericOp producer, linalg::GenericOp consumer) {
  return isSum(producer) && isSum(consumer) &&
         producer.getNumDpsInputs() + consumer.getNumDpsInputs() - 1 > maxTerms;
}

/// Whether `producer` may be fused into `consumer`, which uses it by way of
/// `value`: its result, or a reshape of it.
static bool shouldFuse(linalg::GenericOp producer, Value value,
                       linalg::GenericOp consumer) {
  if (producer->getBlock() != consumer->getBlock() ||
      producer->getNumResults() != 1 ||
      producer.getNumParallelLoops() != producer.getNumLoops() ||
      !producer.hasPureTensorSemantics() || !consumer.hasPureTensorSemantics())
    return false;
  if (import::isBackwardLoc(producer.getLoc()) &&
      !import::isBackwardLoc(consumer.getLoc()))
    return false;
  for (BlockArgument init : producer.getBody()->getArguments().drop_front(
           producer.getInputs().size()))
    if (!init.use_empty())
      return false;
  if (getBodySize(producer) + getBodySize(consumer) > maxBodySize)
    return false;
  bool isOnlyUse = producer->hasOneUse() && value.hasOneUse() &&
                   getNumPoints(producer) >= getNumPoints(consumer) &&
                   !isLongSum(producer, consumer);
  return (isOnlyUse || isLayout(producer) || isMask(producer) ||
          isAbsorbed(producer)) &&
         isMemoryEffectFree(producer);
}

//===----------------------------------------------------------------------===//
// Reshapes
//===----------------------------------------------------------------------===//

/// The reshape between a producer and a consumer that would fuse without it.
static bool shouldMoveReshape(OpOperand *operand) {
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
  // Index computations would have to be split or joined as well.
  if (!producer || !consumer || !producer->hasOneUse() ||
      producer.hasIndexSemantics() || consumer.hasIndexSemantics())
    return false;
  return shouldFuse(producer, reshape->getResult(0), consumer);
}

/// Moves reshapes out from between operations that fuse without them. Loops
/// are only ever split, so this ends.
static bool moveReshapes(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  linalg::populateFoldReshapeOpsByExpansionPatterns(patterns,
                                                    shouldMoveReshape);
  tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                     function.getContext());
  tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                       function.getContext());
  linalg::FillOp::getCanonicalizationPatterns(patterns, function.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  bool changed = false;
  (void)applyPatternsGreedily(
      function, std::move(patterns),
      GreedyRewriteConfig()
          .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled)
          .setMaxIterations(1),
      &changed);
  return changed;
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

namespace {
class Fuser {
public:
  explicit Fuser(func::FuncOp function)
      : function(function), rewriter(function.getContext()) {}

  /// Fuses what can be; returns how many producers were.
  unsigned run();

private:
  linalg::GenericOp fuseOne(linalg::GenericOp consumer);

  func::FuncOp function;
  IRRewriter rewriter;
};
} // namespace

/// Fuses one producer into `consumer` and returns the result; null if there is
/// none to fuse.
linalg::GenericOp Fuser::fuseOne(linalg::GenericOp consumer) {
  for (unsigned i = 0, e = consumer.getInputs().size(); i < e; ++i) {
    OpOperand *operand = &consumer->getOpOperand(i);
    auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
    if (!producer || !shouldFuse(producer, operand->get(), consumer) ||
        !linalg::areElementwiseOpsFusable(operand))
      continue;
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
    fused->setLoc(consumer.getLoc());
    rewriter.replaceOp(consumer, results);
    rewriter.eraseOp(producer);
    return fused;
  }
  return {};
}

unsigned Fuser::run() {
  SmallVector<linalg::GenericOp> consumers;
  function.walk([&](linalg::GenericOp op) { consumers.push_back(op); });
  unsigned numFused = 0;
  for (linalg::GenericOp consumer : consumers) {
    consumer = import::simplifyGeneric(rewriter, consumer);
    while (consumer) {
      linalg::GenericOp fused = fuseOne(consumer);
      if (!fused)
        break;
      ++numFused;
      consumer = import::simplifyGeneric(rewriter, fused);
    }
  }
  return numFused;
}

/// Erases operations that nothing uses, users before what they use.
static void eraseDead(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
}

namespace {
struct FuseElementwise
    : public remat::impl::FuseElementwisePassBase<FuseElementwise> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    import::backwardToLocations(function);
    // Uses by dead operations must not count.
    eraseDead(function);
    for (unsigned round = 0; round < maxRounds; ++round) {
      unsigned fused = Fuser(function).run();
      numFused += fused;
      eraseDead(function);
      if (!moveReshapes(function))
        break;
    }
    eraseDead(function);
    import::backwardToAttributes(function);
  }
};
} // namespace
