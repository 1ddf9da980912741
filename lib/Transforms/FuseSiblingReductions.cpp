//===- FuseSiblingReductions.cpp - reductions of the same tensors ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradients of a batch normalization's scale, shift, mean and variance are
// sums over the same tensors. Each would read them; one operation with several
// results reads them once.
//
// A factor that is the same for all terms of a sum is multiplied with it
// afterwards. So a sum need not wait for another by such a factor, and sums
// that differ by it alone are one.
//
// A merged operation stands where the first of its parts did, so that what they
// read is needed no longer than before. Reductions along rows are left alone:
// task formation puts them together with what is around them.
//
//===----------------------------------------------------------------------===//

#include "HoistReductionInvariants.h"
#include "MergeGenerics.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/SimplifyGeneric.h"
#include "remat/Utils/Structured.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

namespace remat {
#define GEN_PASS_DEF_FUSESIBLINGREDUCTIONSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether the results' dimensions lead in an operand that is reduced.
static bool isAlongRows(linalg::GenericOp op) {
  ArrayRef<AffineExpr> result = op.getIndexingMapsArray().back().getResults();
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    ArrayRef<AffineExpr> read = op.getMatchingIndexingMap(input).getResults();
    return read.size() > result.size() &&
           read.take_front(result.size()) == result;
  });
}

/// Whether `op` is used, and each of its results accumulates by one operation.
static bool isMergeable(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() || op->use_empty() ||
      op.getNumReductionLoops() == 0 ||
      op->hasAttr(RematDialect::policyAttrName) || isAlongRows(op) ||
      getNumPoints(op) == 0)
    return false;
  for (unsigned i = 0, e = op->getNumResults(); i < e; ++i) {
    SmallVector<Operation *> combiners;
    if (!matchReduction(op.getRegionOutputArgs(), i, combiners) ||
        combiners.size() != 1)
      return false;
  }
  return true;
}

/// Adds what `op` reads: operands, then what its regions read from outside.
static void appendOperands(Operation *op, SmallVector<Value> &values) {
  llvm::append_range(values, op->getOperands());
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  llvm::append_range(values, captured);
}

namespace {
class Merger {
public:
  explicit Merger(func::FuncOp function) : rewriter(function.getContext()) {}

  /// Merges later operations into `op` as long as there are any, and returns
  /// what it has become.
  linalg::GenericOp mergeInto(linalg::GenericOp op);
  unsigned numMerged = 0;

private:
  SmallVector<linalg::GenericOp> findNext(linalg::GenericOp op);
  linalg::GenericOp findPartner(linalg::GenericOp op);
  bool mayMerge(linalg::GenericOp op, linalg::GenericOp other);
  bool findEarlier(linalg::GenericOp op, Value value,
                   SetVector<Operation *> &moved);
  bool canStandAt(linalg::GenericOp op, linalg::GenericOp other,
                  std::optional<SumSeparation> &separation);
  linalg::GenericOp merge(linalg::GenericOp op, linalg::GenericOp other);
  linalg::GenericOp separate(linalg::GenericOp op);
  linalg::GenericOp dropEqualResults(linalg::GenericOp op);

  IRRewriter rewriter;
};
} // namespace

/// Finds what has to move before `op` so that `value` is there. Nothing large
/// is made earlier but what takes no time, or is the init of a result.
bool Merger::findEarlier(linalg::GenericOp op, Value value,
                         SetVector<Operation *> &moved) {
  int64_t points = getNumPoints(op);
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Operation *source = worklist.pop_back_val().getDefiningOp();
    if (!source || source->getBlock() != op->getBlock() ||
        source->isBeforeInBlock(op) || moved.contains(source))
      continue;
    if (source == op || source->getNumRegions() > 1 ||
        !isMemoryEffectFree(source) ||
        moved.size() == SiblingTuning::maxMoved ||
        (!isa<tensor::EmptyOp, linalg::FillOp>(source) &&
         !llvm::all_of(source->getResults(),
                       [&](Value result) { return isSmall(result, points); })))
      return false;
    moved.insert(source);
    appendOperands(source, worklist);
  }
  return true;
}

/// Whether `other`, or the sum that `separation` finds in it, can stand where
/// `op` does.
bool Merger::canStandAt(linalg::GenericOp op, linalg::GenericOp other,
                        std::optional<SumSeparation> &separation) {
  auto isLate = [&](Value value) {
    SetVector<Operation *> moved;
    return !findEarlier(op, value, moved);
  };
  SmallVector<Value> read;
  appendOperands(other, read);
  if (llvm::none_of(read, isLate))
    return true;
  // Only inputs may be late, not inits or what the body reads from outside.
  read.erase(read.begin(), read.begin() + other.getNumDpsInputs());
  separation.emplace();
  return llvm::none_of(read, isLate) && separation->match(other, isLate);
}

