//===- CheapRecomputation.cpp - what is not worth keeping -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before any budget binds, and before the planner is asked: a forward value
// that is elementwise in others which the backward computation has anyway is
// made again where it is needed. It then fuses into what reads it, or costs one
// pass over memory, which is little beside the contraction that reads it. So
// are short contractions that are larger than their factors: attention's
// scores, and the first convolution of a network.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/CheapRecomputation.h"

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Interfaces/RecomputableOpInterface.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Rows.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;

/// Bytes that keeping `value` takes: none if it is there anyway.
static int64_t getKeptBytes(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || op->hasTrait<OpTrait::ConstantLike>() ||
      isa<tensor::EmptyOp, linalg::FillOp>(op) ||
      !isBufferType(value.getType()))
    return 0;
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}

/// Whether `op` makes scores by short sums.
static bool makesCheapScores(Operation *op) {
  auto contraction = dyn_cast<linalg::ContractOp>(op);
  if (!contraction || !isContractionBody(*contraction.getBlock()))
    return false;
  int64_t length = 1;
  for (auto [size, type] : llvm::zip(contraction.getStaticLoopRanges(),
                                     contraction.getIteratorTypesArray()))
    if (type == utils::IteratorType::reduction)
      length *= size;
  return length <= RecomputeTuning::maxShortSum && makesScores(contraction);
}

/// Whether `op` is a convolution of arguments, which are there anyway, whose
/// result is larger than they are, and its sums short: the first of a network.
static bool isStem(Operation *op) {
  auto conv = dyn_cast<ConvOp>(op);
  if (!conv || conv.getKind() != ConvKind::Forward ||
      getKeptBytes(getRoot(conv.getLhs())) != 0 ||
      getKeptBytes(getRoot(conv.getRhs())) != 0)
    return false;
  int64_t filter = conv.getFilterType().getNumElements();
  int64_t features =
      conv.getFilterType().getDimSize(conv.getFilterLayout().front());
  return conv.getOutputType().getNumElements() >=
             conv.getInputType().getNumElements() + filter &&
         filter <= RecomputeTuning::maxShortSum * features;
}

/// Whether the result of `op` is its operand: in another shape, or with a tag
/// that a region around a derivative hides it, which making it again agrees
/// with. What other regions hide is for the plan to repeat.
static bool passesOn(Operation *op) {
  auto tag = dyn_cast<TagOp>(op);
  return tag ? isOnlyOfRegion(tag) && getTagLevel(tag) > 1 : isAlias(op);
}

/// What `value` is, seen through these.
static Value getMade(Value value) {
  while (value.getDefiningOp() && passesOn(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

/// Whether somebody asks more of `value` than that it is made again, or that
/// nothing else takes its place.
static bool isAskedFor(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) {
    return passesOn(user) ? isAskedFor(user->getResult(0))
                          : isa<TagOp, DemandOp>(user);
  });
}

/// Whether `op` makes one tensor from others, element by element or nearly so.
/// What a region yields is not made of what the region hides: all of it would
/// have to run again for that.
static bool isCheapToRecompute(Operation *op, bool withStems) {
  if (op->getNumResults() != 1 || !isBufferType(op->getResult(0).getType()) ||
      op->hasAttr(RematDialect::policyAttrName) ||
      isAskedFor(op->getResult(0)) ||
      (readsHidden(op, /*level=*/0) && !isTagged(op->getResult(0))))
    return false;
  if (makesCheapScores(op) || (withStems && isStem(op)))
    return true;
  if (isa<RecomputableOpInterface>(op))
    return getRecomputability(op) == Recomputability::Cheap &&
           isMemoryEffectFree(op);
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic)
    return isa<tensor::ConcatOp, tensor::ExtractSliceOp, tensor::InsertSliceOp,
               tensor::PadOp>(op);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  bool callsFunctions = generic.getBody()
                            ->walk([](Operation *inner) {
                              return isCalledFunction(inner)
                                         ? WalkResult::interrupt()
                                         : WalkResult::advance();
                            })
                            .wasInterrupted();
  return !callsFunctions && generic.hasPureTensorSemantics() &&
         isMemoryEffectFree(op) && generic.getNumReductionLoops() == 0 &&
         llvm::none_of(captured, [](Value value) {
           return isa<TensorType>(value.getType());
         });
}

