//===- ConvolutionBias.cpp - biases that convolutions add -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/ConvolutionBias.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;

bool remat::addsConvolutionBias(TargetAttr facts) {
  return facts.getBiases() && !facts.getEpilogues();
}

bool remat::mayHaveBias(ConvOp conv) {
  constexpr unsigned maxSpatialRank = 3;
  Type type = getElementTypeOrSelf(conv.getLhs().getType());
  return conv.getKind() != ConvKind::FilterGrad &&
         conv.getSpatialRank() <= maxSpatialRank &&
         (type.isF16() || type.isBF16()) &&
         getElementTypeOrSelf(conv.getRhs().getType()) == type;
}

unsigned remat::getFeatureDim(ConvOp conv) {
  return conv.getKind() == ConvKind::Forward ? conv.getOutputLayout()[1]
                                             : conv.getInputLayout()[1];
}

/// Whether the body adds its arguments `wide` and `narrow` in f32, and rounds
/// the sum to the type of `narrow`.
static bool roundsSum(Block &body, BlockArgument wide, BlockArgument narrow) {
  auto rounding = body.getTerminator()->getOperand(0).getDefiningOp();
  auto rounded = dyn_cast_or_null<arith::TruncFOp>(rounding);
  if (!rounded || rounded.getType() != narrow.getType() ||
      rounded.getRoundingmode())
    return false;
  auto sum = rounded.getIn().getDefiningOp<arith::AddFOp>();
  auto isWide = [&](Value value) { return value == wide; };
  auto isBias = [&](Value value) {
    auto wider = value.getDefiningOp<arith::ExtFOp>();
    return wider && wider.getIn() == narrow;
  };
  return sum && sum.getType().isF32() &&
         ((isWide(sum.getLhs()) && isBias(sum.getRhs())) ||
          (isWide(sum.getRhs()) && isBias(sum.getLhs())));
}

std::optional<ConvolutionBias>
remat::matchConvolutionBias(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op->getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 || !op.hasPureTensorSemantics())
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  if (!type || !maps.back().isIdentity())
    return std::nullopt;
  for (unsigned number : {0, 1}) {
    auto conv = op.getDpsInputs()[number].getDefiningOp<ConvOp>();
    Value bias = op.getDpsInputs()[1 - number];
    auto vector = dyn_cast<RankedTensorType>(bias.getType());
    if (!conv || !mayHaveBias(conv) ||
        conv.getResult().getType() !=
            type.clone(Float32Type::get(op.getContext())) ||
        type.getElementType() != getElementTypeOrSelf(conv.getLhs()) ||
        !maps[number].isIdentity() || !vector || vector.getRank() != 1 ||
        vector.getElementType() != type.getElementType() ||
        maps[1 - number].getNumResults() != 1 ||
        maps[1 - number].getResult(0) !=
            maps.back().getResult(getFeatureDim(conv)))
      continue;
    Block &body = *op.getBody();
    if (roundsSum(body, body.getArgument(number), body.getArgument(1 - number)))
      return ConvolutionBias{conv, bias};
  }
  return std::nullopt;
}
