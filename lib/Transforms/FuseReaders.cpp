//===- FuseReaders.cpp - elementwise operations that share a value --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is left between elementwise operations when fusion has ended takes time
// to make again: the error function of a GELU, of which the backward
// computation makes both the activation and its gradient. One operation that
// has all of its readers' results makes it once, and nobody keeps it.
//
// The readers' results are then there at the same time. That needs no more
// memory if what moves is no larger than the shared value and than what the
// readers are the last to use. Under a small budget it may, if the shared value
// would be made twice then, so that the form with large ones is an alternative.
//
//===----------------------------------------------------------------------===//

#include "Alternatives.h"
#include "MergeGenerics.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/EntryFunction.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

namespace remat {
#define GEN_PASS_DEF_FUSEREADERSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` makes tensors element by element from nothing but its operands,
/// and nobody has asked anything of these tensors.
static bool isPureElementwise(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.getNumParallelLoops() != op.getNumLoops() || op.hasIndexSemantics() ||
      !isMemoryEffectFree(op) || op->hasAttr(RematDialect::policyAttrName))
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isPermutation() ||
        !init.get().getDefiningOp<tensor::EmptyOp>())
      return false;
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return llvm::none_of(
             captured,
             [](Value value) { return isa<TensorType>(value.getType()); }) &&
         llvm::all_of(op->getResults(), [](Value result) {
           return isBufferType(result.getType()) && !isTagged(result);
         });
}

static int64_t getBytes(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isBufferType(type) ? getBufferBytes(type) : 0;
}

namespace {
/// An operation, what reads it, and where one operation in their place stands.
struct Readers {
  linalg::GenericOp producer;
  /// In program order.
  SmallVector<linalg::GenericOp> readers;
  Operation *place = nullptr;
  /// What has to stand before that.
  SetVector<Operation *> moved;

  /// Whether all of what reads `producer` can be one operation with it.
  bool match();
  /// The bytes of all results of the readers.
  int64_t countBytes() const;

private:
  bool isRead(linalg::GenericOp reader) const;
  bool findEarlier(Value value);
  bool isOverAt(Operation *first, Value value);
  bool canStandAtFirst();
  bool canStandAtLast() const;
};
} // namespace

/// Whether `reader` reads the producer point by point in the same loops.
bool Readers::isRead(linalg::GenericOp reader) const {
  linalg::GenericOp op = producer;
  AffineMap written = op.getIndexingMapsArray().back();
  return isPureElementwise(reader) &&
         getBackwardLevel(reader) == getBackwardLevel(op) &&
         getLoopSizes(reader) == getLoopSizes(op) &&
         llvm::all_of(reader->getOpOperands(), [&](OpOperand &operand) {
           return operand.get() != op.getResult(0) ||
                  (reader.isDpsInput(&operand) &&
                   reader.getMatchingIndexingMap(&operand) == written);
         });
}

/// Whether nothing but the readers uses `value`, or a view of it, from `first`
/// on. Arguments are there in any case.
bool Readers::isOverAt(Operation *first, Value value) {
  if (!value.getDefiningOp())
    return false;
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isViewOp(user))
      return isOverAt(first, user->getResult(0));
    Operation *ancestor = first->getBlock()->findAncestorOpInBlock(*user);
    return user == producer.getOperation() ||
           llvm::is_contained(readers, user) ||
           (ancestor && ancestor->isBeforeInBlock(first));
  });
}

/// Finds what has to move before the first reader so that `value` is there:
/// views, and the contraction that makes the gradient of an activation.
bool Readers::findEarlier(Value value) {
  Operation *first = readers.front();
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Operation *source = worklist.pop_back_val().getDefiningOp();
    if (!source || source->getBlock() != first->getBlock() ||
        source->isBeforeInBlock(first) || moved.contains(source))
      continue;
    if (llvm::is_contained(readers, source) || source->getNumRegions() > 1 ||
        moved.size() == SiblingTuning::maxMoved ||
        !isMemoryEffectFree(source) ||
        source->hasAttr(RematDialect::policyAttrName) ||
        getBackwardLevel(source) != getBackwardLevel(producer) ||
        llvm::any_of(source->getResults(),
                     [](Value result) { return isTagged(result); }))
      return false;
    moved.insert(source);
    llvm::append_range(worklist, getReadValues(source));
  }
  return true;
}

/// Whether all that later readers read can be there where the first one stands,
/// and what is made earlier is no more than what is over earlier.
bool Readers::canStandAtFirst() {
  Operation *first = readers.front();
  int64_t made = 0, freed = getBytes(producer.getResult(0));
  DenseSet<Value> counted;
  for (linalg::GenericOp reader : readers)
    for (Value read : reader.getDpsInputs()) {
      if (read == producer.getResult(0))
        continue;
      if (!findEarlier(read))
        return false;
      Value root = getViewRoot(read);
      if (isOverAt(first, root) && counted.insert(root).second)
        freed += getBytes(root);
    }
  for (linalg::GenericOp reader : ArrayRef(readers).drop_front())
    for (Value result : reader->getResults())
      made += getBytes(result);
  for (Operation *op : moved)
    if (!isViewOp(op))
      for (Value result : op->getResults())
        made += getBytes(result);
  return made <= freed;
}

/// Whether nothing needs the results of earlier readers before the last one,
/// and all that they read beside the producer is kept until then anyway.
bool Readers::canStandAtLast() const {
  linalg::GenericOp last = readers.back();
  auto isAtLeastLast = [&](Operation *user) {
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    return ancestor && !ancestor->isBeforeInBlock(last);
  };
  int64_t points = getNumPoints(producer);
  for (linalg::GenericOp reader : ArrayRef(readers).drop_back()) {
    for (Operation *user : reader->getUsers())
      if (user == last.getOperation() || !isAtLeastLast(user))
        return false;
    for (Value read : reader.getDpsInputs())
      if (read != producer->getResult(0) && !isSmall(read, points) &&
          llvm::none_of(read.getUsers(), isAtLeastLast))
        return false;
  }
  return true;
}

