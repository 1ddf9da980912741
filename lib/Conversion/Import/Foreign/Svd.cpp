//===- Svd.cpp - singular values of matrices ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-sided Jacobi: columns are rotated until they are orthogonal. Their norms
// are the singular values then, and QR factors of them are the left singular
// vectors, also where a singular value is 0. Results are those of LAPACK's
// gesdd: singular values in descending order, and vectors with one of their two
// signs.
//
//===----------------------------------------------------------------------===//

#include "Jacobi.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// The columns of `left` and `right` are singular vectors; `whole` has more
/// columns than `left` if the matrices are high.
struct Singular {
  Value left, values, right, whole;
};
} // namespace

static Value squareRoots(Indexed &math, Value values) {
  return math.map(
      "bn->bn", values,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return math::SqrtOp::create(nested, loc, args[0]);
      });
}

/// The columns of `matrices`, which are orthogonal, with norms 1: the first of
/// an orthonormal basis of `columns` vectors.
static Value createBasis(Indexed &math, Value matrices, int64_t columns) {
  auto [reflectors, factors] = createReflectors(math, matrices);
  auto type = cast<RankedTensorType>(matrices.getType());
  Value basis = createProduct(math, reflectors, factors, columns);
  // R is diagonal, and its signs are those that the basis lacks.
  int64_t count = type.getDimSize(2);
  Value square = createBlock(math, reflectors, 0, count, 0, count);
  Value diagonal =
      math.contract("bij,ij->bi", square,
                    createIdentity(math, count, count, type.getElementType()));
  Value signs = math.map(
      "bi->bi", diagonal,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Type type = args[0].getType();
        Value isNegative = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OLT, args[0],
            createConstant(nested, loc, type, 0.0));
        return arith::SelectOp::create(nested, loc, isNegative,
                                       createConstant(nested, loc, type, -1.0),
                                       createConstant(nested, loc, type, 1.0));
      });
  Value one = createConstant(math.builder, math.loc, type.getElementType(), 1);
  signs = createPadded(math.builder, math.loc, signs, one, {0, 0},
                       {0, columns - count}, {0, 0});
  return math.map(
      "bmn,bn->bmn", {basis, signs},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MulFOp::create(nested, loc, args[0], args[1]);
      });
}

/// Whether no product of two columns is more than rounding errors.
static Value createIsDone(Indexed &math, Value columns) {
  return createIsDiagonal(
      math, math.contract("bki,bkj->bij", columns, columns),
      cast<RankedTensorType>(columns.getType()).getDimSize(1));
}

/// Of matrices that are not wider than high; `columns` of the basis on the
/// left.
static Singular createSingular(Indexed &math, Value matrices, int64_t columns) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  auto type = cast<RankedTensorType>(matrices.getType());
  Type element = type.getElementType();
  int64_t rows = type.getDimSize(1), size = type.getDimSize(2),
          count = size + size % 2, half = count / 2;
  Value zero = createConstant(builder, loc, element, 0.0);
  Value padded = createPadded(builder, loc, matrices, zero, {0, 0, 0},
                              {0, 0, size % 2}, {0, 0, 0});
  Value norms = math.contract("bmn,bmn->bn", padded, padded);
  Value start = math.map(
      "bn,kn->bkn", {norms, createIdentity(math, count, count, element)},
      [](OpBuilder &, Location, ValueRange args) { return args[1]; });
  Tournament tournament(math, count, element);
  auto round = [&](Value, ValueRange carried) -> SmallVector<Value> {
    Value first = createBlock(math, carried[0], 0, rows, 0, half),
          second = createBlock(math, carried[0], 0, rows, half, half);
    Rotations rotations =
        tournament.createRotations(math.contract("bmp,bmp->bp", first, first),
                                   math.contract("bmp,bmp->bp", second, second),
                                   math.contract("bmp,bmp->bp", first, second));
    return {tournament.rotateColumns(carried[0], rotations),
            tournament.rotateColumns(carried[1], rotations)};
  };
  SmallVector<Value> results = createLoop(
      builder, loc, tournament.countRounds(), {padded, start}, round);
  // An added column is the last one again, as after each sweep.
  Value turned = createBlock(math, results[0], 0, rows, 0, size),
        right = createBlock(math, results[1], 0, size, 0, size);
  Value isDone = createIsDone(math, turned);
  Value values =
      squareRoots(math, math.contract("bmn,bmn->bn", turned, turned));
  Value order = createSortedOrder(math, values, /*isDescending=*/true);
  turned = createOrderedColumns(math, turned, order);
  Singular made;
  made.values = createChecked(math, createOrdered(math, values, order), isDone);
  made.right =
      createChecked(math, createOrderedColumns(math, right, order), isDone);
  made.whole = createChecked(math, createBasis(math, turned, columns), isDone);
  made.left = createBlock(math, made.whole, 0, rows, 0, size);
  return made;
}

