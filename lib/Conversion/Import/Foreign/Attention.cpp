//===- Attention.cpp - attention of torch-mlir ----------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `tm_tensor.attention` is softmax(q k^T / sqrt(d) + mask) v on the last two
// dimensions of its operands, of which all others are batches. A mask of lower
// rank is that of all batches. What torch-mlir knows to be causal comes with a
// mask that says so.
//
//===----------------------------------------------------------------------===//

#include "Indexed.h"

#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
struct Shapes {
  RankedTensorType query, key, value, mask;

  ArrayRef<int64_t> getBatches() const { return query.getShape().drop_back(2); }
  int64_t countQueries() const { return query.getShape().drop_back().back(); }
  int64_t countKeys() const { return key.getShape().drop_back().back(); }
};
} // namespace

static LogicalResult checkOperands(Operation *op, const Shapes &shapes) {
  auto fits = [&](RankedTensorType type, int64_t rows, int64_t columns) {
    return type.getRank() == shapes.query.getRank() &&
           type.getShape().drop_back(2) == shapes.getBatches() &&
           type.getElementType() == shapes.query.getElementType() &&
           (rows < 0 || type.getShape().drop_back().back() == rows) &&
           (columns < 0 || type.getShape().back() == columns);
  };
  if (!isa<FloatType>(shapes.query.getElementType()) ||
      !fits(shapes.key, -1, shapes.query.getShape().back()) ||
      !fits(shapes.value, shapes.countKeys(), -1))
    return op->emitOpError("has a query of type ")
           << shapes.query << ", a key of type " << shapes.key
           << " and a value of type " << shapes.value
           << ", expected floating-point numbers of shapes [batches, m, d], "
              "[batches, n, d] and [batches, n, e]";
  if (!shapes.mask)
    return success();
  SmallVector<int64_t> whole(shapes.getBatches());
  whole.append({shapes.countQueries(), shapes.countKeys()});
  int64_t rank = shapes.mask.getRank();
  Type element = shapes.mask.getElementType();
  if (rank < 2 || rank > static_cast<int64_t>(whole.size()) ||
      shapes.mask.getShape() != ArrayRef(whole).take_back(rank) ||
      !(element.isInteger(1) || element == shapes.query.getElementType()))
    return op->emitOpError("has a mask of type ")
           << shapes.mask << ", expected truth values, or numbers as those of "
           << "the query, of shape [" << whole << "] or of its last dimensions";
  return success();
}

/// A mask of numbers is added. One of truth values keeps what is true.
static Value createMasked(Indexed &math, Value scores, Value mask) {
  return math.map(
      "abmn,bmn->abmn", {scores, mask},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Type type = args[0].getType();
        if (!args[1].getType().isInteger(1))
          return arith::AddFOp::create(
              nested, loc, args[0],
              createConverted(nested, loc, args[1], type, false));
        Value least = createConstant(nested, loc, type,
                                     -std::numeric_limits<double>::infinity());
        return arith::SelectOp::create(nested, loc, args[1], args[0], least);
      });
}

/// The softmax along the last dimension. No derivative goes through the
/// maximum, which the result does not depend on.
static Value createSoftmax(Indexed &math, Value scores) {
  OpBuilder &builder = math.builder;
  Type type = getElementTypeOrSelf(scores);
  Value least = createConstant(builder, math.loc, type,
                               -std::numeric_limits<double>::infinity());
  Value most = math.reduce(
      "bmn->bm", StopGradientOp::create(builder, math.loc, scores).getResult(),
      least, [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MaximumFOp::create(nested, loc, args[1], args[0]);
      });
  Value weights = math.map(
      "bmn,bm->bmn", {scores, most},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return math::ExpOp::create(
            nested, loc,
            arith::SubFOp::create(nested, loc, args[0], args[1]).getResult());
      });
  return math.map(
      "bmn,bm->bmn", {weights, math.sum("bmn->bm", weights)},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::DivFOp::create(nested, loc, args[0], args[1]);
      });
}

static LogicalResult lowerAttention(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  unsigned count = op->getNumOperands();
  if (count != 4 && count != 5)
    return op->emitOpError("has ")
           << count << " operands, expected a query, a key, a value, perhaps a "
           << "mask, and an output";
  for (Value operand : op->getOperands())
    if (lowering.getTensorType(operand).getRank() < 2)
      return op->emitOpError("has an operand of type ")
             << operand.getType() << ", expected at least 2 dimensions";
  Shapes shapes;
  shapes.query = lowering.getTensorType(op->getOperand(0));
  shapes.key = lowering.getTensorType(op->getOperand(1));
  shapes.value = lowering.getTensorType(op->getOperand(2));
  if (count == 5)
    shapes.mask = lowering.getTensorType(op->getOperand(3));
  SmallVector<int64_t> result(shapes.query.getShape());
  result.back() = shapes.value.getShape().back();
  if (failed(checkOperands(op, shapes)) || failed(checkShape(op, result)) ||
      failed(checkElements(op)))
    return failure();

  // Narrow numbers are summed in f32, as in other products.
  Type element = shapes.query.getElementType();
  Type inner =
      element.getIntOrFloatBitWidth() < 32 ? builder.getF32Type() : element;
  int64_t batches = ShapedType::getNumElements(shapes.getBatches());
  auto read = [&](unsigned number, RankedTensorType type) {
    Value value = createReshape(
        builder, loc, lowering.get(op->getOperand(number)),
        {batches, type.getShape().drop_back().back(), type.getShape().back()});
    return createConverted(builder, loc, value, inner, false);
  };
  Indexed math(builder, loc);
  Value scores =
      math.contract("bmd,bnd->bmn", read(0, shapes.query), read(1, shapes.key));
  scores = math.scale(scores, 1.0 / std::sqrt(shapes.query.getShape().back()));
  if (shapes.mask) {
    // Those of some of the batches repeat.
    int64_t rows = shapes.countQueries(), columns = shapes.countKeys(),
            masks =
                ShapedType::getNumElements(shapes.mask.getShape().drop_back(2));
    Value mask = createReshape(builder, loc, lowering.get(op->getOperand(3)),
                               {masks, rows, columns});
    Value split =
        createReshape(builder, loc, scores,
                      {masks ? batches / masks : 0, masks, rows, columns});
    scores = createReshape(builder, loc, createMasked(math, split, mask),
                           {batches, rows, columns});
  }
  Value sums = math.contract("bmn,bne->bme", createSoftmax(math, scores),
                             read(2, shapes.value));
  sums = createConverted(builder, loc, sums, element, false);
  return lowering.set(op, createReshape(builder, loc, sums, result));
}

void foreign::addAttention(LoweringTable &table) {
  table["tm_tensor.attention"] = {lowerAttention, KnownOp::any};
}
