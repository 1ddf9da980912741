//===- TransposeFactors.cpp - sums over one dimension ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight sums over all rows, which may be several dimensions.
// A library takes them for one where they follow each other in memory. A copy
// of a factor takes one pass over it, next to nothing beside the contraction.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"

#include "llvm/Support/MathExtras.h"

namespace remat {
#define GEN_PASS_DEF_TRANSPOSEFACTORSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Loops of more than one iteration that a map walks, outermost first.
static SmallVector<unsigned> getLoops(AffineMap map, ArrayRef<int64_t> sizes) {
  SmallVector<unsigned> loops;
  for (AffineExpr expr : map.getResults())
    if (unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        sizes[loop] != 1)
      loops.push_back(loop);
  return loops;
}

namespace {
/// One factor of a contraction.
struct Factor {
  Factor(OpOperand &operand, AffineMap map, AffineMap result,
         ArrayRef<int64_t> sizes)
      : operand(operand), map(map) {
    SmallVector<unsigned> loops = getLoops(map, sizes);
    for (auto [place, loop] : llvm::enumerate(loops)) {
      if (result.isFunctionOfDim(loop))
        continue;
      isOneDim &= sums.empty() || place == lastPlace + 1;
      lastPlace = place;
      sums.push_back(loop);
    }
    isSumInnermost = !sums.empty() && sums.back() == loops.back();
  }

  int64_t getNumElements() const {
    return cast<RankedTensorType>(operand.get().getType()).getNumElements();
  }

  OpOperand &operand;
  AffineMap map;
  /// The loops that are summed over, in the order of memory, and whether they
  /// follow each other there.
  SmallVector<unsigned> sums;
  bool isOneDim = true, isSumInnermost = false;

private:
  size_t lastPlace = 0;
};
} // namespace

/// The map of a copy of `factor` in which `sums` follow each other. The loop
/// that walks memory stays an innermost one, so that whole rows are copied.
static AffineMap arrange(const Factor &factor, ArrayRef<unsigned> sums) {
  SmallVector<AffineExpr> summed, others;
  MLIRContext *context = factor.map.getContext();
  for (unsigned loop : sums)
    summed.push_back(getAffineDimExpr(loop, context));
  for (AffineExpr expr : factor.map.getResults())
    if (!llvm::is_contained(summed, expr))
      others.push_back(expr);
  SmallVector<AffineExpr> &first = factor.isSumInnermost ? others : summed;
  SmallVector<AffineExpr> &second = factor.isSumInnermost ? summed : others;
  first.append(second);
  return AffineMap::get(factor.map.getNumDims(), 0, first, context);
}

/// Has `op` read a copy of `factor` that `map` walks.
static void transpose(linalg::ContractOp op, const Factor &factor,
                      AffineMap map) {
  IRRewriter rewriter(op);
  auto type = cast<RankedTensorType>(factor.operand.get().getType());
  SmallVector<int64_t> permutation;
  for (AffineExpr expr : map.getResults())
    permutation.push_back(*factor.map.getResultPosition(expr));
  Value empty = tensor::EmptyOp::create(
      rewriter, op.getLoc(), applyPermutation(type.getShape(), permutation),
      type.getElementType());
  // Passes that fuse operations take generic ones only.
  linalg::GenericOp copy = *linalg::generalizeNamedOp(
      rewriter,
      linalg::TransposeOp::create(rewriter, op.getLoc(), factor.operand.get(),
                                  empty, permutation));
  copyBackward(op, empty.getDefiningOp());
  copyBackward(op, copy);
  factor.operand.set(copy.getResult(0));
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps[factor.operand.getOperandNumber()] = map;
  op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
}

/// Whether a library could take `op`, but for what it sums over.
static bool isCandidate(linalg::ContractOp op, ArrayRef<AffineMap> maps,
                        ArrayRef<int64_t> sizes) {
  if (!isContractionBody(*op.getBlock()) || !op.hasPureTensorSemantics())
    return false;
  uint64_t products = 1;
  for (auto [loop, size] : llvm::enumerate(sizes)) {
    if (ShapedType::isDynamic(size))
      return false;
    products = llvm::SaturatingMultiply(products, uint64_t(size));
    bool isInAll = llvm::all_of(maps, [&, loop = loop](AffineMap map) {
      return map.isFunctionOfDim(loop);
    });
    if (isInAll && size != 1)
      return false;
  }
  return products >= TransposeTuning::minProducts &&
         llvm::all_of(
             maps, [](AffineMap map) { return map.isProjectedPermutation(); });
}

/// Transposes what has to be for `op`. Returns how many factors that are.
static unsigned transposeFactors(linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  if (!isCandidate(op, maps, sizes))
    return 0;
  Factor lhs(op->getOpOperand(0), maps[0], maps[2], sizes);
  Factor rhs(op->getOpOperand(1), maps[1], maps[2], sizes);
  if (lhs.isOneDim && rhs.isOneDim && lhs.sums == rhs.sums)
    return 0;
  // The order of one that can stay as it is, of the larger one of both.
  bool keepsLhs = lhs.isOneDim != rhs.isOneDim
                      ? lhs.isOneDim
                      : lhs.getNumElements() >= rhs.getNumElements();
  const Factor &kept = keepsLhs ? lhs : rhs, &other = keepsLhs ? rhs : lhs;
  unsigned count = 1;
  transpose(op, other, arrange(other, kept.sums));
  if (!kept.isOneDim) {
    transpose(op, kept, arrange(kept, kept.sums));
    ++count;
  }
  return count;
}

namespace {
struct TransposeFactors
    : public remat::impl::TransposeFactorsPassBase<TransposeFactors> {
  void runOnOperation() override {
    for (auto op : collectOps<linalg::ContractOp>(getOperation()))
      numTransposed += transposeFactors(op);
  }
};
} // namespace
