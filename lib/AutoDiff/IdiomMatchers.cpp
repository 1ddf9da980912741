//===- IdiomMatchers.cpp - how idioms are recognised ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IdiomMatchers.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

std::optional<double> idiom::getNumber(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  FloatAttr attr;
  if (matchPattern(value, m_Constant(&attr)))
    return attr.getValueAsDouble();
  SplatElementsAttr splat;
  if (matchPattern(value, m_Constant(&splat)) &&
      isa<FloatType>(splat.getElementType()))
    return splat.getSplatValue<APFloat>().convertToDouble();
  return std::nullopt;
}

/// `value` before it was made wider.
static Value beforeWidening(Value value) {
  while (auto ext = value.getDefiningOp<arith::ExtFOp>())
    value = ext.getIn();
  return value;
}

std::optional<idiom::Threshold> idiom::matchThreshold(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  std::optional<double> number =
      compare ? getNumber(compare.getRhs()) : std::nullopt;
  if (!number)
    return std::nullopt;
  return Threshold{compare.getPredicate(), beforeWidening(compare.getLhs()),
                   *number};
}

Value idiom::takeFactors(Value value, double &factors) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::MulFOp, arith::DivFOp>(op))
      break;
    bool isProduct = isa<arith::MulFOp>(op);
    unsigned side = isProduct && getNumber(op->getOperand(0)) ? 0 : 1;
    std::optional<double> number = getNumber(op->getOperand(side));
    if (!number)
      break;
    factors = isProduct ? factors * *number : factors / *number;
    value = op->getOperand(1 - side);
  }
  return value;
}

arith::SelectOp idiom::getChoice(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select || !isa<FloatType>(getElementTypeOrSelf(select.getType())))
    return {};
  return select;
}
