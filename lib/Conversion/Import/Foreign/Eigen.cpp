//===- Eigen.cpp - eigenvalues of symmetric matrices ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Jacobi's method, as LAPACK's syevd says what the results are: eigenvalues in
// ascending order, and eigenvectors as columns, each with one of its two signs.
// A matrix for which the rounds were not enough has nan as results.
//
//===----------------------------------------------------------------------===//

#include "Jacobi.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// Symmetric matrices of one triangle, with a row and a column of zeros if that
/// makes their size even.
static Value createSymmetric(Indexed &math, Value matrices, bool isLower) {
  OpBuilder &builder = math.builder;
  auto type = cast<RankedTensorType>(matrices.getType());
  int64_t size = type.getDimSize(1);
  Value mirrored = createTranspose(builder, math.loc, matrices, {0, 2, 1});
  Value lower = isLower ? matrices : mirrored,
        upper = isLower ? mirrored : matrices;
  Value symmetric = math.map(
      "bmn,bmn->bmn", {lower, upper},
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Value row = linalg::IndexOp::create(nested, loc, 1),
              column = linalg::IndexOp::create(nested, loc, 2);
        Value isLower = arith::CmpIOp::create(
            nested, loc, arith::CmpIPredicate::uge, row, column);
        return arith::SelectOp::create(nested, loc, isLower, args[0], args[1]);
      });
  Value zero = createConstant(builder, math.loc, type.getElementType(), 0.0);
  return createPadded(builder, math.loc, symmetric, zero, {0, 0, 0},
                      {0, size % 2, size % 2}, {0, 0, 0});
}

/// The elements (i, row + i) of matrices, for `count` rows.
static Value createDiagonal(Indexed &math, Value matrices, int64_t row,
                            int64_t column, int64_t count) {
  Value block = createBlock(math, matrices, row, count, column, count);
  // Each is the only one of its row that counts.
  Type element = getElementTypeOrSelf(matrices);
  return math.contract("bij,ij->bi", block,
                       createIdentity(math, count, count, element));
}

namespace {
struct Eigen {
  Value values, vectors;
};
} // namespace

static Value createSizes(Indexed &math, Value values) {
  return math.map(
      "bp->bp", values,
      [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return math::AbsFOp::create(nested, loc, args[0]);
      });
}

static Eigen createEigen(Indexed &math, Value symmetric, int64_t size) {
  OpBuilder &builder = math.builder;
  Location loc = math.loc;
  auto type = cast<RankedTensorType>(symmetric.getType());
  Type element = type.getElementType();
  int64_t count = type.getDimSize(1), half = count / 2;
  Value identities = math.map(
      "bmn,mn->bmn", {symmetric, createIdentity(math, count, count, element)},
      [](OpBuilder &, Location, ValueRange args) { return args[1]; });
  Tournament tournament(math, count, element);
  auto round = [&](Value, ValueRange carried) -> SmallVector<Value> {
    Value products = createDiagonal(math, carried[0], 0, half, half);
    products = tournament.createWorthwhile(
        products, createSizes(math, products),
        createLargest(math, carried[0], /*isOffDiagonal=*/true));
    Rotations rotations = tournament.createRotations(
        createDiagonal(math, carried[0], 0, 0, half),
        createDiagonal(math, carried[0], half, half, half), products);
    return {tournament.rotateBoth(carried[0], rotations),
            tournament.rotateColumns(carried[1], rotations)};
  };
  SmallVector<Value> results = createLoop(
      builder, loc, tournament.countRounds(), {symmetric, identities}, round);
  // The added row and column are the last again, as after each sweep.
  Value isDone = createIsDiagonal(math, results[0], count);
  Value values = createDiagonal(math, results[0], 0, 0, size),
        vectors = createBlock(math, results[1], 0, size, 0, size);
  Value order = createSortedOrder(math, values, /*isDescending=*/false);
  return {
      createChecked(math, createOrdered(math, values, order), isDone),
      createChecked(math, createOrderedColumns(math, vectors, order), isDone)};
}

/// V (diag(dw) + F o (V^T dV)) V^T, where F_ij = 1 / (w_j - w_i), as if both
/// triangles were read.
static Value createPullback(Indexed &math, const Eigen &eigen, Value ofVectors,
                            Value ofValues) {
  Value inner =
      math.multiply(createReciprocalGaps(math, eigen.values),
                    math.contract("bki,bkj->bij", eigen.vectors, ofVectors));
  inner =
      math.map("bij,bi->bij", {inner, ofValues},
               [](OpBuilder &nested, Location loc, ValueRange args) -> Value {
                 Value i = linalg::IndexOp::create(nested, loc, 1),
                       j = linalg::IndexOp::create(nested, loc, 2);
                 Value isDiagonal = arith::CmpIOp::create(
                     nested, loc, arith::CmpIPredicate::eq, i, j);
                 return arith::SelectOp::create(nested, loc, isDiagonal,
                                                args[1], args[0]);
               });
  Value left = math.contract("bik,bkj->bij", eigen.vectors, inner);
  Value whole = math.contract("bik,bjk->bij", left, eigen.vectors);
  Value mirrored = createTranspose(math.builder, math.loc, whole, {0, 2, 1});
  return math.scale(math.add(whole, mirrored), 0.5);
}

/// The eigenvectors, the eigenvalues, and that all went well.
static LogicalResult lowerEigen(Operation *op, Lowering &lowering) {
  FailureOr<Value> matrices = getMatrices(op, lowering, 0, /*isSquare=*/true);
  if (failed(matrices))
    return failure();
  if (op->getNumResults() < 2)
    return op->emitOpError(
        "expected the eigenvectors and the eigenvalues as results");
  auto type = cast<RankedTensorType>(matrices->getType());
  if (type.getNumElements() == 0)
    return setResults(op, lowering, *matrices);
  Indexed math(lowering.builder, op->getLoc());
  Value symmetric =
      createSymmetric(math, *matrices, getLetter(op, "uplo", 'L') == 'L');
  Eigen eigen = createEigen(math, symmetric, type.getDimSize(1));
  SmallVector<Value> results = createWithPullback(
      lowering.builder, op->getLoc(), *matrices, {eigen.vectors, eigen.values},
      [&](ValueRange changes) -> SmallVector<Value> {
        return {createPullback(math, eigen, changes[0], changes[1])};
      });
  return setResults(op, lowering, results);
}

void foreign::addEigen(LoweringTable &table) {
  table["lapack.syevd"] = {lowerEigen, 1, KnownOp::any};
}
