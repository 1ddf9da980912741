//===- Qr.cpp - QR factors of matrices ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Householder's reflectors, as LAPACK's geqrf and orgqr compute and store them.
// Each step of a loop is differentiable, where a column is not all zeros, so
// the derivative is that of the loop.
//
//===----------------------------------------------------------------------===//

#include "Factorizations.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

static Value isIndex(OpBuilder &nested, Location loc, unsigned loop,
                     arith::CmpIPredicate predicate, Value step) {
  Value own = linalg::IndexOp::create(nested, loc, loop);
  return arith::CmpIOp::create(nested, loc, predicate, own, step);
}

static Value select(OpBuilder &nested, Location loc, Value condition, Value a,
                    Value b) {
  return arith::SelectOp::create(nested, loc, condition, a, b);
}

/// `matrices` without `factor` times the reflector times what it makes of them:
/// A - factor v (v^T A).
static Value createReflected(Indexed &math, Value matrices, Value reflector,
                             Value factor) {
  Value products = math.contract("bm,bmn->bn", reflector, matrices);
  return math.map(
      "bmn,bm,bn,b->bmn", {matrices, reflector, products, factor},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value scaled = arith::MulFOp::create(nested, loc, args[3], args[2]);
        return arith::SubFOp::create(
            nested, loc, args[0],
            arith::MulFOp::create(nested, loc, args[1], scaled));
      });
}

namespace {
/// What one step makes of a column: v, its factor, and the element of R.
struct Reflector {
  Value vector, factor, diagonal;
};
} // namespace

/// The reflector that makes zeros of `column` below `step`. It is the identity
/// if they are zeros.
static Reflector createReflector(Indexed &math, Value column, Value step) {
  Type element = getElementTypeOrSelf(column);
  Value first = createTakenAt(math, column, 1, step);
  Value below = math.map(
      "bm->bm", column,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return select(nested, loc,
                      isIndex(nested, loc, 1, arith::CmpIPredicate::ugt, step),
                      args[0], createConstant(nested, loc, element, 0.0));
      });
  Value squares = math.contract("bm,bm->b", below, below);
  auto isZero = [](OpBuilder &nested, Location loc, Value value) -> Value {
    return arith::CmpFOp::create(
        nested, loc, arith::CmpFPredicate::OEQ, value,
        createConstant(nested, loc, value.getType(), 0.0));
  };
  // Neither the root nor a quotient has 0 as operand, for the derivative's
  // sake.
  Value diagonal = math.map(
      "b,b->b", {first, squares},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value one = createConstant(nested, loc, element, 1.0);
        Value isDone = isZero(nested, loc, args[1]);
        Value total = arith::AddFOp::create(
            nested, loc, arith::MulFOp::create(nested, loc, args[0], args[0]),
            args[1]);
        Value norm = math::SqrtOp::create(
            nested, loc, select(nested, loc, isDone, one, total));
        Value isNegative = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OLT, args[0],
            createConstant(nested, loc, element, 0.0));
        Value signedNorm = select(nested, loc, isNegative, norm,
                                  arith::NegFOp::create(nested, loc, norm));
        return select(nested, loc, isDone, args[0], signedNorm);
      });
  Value factor = math.map(
      "b,b,b->b", {first, squares, diagonal},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value isDone = isZero(nested, loc, args[1]);
        Value one = createConstant(nested, loc, element, 1.0);
        Value quotient = arith::DivFOp::create(
            nested, loc, arith::SubFOp::create(nested, loc, args[2], args[0]),
            select(nested, loc, isDone, one, args[2]));
        return select(nested, loc, isDone,
                      createConstant(nested, loc, element, 0.0), quotient);
      });
  Value vector = math.map(
      "bm,b,b,b->bm", {below, first, squares, diagonal},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value isDone = isZero(nested, loc, args[2]);
        Value one = createConstant(nested, loc, element, 1.0);
        Value divisor =
            select(nested, loc, isDone, one,
                   arith::SubFOp::create(nested, loc, args[1], args[3]));
        Value quotient = arith::DivFOp::create(nested, loc, args[0], divisor);
        return select(nested, loc,
                      isIndex(nested, loc, 1, arith::CmpIPredicate::eq, step),
                      one, quotient);
      });
  return {vector, factor, diagonal};
}

