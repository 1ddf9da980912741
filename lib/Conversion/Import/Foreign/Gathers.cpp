//===- Gathers.cpp - slices at many computed places -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each element of the result is read at the place that its indices select. A
// slice that would leave the operand is moved into it.
//
//===----------------------------------------------------------------------===//

#include "Places.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

std::optional<Places> foreign::findPlaces(Operation *op, Lowering &lowering,
                                          Value indices,
                                          ArrayRef<int64_t> indexMap,
                                          int64_t vectorDim) {
  Places places;
  Value stands = lowering.get(indices);
  auto type = cast<RankedTensorType>(stands.getType());
  places.isUnsigned = isUnsigned(indices);
  if (vectorDim < 0 || vectorDim > type.getRank()) {
    op->emitOpError("has index_vector_dim ")
        << vectorDim << ", expected at most " << type.getRank();
    return std::nullopt;
  }
  int64_t count = vectorDim == type.getRank() ? 1 : type.getDimSize(vectorDim);
  if (count != static_cast<int64_t>(indexMap.size())) {
    op->emitOpError("has indices of ")
        << count << " numbers, expected " << indexMap.size();
    return std::nullopt;
  }
  for (int64_t number = 0; number < count; ++number) {
    Value part = stands;
    if (vectorDim < type.getRank())
      part = createTaken(lowering.builder, op->getLoc(), stands, vectorDim,
                         number);
    places.parts.push_back(part);
  }
  places.dims.assign(indexMap.begin(), indexMap.end());
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (dim != vectorDim)
      places.shape.push_back(type.getDimSize(dim));
  return places;
}

static LogicalResult lowerGather(Operation *op, Lowering &lowering) {
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Fields fields(op, "dimension_numbers");
  SmallVector<int64_t> offsetDims = fields.getIntegers("offset_dims"),
                       collapsed = fields.getIntegers("collapsed_slice_dims"),
                       batching = fields.getIntegers("operand_batching_dims"),
                       indicesBatching =
                           fields.getIntegers("start_indices_batching_dims"),
                       sizes = getIntegers(op, "slice_sizes");
  int64_t vectorDim = fields.getInteger("index_vector_dim", 0);
  Value operand = lowering.get(op->getOperand(0));
  auto from = cast<RankedTensorType>(operand.getType());
  RankedTensorType to = lowering.getTensorType(op->getResult(0));
  auto places = findPlaces(op, lowering, op->getOperand(1),
                           fields.getIntegers("start_index_map"), vectorDim);
  if (!places)
    return failure();
  if (static_cast<int64_t>(sizes.size()) != from.getRank() ||
      batching.size() != indicesBatching.size() ||
      static_cast<int64_t>(places->shape.size() + offsetDims.size()) !=
          to.getRank())
    return op->emitOpError("has dimension numbers that do not fit its types");
  // Dimensions of the result that say which place, and those of the slice.
  SmallVector<int64_t> batchDims, windowDims;
  for (int64_t dim = 0; dim < to.getRank(); ++dim)
    if (!llvm::is_contained(offsetDims, dim))
      batchDims.push_back(dim);
  unsigned next = 0;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    windowDims.push_back(llvm::is_contained(collapsed, dim) ||
                                 llvm::is_contained(batching, dim)
                             ? -1
                             : offsetDims[next++]);
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : batchDims)
    exprs.push_back(builder.getAffineDimExpr(dim));
  SmallVector<AffineMap> maps(
      places->parts.size(),
      AffineMap::get(to.getRank(), 0, exprs, builder.getContext()));
  maps.push_back(builder.getMultiDimIdentityMap(to.getRank()));
  Value empty =
      tensor::EmptyOp::create(builder, loc, to.getShape(), to.getElementType());
  auto read = [&](OpBuilder &nested, Location loc, ValueRange args) {
    SmallVector<Value> place(from.getRank());
    for (auto [number, dim] : llvm::enumerate(places->dims))
      place[dim] =
          createClampedIndex(nested, loc, args[number], places->isUnsigned,
                             from.getDimSize(dim) - sizes[dim]);
    for (auto [dim, indexDim] : llvm::zip(batching, indicesBatching))
      // The dimension of the indices, without that of their numbers.
      place[dim] = linalg::IndexOp::create(
          nested, loc,
          batchDims[indexDim > vectorDim ? indexDim - 1 : indexDim]);
    for (int64_t dim = 0; dim < from.getRank(); ++dim) {
      if (windowDims[dim] < 0) {
        if (!place[dim])
          place[dim] = createIndex(nested, loc, 0);
        continue;
      }
      Value step = linalg::IndexOp::create(nested, loc, windowDims[dim]);
      place[dim] =
          place[dim] && sizes[dim] != from.getDimSize(dim)
              ? arith::AddIOp::create(nested, loc, place[dim], step).getResult()
              : step;
    }
    Value element = tensor::ExtractOp::create(nested, loc, operand, place);
    linalg::YieldOp::create(nested, loc, element);
  };
  return lowering.set(op, createGeneric(builder, loc, places->parts, empty,
                                        maps, to.getRank(), 0, read)
                              .getResults());
}

void foreign::addGathers(LoweringTable &table) {
  table["stablehlo.gather"] = lowerGather;
}
