//===- Lu.cpp - LU factors of matrices ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gaussian elimination with the largest element of a column as pivot, as
// LAPACK's getrf. A step exchanges two rows and subtracts a product of a column
// and a row.
//
// The factors have a rule for their derivative (Walter and Lehmann,
// "Algorithmic Differentiation of Linear Algebra Functions", 2010). The order
// of the rows has none.
//
//===----------------------------------------------------------------------===//

#include "Factorizations.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

static Value compare(OpBuilder &nested, Location loc,
                     arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(nested, loc, predicate, a, b);
}

/// The row of the pivot of each batch: the first of the largest elements of
/// `column` from row `step` on, as an i64.
static Value createPivot(Indexed &math, Value column, Value step) {
  OpBuilder &builder = math.builder;
  int64_t rows = cast<RankedTensorType>(column.getType()).getDimSize(1);
  Type element = getElementTypeOrSelf(column);
  auto readSize = [&](OpBuilder &nested, Location loc, Value value) -> Value {
    Value size = math::AbsFOp::create(nested, loc, value);
    Value row = linalg::IndexOp::create(nested, loc, 1);
    return arith::SelectOp::create(
        nested, loc, compare(nested, loc, arith::CmpIPredicate::uge, row, step),
        size, createConstant(nested, loc, element, -1.0));
  };
  Value largest = math.reduce(
      "bm->b", column, createConstant(builder, math.loc, element, -1.0),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MaximumFOp::create(nested, loc, args[1],
                                         readSize(nested, loc, args[0]));
      });
  // Nothing is equal to nan; then the last row is as good as any.
  return math.reduce(
      "bm,b->b", {column, largest},
      createInteger(builder, math.loc, builder.getI64Type(), rows - 1),
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value isLargest =
            arith::CmpFOp::create(nested, loc, arith::CmpFPredicate::OEQ,
                                  readSize(nested, loc, args[0]), args[1]);
        Value row = linalg::IndexOp::create(nested, loc, 1);
        row = arith::IndexCastOp::create(nested, loc, nested.getI64Type(), row);
        Value found =
            arith::SelectOp::create(nested, loc, isLargest, row, args[2]);
        return arith::MinSIOp::create(nested, loc, args[2], found);
      });
}

/// The row that stands in row `row` when `step` and `pivot` are exchanged.
static Value createExchanged(OpBuilder &nested, Location loc, Value row,
                             Value step, Value pivot) {
  Value other = arith::SelectOp::create(
      nested, loc, compare(nested, loc, arith::CmpIPredicate::eq, row, pivot),
      step, row);
  return arith::SelectOp::create(
      nested, loc, compare(nested, loc, arith::CmpIPredicate::eq, row, step),
      pivot, other);
}

static Value toIndex(OpBuilder &nested, Location loc, Value number) {
  return arith::IndexCastOp::create(nested, loc, nested.getIndexType(), number);
}

/// `matrices` after the elimination of column `step`, whose pivot is in place.
/// What is 0 is not divided by a pivot that is 0.
static Value createEliminated(Indexed &math, Value matrices, Value step) {
  Value column = createTakenAt(math, matrices, 2, step),
        row = createTakenAt(math, matrices, 1, step);
  Value pivot = createTakenAt(math, row, 1, step);
  return math.map(
      "bmn,bm,bn,b->bmn", {matrices, column, row, pivot},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value zero = createConstant(nested, loc, args[0].getType(), 0.0);
        Value isZero = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, args[3], zero);
        Value factor = arith::SelectOp::create(
            nested, loc, isZero, args[1],
            arith::DivFOp::create(nested, loc, args[1], args[3]));
        Value rest = arith::SubFOp::create(
            nested, loc, args[0],
            arith::MulFOp::create(nested, loc, factor, args[2]));
        Value m = linalg::IndexOp::create(nested, loc, 1),
              n = linalg::IndexOp::create(nested, loc, 2);
        Value isBelow =
                  compare(nested, loc, arith::CmpIPredicate::ugt, m, step),
              isRight =
                  compare(nested, loc, arith::CmpIPredicate::ugt, n, step),
              isOwn = compare(nested, loc, arith::CmpIPredicate::eq, n, step);
        Value changed = arith::SelectOp::create(
            nested, loc, isOwn, factor,
            arith::SelectOp::create(nested, loc, isRight, rest, args[0]));
        return arith::SelectOp::create(nested, loc, isBelow, changed, args[0]);
      });
}

namespace {
/// The factors in one matrix, the rows of pivots, and the order of the rows.
struct Factors {
  Value packed, pivots, order;
};
} // namespace

