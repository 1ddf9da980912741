//===- RoundFactors.cpp - scores that are rounded before products ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-round-factors`.
//
//===----------------------------------------------------------------------===//

#include "ProductReaders.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Epilogues.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_ROUNDFACTORSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

static bool isNarrow(Type type) { return type.isF16() || type.isBF16(); }

/// The type of 16 bits that the elements of `factor` have, or have before they
/// are widened; null if they have none.
static Type getNarrowType(Value factor) {
  Type type = getElementTypeOrSelf(factor.getType());
  if (arith::ExtFOp widening = findWidening(factor))
    type = widening.getIn().getType();
  return isNarrow(type) ? type : Type();
}

/// Whether scores are made here, in f32; what a caller has in f32 it wants as
/// it is.
static bool isScores(Value factor, Block *block) {
  auto maker = getViewRoot(factor).getDefiningOp<linalg::GenericOp>();
  return getElementTypeOrSelf(factor.getType()).isF32() && maker &&
         maker->getBlock() == block && maker.getNumReductionLoops() == 0;
}

/// Whether a product that starts in f32 is rounded to 16 bits by all that reads
/// it, and no library multiplies it.
static bool isRounded(linalg::LinalgOp product) {
  Value result = product->getResult(0);
  ProductReaders readers;
  return !isLibraryProduct(product) && !hasPolicy(product) &&
         product.getNumDpsInputs() == 2 &&
         getElementTypeOrSelf(result.getType()).isF32() &&
         readers.collect(result, product->getBlock()) &&
         !readers.reads.empty() &&
         llvm::all_of(readers.reads, [](OpOperand *read) {
           return isRoundedInBody(cast<linalg::GenericOp>(read->getOwner())
                                      .getMatchingBlockArgument(read));
         });
}

/// The elements of `factor`, rounded, in f32.
static Value createRounding(OpBuilder &builder, linalg::LinalgOp product,
                            Value factor, Type narrow) {
  auto type = cast<RankedTensorType>(factor.getType());
  Location loc = product.getLoc();
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  auto rounding = linalg::GenericOp::create(
      builder, loc, type, ValueRange{factor}, init,
      ArrayRef<AffineMap>{all, all},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location at, ValueRange elements) {
        Value made = arith::TruncFOp::create(body, at, narrow, elements[0]);
        made = arith::ExtFOp::create(body, at, type.getElementType(), made);
        linalg::YieldOp::create(body, at, made);
      });
  copyBackward(product, rounding);
  return rounding->getResult(0);
}

namespace {
struct RoundFactors : remat::impl::RoundFactorsPassBase<RoundFactors> {
  using RoundFactorsPassBase::RoundFactorsPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !getTargetFacts(func).getEpilogues())
      return;
    for (Block &block : func.getBody()) {
      // Products that read the same factor read one rounded one.
      DenseMap<std::pair<Value, Type>, Value> rounded;
      for (linalg::LinalgOp product : getProducts(block)) {
        if (!isRounded(product))
          continue;
        for (unsigned number : {0, 1}) {
          OpOperand &factor = product->getOpOperand(number);
          Type narrow = getNarrowType(product->getOperand(1 - number));
          if (!narrow || getNarrowType(factor.get()) ||
              !isScores(factor.get(), &block))
            continue;
          Value &made = rounded[{factor.get(), narrow}];
          if (!made) {
            OpBuilder builder(product);
            made = createRounding(builder, product, factor.get(), narrow);
          }
          factor.set(made);
          ++numProducts;
        }
      }
    }
  }
};
} // namespace