/// Whether `op` only rounds or widens, which what reads it does on the way.
static bool isCast(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumDpsInputs() == 1 &&
         llvm::all_of(generic.getBody()->without_terminator(),
                      llvm::IsaPred<arith::ExtFOp, arith::TruncFOp>);
}

namespace {
class CheapRecomputation {
public:
  CheapRecomputation(Block &body, unsigned maxDepth, bool withStems)
      : body(body), maxDepth(maxDepth), withStems(withStems),
        builder(body.getParentOp()) {}

  /// Bytes of forward values that the backward computation reads.
  int64_t countReadBytes();

  unsigned run() {
    findScores();
    choose();
    limitDepth();
    apply();
    return numCloned;
  }

private:
  bool isCheap(Operation *op) const {
    return isCheapToRecompute(op, withStems);
  }
  DenseSet<Value> collectNeeded();
  void findScores();
  /// How long a chain that ends with `op` may be. Scores of attention are one
  /// kernel with what reads them: what masks, scales and drops them is one
  /// chain, and nowhere in memory.
  unsigned getMaxDepth(Operation *op) const {
    return scores.contains(op) ? RecomputeTuning::scoreChains * maxDepth
                               : maxDepth;
  }
  void choose();
  int64_t countAdded(Operation *op, const DenseSet<Value> &needed,
                     unsigned depth);
  void limitDepth();
  void apply();
  Value materialize(Value value, unsigned level);

  Block &body;
  unsigned maxDepth;
  bool withStems;
  OpBuilder builder;
  DenseSet<Operation *> chosen;
  /// Batches of contractions that are larger than their factors, and what is
  /// made of them element by element.
  DenseSet<Operation *> scores;
  /// What stands for a forward value in the backward computation of a level:
  /// what an inner derivative makes is not kept for an outer one.
  DenseMap<std::pair<Value, unsigned>, Value> replacements;
  unsigned numCloned = 0;
};
} // namespace

/// Bytes that have to be kept, beside what is needed anyway, to make the result
/// of `op` again.
int64_t CheapRecomputation::countAdded(Operation *op,
                                       const DenseSet<Value> &needed,
                                       unsigned depth) {
  SetVector<Value> roots;
  for (Value value : getReadValues(op))
    roots.insert(getMade(value));
  int64_t added = 0;
  for (Value root : roots) {
    if (needed.contains(root))
      continue;
    int64_t bytes = getKeptBytes(root);
    Operation *producer = root.getDefiningOp();
    if (bytes != 0 && !isBackward(producer) && isCheap(producer)) {
      bool isFree = isCast(producer);
      if (isFree || depth > 1)
        bytes = std::min(
            bytes, countAdded(producer, needed, isFree ? depth : depth - 1));
    }
    added += bytes;
  }
  return added;
}

void CheapRecomputation::findScores() {
  for (Operation &op : body) {
    if (isBackward(&op) || !isCheap(&op))
      continue;
    auto getElements = [](Value value) {
      auto type = dyn_cast<RankedTensorType>(value.getType());
      return type ? type.getNumElements() : 0;
    };
    auto isOfScores = [&](Value value) {
      Operation *producer = getMade(value).getDefiningOp();
      return producer && scores.contains(producer) &&
             getElements(value) == getElements(op.getResult(0));
    };
    if (makesCheapScores(&op) || (isa<linalg::GenericOp>(op) &&
                                  llvm::any_of(op.getOperands(), isOfScores)))
      scores.insert(&op);
  }
}

/// What the backward computation reads.
DenseSet<Value> CheapRecomputation::collectNeeded() {
  DenseSet<Value> needed;
  for (Operation &op : body)
    if (isBackward(&op))
      for (Value value : getReadValues(&op))
        needed.insert(getMade(value));
  return needed;
}

