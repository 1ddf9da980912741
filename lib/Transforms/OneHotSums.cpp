//===- OneHotSums.cpp - sums of rows with one number ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a logarithm of a softmax, of which one element is picked,
// adds up a row that is zero but for that element. The sum is the element, if
// the picked place is in the row at all. Where the row is multiplied by a
// number first, zeros times that number are added, too, which are NaN if it is
// infinite or NaN. One of them is enough in place of all: it is a zero, which
// changes no sum, or a NaN, which makes any sum NaN.
//
//===----------------------------------------------------------------------===//

#include "OneHotSums.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Closure.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

/// Whether `op` is elementwise, with one result.
static bool isPlainElementwise(linalg::GenericOp op) {
  return op && op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
         op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity() &&
         op.getRegionOutputArgs()[0].use_empty();
}

/// Whether a value of the body is the same for all indices of `dim`.
static bool isCommon(linalg::GenericOp op, Value value, unsigned dim) {
  return holdsForClosure(value, [&](Value made, SmallVectorImpl<Value> &next) {
    if (auto argument = dyn_cast<BlockArgument>(made)) {
      if (argument.getOwner() != op.getBody())
        return true;
      return argument.getArgNumber() < op.getNumDpsInputs() &&
             !op.getMatchingIndexingMap(
                    op.getDpsInputOperand(argument.getArgNumber()))
                  .isFunctionOfDim(dim);
    }
    Operation *maker = made.getDefiningOp();
    if (maker->getBlock() != op.getBody())
      return true;
    if (auto index = dyn_cast<linalg::IndexOp>(maker))
      return index.getDim() != dim;
    llvm::append_range(next, maker->getOperands());
    return maker->getNumRegions() == 0 && isPure(maker);
  });
}

/// Whether a value of the body is zero everywhere.
static bool isZero(linalg::GenericOp op, Value value) {
  if (matchPattern(value, m_PosZeroFloat()))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getOwner() == op.getBody() &&
         argument.getArgNumber() < op.getNumDpsInputs() &&
         isZeroTensor(op.getDpsInputs()[argument.getArgNumber()]);
}

namespace {
/// A value in the body of an operation.
struct BodyValue {
  linalg::GenericOp op;
  Value value;
};

/// Rows along `dim` that are zero but for `number` at `place`, and what becomes
/// of their elements.
struct OneHotRows {
  unsigned dim;
  BodyValue place, number;
  /// Products with what is the same for a row, negations and conversions, of
  /// which each has the next one's result. The last one has the element.
  SmallVector<BodyValue> steps;
};
} // namespace

/// Sets where the rows have their number, if that is what the selection is for.
static bool matchSelect(linalg::GenericOp op, arith::SelectOp select,
                        OneHotRows &rows) {
  auto isPicked = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!isPicked || isPicked.getPredicate() != arith::CmpIPredicate::eq ||
      !isa<FloatType>(select.getType()) ||
      !isZero(op, select.getFalseValue()) ||
      !isCommon(op, select.getTrueValue(), rows.dim))
    return false;
  Value place = isPicked.getLhs(), column = isPicked.getRhs();
  if (isCommon(op, column, rows.dim))
    std::swap(place, column);
  auto index = column.getDefiningOp<linalg::IndexOp>();
  if (!index || index.getDim() != rows.dim || !isCommon(op, place, rows.dim))
    return false;
  rows.place = {op, place};
  rows.number = {op, select.getTrueValue()};
  return true;
}

/// The operand of a step that is the step before. `step` may be a product with
/// what is the same for a whole row.
static OpOperand *getChanging(linalg::GenericOp op, Operation *step,
                              unsigned dim) {
  if (isa<arith::NegFOp, arith::ExtFOp, arith::TruncFOp>(step))
    return &step->getOpOperand(0);
  if (!isa<arith::MulFOp>(step))
    return nullptr;
  for (unsigned i : {0, 1})
    if (isCommon(op, step->getOperand(1 - i), dim))
      return &step->getOpOperand(i);
  return nullptr;
}

