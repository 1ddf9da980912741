//===- ReductionKinds.cpp - how bodies make their results -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Classifies the results of a structured operation: pointwise, or reduced by
// a sum, a product, a maximum or a minimum.
//
//===----------------------------------------------------------------------===//

#include "StructuredRule.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "remat/Utils/WrittenElements.h"

using namespace mlir;
using namespace remat;

namespace {
/// The values of a body that depend on partial results of reductions.
class Dependence {
public:
  Dependence(Block &body, ArrayRef<Value> accumulators)
      : values(accumulators.begin(), accumulators.end()) {
    for (Operation &op : body)
      if (llvm::any_of(op.getOperands(),
                       [&](Value value) { return values.contains(value); }))
        values.insert(op.result_begin(), op.result_end());
  }
  bool contains(Value value) const { return values.contains(value); }

private:
  llvm::DenseSet<Value> values;
};
} // namespace

/// Whether `value` is `accumulator` plus terms that do not depend on partial
/// results.
static bool isSum(Value value, Value accumulator,
                  const Dependence &dependence) {
  if (value == accumulator)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto recurse = [&](unsigned operand) {
    return isSum(op->getOperand(operand), accumulator, dependence);
  };
  auto isTerm = [&](unsigned operand) {
    return !dependence.contains(op->getOperand(operand));
  };
  if (isa<arith::AddFOp, complex::AddOp>(op))
    return (isTerm(0) && recurse(1)) || (isTerm(1) && recurse(0));
  if (isa<arith::SubFOp, complex::SubOp>(op))
    return isTerm(1) && recurse(0);
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return recurse(0);
  if (isa<arith::SelectOp>(op))
    return isTerm(0) && recurse(1) && recurse(2);
  if (isa<math::FmaOp>(op))
    return isTerm(0) && isTerm(1) && recurse(2);
  return false;
}

/// The kind of select(cmpf(a, b), x, y) where x, y are a, b in some order.
static std::optional<ReductionKind> getSelectKind(arith::SelectOp select) {
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return std::nullopt;
  Value a = compare.getLhs(), b = compare.getRhs();
  Value x = select.getTrueValue(), y = select.getFalseValue();
  bool straight = a == x && b == y;
  if (!straight && !(a == y && b == x))
    return std::nullopt;
  switch (compare.getPredicate()) {
  case arith::CmpFPredicate::OGT:
  case arith::CmpFPredicate::OGE:
  case arith::CmpFPredicate::UGT:
  case arith::CmpFPredicate::UGE:
    return straight ? ReductionKind::Maximum : ReductionKind::Minimum;
  case arith::CmpFPredicate::OLT:
  case arith::CmpFPredicate::OLE:
  case arith::CmpFPredicate::ULT:
  case arith::CmpFPredicate::ULE:
    return straight ? ReductionKind::Minimum : ReductionKind::Maximum;
  default:
    return std::nullopt;
  }
}

std::optional<ReductionKind> remat::getCombinerKind(Operation *op) {
  if (isa<arith::MaximumFOp, arith::MaxNumFOp>(op))
    return ReductionKind::Maximum;
  if (isa<arith::MinimumFOp, arith::MinNumFOp>(op))
    return ReductionKind::Minimum;
  if (isa<arith::MulFOp>(op))
    return ReductionKind::Product;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return getSelectKind(select);
  return std::nullopt;
}

/// Fills in kind and term of a result that does not cover all loops.
static LogicalResult classifyReduction(Operation *op, Value accumulator,
                                       const Dependence &dependence,
                                       ReductionResult &result) {
  if (isSum(result.yielded, accumulator, dependence)) {
    result.kind = ReductionKind::Sum;
    return success();
  }
  if (Operation *combiner = result.yielded.getDefiningOp()) {
    std::optional<ReductionKind> kind = getCombinerKind(combiner);
    OperandRange operands = combiner->getOperands().take_back(2);
    for (unsigned number : {0, 1})
      if (kind && operands[number] == accumulator &&
          !dependence.contains(operands[1 - number])) {
        result.kind = *kind;
        result.term = operands[1 - number];
        return success();
      }
  }
  InFlightDiagnostic error = op->emitOpError("result #");
  error << result.result.getResultNumber() << " has no derivative rule: ";
  if (!accumulator.use_empty())
    return error << "expected a reduction by sum, product, maximum or minimum";
  return error << "its elements are overwritten, not reduced, by "
               << AffineMapAttr::get(result.map)
               << "; expected a map with each loop as a dimension";
}

LogicalResult remat::classifyResults(linalg::LinalgOp op,
                                     const StructuredBody &forward,
                                     ArrayRef<OpResult> wanted,
                                     SmallVectorImpl<ReductionResult> &results,
                                     SmallVectorImpl<Value> &accumulators) {
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!forward.coversAllLoops(op.getMatchingIndexingMap(&init)))
      accumulators.push_back(op.getMatchingBlockArgument(&init));
  Dependence dependence(*forward.body, accumulators);
  for (OpResult result : wanted) {
    OpOperand *init = op.getTiedOpOperand(result);
    AffineMap map = op.getMatchingIndexingMap(init);
    Value yielded =
        forward.body->getTerminator()->getOperand(result.getResultNumber());
    if (!writesAllElements(op, init))
      return op->emitOpError("result #")
             << result.getResultNumber()
             << " has no derivative rule: elements that its map "
             << "does not select are those of the init";
    ReductionResult info{
        ReductionKind::Pointwise, result, init->get(), map, yielded, Value()};
    if (forward.coversAllLoops(map)) {
      if (dependence.contains(yielded))
        return op->emitOpError("result #")
               << result.getResultNumber()
               << " has no derivative rule: it depends on the partial results "
                  "of a reduction";
    } else if (failed(classifyReduction(op, op.getMatchingBlockArgument(init),
                                        dependence, info))) {
      return failure();
    }
    results.push_back(info);
  }
  return success();
}