int64_t CheapRecomputation::countReadBytes() {
  int64_t bytes = 0;
  for (Value value : collectNeeded())
    if (Operation *op = value.getDefiningOp(); op && !isBackward(op))
      bytes += getKeptBytes(value);
  return bytes;
}

/// Backwards through the program: what the backward computation needs, and of
/// that, what follows from other things it needs.
void CheapRecomputation::choose() {
  DenseSet<Value> needed = collectNeeded();
  for (Operation &op : llvm::reverse(body)) {
    if (isBackward(&op) || !isCheap(&op) || !needed.contains(op.getResult(0)))
      continue;
    int64_t bytes = getKeptBytes(op.getResult(0));
    if (bytes < RecomputeTuning::minBytes)
      continue;
    // What joins tensors fuses into nothing: half of it is too little for a
    // pass over memory.
    int64_t added = countAdded(&op, needed, getMaxDepth(&op));
    if (added > bytes / 2 || (isa<tensor::ConcatOp>(op) && 2 * added == bytes))
      continue;
    chosen.insert(&op);
    for (Value value : getReadValues(&op))
      needed.insert(getMade(value));
  }
}

/// A long chain would have to be made anew from its beginning, and kept, before
/// the first backward operation runs. What is small beside what is made of it
/// does not lengthen a chain: scaled keys beside scores.
void CheapRecomputation::limitDepth() {
  DenseMap<Operation *, unsigned> depths;
  for (Operation &op : body) {
    if (!chosen.contains(&op) || isStem(&op))
      continue;
    unsigned depth = 0;
    int64_t bytes = getKeptBytes(op.getResult(0));
    for (Value value : getReadValues(&op)) {
      Value root = getMade(value);
      if (Operation *producer = root.getDefiningOp();
          producer && getKeptBytes(root) > bytes / RecomputeTuning::smallShare)
        depth = std::max(depth, depths.lookup(producer));
    }
    if (isCast(&op))
      depths[&op] = depth;
    else if (depth == getMaxDepth(&op))
      chosen.erase(&op);
    else
      depths[&op] = depth + 1;
  }
}

/// What a backward operation of `level` at the insertion point reads instead of
/// `value`.
Value CheapRecomputation::materialize(Value value, unsigned level) {
  Operation *op = value.getDefiningOp();
  if (!op || isBackward(op) || op->getBlock() != &body)
    return value;
  if (!passesOn(op) && !chosen.contains(op))
    return value;
  if (Value known = replacements.lookup({value, level}))
    return known;
  IRMapping mapping;
  bool changed = !passesOn(op);
  for (Value operand : getReadValues(op)) {
    Value mine = materialize(operand, level);
    changed |= mine != operand;
    mapping.map(operand, mine);
  }
  Value result = value;
  auto tag = dyn_cast<TagOp>(op);
  if (tag && changed && getTagLevel(tag) <= level) {
    // It is about what the forward computation made.
    result = mapping.lookup(tag.getInput());
  } else if (changed) {
    Operation *clone = builder.clone(*op, mapping);
    if (tag)
      cast<TagOp>(clone).setLevel(getTagLevel(tag));
    setBackwardLevel(clone, level);
    result = clone->getResult(0);
    numCloned += !passesOn(op);
  }
  replacements[{value, level}] = result;
  return result;
}

void CheapRecomputation::apply() {
  for (Operation &op : body) {
    unsigned level = getBackwardLevel(&op);
    if (level == 0)
      continue;
    builder.setInsertionPoint(&op);
    for (Value value : getReadValues(&op)) {
      Value mine = materialize(value, level);
      if (mine != value)
        op.walk(
            [&](Operation *inner) { inner->replaceUsesOfWith(value, mine); });
    }
  }
}

int64_t remat::countReadForwardBytes(Block &body) {
  return CheapRecomputation(body, /*maxDepth=*/0, /*withStems=*/true)
      .countReadBytes();
}

unsigned remat::recomputeCheap(Block &body, unsigned maxDepth, bool withStems) {
  return CheapRecomputation(body, maxDepth, withStems).run();
}
