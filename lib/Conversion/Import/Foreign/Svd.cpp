//===- Svd.cpp - singular values of matrices ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One-sided Jacobi of the factor R of A = Q R, as columns that are large and
// small converge faster there (Drmac and Veselic, 2008): the columns of R^T are
// rotated until they are orthogonal. Their norms are the singular values then,
// QR factors of them are the right singular vectors, also where a singular
// value is 0, and Q times the rotations the left ones. Results are those of
// LAPACK's gesdd: singular values in descending order, and vectors with one of
// their two signs.
//
//===----------------------------------------------------------------------===//

#include "Jacobi.h"

#include "mlir/Dialect/Math/IR/Math.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// A column with less than this much of the largest one's norm, times the
/// type's precision, is no more than rounding errors.
static constexpr double negligibleNorm = 64;

/// The share of what pairs had in one sweep that counts in the next one.
static constexpr double keptInSweep = 1e-4;

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

/// The columns of `matrices`, which are orthogonal, with norms 1: an
/// orthonormal basis, also where a column is 0.
static Value createBasis(Indexed &math, Value matrices) {
  auto type = cast<RankedTensorType>(matrices.getType());
  Type element = type.getElementType();
  // Squares of what is small would be 0.
  Value largest = math.reduce(
      "bmn->bn", matrices, createConstant(math.builder, math.loc, element, 0.0),
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value size = math::AbsFOp::create(nested, loc, args[0]);
        return arith::MaximumFOp::create(nested, loc, args[1], size);
      });
  Value scaled = math.map(
      "bmn,bn->bmn", {matrices, largest},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value isZero = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, args[1],
            createConstant(nested, loc, element, 0.0));
        Value quotient = arith::DivFOp::create(nested, loc, args[0], args[1]);
        return arith::SelectOp::create(nested, loc, isZero, args[0], quotient);
      });
  auto [reflectors, factors] = createReflectors(math, scaled);
  int64_t count = type.getDimSize(2);
  Value basis = createProduct(math, reflectors, factors, count);
  // R is diagonal, and its signs are those that the basis lacks.
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

/// Products of columns relative to their norms, and of which size the largest
/// of all pairs may be.
namespace {
struct Cosines {
  Value sizes, largest;
};
} // namespace

/// Those of a round, of pairs with the squared norms `first` and `second`.
/// Where one of both columns is no more than rounding errors, 0. Pairs that
/// were together in earlier rounds count with what they had, but less and less.
static Cosines createCosines(Indexed &math, Value first, Value second,
                             Value products, Value before, int64_t rounds) {
  Type element = getElementTypeOrSelf(products);
  Value zero = createConstant(math.builder, math.loc, element, 0.0);
  Value highest = math.reduce(
      "bp,bp->b", {first, second}, zero,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value higher = arith::MaximumFOp::create(nested, loc, args[0], args[1]);
        return arith::MaximumFOp::create(nested, loc, args[2], higher);
      });
  double precision = element.isF64() ? std::numeric_limits<double>::epsilon()
                                     : std::numeric_limits<float>::epsilon();
  double negligible = negligibleNorm * precision;
  Cosines made;
  made.sizes = math.map(
      "bp,bp,bp,b->bp", {products, first, second, highest},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value least = arith::MulFOp::create(
            nested, loc, args[3],
            createConstant(nested, loc, element, negligible * negligible));
        Value lower = arith::MinimumFOp::create(nested, loc, args[1], args[2]);
        Value counts = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OGT, lower, least);
        auto root = [&](Value value) -> Value {
          return math::SqrtOp::create(nested, loc, value);
        };
        Value norms =
            arith::MulFOp::create(nested, loc, root(args[1]), root(args[2]));
        Value size = math::AbsFOp::create(nested, loc, args[0]);
        return arith::SelectOp::create(
            nested, loc, counts,
            arith::DivFOp::create(nested, loc, size, norms),
            createConstant(nested, loc, element, 0.0));
      });
  Value largest = math.reduce(
      "bp->b", made.sizes, zero,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return arith::MaximumFOp::create(nested, loc, args[1], args[0]);
      });
  double kept = std::pow(keptInSweep, 1.0 / static_cast<double>(rounds));
  made.largest = math.map(
      "b,b->b", {largest, before},
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value earlier = arith::MulFOp::create(
            nested, loc, args[1], createConstant(nested, loc, element, kept));
        return arith::MaximumFOp::create(nested, loc, args[0], earlier);
      });
  return made;
}