/// What the cotangents of U, s and V are of A = U s V^T, where U has as many
/// columns as A (Townsend, "Differentiating the Singular Value Decomposition",
/// 2016). Those of U or of V may be null.
static Value createPullback(Indexed &math, const Singular &made, Value ofLeft,
                            Value ofValues, Value ofRight) {
  Value squares = math.multiply(made.values, made.values);
  Value gaps = createReciprocalGaps(math, squares);
  auto scaleBy = [&](StringRef indices, Value matrices, bool isDivided) {
    return math.map(
        indices, {matrices, made.values},
        [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
          if (isDivided)
            return arith::DivFOp::create(nested, loc, args[0], args[1]);
          return arith::MulFOp::create(nested, loc, args[0], args[1]);
        });
  };
  auto symmetrize = [&](Value vectors, Value change) {
    Value part =
        math.multiply(gaps, math.contract("bki,bkj->bij", vectors, change));
    return math.add(part,
                    createTranspose(math.builder, math.loc, part, {0, 2, 1}));
  };
  Type element = getElementTypeOrSelf(made.values);
  int64_t size = cast<RankedTensorType>(made.values.getType()).getDimSize(1);
  Value inner = math.map(
      "bi,ij->bij", {ofValues, createIdentity(math, size, size, element)},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MulFOp::create(nested, loc, args[0], args[1]);
      });
  if (ofLeft)
    inner = math.add(
        inner, scaleBy("bij,bj->bij", symmetrize(made.left, ofLeft), false));
  if (ofRight)
    inner = math.add(
        inner, scaleBy("bij,bi->bij", symmetrize(made.right, ofRight), false));
  Value result =
      math.contract("bik,bkj->bij", made.left,
                    math.contract("bik,bjk->bij", inner, made.right));
  // What of a change of vectors is not in their span: x - v (v^T x).
  auto complement = [&](Value vectors, Value change) {
    Value inside = math.contract("bki,bkj->bij", vectors, change);
    return math.subtract(change,
                         math.contract("bik,bkj->bij", vectors, inside));
  };
  int64_t rows = cast<RankedTensorType>(made.left.getType()).getDimSize(1);
  if (ofLeft && rows > size)
    result = math.add(
        result, math.contract(
                    "bik,bjk->bij",
                    scaleBy("bij,bj->bij", complement(made.left, ofLeft), true),
                    made.right));
  return result;
}

/// What LAPACK overwrites, s, U, V^T, and that all went well.
static LogicalResult lowerSingular(Operation *op, Lowering &lowering) {
  FailureOr<Value> given = getMatrices(op, lowering, 0);
  if (failed(given))
    return failure();
  char mode = getLetter(op, "mode", 'S');
  if (op->getNumResults() < 4)
    return op->emitOpError("expected singular values and vectors as results");
  if (mode != 'S' && mode != 'A' && mode != 'N')
    return op->emitOpError("has mode '")
           << mode << "', expected 'S', 'A' or 'N'";
  auto type = cast<RankedTensorType>(given->getType());
  if (type.getNumElements() == 0)
    return op->emitOpError("of ") << type << " is not supported";
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Indexed math(builder, loc);
  auto transpose = [&](Value value) {
    return createTranspose(builder, loc, value, {0, 2, 1});
  };
  bool isWide = type.getDimSize(1) < type.getDimSize(2);
  Value matrices = isWide ? transpose(*given) : *given;
  auto high = cast<RankedTensorType>(matrices.getType());
  int64_t rows = high.getDimSize(1), size = high.getDimSize(2);
  bool isFull = mode == 'A' && rows > size;
  Singular made = createSingular(math, matrices, isFull ? rows : size);
  // With more vectors than singular values, or none, only these are
  // differentiated: a full basis is not a function of the matrix.
  bool isVectors = mode != 'N' && !isFull;
  SmallVector<Value> values = {made.values};
  if (isVectors)
    values.append({made.left, made.right});
  SmallVector<Value> results = createWithPullback(
      builder, loc, matrices, values, [&](ValueRange changes) {
        return createPullback(math, made, isVectors ? changes[1] : Value(),
                              changes[0], isVectors ? changes[2] : Value());
      });
  if (mode == 'N')
    return setResults(op, lowering, {Value(), results[0], Value(), Value()});
  if (isFull)
    results.append({made.whole, made.right});
  Value left = isWide ? results[2] : results[1],
        right = isWide ? results[1] : results[2];
  return setResults(op, lowering,
                    {Value(), results[0], left, transpose(right)});
}

void foreign::addSvd(LoweringTable &table) {
  table["lapack.gesdd"] = {lowerSingular, 1, KnownOp::any};
}
