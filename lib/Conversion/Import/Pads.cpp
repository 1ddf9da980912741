//===- Pads.cpp - padding by less than nothing ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A negative amount of padding cuts off, which a slice does. This runs before
// any clean-up: upstream takes padding that does not change the shape for one
// that does nothing.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTPADSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static LogicalResult convertPad(IRRewriter &rewriter, tensor::PadOp op) {
  auto isNegative = [](int64_t amount) { return amount < 0; };
  if (!op.getLow().empty() || !op.getHigh().empty() ||
      !op.getSourceType().hasStaticShape() ||
      llvm::none_of(
          llvm::concat<const int64_t>(op.getStaticLow(), op.getStaticHigh()),
          isNegative))
    return success();
  SmallVector<int64_t> lows, highs, offsets, sizes;
  for (auto [size, low, high] :
       llvm::zip(op.getSourceType().getShape(), op.getStaticLow(),
                 op.getStaticHigh())) {
    lows.push_back(std::max<int64_t>(low, 0));
    highs.push_back(std::max<int64_t>(high, 0));
    offsets.push_back(std::max<int64_t>(-low, 0));
    sizes.push_back(size - offsets.back() - std::max<int64_t>(-high, 0));
    if (sizes.back() < 0)
      return op.emitOpError("cuts off ")
             << size - sizes.back() << " of a size of " << size;
    // Nothing must not be taken from behind the end.
    if (sizes.back() == 0)
      offsets.back() = 0;
  }
  rewriter.setInsertionPoint(op);
  auto toAttrs = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(rewriter.getContext(), values);
  };
  SmallVector<int64_t> strides(sizes.size(), 1);
  Value slice = tensor::ExtractSliceOp::create(
      rewriter, op.getLoc(), op.getSource(), toAttrs(offsets), toAttrs(sizes),
      toAttrs(strides));
  rewriter.modifyOpInPlace(op, [&] {
    op.getSourceMutable().assign(slice);
    op.setStaticLow(lows);
    op.setStaticHigh(highs);
  });
  return success();
}

namespace {
struct ImportPads : public remat::impl::ImportPadsPassBase<ImportPads> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    WalkResult result = getOperation().walk([&](tensor::PadOp op) {
      marks.beginRewrite(op);
      return WalkResult(convertPad(rewriter, op));
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