/// Follows a value of the body to where it is selected.
static bool matchRows(BodyValue at, OneHotRows &rows) {
  while (true) {
    if (auto argument = dyn_cast<BlockArgument>(at.value)) {
      // The element of another operation's result at the same place.
      if (argument.getOwner() != at.op.getBody() ||
          argument.getArgNumber() >= at.op.getNumDpsInputs())
        return false;
      OpOperand *input = at.op.getDpsInputOperand(argument.getArgNumber());
      auto maker = input->get().getDefiningOp<linalg::GenericOp>();
      if (!at.op.getMatchingIndexingMap(input).isIdentity() ||
          !isPlainElementwise(maker))
        return false;
      at = {maker, maker.getBody()->getTerminator()->getOperand(0)};
      continue;
    }
    Operation *maker = at.value.getDefiningOp();
    if (maker->getBlock() != at.op.getBody())
      return false;
    if (auto select = dyn_cast<arith::SelectOp>(maker))
      return matchSelect(at.op, select, rows);
    OpOperand *before = getChanging(at.op, maker, rows.dim);
    if (!before)
      return false;
    rows.steps.push_back(at);
    at.value = before->get();
  }
}

/// Whether the result of a sum over `dim` has the other dimensions in order.
static bool keepsOrder(AffineMap map, unsigned dim) {
  if (!map.isProjectedPermutation() || map.isFunctionOfDim(dim) ||
      map.getNumResults() + 1 != map.getNumDims())
    return false;
  for (unsigned result = 0; result + 1 < map.getNumResults(); ++result)
    if (map.getDimPosition(result) > map.getDimPosition(result + 1))
      return false;
  return true;
}

/// What `sum` adds up along its only reduction, if that has rows of one number.
static std::optional<OneHotRows> match(linalg::GenericOp sum) {
  if (sum.getNumReductionLoops() != 1 || sum->getNumResults() != 1 ||
      sum->hasAttr(RematDialect::policyAttrName) ||
      !isZeroTensor(sum.getDpsInits()[0]))
    return std::nullopt;
  SmallVector<unsigned> reductions;
  sum.getReductionDims(reductions);
  OneHotRows rows{reductions.front(), {}, {}, {}};
  SmallVector<int64_t> sizes = sum.getStaticLoopRanges();
  if (llvm::any_of(sizes, ShapedType::isDynamic) || sizes[rows.dim] < 2 ||
      !keepsOrder(sum.getMatchingIndexingMap(sum.getDpsInitOperand(0)),
                  rows.dim))
    return std::nullopt;
  auto add = sum.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  Value old = sum.getRegionOutputArgs()[0];
  if (!add || !old.hasOneUse() || (add.getLhs() != old && add.getRhs() != old))
    return std::nullopt;
  Value term = add.getLhs() == old ? add.getRhs() : add.getLhs();
  if (!matchRows({sum, term}, rows))
    return std::nullopt;
  return rows;
}

namespace {
/// Makes the sums of rows in a loop over the rows alone.
class SumMaker {
public:
  SumMaker(linalg::GenericOp sum, const OneHotRows &rows)
      : sum(sum), rows(rows) {}
  void run();

private:
  void addInputs(BodyValue from);
  Value clone(OpBuilder &builder, BodyValue from, ValueRange arguments);
  Value applySteps(OpBuilder &builder, Value element, ValueRange arguments);

  linalg::GenericOp sum;
  const OneHotRows &rows;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  /// By argument of a body the number of the input that it is.
  DenseMap<Value, unsigned> numbers;
  IRMapping mapping;
};
} // namespace

/// The inputs that a value needs which is the same for a whole row.
void SumMaker::addInputs(BodyValue from) {
  auto argument = dyn_cast<BlockArgument>(from.value);
  if (!argument) {
    Operation *maker = from.value.getDefiningOp();
    if (maker->getBlock() == from.op.getBody())
      for (Value operand : maker->getOperands())
        addInputs({from.op, operand});
    return;
  }
  if (argument.getOwner() != from.op.getBody() ||
      !numbers.try_emplace(argument, inputs.size()).second)
    return;
  MLIRContext *context = sum.getContext();
  SmallVector<AffineExpr> dims;
  for (unsigned old = 0, now = 0; old < sum.getNumLoops(); ++old)
    dims.push_back(old == rows.dim ? getAffineConstantExpr(0, context)
                                   : getAffineDimExpr(now++, context));
  OpOperand *input = from.op.getDpsInputOperand(argument.getArgNumber());
  inputs.push_back(input->get());
  maps.push_back(from.op.getMatchingIndexingMap(input).replaceDimsAndSymbols(
      dims, {}, sum.getNumLoops() - 1, 0));
}

