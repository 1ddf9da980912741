//===- WideContractions.cpp - rounding apart from contractions ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WideContractions.h"

#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

/// Whether a kernel of blocks could have `op`, were its results in f32: those
/// of a batch, of factors in the same type of 16 bits.
static bool isNarrow(linalg::ContractOp op) {
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  return type && type.getRank() >= 3 && type.hasStaticShape() &&
         (type.getElementType().isF16() || type.getElementType().isBF16()) &&
         llvm::all_of(op.getDpsInputs(),
                      [&](Value factor) {
                        return getElementTypeOrSelf(factor) ==
                               type.getElementType();
                      }) &&
         isContractionBody(*op.getBlock()) && startsFromZeros(op) &&
         !op->hasAttr(RematDialect::policyAttrName) &&
         !isTagged(op->getResult(0));
}

static linalg::ContractOp
createContraction(OpBuilder &builder, linalg::ContractOp like, Type element) {
  auto type = cast<RankedTensorType>(like->getResult(0).getType());
  Value zeros = createZeros(builder, like.getLoc(), type.clone(element));
  auto contraction = linalg::ContractOp::create(
      builder, like.getLoc(), TypeRange(zeros.getType()), like.getInputs(),
      ValueRange(zeros), like.getIndexingMaps());
  copyBackward(like, contraction);
  return contraction;
}

/// What rounds the elements of `wide`.
static linalg::GenericOp createRounding(OpBuilder &builder, Operation *like,
                                        Value wide) {
  auto type = cast<RankedTensorType>(like->getResult(0).getType());
  Location loc = like->getLoc();
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  Value init = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                       type.getElementType());
  auto rounding = linalg::GenericOp::create(
      builder, loc, type, wide, init, ArrayRef<AffineMap>{identity, identity},
      SmallVector<utils::IteratorType>(type.getRank(),
                                       utils::IteratorType::parallel),
      [&](OpBuilder &body, Location at, ValueRange elements) {
        Value narrow = arith::TruncFOp::create(body, at, type.getElementType(),
                                               elements[0]);
        linalg::YieldOp::create(body, at, narrow);
      });
  copyBackward(like, rounding);
  return rounding;
}

WideContractions::WideContractions(Block &body) {
  for (auto op : llvm::to_vector(body.getOps<linalg::ContractOp>())) {
    if (!isNarrow(op))
      continue;
    OpBuilder builder(op);
    linalg::ContractOp wide =
        createContraction(builder, op, builder.getF32Type());
    linalg::GenericOp rounding =
        createRounding(builder, op, wide->getResult(0));
    op->replaceAllUsesWith(rounding);
    op->erase();
    divided.push_back({wide, rounding});
  }
}

void WideContractions::join(BlockInfo &info, MutableArrayRef<Cluster> clusters,
                            DenseMap<Operation *, unsigned> &clusterOf) {
  for (auto [wide, rounding] : divided) {
    if (clusterOf.contains(wide))
      continue;
    if (auto it = clusterOf.find(rounding); it != clusterOf.end()) {
      llvm::erase(clusters[it->second], rounding.getOperation());
      clusterOf.erase(it);
    }
    OpBuilder builder(wide);
    Type element = getElementTypeOrSelf(rounding->getResult(0).getType());
    linalg::ContractOp contraction = createContraction(builder, wide, element);
    info.forget(wide);
    info.forget(rounding);
    rounding->replaceAllUsesWith(contraction);
    rounding->erase();
    wide->erase();
  }
  divided.clear();
  // Contractions have zeros to start from, which are new, too.
  info.renumber();
}