/// The numbers of rows, for each batch.
static Value createRows(Indexed &math, int64_t batches, int64_t rows) {
  SmallVector<int64_t> numbers;
  for (int64_t batch = 0; batch < batches; ++batch)
    llvm::append_range(numbers, llvm::seq<int64_t>(0, rows));
  auto type = RankedTensorType::get({batches, rows}, math.builder.getI64Type());
  return arith::ConstantOp::create(
      math.builder, math.loc, DenseElementsAttr::get(type, ArrayRef(numbers)));
}

/// `order` when the element `step` and that of each batch's `pivots`, which
/// count from `firstNumber`, are exchanged.
static Value createExchangedRows(Indexed &math, Value order, Value step,
                                 Value pivots, int64_t firstNumber) {
  return math.map(
      "bm,b->bm", {order, pivots},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value batch = linalg::IndexOp::create(nested, loc, 0),
              row = linalg::IndexOp::create(nested, loc, 1);
        Value pivot =
            arith::SubIOp::create(nested, loc, toIndex(nested, loc, args[1]),
                                  createIndex(nested, loc, firstNumber));
        row = createExchanged(nested, loc, row, step, pivot);
        return tensor::ExtractOp::create(nested, loc, order,
                                         ValueRange{batch, row});
      });
}

static Factors createFactors(Indexed &math, Value matrices) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  auto type = cast<RankedTensorType>(matrices.getType());
  int64_t batches = type.getDimSize(0), rows = type.getDimSize(1),
          count = std::min(rows, type.getDimSize(2));
  Type integer = builder.getI64Type();
  Value pivots = createZeros(builder, loc,
                             RankedTensorType::get({batches, count}, integer));
  Value order = createRows(math, batches, rows);
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value column = createTakenAt(math, carried[0], 2, index);
    Value pivot = createPivot(math, column, index);
    Value exchanged = math.map(
        "bmn,b->bmn", {carried[0], pivot},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value batch = linalg::IndexOp::create(nested, loc, 0),
                row = linalg::IndexOp::create(nested, loc, 1),
                column = linalg::IndexOp::create(nested, loc, 2);
          row = createExchanged(nested, loc, row, index,
                                toIndex(nested, loc, args[1]));
          return tensor::ExtractOp::create(nested, loc, carried[0],
                                           ValueRange{batch, row, column});
        });
    Value nextPivots = math.map(
        "bk,b->bk", {carried[1], pivot},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          Value own = linalg::IndexOp::create(nested, loc, 1);
          return arith::SelectOp::create(
              nested, loc,
              compare(nested, loc, arith::CmpIPredicate::eq, own, index),
              args[1], args[0]);
        });
    Value nextOrder = createExchangedRows(math, carried[2], index, pivot,
                                          /*firstNumber=*/0);
    return {createEliminated(math, exchanged, index), nextPivots, nextOrder};
  };
  SmallVector<Value> results =
      createLoop(builder, loc, count, {matrices, pivots, order}, step);
  return {results[0], results[1], results[2]};
}

/// a b^-T, where b is upper triangular.
static Value createDivided(Indexed &math, Value a, Value b) {
  Value transposed = createTranspose(math.builder, math.loc, a, {0, 2, 1});
  Value solved = createTriangularSolve(math.builder, math.loc, b, transposed,
                                       /*isLower=*/false);
  return createTranspose(math.builder, math.loc, solved, {0, 2, 1});
}

/// l^-T b, where l is lower triangular with a unit diagonal.
static Value createSolved(Indexed &math, Value l, Value b) {
  Value transposed = createTranspose(math.builder, math.loc, l, {0, 2, 1});
  return createTriangularSolve(math.builder, math.loc, transposed, b,
                               /*isLower=*/false, /*hasUnitDiagonal=*/true);
}

