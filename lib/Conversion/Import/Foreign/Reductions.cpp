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

FailureOr<linalg::GenericOp>
foreign::createReduction(Operation *op, Lowering &lowering, Region &region,
                         ValueRange inputs, ValueRange inits,
                         ArrayRef<AffineMap> maps, unsigned parallelLoops,
                         unsigned reductionLoops) {
  bool isBuilt = true;
  unsigned count = inits.size();
  auto generic = createGeneric(
      lowering.builder, op->getLoc(), inputs, inits, maps, parallelLoops,
      reductionLoops, [&](OpBuilder &nested, Location loc, ValueRange args) {
        SmallVector<Value> arguments(args.take_back(count));
        llvm::append_range(arguments, args.take_front(count));
        auto yielded = lowering.lowerScalars(nested, region, arguments);
        isBuilt = succeeded(yielded) && yielded->size() == count;
        linalg::YieldOp::create(nested, loc,
                                isBuilt ? ValueRange(*yielded)
                                        : ValueRange(args.take_back(count)));
      });
  if (!isBuilt)
    return failure();
  return generic;
}

static LogicalResult lowerReduce(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  unsigned count = op->getNumOperands() / 2;
  SmallVector<Value> inputs = lowering.get(op->getOperands().take_front(count));
  auto type = cast<RankedTensorType>(inputs[0].getType());
  SmallVector<int64_t> dims = getIntegers(op, "dimensions");
  int64_t rank = type.getRank();
  if (llvm::any_of(dims, [&](int64_t d) { return d < 0 || d >= rank; }))
    return op->emitOpError("has a dimension that is none of the operand");
  SmallVector<AffineExpr> exprs(rank), kept;
  unsigned next = 0;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim)) {
      exprs[dim] = builder.getAffineDimExpr(next++);
      kept.push_back(exprs[dim]);
    }
  for (AffineExpr &expr : exprs)
    if (!expr)
      expr = builder.getAffineDimExpr(next++);
  MLIRContext *context = builder.getContext();
  SmallVector<AffineMap> maps(count, AffineMap::get(rank, 0, exprs, context));
  maps.append(count, AffineMap::get(rank, 0, kept, context));
  SmallVector<Value> inits;
  for (auto [number, init] :
       llvm::enumerate(op->getOperands().drop_front(count)))
    inits.push_back(createFilled(builder, op->getLoc(),
                                 lowering.getTensorType(op->getResult(number)),
                                 lowering.getScalar(init)));
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
            lowering.lowerScalars(nested, op->getRegion(0), args.drop_back());
        isBuilt = succeeded(yielded) && yielded->size() == 1;
        linalg::YieldOp::create(nested, loc,
                                isBuilt ? yielded->front() : args.back());
      });
  return isBuilt ? lowering.set(op, generic.getResults()) : failure();
}

void foreign::addReductions(LoweringTable &table) {
  table["stablehlo.reduce"] = lowerReduce;
  table["stablehlo.map"] = lowerMap;
}