/// A value that is the same for a whole row.
Value SumMaker::clone(OpBuilder &builder, BodyValue from,
                      ValueRange arguments) {
  Value value = from.value;
  if (mapping.contains(value))
    return mapping.lookup(value);
  Value copy = value;
  if (auto number = numbers.find(value); number != numbers.end()) {
    copy = arguments[number->second];
  } else if (Operation *maker = value.getDefiningOp();
             maker && maker->getBlock() == from.op.getBody()) {
    if (auto index = dyn_cast<linalg::IndexOp>(maker)) {
      unsigned now = index.getDim() - (index.getDim() > rows.dim ? 1 : 0);
      copy = linalg::IndexOp::create(builder, index.getLoc(), now);
    } else {
      for (Value operand : maker->getOperands())
        clone(builder, {from.op, operand}, arguments);
      copy = builder.clone(*maker, mapping)
                 ->getResult(cast<OpResult>(value).getResultNumber());
    }
  }
  mapping.map(value, copy);
  return copy;
}

/// What becomes of an element of a row.
Value SumMaker::applySteps(OpBuilder &builder, Value element,
                           ValueRange arguments) {
  for (const BodyValue &step : llvm::reverse(rows.steps)) {
    Operation *maker = step.value.getDefiningOp();
    OpOperand *changing = getChanging(step.op, maker, rows.dim);
    IRMapping operands;
    for (OpOperand &operand : maker->getOpOperands())
      operands.map(operand.get(),
                   &operand == changing
                       ? element
                       : clone(builder, {step.op, operand.get()}, arguments));
    element = builder.clone(*maker, operands)->getResult(0);
  }
  return element;
}

void SumMaker::run() {
  OpBuilder builder(sum);
  Location loc = sum.getLoc();
  addInputs(rows.place);
  addInputs(rows.number);
  for (const BodyValue &step : rows.steps) {
    Operation *maker = step.value.getDefiningOp();
    OpOperand *changing = getChanging(step.op, maker, rows.dim);
    for (OpOperand &operand : maker->getOpOperands())
      if (&operand != changing)
        addInputs({step.op, operand.get()});
  }
  auto type = cast<RankedTensorType>(sum->getResult(0).getType());
  maps.push_back(builder.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  int64_t size = sum.getStaticLoopRanges()[rows.dim];
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  auto made = linalg::GenericOp::create(
      builder, loc, TypeRange(type), inputs, ValueRange(empty), maps, iterators,
      [&](OpBuilder &b, Location at, ValueRange arguments) {
        Value place = clone(b, rows.place, arguments);
        Value number = clone(b, rows.number, arguments);
        Value zero =
            arith::ConstantOp::create(b, at, b.getZeroAttr(number.getType()));
        Value end = arith::ConstantIndexOp::create(b, at, size);
        Value isThere =
            arith::CmpIOp::create(b, at, arith::CmpIPredicate::ult, place, end);
        Value element = arith::SelectOp::create(b, at, isThere, number, zero);
        // Sums begin at zero, which makes one of a negative zero.
        Value total = arith::ConstantOp::create(
            b, at, b.getZeroAttr(type.getElementType()));
        total = arith::AddFOp::create(b, at, total,
                                      applySteps(b, element, arguments));
        if (!rows.steps.empty())
          total = arith::AddFOp::create(b, at, total,
                                        applySteps(b, zero, arguments));
        linalg::YieldOp::create(b, at, total);
      });
  copyBackward(sum, made);
  copyBackward(sum, empty.getDefiningOp());
  sum->replaceAllUsesWith(made);
  sum.erase();
}

unsigned remat::sumOneHots(func::FuncOp function) {
  SmallVector<linalg::GenericOp> sums = collectOps<linalg::GenericOp>(function);
  unsigned count = 0;
  for (linalg::GenericOp op : sums)
    if (std::optional<OneHotRows> rows = match(op)) {
      SumMaker(op, *rows).run();
      ++count;
    }
  return count;
}
