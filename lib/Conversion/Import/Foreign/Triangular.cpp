//===- Triangular.cpp - triangular systems and Cholesky's factor ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What frameworks say of triangular systems and of Cholesky's factor, and the
// rules of their derivatives.
//
//===----------------------------------------------------------------------===//

#include "Blocks.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

/// The x with a x = b, with a rule if it is a loop: of a cotangent of x, that
/// of b is a^-T times it, and that of a its product with -x, in the triangle.
static Value createSolution(OpBuilder &builder, Location loc, Value a, Value b,
                            bool isLower, bool hasUnitDiagonal) {
  Blocks blocks(builder, loc, hasUnitDiagonal);
  Value x = blocks.solve(a, b, isLower);
  if (cast<RankedTensorType>(a.getType()).getShape().back() <= smallSize)
    return x;
  auto pullback = [&](ValueRange changes) -> SmallVector<Value> {
    Indexed math(builder, loc);
    Value ofB = blocks.solve(blocks.transpose(a), changes[0], !isLower);
    Value product = math.scale(math.contract("bim,bjm->bij", ofB, x), -1.0);
    using Predicate = arith::CmpIPredicate;
    Predicate kept = hasUnitDiagonal
                         ? (isLower ? Predicate::ugt : Predicate::ult)
                     : isLower ? Predicate::uge
                               : Predicate::ule;
    return {createTriangle(math, product, kept), ofB};
  };
  return createWithPullback(builder, loc, {a, b}, x, pullback).front();
}

/// The lower triangular l with l l^T = a, with a rule if it is a loop: of a
/// cotangent of l, l^-T P(l^T dl) l^-1 is that of a, whose upper triangle is
/// not read, where P takes the lower triangle with half of the diagonal.
static Value createFactor(OpBuilder &builder, Location loc, Value a) {
  Blocks blocks(builder, loc);
  Value l = blocks.factor(a);
  if (cast<RankedTensorType>(a.getType()).getShape().back() <= smallSize)
    return l;
  auto pullback = [&](ValueRange changes) -> SmallVector<Value> {
    Indexed math(builder, loc);
    auto halved = [&](Value matrices, double diagonal, double below) {
      return math.map(
          "bmn->bmn", matrices,
          [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
            Type type = args[0].getType();
            Value row = linalg::IndexOp::create(nested, loc, 1),
                  column = linalg::IndexOp::create(nested, loc, 2);
            Value isDiagonal = arith::CmpIOp::create(
                nested, loc, arith::CmpIPredicate::eq, row, column);
            Value factor = arith::SelectOp::create(
                nested, loc, isDiagonal,
                createConstant(nested, loc, type, diagonal),
                createConstant(nested, loc, type, below));
            return arith::MulFOp::create(nested, loc, args[0], factor);
          });
    };
    using Predicate = arith::CmpIPredicate;
    Value product = createTriangle(
        math, math.contract("bki,bkj->bij", l, changes[0]), Predicate::uge);
    Value upper = blocks.transpose(l);
    // From both sides: the second one is the first of the transposed.
    Value half = blocks.solve(upper, halved(product, 0.5, 1.0),
                              /*isLower=*/false);
    Value whole = blocks.transpose(
        blocks.solve(upper, blocks.transpose(half), /*isLower=*/false));
    Value both = math.add(whole, blocks.transpose(whole));
    return {createTriangle(math, halved(both, 0.5, 1.0), Predicate::uge)};
  };
  return createWithPullback(builder, loc, a, l, pullback).front();
}

Value foreign::createTriangularSolve(OpBuilder &builder, Location loc, Value a,
                                     Value b, bool isLower,
                                     bool hasUnitDiagonal) {
  return Blocks(builder, loc, hasUnitDiagonal).solve(a, b, isLower);
}

/// Matrices with one dimension of batches.
static Value createBatches(OpBuilder &builder, Location loc, Value matrices) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(matrices.getType()).getShape();
  ArrayRef<int64_t> matrix = shape.take_back(2);
  return createReshape(
      builder, loc, matrices,
      {ShapedType::getNumElements(shape.drop_back(2)), matrix[0], matrix[1]});
}

/// The type of a foreign square matrix of numbers that can be divided.
static FailureOr<RankedTensorType> getMatrix(Operation *op, Lowering &lowering,
                                             Value value) {
  RankedTensorType type = lowering.getTensorType(value);
  int64_t rank = type.getRank();
  if (rank < 2 || type.getDimSize(rank - 2) != type.getDimSize(rank - 1) ||
      !isa<FloatType>(type.getElementType()))
    return op->emitOpError("of ")
           << type << " is not supported, expected square matrices of "
           << "floating-point numbers";
  if (type.getDimSize(rank - 1) > largestFactorized)
    return op->emitOpError("of matrices with ")
           << type.getDimSize(rank - 1)
           << " rows is not supported, expected at most " << largestFactorized;
  return type;
}

