//===- Reductions.cpp - reductions with any body --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Elements are taken in the order of the dimensions, and the body's first
// arguments are what has been reduced so far.
//
//===----------------------------------------------------------------------===//

#include "Reductions.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

LogicalResult foreign::readReduced(Operation *op, Lowering &lowering,
                                   SmallVectorImpl<Value> &inputs,
                                   SmallVectorImpl<Value> &starts) {
  unsigned count = op->getNumResults();
  if (count == 0 || op->getNumOperands() != 2 * count)
    return op->emitOpError("has ")
           << op->getNumOperands() << " operands and " << count
           << " results, expected two operands for each result";
  for (unsigned number = 0; number < count; ++number) {
    Value input = op->getOperand(number),
          start = op->getOperand(count + number);
    Type element =
        lowering.getTensorType(op->getResult(number)).getElementType();
    if (getForeignType(input).getShape() !=
            getForeignType(op->getOperand(0)).getShape() ||
        getForeignType(start).getRank() != 0)
      return op->emitOpError("has operands of types ")
             << input.getType() << " and " << start.getType()
             << ", expected the shape of " << op->getOperand(0).getType()
             << " and rank 0";
    FailureOr<Value> value = createPromoted(op, lowering, input, element);
    if (failed(value))
      return failure();
    FailureOr<Value> begin = createPromoted(op, lowering, start, element);
    if (failed(begin))
      return failure();
    inputs.push_back(*value);
    starts.push_back(createElementOf(lowering.builder, op->getLoc(), *begin));
  }
  return success();
}

FailureOr<linalg::GenericOp>
foreign::createReduction(Operation *op, Lowering &lowering, Region &region,
                         ValueRange inputs, ValueRange inits,
                         ArrayRef<AffineMap> maps, unsigned parallelLoops,
                         unsigned reductionLoops, bool isMasked) {
  bool isBuilt = true;
  unsigned count = inits.size();
  auto generic = createGeneric(
      lowering.builder, op->getLoc(), inputs, inits, maps, parallelLoops,
      reductionLoops, [&](OpBuilder &nested, Location loc, ValueRange args) {
        SmallVector<Value> arguments(args.take_back(count));
        llvm::append_range(arguments, args.take_front(count));
        auto yielded = lowering.lowerScalars(nested, region, arguments,
                                             args.take_back(count).getTypes());
        isBuilt = succeeded(yielded);
        SmallVector<Value> results(args.take_back(count));
        for (unsigned i = 0; isBuilt && i < count; ++i)
          results[i] = isMasked
                           ? arith::SelectOp::create(nested, loc, args[count],
                                                     (*yielded)[i], results[i])
                                 .getResult()
                           : (*yielded)[i];
        linalg::YieldOp::create(nested, loc, results);
      });
  if (!isBuilt)
    return failure();
  return generic;
}

static LogicalResult lowerReduce(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  SmallVector<Value> inputs, starts;
  if (failed(readReduced(op, lowering, inputs, starts)))
    return failure();
  unsigned count = inputs.size();
  auto type = cast<RankedTensorType>(inputs[0].getType());
  SmallVector<int64_t> dims = getIntegers(op, "dimensions");
  int64_t rank = type.getRank();
  if (!areDims(dims, rank))
    return op->emitOpError("has a dimension that is none of the operand");
  SmallVector<AffineExpr> exprs(rank), kept;
  SmallVector<int64_t> shape;
  unsigned next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim)) {
      exprs[dim] = builder.getAffineDimExpr(next++);
      kept.push_back(exprs[dim]);
      shape.push_back(type.getDimSize(dim));
    }
  for (AffineExpr &expr : exprs)
    if (!expr)
      expr = builder.getAffineDimExpr(next++);
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps(count, AffineMap::get(rank, 0, exprs, context));
  maps.append(count, AffineMap::get(rank, 0, kept, context));
  SmallVector<Value> inits;
  for (auto [number, start] : llvm::enumerate(starts)) {
    if (failed(checkShape(op, shape, number)))
      return failure();
    inits.push_back(createFilled(builder, op->getLoc(),
                                 lowering.getTensorType(op->getResult(number)),
                                 start));
  }
  auto generic = createReduction(op, lowering, op->getRegion(0), inputs, inits,
                                 maps, kept.size(), rank - kept.size());
  if (failed(generic))
    return failure();
  return lowering.set(op, generic->getResults());
}

/// The same function of elements as a region.
static LogicalResult lowerMap(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  RankedTensorType type = lowering.getTensorType(op->getResult(0));
  for (Value operand : op->getOperands())
    if (failed(checkShape(op, getForeignType(operand).getShape())))
      return failure();
  SmallVector<Value> inputs = lowering.get(op->getOperands());
  SmallVector<AffineMap> maps(inputs.size() + 1,
                              builder.getMultiDimIdentityMap(type.getRank()));
  Value empty = tensor::EmptyOp::create(builder, op->getLoc(), type.getShape(),
                                        type.getElementType());
  bool isBuilt = true;
  auto generic = createGeneric(
      builder, op->getLoc(), inputs, empty, maps, type.getRank(), 0,
      [&](OpBuilder &nested, Location loc, ValueRange args) {
        auto yielded =
            lowering.lowerScalars(nested, op->getRegion(0), args.drop_back(),
                                  args.take_back().getTypes());
        isBuilt = succeeded(yielded);
        linalg::YieldOp::create(nested, loc,
                                isBuilt ? yielded->front() : args.back());
      });
  return isBuilt ? lowering.set(op, generic.getResults()) : failure();
}

void foreign::addReductions(LoweringTable &table) {
  table["stablehlo.reduce"] = {lowerReduce, KnownOp::any, KnownOp::any, 1};
  table["stablehlo.map"] = {lowerMap, KnownOp::any, 1, 1};
}