/// A product of which a column is no more than rounding errors does not wait.
static Value createSizesToWaitFor(Indexed &math, const Cosines &cosines) {
  return math.map(
      "bp,b->bp", {cosines.sizes, cosines.largest},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value isNone = arith::CmpFOp::create(
            nested, loc, arith::CmpFPredicate::OEQ, args[0],
            createConstant(nested, loc, args[0].getType(), 0.0));
        return arith::SelectOp::create(nested, loc, isNone, args[1], args[0]);
      });
}

/// Square matrices whose columns are orthogonal, and the rotations that made
/// them of `matrices`.
static std::pair<Value, Value> createOrthogonal(Indexed &math, Value matrices) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  auto type = cast<RankedTensorType>(matrices.getType());
  Type element = type.getElementType();
  int64_t size = type.getDimSize(2), count = size + size % 2, half = count / 2;
  Value zero = createConstant(builder, loc, element, 0.0);
  Value padded = createPadded(builder, loc, matrices, zero, {0, 0, 0},
                              {0, 0, size % 2}, {0, 0, 0});
  Value norms = math.contract("bmn,bmn->bn", padded, padded);
  Value start = math.map(
      "bn,kn->bkn", {norms, createIdentity(math, count, count, element)},
      [](OpBuilder &, Location, ValueRange args) { return args[1]; });
  Value largest = createZeros(
      builder, loc, RankedTensorType::get({type.getDimSize(0)}, element));
  Tournament tournament(math, count, element);
  int64_t rounds = std::max<int64_t>(count - 1, 1);
  auto round = [&](Value, ValueRange carried) -> SmallVector<Value> {
    Value left = createBlock(math, carried[0], 0, size, 0, half),
          right = createBlock(math, carried[0], 0, size, half, half);
    Value first = math.contract("bmp,bmp->bp", left, left),
          second = math.contract("bmp,bmp->bp", right, right),
          products = math.contract("bmp,bmp->bp", left, right);
    Cosines cosines =
        createCosines(math, first, second, products, carried[2], rounds);
    products = tournament.createWorthwhile(
        products, createSizesToWaitFor(math, cosines), cosines.largest);
    Rotations rotations = tournament.createRotations(first, second, products);
    return {tournament.rotateColumns(carried[0], rotations),
            tournament.rotateColumns(carried[1], rotations), cosines.largest};
  };
  SmallVector<Value> results = createLoop(
      builder, loc, tournament.countRounds(), {padded, start, largest}, round);
  // An added column is the last one again, as after each sweep.
  return {createBlock(math, results[0], 0, size, 0, size),
          createBlock(math, results[1], 0, size, 0, size)};
}

/// Of matrices that are not wider than high; `columns` of the basis on the
/// left.
static Singular createSingular(Indexed &math, Value matrices, int64_t columns) {
  OpBuilder &builder = math.builder;
  auto type = cast<RankedTensorType>(matrices.getType());
  int64_t rows = type.getDimSize(1), size = type.getDimSize(2);
  auto [reflectors, factors] = createReflectors(math, matrices);
  Value upper =
      createUpper(math, createBlock(math, reflectors, 0, size, 0, size));
  auto [turned, rotations] = createOrthogonal(
      math, createTranspose(builder, math.loc, upper, {0, 2, 1}));
  Value isDone = createIsDone(math, turned);
  Value values =
      squareRoots(math, math.contract("bmn,bmn->bn", turned, turned));
  Value order = createSortedOrder(math, values, /*isDescending=*/true);
  turned = createOrderedColumns(math, turned, order);
  rotations = createOrderedColumns(math, rotations, order);
  Value basis = createProduct(math, reflectors, factors, columns);
  Value whole = math.contract(
      "bmk,bkn->bmn", createBlock(math, basis, 0, rows, 0, size), rotations);
  if (columns > size)
    whole = tensor::ConcatOp::create(
        builder, math.loc, 2,
        ValueRange{whole,
                   createBlock(math, basis, 0, rows, size, columns - size)});
  Singular made;
  made.values = createChecked(math, createOrdered(math, values, order), isDone);
  made.right = createChecked(math, createBasis(math, turned), isDone);
  made.whole = createChecked(math, whole, isDone);
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
      builder, loc, matrices, values,
      [&](ValueRange changes) -> SmallVector<Value> {
        return {createPullback(math, made, isVectors ? changes[1] : Value(),
                               changes[0], isVectors ? changes[2] : Value())};
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