bool Merger::mayMerge(linalg::GenericOp op, linalg::GenericOp other) {
  if (!isMergeable(other) || getBackwardLevel(op) != getBackwardLevel(other) ||
      getLoopSizes(op) != getLoopSizes(other) ||
      op->getNumResults() + other->getNumResults() >
          SiblingTuning::maxResults ||
      getBodySize(op) + getBodySize(other) > SiblingTuning::maxBodySize)
    return false;
  // The results that `op` has decide how its loops are walked.
  return llvm::all_of(other.getDpsInitsMutable(), [&](OpOperand &init) {
    return other.getMatchingIndexingMap(&init) ==
           op.getIndexingMapsArray().back();
  });
}

/// The next operations that read a large operand of `op` as it does, in the
/// same kinds of loops.
SmallVector<linalg::GenericOp> Merger::findNext(linalg::GenericOp op) {
  int64_t points = getNumPoints(op);
  SetVector<Operation *> found;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (isSmall(input->get(), points))
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    for (OpOperand &use : input->get().getUses()) {
      auto other = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (other && other->getBlock() == op->getBlock() &&
          op->isBeforeInBlock(other) && other.isDpsInput(&use) &&
          other.getMatchingIndexingMap(&use) == map &&
          other.getIteratorTypes() == op.getIteratorTypes())
        found.insert(other);
    }
  }
  SmallVector<Operation *> sorted = found.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  sorted.truncate(std::min<size_t>(sorted.size(), SiblingTuning::maxTried));
  return llvm::map_to_vector(sorted, llvm::CastTo<linalg::GenericOp>);
}

/// The first later reduction that can be made together with `op`.
linalg::GenericOp Merger::findPartner(linalg::GenericOp op) {
  for (linalg::GenericOp other : findNext(op)) {
    std::optional<SumSeparation> separation;
    if (mayMerge(op, other) && canStandAt(op, other, separation))
      return separation ? separation->rewrite(rewriter) : other;
  }
  return {};
}

linalg::GenericOp Merger::merge(linalg::GenericOp op, linalg::GenericOp other) {
  SetVector<Operation *> moved;
  SmallVector<Value> read;
  appendOperands(other, read);
  for (Value value : read)
    findEarlier(op, value, moved);
  SmallVector<Operation *> inOrder = moved.takeVector();
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *source : inOrder)
    source->moveBefore(op);

  rewriter.setInsertionPoint(op);
  return simplifyGeneric(rewriter, mergeGenerics(rewriter, {op, other}));
}

/// Takes out of a sum what is the same for all of its terms.
linalg::GenericOp Merger::separate(linalg::GenericOp op) {
  SumSeparation separation;
  return separation.match(op, [](Value) { return false; }) &&
                 !separation.isTrivial()
             ? separation.rewrite(rewriter)
             : op;
}

/// Makes results that accumulate the same values one.
linalg::GenericOp Merger::dropEqualResults(linalg::GenericOp op) {
  DominanceInfo dominance;
  eliminateCommonSubExpressions(rewriter, dominance, op);
  auto findTerm = [&](unsigned i) {
    SmallVector<Operation *> combiners;
    return std::make_pair(
        matchReduction(op.getRegionOutputArgs(), i, combiners),
        combiners.front()->getName());
  };
  bool anyEqual = false;
  for (unsigned i = 1, e = op->getNumResults(); i < e; ++i)
    for (unsigned j = 0; j < i; ++j)
      if (op.getDpsInits()[i] == op.getDpsInits()[j] &&
          findTerm(i) == findTerm(j)) {
        rewriter.replaceAllUsesWith(op.getResult(i), op.getResult(j));
        anyEqual = true;
        break;
      }
  return anyEqual ? simplifyGeneric(rewriter, op) : op;
}

linalg::GenericOp Merger::mergeInto(linalg::GenericOp op) {
  while (linalg::GenericOp partner = findPartner(op)) {
    partner = separate(partner);
    op = dropEqualResults(merge(separate(op), partner));
    ++numMerged;
  }
  return op;
}

namespace {
struct MergeReductions
    : public remat::impl::FuseSiblingReductionsPassBase<MergeReductions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    normalizeBackward(function);
    Merger merger(function);
    for (Block &block : function.getBody())
      for (Operation *op = block.empty() ? nullptr : &block.front(); op;
           op = op->getNextNode())
        if (auto generic = dyn_cast<linalg::GenericOp>(op);
            generic && isMergeable(generic))
          op = merger.mergeInto(generic);
    numMerged += merger.numMerged;
  }
};
} // namespace