std::pair<Value, Value> foreign::createReflectors(Indexed &math,
                                                  Value matrices) {
  OpBuilder &builder = math.builder;
  auto type = cast<RankedTensorType>(matrices.getType());
  int64_t batches = type.getDimSize(0),
          count = std::min(type.getDimSize(1), type.getDimSize(2));
  Value factors = createZeros(
      builder, math.loc,
      RankedTensorType::get({batches, count}, type.getElementType()));
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value column = createTakenAt(math, carried[0], 2, index);
    Reflector made = createReflector(math, column, index);
    Value reflected =
        createReflected(math, carried[0], made.vector, made.factor);
    // Rows above are done, and columns to the left hold earlier reflectors.
    Value next = math.map(
        "bmn,bmn,bm,b->bmn",
        {carried[0], reflected, made.vector, made.diagonal},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          auto is = [&](unsigned loop, arith::CmpIPredicate predicate) {
            return isIndex(nested, loc, loop, predicate, index);
          };
          Value own = select(nested, loc, is(1, arith::CmpIPredicate::eq),
                             args[3], args[2]);
          Value changed =
              select(nested, loc, is(2, arith::CmpIPredicate::eq), own,
                     select(nested, loc, is(2, arith::CmpIPredicate::ugt),
                            args[1], args[0]));
          return select(nested, loc, is(1, arith::CmpIPredicate::uge), changed,
                        args[0]);
        });
    Value nextFactors = math.map(
        "bk,b->bk", {carried[1], made.factor},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          return select(
              nested, loc,
              isIndex(nested, loc, 1, arith::CmpIPredicate::eq, index), args[1],
              args[0]);
        });
    return {next, nextFactors};
  };
  SmallVector<Value> results =
      createLoop(builder, math.loc, count, {matrices, factors}, step);
  return {results[0], results[1]};
}

Value foreign::createProduct(Indexed &math, Value reflectors, Value factors,
                             int64_t columns) {
  OpBuilder &builder = math.builder;
  auto type = cast<RankedTensorType>(reflectors.getType());
  int64_t batches = type.getDimSize(0), rows = type.getDimSize(1),
          count = cast<RankedTensorType>(factors.getType()).getDimSize(1);
  Type element = type.getElementType();
  Value zeros =
      createZeros(builder, math.loc, RankedTensorType::get({batches}, element));
  Value start = math.map(
      "b,mn->bmn", {zeros, createIdentity(math, rows, columns, element)},
      [](OpBuilder &, Location, ValueRange args) { return args[1]; });
  // The last reflector is the first that is applied.
  auto step = [&](Value index, ValueRange carried) -> SmallVector<Value> {
    Value number = arith::SubIOp::create(
        builder, math.loc, createIndex(builder, math.loc, count - 1), index);
    Value vector = math.map(
        "bm->bm", createTakenAt(math, reflectors, 2, number),
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          auto is = [&](arith::CmpIPredicate predicate) {
            return isIndex(nested, loc, 1, predicate, number);
          };
          Value rest =
              select(nested, loc, is(arith::CmpIPredicate::ugt), args[0],
                     createConstant(nested, loc, element, 0.0));
          return select(nested, loc, is(arith::CmpIPredicate::eq),
                        createConstant(nested, loc, element, 1.0), rest);
        });
    Value factor = createTakenAt(math, factors, 1, number);
    return {createReflected(math, carried[0], vector, factor)};
  };
  return createLoop(builder, math.loc, count, start, step).front();
}

static LogicalResult lowerReflectors(Operation *op, Lowering &lowering) {
  FailureOr<Value> matrices = getMatrices(op, lowering, 0);
  if (failed(matrices))
    return failure();
  if (cast<RankedTensorType>(matrices->getType()).getNumElements() == 0)
    return setResults(op, lowering, *matrices);
  Indexed math(lowering.builder, op->getLoc());
  auto [reflectors, factors] = createReflectors(math, *matrices);
  return setResults(op, lowering, {reflectors, factors});
}

static LogicalResult lowerProduct(Operation *op, Lowering &lowering) {
  FailureOr<Value> reflectors = getMatrices(op, lowering, 0);
  if (failed(reflectors))
    return failure();
  auto type = cast<RankedTensorType>(reflectors->getType());
  RankedTensorType factors = lowering.getTensorType(op->getOperand(1));
  int64_t count = factors.getRank() ? factors.getShape().back() : 0;
  if (factors.getElementType() != type.getElementType() ||
      factors.getNumElements() != type.getDimSize(0) * count ||
      count > type.getDimSize(2) || type.getDimSize(2) > type.getDimSize(1))
    return op->emitOpError("has reflectors of type ")
           << lowering.getTensorType(op->getOperand(0))
           << " and factors of type " << factors << ", which do not fit";
  if (type.getNumElements() == 0)
    return setResults(op, lowering, *reflectors);
  Indexed math(lowering.builder, op->getLoc());
  Value taus = createReshape(lowering.builder, op->getLoc(),
                             lowering.get(op->getOperand(1)),
                             {type.getDimSize(0), count});
  return setResults(op, lowering,
                    createProduct(math, *reflectors, taus, type.getDimSize(2)));
}

void foreign::addQr(LoweringTable &table) {
  table["lapack.geqrf"] = {lowerReflectors, 1, KnownOp::any};
  table["lapack.orgqr"] = {lowerProduct, 2, KnownOp::any};
}
