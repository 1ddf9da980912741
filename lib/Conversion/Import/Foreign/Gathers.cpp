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
  if (!isa<IntegerType>(type.getElementType())) {
    op->emitOpError("has indices of type ") << type << ", expected integers";
    return std::nullopt;
  }
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

/// The dimensions of `type` that are in neither list.
static SmallVector<int64_t>
findOthers(RankedTensorType type, ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> others;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (!llvm::is_contained(a, dim) && !llvm::is_contained(b, dim))
      others.push_back(dim);
  return others;
}

bool foreign::areBatches(RankedTensorType type, ArrayRef<int64_t> dims,
                         RankedTensorType indices, ArrayRef<int64_t> indexDims,
                         int64_t vectorDim) {
  if (dims.size() != indexDims.size() || !areDims(dims, type.getRank()) ||
      !areDims(indexDims, indices.getRank()) ||
      llvm::is_contained(indexDims, vectorDim))
    return false;
  return llvm::all_of(llvm::zip(dims, indexDims), [&](auto pair) {
    return type.getDimSize(std::get<0>(pair)) ==
           indices.getDimSize(std::get<1>(pair));
  });
}

namespace {
/// What a gather takes, and where it puts it.
struct Gather {
  RankedTensorType from, to;
  Places places;
  /// Sizes of a slice. Dimensions of the operand that are in `collapsed` or
  /// `batching` are not in the result; those of `batching` are read at the
  /// place that is the index in `indicesBatching` of the indices.
  SmallVector<int64_t> sizes, collapsed, batching, indicesBatching;
  int64_t vectorDim = 0;
  /// Dimensions of the result: those of a slice, and those of the indices.
  SmallVector<int64_t> offsetDims, batchDims;

  FailureOr<SmallVector<int64_t>> check(Operation *op) const;
  void read(OpBuilder &nested, Location loc, Value operand,
            ValueRange args) const;
};
} // namespace

/// Checks the attributes against the types, and returns the shape that they
/// give the result.
FailureOr<SmallVector<int64_t>> Gather::check(Operation *op) const {
  SmallVector<int64_t> slice = findOthers(from, collapsed, batching),
                       reduced(collapsed), indexed(places.dims);
  llvm::append_range(reduced, batching);
  llvm::append_range(indexed, batching);
  int64_t rank = from.getRank();
  if (static_cast<int64_t>(sizes.size()) != rank || !areDims(reduced, rank) ||
      !areDims(indexed, rank) || !areDims(offsetDims, to.getRank()) ||
      slice.size() != offsetDims.size() ||
      !areBatches(from, batching, getForeignType(op->getOperand(1)),
                  indicesBatching, vectorDim) ||
      places.shape.size() != batchDims.size())
    return op->emitOpError("has dimension numbers that do not fit its types");
  // A slice of nothing may begin behind the last element, where the result must
  // not read one.
  int64_t least = to.getNumElements() == 0 ? 0 : 1;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (sizes[dim] < 0 || sizes[dim] > from.getDimSize(dim) ||
        (llvm::is_contained(reduced, dim) &&
         (sizes[dim] > 1 || sizes[dim] < least)))
      return op->emitOpError("takes slices of ")
             << sizes[dim] << " in dimension " << dim << " of " << from;
  if (from.getNumElements() == 0 && to.getNumElements() != 0)
    return op->emitOpError("takes elements of ") << from;
  SmallVector<int64_t> shape(to.getRank());
  for (auto [dim, source] : llvm::zip(offsetDims, slice))
    shape[dim] = sizes[source];
  for (auto [dim, size] : llvm::zip(batchDims, places.shape))
    shape[dim] = size;
  return shape;
}

/// Yields the element of `operand` whose place is the numbers `args` and the
/// loops over the result.
void Gather::read(OpBuilder &nested, Location loc, Value operand,
                  ValueRange args) const {
  SmallVector<Value> place(from.getRank());
  for (auto [number, dim] : llvm::enumerate(places.dims))
    place[dim] =
        createClampedIndex(nested, loc, args[number], places.isUnsigned,
                           from.getDimSize(dim) - sizes[dim]);
  for (auto [dim, indexDim] : llvm::zip(batching, indicesBatching))
    // The dimension of the indices, without that of their numbers.
    place[dim] = linalg::IndexOp::create(
        nested, loc, batchDims[indexDim > vectorDim ? indexDim - 1 : indexDim]);
  ArrayRef<int64_t> loops = offsetDims;
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (llvm::is_contained(collapsed, dim) ||
        llvm::is_contained(batching, dim)) {
      if (!place[dim])
        place[dim] = createIndex(nested, loc, 0);
      continue;
    }
    Value step = linalg::IndexOp::create(nested, loc, loops.front());
    loops = loops.drop_front();
    place[dim] =
        place[dim] && sizes[dim] != from.getDimSize(dim)
            ? arith::AddIOp::create(nested, loc, place[dim], step).getResult()
            : step;
  }
  Value element = tensor::ExtractOp::create(nested, loc, operand, place);
  linalg::YieldOp::create(nested, loc, element);
}

static LogicalResult lowerGather(Operation *op, Lowering &lowering) {
  if (failed(checkElements(op)))
    return failure();
  OpBuilder &builder = lowering.builder;
  Location loc = op->getLoc();
  Fields fields(op, "dimension_numbers");
  Value operand = lowering.get(op->getOperand(0));
  Gather gather;
  gather.from = cast<RankedTensorType>(operand.getType());
  gather.to = lowering.getTensorType(op->getResult(0));
  gather.sizes = getIntegers(op, "slice_sizes");
  gather.collapsed = fields.getIntegers("collapsed_slice_dims");
  gather.batching = fields.getIntegers("operand_batching_dims");
  gather.indicesBatching = fields.getIntegers("start_indices_batching_dims");
  gather.vectorDim = fields.getInteger("index_vector_dim", 0);
  gather.offsetDims = fields.getIntegers("offset_dims");
  gather.batchDims = findOthers(gather.to, gather.offsetDims, {});
  auto places =
      findPlaces(op, lowering, op->getOperand(1),
                 fields.getIntegers("start_index_map"), gather.vectorDim);
  if (!places)
    return failure();
  gather.places = *places;
  FailureOr<SmallVector<int64_t>> shape = gather.check(op);
  if (failed(shape) || failed(checkShape(op, *shape)))
    return failure();
  RankedTensorType to = gather.to;
  SmallVector<AffineExpr> exprs;
  for (int64_t dim : gather.batchDims)
    exprs.push_back(builder.getAffineDimExpr(dim));
  SmallVector<AffineMap> maps(
      places->parts.size(),
      AffineMap::get(to.getRank(), 0, exprs, builder.getContext()));
  maps.push_back(builder.getMultiDimIdentityMap(to.getRank()));
  Value empty =
      tensor::EmptyOp::create(builder, loc, to.getShape(), to.getElementType());
  auto read = [&](OpBuilder &nested, Location loc, ValueRange args) {
    gather.read(nested, loc, operand, args);
  };
  return lowering.set(op, createGeneric(builder, loc, places->parts, empty,
                                        maps, to.getRank(), 0, read)
                              .getResults());
}

void foreign::addGathers(LoweringTable &table) {
  table["stablehlo.gather"] = {lowerGather, 2};
}
