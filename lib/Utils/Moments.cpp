//===- Moments.cpp - sums of squares about a mean -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Moments.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

/// What stands for a result outside of the op: a tensor, or a buffer.
static Value getPlace(linalg::GenericOp op, unsigned result) {
  return op.hasPureTensorSemantics() ? op->getResult(result)
                                     : op.getDpsInits()[result];
}

/// What the body adds to the only result of `op`, or null.
static Value getTerm(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumReductionLoops() == 0)
    return {};
  BlockArgument old = op.getRegionOutputArgs().front();
  auto add = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || !old.hasOneUse() || *old.user_begin() != add ||
      !(old.getType().isF32() || old.getType().isF64()))
    return {};
  return add.getLhs() == old ? add.getRhs() : add.getLhs();
}

/// The operand that `value` is an element of, or null.
static OpOperand *getInput(linalg::GenericOp op, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument || argument.getOwner() != op.getBody())
    return nullptr;
  OpOperand *operand = op.getMatchingOpOperand(argument);
  return op.isDpsInput(operand) ? operand : nullptr;
}

namespace {

/// Compares what two bodies with equal loops compute of equal operands.
class TermComparison {
public:
  TermComparison(linalg::GenericOp a, linalg::GenericOp b) : a(a), b(b) {}
  bool areEqual(Value x, Value y);

private:
  bool areEqualArguments(BlockArgument x, BlockArgument y);

  linalg::GenericOp a, b;
  /// What was found equal. A body is a graph, whose paths may be many.
  DenseMap<Value, Value> equal;
};

} // namespace

bool TermComparison::areEqualArguments(BlockArgument x, BlockArgument y) {
  OpOperand *left = getInput(a, x), *right = getInput(b, y);
  return left && right && left->get() == right->get() &&
         a.getMatchingIndexingMap(left) == b.getMatchingIndexingMap(right);
}

bool TermComparison::areEqual(Value x, Value y) {
  if (x == y)
    return true;
  if (Value known = equal.lookup(x))
    return known == y;
  auto isSame = [&] {
    auto left = dyn_cast<BlockArgument>(x), right = dyn_cast<BlockArgument>(y);
    if (left || right)
      return left && right && areEqualArguments(left, right);
    Operation *op = x.getDefiningOp(), *other = y.getDefiningOp();
    return op->getNumRegions() == 0 && isPure(op) &&
           op->getName() == other->getName() &&
           op->getAttrDictionary() == other->getAttrDictionary() &&
           op->getNumResults() == 1 && x.getType() == y.getType() &&
           llvm::equal(op->getOperands(), other->getOperands(),
                       [&](Value p, Value q) { return areEqual(p, q); });
  };
  if (!isSame())
    return false;
  equal[x] = y;
  return true;
}

/// Whether the op divides `place`, element by element, by `count`, and leaves
/// the result at `result`.
static bool isDivision(linalg::GenericOp op, Value place, Value result,
                       int64_t count) {
  for (unsigned number = 0; number < op.getNumDpsInits(); ++number) {
    AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(number));
    if (getPlace(op, number) != result || !map.isIdentity())
      continue;
    Operation *division =
        op.getBody()->getTerminator()->getOperand(number).getDefiningOp();
    APFloat constant(0.0);
    if (!isa_and_nonnull<arith::DivFOp, arith::MulFOp>(division) ||
        !matchPattern(division->getOperand(1), m_ConstantFloat(&constant)))
      return false;
    OpOperand *operand = getInput(op, division->getOperand(0));
    // What it is multiplied by may be the inverse of the count, rounded.
    APFloat factor(constant.getSemantics(), 1);
    APFloat divisor(constant.getSemantics());
    divisor.convertFromAPInt(APInt(64, count), /*IsSigned=*/true,
                             APFloat::rmNearestTiesToEven);
    if (isa<arith::DivFOp>(division))
      factor = divisor;
    else
      factor.divide(divisor, APFloat::rmNearestTiesToEven);
    return operand && operand->get() == place &&
           op.getMatchingIndexingMap(operand).isIdentity() &&
           constant.bitwiseIsEqual(factor);
  }
  return false;
}

/// Whether the only result of `op` starts from zeros. What a buffer starts from
/// is asked of its loops.
static bool startsFromZero(linalg::GenericOp op) {
  return !op.hasPureTensorSemantics() || isZeroTensor(op.getDpsInits().front());
}

bool remat::isCentralMoment(linalg::GenericOp sum, linalg::GenericOp mean,
                            linalg::GenericOp squares) {
  Value term = getTerm(sum), square = getTerm(squares);
  if (!term || !square || term.getType() != square.getType() ||
      mean.getNumReductionLoops() != 0)
    return false;
  auto product = square.getDefiningOp<arith::MulFOp>();
  if (!product || product.getLhs() != product.getRhs())
    return false;
  auto difference = product.getLhs().getDefiningOp<arith::SubFOp>();
  if (!difference)
    return false;
  SmallVector<int64_t> sizes = getLoopSizes(sum);
  SmallVector<utils::IteratorType> kinds = sum.getIteratorTypesArray();
  if (kinds != squares.getIteratorTypesArray() ||
      sizes != getLoopSizes(squares) || ShapedType::isDynamicShape(sizes))
    return false;
  int64_t count = 1;
  for (auto [size, kind] : llvm::zip(sizes, kinds))
    if (kind == utils::IteratorType::reduction)
      count = multiplyCounts(count, size);
  AffineMap results = sum.getMatchingIndexingMap(sum.getDpsInitOperand(0));
  // Whether the difference is that of the term and the mean; either may be
  // subtracted from the other.
  auto isAboutMean = [&](Value other, Value about) {
    OpOperand *operand = getInput(squares, about);
    return operand && squares.getMatchingIndexingMap(operand) == results &&
           isDivision(mean, getPlace(sum, 0), operand->get(), count) &&
           TermComparison(sum, squares).areEqual(term, other);
  };
  return squares.getMatchingIndexingMap(squares.getDpsInitOperand(0)) ==
             results &&
         startsFromZero(sum) && startsFromZero(squares) &&
         (isAboutMean(difference.getLhs(), difference.getRhs()) ||
          isAboutMean(difference.getRhs(), difference.getLhs()));
}
