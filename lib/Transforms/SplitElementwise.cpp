//===- SplitElementwise.cpp - the parts of elementwise values apart -------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Queries, keys and values are slices of one projection, which has a bias and
// is transposed as a whole; their gradients are concatenated, and that is
// transposed. As whole tensors, the bias, the slices, the concatenation and the
// transposes are kernels that read and write all of it. Each part alone is one
// kernel with what reads or makes it.
//
//===----------------------------------------------------------------------===//

#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/TensorParts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_SPLITELEMENTWISEPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// A part of the points of an operation: a range of each of its loops.
struct Part {
  SmallVector<int64_t> offsets, sizes;
};

/// What makes parts of elementwise operations, in front of them.
class PartBuilder {
public:
  explicit PartBuilder(linalg::GenericOp op)
      : op(op), builder(op), loopSizes(getLoopSizes(op)) {}

  ArrayRef<int64_t> getSizes() const { return loopSizes; }
  /// The part of the result. It reads `replacement` in the place of operand
  /// `replaced`, if there is one, and parts of the others.
  Value build(const Part &part, OpOperand *replaced = nullptr,
              Value replacement = {});

private:
  Value slice(OpOperand &operand, const Part &part);

  linalg::GenericOp op;
  OpBuilder builder;
  SmallVector<int64_t> loopSizes;
};
} // namespace

/// The values that `numbers` has for the loops that walk the dimensions of a
/// tensor.
static SmallVector<int64_t> applyToDims(AffineMap map,
                                        ArrayRef<int64_t> numbers) {
  return llvm::map_to_vector(map.getResults(), [&](AffineExpr expr) {
    return numbers[cast<AffineDimExpr>(expr).getPosition()];
  });
}

Value PartBuilder::slice(OpOperand &operand, const Part &part) {
  auto type = dyn_cast<RankedTensorType>(operand.get().getType());
  if (!type)
    return operand.get();
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<int64_t> sizes = applyToDims(map, part.sizes);
  if (ArrayRef<int64_t>(sizes) == type.getShape())
    return operand.get();
  auto getAttrs = [&](ArrayRef<int64_t> numbers) {
    return getAsIndexOpFoldResult(builder.getContext(), numbers);
  };
  SmallVector<int64_t> steps(sizes.size(), 1);
  auto slice =
      tensor::ExtractSliceOp::create(builder, op.getLoc(), operand.get(),
                                     getAttrs(applyToDims(map, part.offsets)),
                                     getAttrs(sizes), getAttrs(steps));
  copyBackward(op, slice);
  return slice;
}

Value PartBuilder::build(const Part &part, OpOperand *replaced,
                         Value replacement) {
  SmallVector<Value> operands;
  for (OpOperand *input : op.getDpsInputOperands())
    operands.push_back(input == replaced ? replacement : slice(*input, part));
  OpOperand *init = op.getDpsInitOperand(0);
  auto empty = tensor::EmptyOp::create(
      builder, op.getLoc(),
      applyToDims(op.getMatchingIndexingMap(init), part.sizes),
      getElementTypeOrSelf(init->get()));
  copyBackward(op, empty);
  operands.push_back(empty);
  return clone(builder, op, empty.getType(), operands)->getResult(0);
}

/// Whether a part of the result of `op` is made of parts of what it reads.
static bool canSplit(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.hasIndexSemantics() || op->hasAttr(RematDialect::policyAttrName) ||
      isTagged(op->getResult(0)) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      cast<RankedTensorType>(op->getResult(0).getType()).getEncoding())
    return false;
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return maps.back().isPermutation() &&
         llvm::all_of(
             maps,
             [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isMemoryEffectFree(&inner);
         });
}

/// Whether `op` only moves elements.
static bool onlyMoves(linalg::GenericOp op) {
  auto argument =
      dyn_cast<BlockArgument>(op.getBody()->getTerminator()->getOperand(0));
  return argument && argument.getOwner() == op.getBody();
}

