//===- Dots.cpp - contractions --------------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of narrow floating-point numbers are added in f32, as XLA adds them.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "mlir/Dialect/Complex/IR/Complex.h"

#include "remat/Utils/Builders.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

namespace {
/// Which dimensions of both sides belong together.
struct DotDims {
  SmallVector<int64_t> lhsBatch, rhsBatch, lhsContracted, rhsContracted;
};
} // namespace

/// The type that products are added in.
static Type getSumType(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32 ? Float32Type::get(type.getContext())
                                      : element;
}

static Value createProduct(OpBuilder &builder, Location loc, Value a, Value b) {
  Type type = a.getType();
  if (isa<ComplexType>(type))
    return complex::MulOp::create(builder, loc, a, b);
  if (isa<FloatType>(type))
    return arith::MulFOp::create(builder, loc, a, b);
  if (type.isInteger(1))
    return arith::AndIOp::create(builder, loc, a, b);
  return arith::MulIOp::create(builder, loc, a, b);
}

/// The sizes of the dimensions of `type` that are neither in `batch` nor in
/// `contracted`.
static void appendFree(RankedTensorType type, ArrayRef<int64_t> batch,
                       ArrayRef<int64_t> contracted,
                       SmallVectorImpl<int64_t> &shape) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(batch, dim) && !llvm::is_contained(contracted, dim))
      shape.push_back(type.getDimSize(dim));
}

static LogicalResult checkDims(Operation *op, const DotDims &dims,
                               RankedTensorType lhs, RankedTensorType rhs) {
  auto areDifferent = [](ArrayRef<int64_t> a, ArrayRef<int64_t> b,
                         RankedTensorType type) {
    SmallVector<int64_t> all(a);
    llvm::append_range(all, b);
    return areDims(all, type.getRank());
  };
  if (!areDifferent(dims.lhsBatch, dims.lhsContracted, lhs) ||
      !areDifferent(dims.rhsBatch, dims.rhsContracted, rhs))
    return op->emitOpError("has dimension numbers that are not different "
                           "dimensions of ")
           << lhs << " and " << rhs;
  auto check = [&](ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    if (a.size() != b.size())
      return false;
    for (auto [left, right] : llvm::zip(a, b))
      if (left < 0 || left >= lhs.getRank() || right < 0 ||
          right >= rhs.getRank() ||
          lhs.getDimSize(left) != rhs.getDimSize(right))
        return false;
    return true;
  };
  if (!check(dims.lhsBatch, dims.rhsBatch) ||
      !check(dims.lhsContracted, dims.rhsContracted))
    return op->emitOpError("pairs dimensions of different sizes");
  bool isComplex = isa<ComplexType>(getElementTypeOrSelf(op->getResult(0)));
  for (RankedTensorType type : {lhs, rhs})
    if (isa<ComplexType>(type.getElementType()) != isComplex)
      return op->emitOpError("of ")
             << lhs << " and " << rhs << " is not supported, expected both or "
             << "none to be complex, as the result is";
  SmallVector<int64_t> shape;
  for (int64_t dim : dims.lhsBatch)
    shape.push_back(lhs.getDimSize(dim));
  appendFree(lhs, dims.lhsBatch, dims.lhsContracted, shape);
  appendFree(rhs, dims.rhsBatch, dims.rhsContracted, shape);
  return checkShape(op, shape);
}

static LogicalResult lowerDot(Operation *op, Lowering &lowering,
                              const DotDims &dims) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Value lhs = lowering.get(op->getOperand(0)),
        rhs = lowering.get(op->getOperand(1));
  auto lhsType = cast<RankedTensorType>(lhs.getType()),
       rhsType = cast<RankedTensorType>(rhs.getType());
  if (failed(checkDims(op, dims, lhsType, rhsType)))
    return failure();
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  unsigned contracted = dims.lhsContracted.size(),
           loops = type.getRank() + contracted;
  SmallVector<AffineExpr> lhsExprs(lhsType.getRank()),
      rhsExprs(rhsType.getRank());
  unsigned next = 0;
  for (auto [left, right] : llvm::zip(dims.lhsBatch, dims.rhsBatch))
    lhsExprs[left] = rhsExprs[right] = builder.getAffineDimExpr(next++);
  for (auto [number, pair] :
       llvm::enumerate(llvm::zip(dims.lhsContracted, dims.rhsContracted)))
    lhsExprs[std::get<0>(pair)] = rhsExprs[std::get<1>(pair)] =
        builder.getAffineDimExpr(type.getRank() + number);
  for (auto *exprs : {&lhsExprs, &rhsExprs})
    for (AffineExpr &expr : *exprs)
      if (!expr)
        expr = builder.getAffineDimExpr(next++);
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps = {
      AffineMap::get(loops, 0, lhsExprs, context),
      AffineMap::get(loops, 0, rhsExprs, context),
      createLoopsMap(builder, loops, 0, type.getRank())};
  Type sumType = getSumType(type.getElementType());
  // Operands of other types than the sum's, in which products are computed.
  auto widen = [&](OpBuilder &nested, Location loc, Value value,
                   unsigned number) {
    return createConverted(nested, loc, value, sumType,
                           isUnsigned(op->getOperand(number)));
  };
  // Without a sum, there is nothing to begin it with.
  if (contracted == 0) {
    Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                          type.getElementType());
    Value products =
        createGeneric(builder, loc, {lhs, rhs}, empty, maps, type.getRank(), 0,
                      [&](OpBuilder &nested, Location loc, ValueRange args) {
                        Value product = createProduct(
                            nested, loc, widen(nested, loc, args[0], 0),
                            widen(nested, loc, args[1], 1));
                        linalg::YieldOp::create(
                            nested, loc,
                            createConverted(nested, loc, product,
                                            type.getElementType(), false));
                      })
            .getResult(0);
    return lowering.set(op, products);
  }
  Value zeros = createZeros(builder, loc, type.clone(sumType));
  Value sums =
      createGeneric(builder, loc, {lhs, rhs}, zeros, maps, type.getRank(),
                    contracted,
                    [&](OpBuilder &nested, Location loc, ValueRange args) {
                      Value a = widen(nested, loc, args[0], 0),
                            b = widen(nested, loc, args[1], 1);
                      linalg::YieldOp::create(
                          nested, loc,
                          createSum(nested, loc, args[2],
                                    createProduct(nested, loc, a, b)));
                    })
          .getResult(0);
  return lowering.set(
      op, createConverted(builder, loc, sums, type.getElementType(), false));
}

static LogicalResult lowerDotGeneral(Operation *op, Lowering &lowering) {
  Fields fields(op, "dot_dimension_numbers");
  return lowerDot(op, lowering,
                  {fields.getIntegers("lhs_batching_dimensions"),
                   fields.getIntegers("rhs_batching_dimensions"),
                   fields.getIntegers("lhs_contracting_dimensions"),
                   fields.getIntegers("rhs_contracting_dimensions")});
}

static LogicalResult lowerMatrixDot(Operation *op, Lowering &lowering) {
  int64_t rank = cast<RankedTensorType>(op->getOperand(0).getType()).getRank();
  return lowerDot(op, lowering, {{}, {}, {rank - 1}, {0}});
}

void foreign::addDots(LoweringTable &table) {
  table["stablehlo.dot_general"] = {lowerDotGeneral, 2};
  table["stablehlo.dot"] = {lowerMatrixDot, 2};
}
