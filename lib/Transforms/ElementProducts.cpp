//===- ElementProducts.cpp - what the elements of tensors are -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementProducts.h"

#include "Tuning.h"

#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

bool remat::isElementwise(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.getNumReductionLoops() != 0)
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (op.payloadUsesValueFromOperand(&init) ||
        !op.getMatchingIndexingMap(&init).isPermutation())
      return false;
  return true;
}

std::optional<ElementCopy> remat::matchElementCopy(Operation *op) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic->getNumResults() != 1 || !isElementwise(generic))
    return std::nullopt;
  ElementCopy copy{nullptr, false, false};
  Value scalar = generic.getBody()->getTerminator()->getOperand(0);
  if (auto widening = scalar.getDefiningOp<arith::ExtFOp>()) {
    copy.widens = true;
    scalar = widening.getIn();
  } else if (auto rounding = scalar.getDefiningOp<arith::TruncFOp>()) {
    copy.rounds = true;
    scalar = rounding.getIn();
  }
  auto argument = dyn_cast<BlockArgument>(scalar);
  if (!argument || argument.getOwner() != generic.getBody())
    return std::nullopt;
  copy.input = generic.getMatchingOpOperand(argument);
  return copy;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

Access ElementProductFinder::findOrigin(Access element) {
  for (;;) {
    if (std::optional<Access> viewed = getViewed(parts, element)) {
      element = *viewed;
      continue;
    }
    std::optional<ElementCopy> copy =
        matchElementCopy(element.value.getDefiningOp());
    if (!copy || (copy->rounds && !ignoresRounding))
      return element;
    auto op = cast<linalg::GenericOp>(copy->input->getOwner());
    std::optional<SmallVector<PartedIndex>> loops =
        getLoopIndices(op.getIndexingMapsArray().back(), element.dims);
    std::optional<Access> read =
        loops ? getAccess(copy->input->get(),
                          op.getMatchingIndexingMap(copy->input), *loops)
              : std::nullopt;
    if (!read)
      return element;
    element = *read;
  }
}

/// Whether `scalar`, in the body of `op`, is always zero.
static bool isZero(Value scalar, linalg::GenericOp op) {
  if (auto argument = dyn_cast<BlockArgument>(scalar);
      argument && argument.getOwner() == op.getBody())
    return isZeroTensor(op.getMatchingOpOperand(argument)->get());
  return matchPattern(scalar, m_AnyZeroFloat());
}

bool ElementProductFinder::addGate(ElementProduct &product,
                                   arith::SelectOp select, linalg::GenericOp op,
                                   ArrayRef<PartedIndex> loops) {
  bool closesIf = isZero(select.getTrueValue(), op);
  if (!closesIf && !isZero(select.getFalseValue(), op))
    return false;
  auto argument = dyn_cast<BlockArgument>(select.getCondition());
  if (!argument || argument.getOwner() != op.getBody())
    return false;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  std::optional<Access> condition =
      getAccess(operand->get(), op.getMatchingIndexingMap(operand), loops);
  if (!condition)
    return false;
  product.gates.push_back({findOrigin(*condition), closesIf});
  return add(product, closesIf ? select.getFalseValue() : select.getTrueValue(),
             op, loops, /*isDivisor=*/false);
}

bool ElementProductFinder::add(ElementProduct &product, Value scalar,
                               linalg::GenericOp op,
                               ArrayRef<PartedIndex> loops, bool isDivisor) {
  if (product.factors.size() + product.gates.size() + product.constants.size() >
      ProductTuning::maxFactors)
    return false;
  FloatAttr constant;
  if (matchPattern(scalar, m_Constant(&constant))) {
    if (!constant.getValue().isFiniteNonZero())
      return false;
    double value = constant.getValueAsDouble();
    product.isNegative ^= value < 0;
    if (std::abs(value) != 1)
      product.constants.push_back({std::abs(value), isDivisor});
    return true;
  }
  if (auto argument = dyn_cast<BlockArgument>(scalar)) {
    if (argument.getOwner() != op.getBody())
      return false;
    OpOperand *operand = op.getMatchingOpOperand(argument);
    std::optional<Access> element =
        op.isDpsInput(operand)
            ? getAccess(operand->get(), op.getMatchingIndexingMap(operand),
                        loops)
            : std::nullopt;
    if (!element)
      return false;
    add(product, *element, isDivisor);
    return true;
  }
  Operation *inner = scalar.getDefiningOp();
  if (!inner || inner->getBlock() != op.getBody())
    return false;
  // Conversions that lose nothing, and those that are ignored.
  if (isa<arith::ExtFOp>(inner) ||
      (isa<arith::TruncFOp>(inner) && ignoresRounding))
    return add(product, inner->getOperand(0), op, loops, isDivisor);
  if (auto convert = dyn_cast<arith::UIToFPOp>(inner))
    return convert.getIn().getType().isInteger(1) &&
           isa<BlockArgument>(convert.getIn()) &&
           add(product, convert.getIn(), op, loops, isDivisor);
  if (isa<arith::NegFOp>(inner)) {
    product.isNegative ^= true;
    return add(product, inner->getOperand(0), op, loops, isDivisor);
  }
  if (!isa<FloatType>(scalar.getType()) ||
      (scalar.getType() != type && !ignoresRounding))
    return false;
  if (isa<arith::MulFOp, arith::DivFOp>(inner))
    return add(product, inner->getOperand(0), op, loops, isDivisor) &&
           add(product, inner->getOperand(1), op, loops,
               isDivisor ^ isa<arith::DivFOp>(inner));
  if (auto select = dyn_cast<arith::SelectOp>(inner))
    return !isDivisor && addGate(product, select, op, loops);
  return false;
}

void ElementProductFinder::add(ElementProduct &product, Access element,
                               bool isDivisor) {
  element = findOrigin(element);
  if (auto constant =
          dyn_cast_or_null<FloatAttr>(getSplatConstant(element.value));
      constant && constant.getValue().isFiniteNonZero()) {
    double value = constant.getValueAsDouble();
    product.isNegative ^= value < 0;
    if (std::abs(value) != 1)
      product.constants.push_back({std::abs(value), isDivisor});
    return;
  }
  if (auto op = element.value.getDefiningOp<linalg::GenericOp>();
      op && isElementwise(op)) {
    unsigned number = cast<OpResult>(element.value).getResultNumber();
    AffineMap map = op.getIndexingMapsArray()[op.getNumDpsInputs() + number];
    std::optional<SmallVector<PartedIndex>> loops =
        getLoopIndices(map, element.dims);
    ElementProduct more = product;
    if (loops && add(more, op.getBody()->getTerminator()->getOperand(number),
                     op, *loops, isDivisor)) {
      product = std::move(more);
      return;
    }
  }
  product.factors.push_back({element, isDivisor});
}

std::optional<ElementProduct>
ElementProductFinder::findProduct(Value scalar, linalg::GenericOp op,
                                  ArrayRef<PartedIndex> loops) {
  ElementProduct product;
  if (!add(product, scalar, op, loops, /*isDivisor=*/false))
    return std::nullopt;
  return product;
}

ElementProduct ElementProductFinder::findProduct(const Access &element) {
  ElementProduct product;
  add(product, element, /*isDivisor=*/false);
  return product;
}
