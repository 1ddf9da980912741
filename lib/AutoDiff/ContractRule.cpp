//===- ContractRule.cpp - contractions ------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// C = A * B summed over the dimensions that C lacks is a trilinear form like a
// convolution: dA is the contraction of dC and B, dB the contraction of A and
// dC, with the same maps in other roles.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "Rules.h"

#include "remat/Utils/Structured.h"

using namespace mlir;
using namespace remat;

bool remat::hasContractRule(linalg::LinalgOp op) {
  if (!linalg::isaContractionOpInterface(op) ||
      !isContractionBody(*op.getBlock()))
    return false;
  // In each of the three roles, linalg.contract wants every dimension in two
  // operands.
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (unsigned dim = 0; dim < op.getNumLoops(); ++dim)
    if (llvm::count_if(
            maps, [&](AffineMap map) { return map.isFunctionOfDim(dim); }) < 2)
      return false;
  return llvm::all_of(op->getOperands(), [](Value value) {
    return isa<RankedTensorType>(value.getType()) &&
           isa<FloatType>(getElementTypeOrSelf(value.getType()));
  });
}

/// What `tensor` was converted from if that was exact: contractions of narrow
/// types have library routines, mixed ones do not.
static Value lookThroughExtension(Value tensor) {
  auto op = tensor.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumReductionLoops() != 0 ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return tensor;
  Block *body = op.getBlock();
  auto extension =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::ExtFOp>();
  if (!extension || extension.getIn() != body->getArgument(0))
    return tensor;
  return op.getInputs().front();
}

/// Emits x * y where nothing is summed, which linalg.contract refuses.
static Value emitOuterProduct(ReverseContext &context, Value x, AffineMap xMap,
                              Value y, AffineMap yMap, RankedTensorType type,
                              AffineMap map) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<utils::IteratorType> iterators(map.getNumDims(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{x, y}, empty,
             ArrayRef<AffineMap>{xMap, yMap, map}, iterators,
             [&](OpBuilder &nested, Location loc, ValueRange args) {
               Type wide = args[0].getType();
               for (Type other : {args[1].getType(), args[2].getType()})
                 if (other.getIntOrFloatBitWidth() >
                     wide.getIntOrFloatBitWidth())
                   wide = other;
               Value a = createScalarConversion(nested, loc, args[0], wide);
               Value b = createScalarConversion(nested, loc, args[1], wide);
               Value product = arith::MulFOp::create(nested, loc, a, b);
               linalg::YieldOp::create(
                   nested, loc,
                   createScalarConversion(nested, loc, product,
                                          type.getElementType()));
             })
      .getResult(0);
}

/// Emits x * y for an operand of type `type`. Where the forward contraction was
/// accumulated in a wider type, so is this one.
static Value emitContraction(ReverseContext &context, Value x, AffineMap xMap,
                             Value y, AffineMap yMap, RankedTensorType type,
                             AffineMap map, Type accumulator) {
  OpBuilder &builder = context.getBuilder();
  Location loc = context.getLoc();
  Type element = type.getElementType();
  if (map.isPermutation())
    return emitOuterProduct(context, x, xMap, y, yMap, type, map);
  if (element.getIntOrFloatBitWidth() > accumulator.getIntOrFloatBitWidth())
    accumulator = element;
  Value zeros = createZeros(builder, loc, type.clone(accumulator));
  auto contraction = linalg::ContractOp::create(
      builder, loc, TypeRange(zeros.getType()), ValueRange{x, y},
      ValueRange(zeros), builder.getAffineMapArrayAttr({xMap, yMap, map}));
  return createConversion(builder, loc, contraction->getResult(0), element);
}

void remat::emitContractVJP(linalg::LinalgOp op, ReverseContext &context) {
  Value cotangent = context.cotangent(op->getResult(0));
  if (!cotangent)
    return;
  Value a = op->getOperand(0), b = op->getOperand(1), c = op->getOperand(2);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  Type accumulator = getElementTypeOrSelf(c.getType());
  context.accumulate(c, cotangent);
  Value g = lookThroughExtension(cotangent);
  // The second factor is usually the weight: its gradient is the last use of
  // the first.
  if (context.isActive(b))
    context.accumulate(b, emitContraction(context, context.primal(a), maps[0],
                                          g, maps[2],
                                          cast<RankedTensorType>(b.getType()),
                                          maps[1], accumulator));
  if (context.isActive(a))
    context.accumulate(a, emitContraction(context, g, maps[2],
                                          context.primal(b), maps[1],
                                          cast<RankedTensorType>(a.getType()),
                                          maps[0], accumulator));
}

/// A contraction accumulates into its init, so one adds to the other.
void remat::emitContractJVP(linalg::LinalgOp op, ForwardContext &context) {
  SmallVector<Value> operands = llvm::to_vector(op->getOperands());
  Value sum = context.tangent(operands[2]);
  for (unsigned number : {0, 1}) {
    Value tangent = context.tangent(operands[number]);
    if (!tangent)
      continue;
    if (!sum)
      sum = createZeros(context.getBuilder(), context.getLoc(),
                        cast<RankedTensorType>(operands[2].getType()));
    SmallVector<Value> factors = {context.primal(operands[0]),
                                  context.primal(operands[1]), sum};
    factors[number] = tangent;
    Operation *contraction =
        clone(context.getBuilder(), op, sum.getType(), factors);
    contraction->setLoc(context.getLoc());
    sum = contraction->getResult(0);
  }
  context.addTangent(op->getResult(0), sum);
}
