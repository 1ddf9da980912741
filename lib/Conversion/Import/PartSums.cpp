//===- PartSums.cpp - sums of parts that do not overlap -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Frameworks differentiate slices one by one: the gradient of each is a tensor
// that is zero elsewhere, and that of the sliced tensor is their sum. All of
// them together are that sum if no two slices overlap: the queries, keys and
// values of an attention, or the even and the odd elements of a rotation.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/TensorParts.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTPARTSUMSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` adds two tensors of floating-point numbers, rounded to their
/// type.
static bool isAddition(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      op->hasAttr(RematDialect::policyAttrName) ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !llvm::all_of(op->getOperandTypes(), [&](Type type) {
        return type == op.getResult(0).getType();
      }))
    return false;
  auto skip = [](Value value, auto &&isCast) {
    Operation *source = value.getDefiningOp();
    return source && isCast(source) ? source->getOperand(0) : value;
  };
  Value sum = skip(op.getBody()->getTerminator()->getOperand(0),
                   llvm::IsaPred<arith::TruncFOp>);
  auto add = sum.getDefiningOp<arith::AddFOp>();
  if (!add)
    return false;
  Value lhs = skip(add.getLhs(), llvm::IsaPred<arith::ExtFOp>);
  Value rhs = skip(add.getRhs(), llvm::IsaPred<arith::ExtFOp>);
  Value a = op.getBody()->getArgument(0), b = op.getBody()->getArgument(1);
  return (lhs == a && rhs == b) || (lhs == b && rhs == a);
}

/// Adds to `parts` what `value`, which nothing else uses, has beside zeros;
/// false if that is not known.
static bool collectParts(Value value, SmallVector<TensorPart> &parts) {
  while (!isZeroTensor(value)) {
    if (!value.hasOneUse())
      return false;
    if (auto insert = value.getDefiningOp<tensor::InsertSliceOp>()) {
      if (!insert.getOffsets().empty() || !insert.getSizes().empty() ||
          !insert.getStrides().empty())
        return false;
      parts.emplace_back(insert.getSource(), insert.getStaticOffsets(),
                         insert.getStaticSizes(), insert.getStaticStrides());
      value = insert.getDest();
      continue;
    }
    auto pad = value.getDefiningOp<tensor::PadOp>();
    RankedTensorType source = pad ? pad.getSourceType() : RankedTensorType();
    if (!pad || !source.hasStaticShape() || !pad.getLow().empty() ||
        !pad.getHigh().empty() || pad->hasAttr(RematDialect::policyAttrName))
      return false;
    Value padding = pad.getConstantPaddingValue();
    if (!padding || !matchPattern(padding, m_PosZeroFloat()))
      return false;
    SmallVector<int64_t> strides(source.getRank(), 1);
    parts.emplace_back(pad.getSource(), pad.getStaticLow(), source.getShape(),
                       strides);
    return true;
  }
  return true;
}

static bool overlap(ArrayRef<TensorPart> parts) {
  for (size_t i = 0; i < parts.size(); ++i)
    for (const TensorPart &earlier : parts.take_front(i))
      if (parts[i].overlaps(earlier))
        return true;
  return false;
}

namespace {
struct ImportPartSums
    : public remat::impl::ImportPartSumsPassBase<ImportPartSums> {
  void runOnOperation() override {
    // Each is compared with each, again for every term that is added.
    constexpr size_t maxParts = 64;
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::GenericOp> sums;
    getOperation().walk([&](linalg::GenericOp op) {
      if (isBackward(op) && isAddition(op))
        sums.push_back(op);
    });
    for (linalg::GenericOp sum : sums) {
      SmallVector<TensorPart> parts;
      if (!collectParts(sum.getDpsInputs()[0], parts) ||
          !collectParts(sum.getDpsInputs()[1], parts) || parts.empty() ||
          parts.size() > maxParts || overlap(parts))
        continue;
      BackwardMarkListener marks;
      rewriter.setListener(&marks);
      marks.beginRewrite(sum);
      rewriter.setInsertionPoint(sum);
      auto type = cast<RankedTensorType>(sum.getResult(0).getType());
      rewriter.replaceOp(sum,
                         createFromParts(rewriter, sum.getLoc(), type, parts));
      ++numSums;
    }
  }
};
} // namespace