/// What the cotangent `change` of the packed factors of P A is of A. Rows below
/// the square part are L2 = A2 U^-1, and columns beside it U2 = L^-1 A2.
static Value createPullback(Indexed &math, const Factors &factors,
                            Value change) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  auto type = cast<RankedTensorType>(factors.packed.getType());
  int64_t rows = type.getDimSize(1), columns = type.getDimSize(2),
          count = std::min(rows, columns);
  Value square = createBlock(math, factors.packed, 0, count, 0, count);
  Value unit =
      math.map("bmn,mn->bmn",
               {createStrictlyLower(math, square),
                createIdentity(math, count, count, type.getElementType())},
               [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                 return arith::AddFOp::create(nested, loc, args[0], args[1]);
               });
  Value upper = createUpper(math, square);
  Value ofSquare = createBlock(math, change, 0, count, 0, count);
  Value ofLower = createStrictlyLower(math, ofSquare),
        ofUpper = createUpper(math, ofSquare);
  Value below, beside;
  if (rows > count) {
    below = createDivided(
        math, createBlock(math, change, count, rows - count, 0, count), upper);
    Value l2 = createBlock(math, factors.packed, count, rows - count, 0, count);
    ofUpper = math.subtract(
        ofUpper, createUpper(math, math.contract("bmi,bmj->bij", l2, below)));
  }
  if (columns > count) {
    beside = createSolved(
        math, unit,
        createBlock(math, change, 0, count, count, columns - count));
    Value u2 =
        createBlock(math, factors.packed, 0, count, count, columns - count);
    ofLower = math.subtract(
        ofLower,
        createStrictlyLower(math, math.contract("bin,bjn->bij", beside, u2)));
  }
  Value inner = math.add(
      createStrictlyLower(math, math.contract("bki,bkj->bij", unit, ofLower)),
      createUpper(math, math.contract("bik,bjk->bij", ofUpper, upper)));
  Value result = createSolved(math, unit, createDivided(math, inner, upper));
  if (below)
    result =
        tensor::ConcatOp::create(builder, loc, 1, ValueRange{result, below});
  if (beside)
    result =
        tensor::ConcatOp::create(builder, loc, 2, ValueRange{result, beside});
  // Rows go back to where they were.
  Value places = math.map(
      "bm,mr->bmr",
      {factors.order, createIdentity(math, rows, rows, type.getElementType())},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value row = linalg::IndexOp::create(nested, loc, 2);
        Value isHere = compare(nested, loc, arith::CmpIPredicate::eq,
                               toIndex(nested, loc, args[0]), row);
        return arith::UIToFPOp::create(nested, loc, args[1].getType(), isHere);
      },
      type.getElementType());
  return math.contract("bmr,bmn->brn", places, result);
}

/// The packed factors, the pivots, which count from 1, and that all went well.
static LogicalResult lowerLu(Operation *op, Lowering &lowering) {
  FailureOr<Value> matrices = getMatrices(op, lowering, 0);
  if (failed(matrices))
    return failure();
  if (op->getNumResults() < 2)
    return op->emitOpError("expected the factors and the pivots as results");
  if (cast<RankedTensorType>(matrices->getType()).getNumElements() == 0)
    return setResults(op, lowering, *matrices);
  OpBuilder &builder = lowering.builder;
  Indexed math(builder, op->getLoc());
  Factors factors = createFactors(math, *matrices);
  Value packed =
      createWithPullback(builder, op->getLoc(), *matrices, factors.packed,
                         [&](ValueRange changes) -> SmallVector<Value> {
                           return {createPullback(math, factors, changes[0])};
                         })
          .front();
  Type integer = lowering.getTensorType(op->getResult(1)).getElementType();
  Value pivots = math.map(
      "bk->bk", factors.pivots,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value one = createInteger(nested, loc, args[0].getType(), 1);
        Value number = arith::AddIOp::create(nested, loc, args[0], one);
        return createConverted(nested, loc, number, integer, false);
      },
      integer);
  return setResults(op, lowering, {packed, pivots});
}

/// The row of A that each row of P A is, by the pivots of its factors: an own
/// operation, for frameworks that do not say it in others.
static LogicalResult lowerRowOrder(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  RankedTensorType pivots = lowering.getTensorType(op->getOperand(0)),
                   type = lowering.getTensorType(op->getResult(0));
  if (pivots.getRank() < 1 || pivots.getRank() != type.getRank() ||
      pivots.getShape().drop_back() != type.getShape().drop_back() ||
      pivots.getShape().back() > type.getShape().back() ||
      !isa<IntegerType>(pivots.getElementType()) ||
      !type.getElementType().isInteger(64))
    return op->emitOpError("of ")
           << pivots << " has a result of type " << type
           << ", expected an i64 for each of at least as many rows";
  int64_t count = pivots.getShape().back(), rows = type.getShape().back(),
          batches = ShapedType::getNumElements(type.getShape().drop_back());
  Indexed math(builder, loc);
  Value given = createReshape(builder, loc, lowering.get(op->getOperand(0)),
                              {batches, count});
  Value order =
      createLoop(builder, loc, count, createRows(math, batches, rows),
                 [&](Value index, ValueRange carried) -> SmallVector<Value> {
                   Value pivot = createTakenAt(math, given, 1, index);
                   return {createExchangedRows(math, carried[0], index, pivot,
                                               /*firstNumber=*/1)};
                 })
          .front();
  return setResults(op, lowering, order);
}

void foreign::addLu(LoweringTable &table) {
  table["lapack.row_order"] = {lowerRowOrder, 1};
  table["lapack.getrf"] = {lowerLu, 1, KnownOp::any};
}