/// Whether a library may add what `op` adds to what it makes itself.
static bool mayBeEpilogue(linalg::GenericOp op, TargetAttr target) {
  auto type = dyn_cast<FloatType>(getElementTypeOrSelf(op->getResult(0)));
  bool isNarrow = type && type.getWidth() <= 16;
  return !onlyMoves(op) &&
         (target.getEpilogues() || (target.getBiases() && isNarrow));
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

/// Whether `slice` is a part that is worth a kernel of its own.
static bool isPart(tensor::ExtractSliceOp slice, Block *block) {
  RankedTensorType type = slice.getType();
  return slice->getBlock() == block && type.hasStaticShape() &&
         type.getRank() == slice.getSourceType().getRank() &&
         slice.hasUnitStride() &&
         llvm::none_of(slice.getStaticOffsets(), ShapedType::isDynamic) &&
         !slice->hasAttr(RematDialect::policyAttrName) &&
         getBufferBytes(type) >= PartTuning::minPartBytes;
}

static TensorPart describe(tensor::ExtractSliceOp slice) {
  return {slice.getResult(), slice.getStaticOffsets(), slice.getStaticSizes(),
          slice.getStaticStrides()};
}

/// The slices that are all that reads `op`, if each has elements of its own.
static SmallVector<tensor::ExtractSliceOp> findSlices(linalg::GenericOp op) {
  SmallVector<tensor::ExtractSliceOp> slices;
  for (Operation *user : op->getUsers()) {
    auto slice = dyn_cast<tensor::ExtractSliceOp>(user);
    if (!slice || !isPart(slice, op->getBlock()) ||
        slices.size() == PartTuning::maxParts ||
        llvm::any_of(slices, [&](tensor::ExtractSliceOp other) {
          return describe(slice).overlaps(describe(other));
        }))
      return {};
    slices.push_back(slice);
  }
  // In the order of memory, whatever that of the users is.
  llvm::sort(slices, [](tensor::ExtractSliceOp a, tensor::ExtractSliceOp b) {
    return a.getStaticOffsets() < b.getStaticOffsets();
  });
  return slices;
}

/// Whether `op` reads more than one tensor of its size. Its parts would have a
/// slice of each: more to copy, or to keep until they are read.
static bool readsSeveral(linalg::GenericOp op) {
  return llvm::count_if(op.getDpsInputs(), [&](Value input) {
           return !isSmall(input, getNumPoints(op));
         }) > 1;
}

/// Makes the slices of what `op` makes of slices of what it reads.
static bool splitAtSlices(linalg::GenericOp op, TargetAttr target) {
  if (!canSplit(op) || mayBeEpilogue(op, target) || readsSeveral(op))
    return false;
  SmallVector<tensor::ExtractSliceOp> slices = findSlices(op);
  if (slices.empty())
    return false;
  PartBuilder parts(op);
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (tensor::ExtractSliceOp slice : slices) {
    Part part{SmallVector<int64_t>(parts.getSizes().size(), 0),
              llvm::to_vector(parts.getSizes())};
    for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
      unsigned loop = cast<AffineDimExpr>(expr).getPosition();
      part.offsets[loop] = slice.getStaticOffset(dim);
      part.sizes[loop] = slice.getStaticSize(dim);
    }
    slice.replaceAllUsesWith(parts.build(part));
    slice.erase();
  }
  op.erase();
  return true;
}

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

/// The concatenation that `op` transposes, if nothing else reads that, and it
/// is all that `op` reads.
static tensor::ConcatOp findConcat(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 1)
    return {};
  OpOperand *input = op.getDpsInputOperand(0);
  auto concat = input->get().getDefiningOp<tensor::ConcatOp>();
  AffineMap map = op.getMatchingIndexingMap(input);
  auto made = cast<RankedTensorType>(op->getResult(0).getType());
  if (!concat || concat->getBlock() != op->getBlock() ||
      !concat->getResult(0).hasOneUse() ||
      concat->hasAttr(RematDialect::policyAttrName) ||
      concat->getAttr(RematDialect::backwardAttrName) !=
          op->getAttr(RematDialect::backwardAttrName) ||
      isTagged(concat.getResult()) || !map.isPermutation() ||
      map == op.getMatchingIndexingMap(op.getDpsInitOperand(0)) ||
      getBufferBytes(made) > getBufferBytes(concat.getResultType()) ||
      concat.getInputs().size() > PartTuning::maxParts)
    return {};
  for (Value operand : concat.getInputs())
    if (auto type = cast<RankedTensorType>(operand.getType());
        !type.hasStaticShape() ||
        getBufferBytes(type) < PartTuning::minPartBytes)
      return {};
  return concat;
}

/// Concatenates what `op` makes of the parts of a concatenation.
static bool splitAtConcat(linalg::GenericOp op) {
  if (!canSplit(op))
    return false;
  tensor::ConcatOp concat = findConcat(op);
  if (!concat)
    return false;
  OpOperand *input = op.getDpsInputOperand(0);
  AffineExpr cut = op.getMatchingIndexingMap(input).getResult(concat.getDim());
  unsigned loop = cast<AffineDimExpr>(cut).getPosition();
  PartBuilder builder(op);
  Part part{SmallVector<int64_t>(builder.getSizes().size(), 0),
            llvm::to_vector(builder.getSizes())};
  SmallVector<Value> parts;
  for (Value operand : concat.getInputs()) {
    part.sizes[loop] =
        cast<RankedTensorType>(operand.getType()).getDimSize(concat.getDim());
    parts.push_back(builder.build(part, input, operand));
  }
  AffineMap result = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  OpBuilder behind(op);
  auto whole = tensor::ConcatOp::create(behind, concat.getLoc(),
                                        *result.getResultPosition(cut), parts);
  copyBackward(op, whole);
  op->replaceAllUsesWith(whole);
  op.erase();
  concat.erase();
  return true;
}

namespace {
struct SplitElementwise
    : public remat::impl::SplitElementwisePassBase<SplitElementwise> {
  void runOnOperation() override {
    TargetAttr target = getTargetFacts(getOperation());
    if (!target.getStrides())
      return;
    // What reads a slice first: then the slices of what that reads are known.
    auto readersLast = collectOps<linalg::GenericOp>(getOperation());
    for (auto op : llvm::reverse(readersLast))
      numSplit += splitAtSlices(op, target);
    for (auto op : collectOps<linalg::GenericOp>(getOperation()))
      numSplit += splitAtConcat(op);
  }
};
} // namespace