/// Behind the first result, LAPACK says that all went well.
static LogicalResult lowerFactor(Operation *op, Lowering &lowering,
                                 bool isLower) {
  FailureOr<RankedTensorType> type = getMatrix(op, lowering, op->getOperand(0));
  if (failed(type) || failed(checkShape(op, type->getShape())) ||
      failed(checkElements(op)))
    return failure();
  Value a = lowering.get(op->getOperand(0));
  if (type->getNumElements() == 0)
    return setResults(op, lowering, a);
  Blocks blocks(lowering.builder, op->getLoc());
  a = createBatches(lowering.builder, op->getLoc(), a);
  Value factor = createFactor(lowering.builder, op->getLoc(),
                              isLower ? a : blocks.transpose(a));
  factor = blocks.spoil(factor);
  return setResults(op, lowering, isLower ? factor : blocks.transpose(factor));
}

static LogicalResult lowerCholesky(Operation *op, Lowering &lowering) {
  FailureOr<bool> isLower = readFlag(op, "lower");
  return failed(isLower) ? failure() : lowerFactor(op, lowering, *isLower);
}

static LogicalResult lowerCholeskyCall(Operation *op, Lowering &lowering) {
  return lowerFactor(op, lowering, getLetter(op, "uplo", 'L') == 'L');
}

namespace {
/// What is said of a system with a triangular matrix.
struct System {
  bool isLeft, isLower, isTransposed, hasUnitDiagonal;
};
} // namespace

static LogicalResult lowerSystem(Operation *op, Lowering &lowering,
                                 const System &system) {
  FailureOr<RankedTensorType> type = getMatrix(op, lowering, op->getOperand(0));
  if (failed(type))
    return failure();
  RankedTensorType other = lowering.getTensorType(op->getOperand(1));
  int64_t rank = type->getRank();
  if (other.getRank() != rank ||
      other.getShape().drop_back(2) != type->getShape().drop_back(2) ||
      other.getDimSize(system.isLeft ? rank - 2 : rank - 1) !=
          type->getDimSize(rank - 1) ||
      other.getElementType() != type->getElementType())
    return op->emitOpError("has the matrices ")
           << *type << " and " << other << ", which do not fit";
  if (failed(checkShape(op, other.getShape())) || failed(checkElements(op)))
    return failure();
  Value a = lowering.get(op->getOperand(0)),
        b = lowering.get(op->getOperand(1));
  if (other.getNumElements() == 0)
    return lowering.set(op, b);
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Blocks blocks(builder, loc);
  a = createBatches(builder, loc, a);
  b = createBatches(builder, loc, b);
  // From the right, the transposed system is solved.
  bool isTransposed = system.isTransposed == system.isLeft;
  bool isLower = system.isLower != isTransposed;
  if (isTransposed)
    a = blocks.transpose(a);
  if (!system.isLeft)
    b = blocks.transpose(b);
  Value x = createSolution(builder, loc, a, b, isLower, system.hasUnitDiagonal);
  if (!system.isLeft)
    x = blocks.transpose(x);
  return setResults(op, lowering, x);
}

static LogicalResult lowerTriangularSolve(Operation *op, Lowering &lowering) {
  StringRef form = getEnum(op, "transpose_a");
  if (form != "TRANSPOSE" && form != "ADJOINT" && form != "NO_TRANSPOSE")
    return op->emitOpError("has 'transpose_a' ")
           << form << ", expected NO_TRANSPOSE, TRANSPOSE or ADJOINT";
  FailureOr<bool> isLeft = readFlag(op, "left_side"),
                  isLower = readFlag(op, "lower"),
                  hasUnitDiagonal = readFlag(op, "unit_diagonal");
  if (failed(isLeft) || failed(isLower) || failed(hasUnitDiagonal))
    return failure();
  return lowerSystem(
      op, lowering,
      {*isLeft, *isLower, form != "NO_TRANSPOSE", *hasUnitDiagonal});
}

static LogicalResult lowerTriangularCall(Operation *op, Lowering &lowering) {
  return lowerSystem(op, lowering,
                     {getLetter(op, "side", 'L') == 'L',
                      getLetter(op, "uplo", 'L') == 'L',
                      getLetter(op, "trans_x", 'N') != 'N',
                      getLetter(op, "diag", 'N') == 'U'});
}

void foreign::addTriangular(LoweringTable &table) {
  table["stablehlo.cholesky"] = {lowerCholesky, 1};
  table["stablehlo.triangular_solve"] = {lowerTriangularSolve, 2};
  table["lapack.potrf"] = {lowerCholeskyCall, 1, KnownOp::any};
  table["lapack.trsm"] = {lowerTriangularCall, 2};
}