int64_t Readers::countBytes() const {
  int64_t bytes = 0;
  for (linalg::GenericOp reader : readers)
    for (Value result : reader->getResults())
      bytes = addCounts(bytes, getBytes(result));
  return bytes;
}

bool Readers::match() {
  if (producer->getNumResults() != 1 || !isPureElementwise(producer))
    return false;
  SetVector<Operation *> users;
  for (Operation *user : producer->getUsers()) {
    auto reader = dyn_cast<linalg::GenericOp>(user);
    if (!reader || reader->getBlock() != producer->getBlock() ||
        users.size() > FusionTuning::maxComputingUsers)
      return false;
    users.insert(user);
  }
  if (users.size() < 2 || users.size() > FusionTuning::maxComputingUsers)
    return false;
  int64_t size = getBodySize(producer);
  for (Operation *user : users) {
    auto reader = cast<linalg::GenericOp>(user);
    if (!isRead(reader))
      return false;
    size += getBodySize(reader);
    readers.push_back(reader);
  }
  if (size > FusionTuning::maxBodySize)
    return false;
  llvm::sort(readers, [](linalg::GenericOp a, linalg::GenericOp b) {
    return a->isBeforeInBlock(b);
  });
  if (canStandAtFirst()) {
    place = readers.front();
  } else if (canStandAtLast()) {
    place = readers.back();
    moved.clear();
  }
  return place;
}

/// Makes one operation of all.
static void fuse(IRRewriter &rewriter, Readers &match) {
  SmallVector<Operation *> inOrder = match.moved.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *source : inOrder)
    source->moveBefore(match.place);
  // Places of results may have to be new.
  rewriter.setInsertionPoint(match.place);
  for (linalg::GenericOp reader : match.readers)
    for (OpOperand &init : reader.getDpsInitsMutable()) {
      auto type = cast<RankedTensorType>(init.get().getType());
      Value empty = tensor::EmptyOp::create(
          rewriter, reader.getLoc(), type.getShape(), type.getElementType());
      copyBackward(reader, empty.getDefiningOp());
      init.set(empty);
    }
  SmallVector<linalg::GenericOp> ops = {match.producer};
  llvm::append_range(ops, match.readers);
  Location loc = match.readers.front().getLoc();
  linalg::GenericOp merged = mergeGenerics(rewriter, ops);
  merged->setLoc(loc);
  merged = simplifyGeneric(rewriter, merged);
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, merged);
}

/// The bytes of the largest tensor that an operation of `function` makes.
static int64_t getLargestBytes(func::FuncOp function) {
  int64_t largest = 0;
  function.walk([&](Operation *op) {
    if (!isa<tensor::EmptyOp>(op))
      for (Value result : op->getResults())
        largest = std::max(largest, getBytes(result));
  });
  return largest;
}

namespace {
struct FuseReaders : public remat::impl::FuseReadersPassBase<FuseReaders> {
  using FuseReadersPassBase::FuseReadersPassBase;

  void runOnOperation() override {
    SmallVector<func::FuncOp> functions(getOperation().getOps<func::FuncOp>());
    llvm::erase_if(functions, [](func::FuncOp function) {
      // Where a library makes what reads a contraction, one reader may be that.
      return getTargetFacts(function).getEpilogues();
    });
    auto entry = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (alternative && entry && llvm::is_contained(functions, entry))
      addAlternative(entry);
    for (func::FuncOp each : functions)
      fuseIn(each, /*large=*/!alternative);
  }

private:
  unsigned fuseIn(func::FuncOp function, bool large);
  void addAlternative(func::FuncOp entry);
};
} // namespace

/// Fuses the readers of small values, and those of large ones with `large`.
/// Returns the number of the latter.
unsigned FuseReaders::fuseIn(func::FuncOp function, bool large) {
  normalizeBackward(function);
  int64_t most = getLargestBytes(function) / ReaderTuning::littleShare;
  IRRewriter rewriter(&getContext());
  SmallVector<linalg::GenericOp> ops;
  for (Block &block : function.getBody())
    llvm::append_range(ops, block.getOps<linalg::GenericOp>());
  unsigned numLarge = 0;
  // From the last to the first, so that none is one that is gone: readers of a
  // value are later.
  for (linalg::GenericOp op : llvm::reverse(ops)) {
    Readers match;
    match.producer = op;
    if (op->use_empty() || !match.match())
      continue;
    bool isLarge = match.countBytes() > most;
    if (isLarge && !large)
      continue;
    fuse(rewriter, match);
    ++numFused;
    numLarge += isLarge;
  }
  return numLarge;
}

/// Adds an alternative in which the readers of large values are fused, if there
/// are any, behind the others.
void FuseReaders::addAlternative(func::FuncOp entry) {
  SmallVector<func::FuncOp> copies = cloneWithBodies(entry, "_fused");
  unsigned numLarge = 0;
  for (func::FuncOp copy : copies)
    numLarge += fuseIn(copy, /*large=*/true);
  if (numLarge == 0) {
    for (func::FuncOp copy : copies)
      copy.erase();
    return;
  }
  copies.front()->setAttr(fusedReadersAttrName, UnitAttr::get(&getContext()));
  FunctionOpInterface last = entry;
  for (FunctionOpInterface other : findAlternatives(entry))
    last = other;
  last->setAttr(RematDialect::alternativeAttrName,
                FlatSymbolRefAttr::get(copies.front()));
}
