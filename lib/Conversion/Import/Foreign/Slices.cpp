//===- Slices.cpp - parts of tensors, and padding -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A slice at a computed place is moved so that it does not leave the tensor.
//
//===----------------------------------------------------------------------===//

#include "Lowering.h"

#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace remat;
using namespace remat::foreign;

static LogicalResult checkSlice(Operation *op) {
  RankedTensorType type = getForeignType(op->getOperand(0));
  SmallVector<int64_t> starts = getIntegers(op, "start_indices"),
                       limits = getIntegers(op, "limit_indices"),
                       strides = getIntegers(op, "strides"), shape;
  size_t rank = type.getRank();
  bool fits =
      starts.size() == rank && limits.size() == rank && strides.size() == rank;
  for (size_t dim = 0; fits && dim < rank; ++dim) {
    fits = starts[dim] >= 0 && starts[dim] <= limits[dim] &&
           limits[dim] <= type.getDimSize(dim) && strides[dim] > 0;
    if (fits)
      shape.push_back(
          llvm::divideCeil(limits[dim] - starts[dim], strides[dim]));
  }
  return fits ? checkShape(op, shape)
              : op->emitOpError("takes a slice that is not part of ") << type;
}

static LogicalResult lowerSlice(Operation *op, Lowering &lowering) {
  if (failed(checkSlice(op)))
    return failure();
  Value value = lowering.get(op->getOperand(0));
  return lowering.set(
      op, createSlice(lowering.builder, op->getLoc(), value,
                      getIntegers(op, "start_indices"),
                      lowering.getTensorType(op->getResult(0)).getShape(),
                      getIntegers(op, "strides")));
}

/// Where a slice of `sizes` begins in a tensor of `shape`.
static SmallVector<OpFoldResult> findOffsets(Operation *op, Lowering &lowering,
                                             ValueRange starts,
                                             ArrayRef<int64_t> shape,
                                             ArrayRef<int64_t> sizes) {
  SmallVector<OpFoldResult> offsets;
  for (auto [dim, start] : llvm::enumerate(starts)) {
    int64_t last = shape[dim] - sizes[dim];
    if (last == 0) {
      offsets.push_back(lowering.builder.getIndexAttr(0));
      continue;
    }
    if (std::optional<int64_t> known = lowering.findInteger(start)) {
      bool isLarge = isUnsigned(start) && *known < 0;
      offsets.push_back(lowering.builder.getIndexAttr(
          isLarge ? last : std::clamp<int64_t>(*known, 0, last)));
      continue;
    }
    offsets.push_back(createClampedIndex(lowering.builder, op->getLoc(),
                                         lowering.getScalar(start),
                                         isUnsigned(start), last));
  }
  return offsets;
}

static LogicalResult checkSizes(Operation *op, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> sizes, ValueRange starts) {
  for (Value start : starts)
    if (!isIntegerScalar(start))
      return op->emitOpError("begins at a value of type ")
             << start.getType() << ", expected an integer of rank 0";
  bool fits = shape.size() == sizes.size() && shape.size() == starts.size();
  for (unsigned dim = 0; fits && dim < shape.size(); ++dim)
    fits = sizes[dim] >= 0 && sizes[dim] <= shape[dim];
  return fits ? success()
              : op->emitOpError("takes a slice that is larger than the tensor");
}

static LogicalResult lowerDynamicSlice(Operation *op, Lowering &lowering) {
  if (op->getNumOperands() == 0)
    return op->emitOpError("expected a tensor and where its slice begins");
  if (failed(checkElements(op)) ||
      failed(checkShape(op, getIntegers(op, "slice_sizes"))))
    return failure();
  OpBuilder &builder = lowering.builder;
  Value value = lowering.get(op->getOperand(0));
  auto from = cast<RankedTensorType>(value.getType());
  RankedTensorType to = lowering.getTensorType(op->getResult(0));
  ValueRange starts = op->getOperands().drop_front();
  if (failed(checkSizes(op, from.getShape(), to.getShape(), starts)))
    return failure();
  if (from == to)
    return lowering.set(op, value);
  if (to.getNumElements() == 0)
    return lowering.set(op, tensor::EmptyOp::create(builder, op->getLoc(),
                                                    to.getShape(),
                                                    to.getElementType())
                                .getResult());
  SmallVector<OpFoldResult> offsets =
      findOffsets(op, lowering, starts, from.getShape(), to.getShape());
  SmallVector<int64_t> ones(to.getRank(), 1);
  return lowering.set(
      op, tensor::ExtractSliceOp::create(
              builder, op->getLoc(), to, value, offsets,
              getAsIndexOpFoldResult(builder.getContext(), to.getShape()),
              getAsIndexOpFoldResult(builder.getContext(), ones))
              .getResult());
}

static LogicalResult lowerDynamicUpdateSlice(Operation *op,
                                             Lowering &lowering) {
  if (op->getNumOperands() < 2)
    return op->emitOpError("expected a tensor, a slice and where it begins");
  OpBuilder &builder = lowering.builder;
  Value value = lowering.get(op->getOperand(0));
  Value update = lowering.get(op->getOperand(1));
  auto type = cast<RankedTensorType>(value.getType());
  auto part = cast<RankedTensorType>(update.getType());
  ValueRange starts = op->getOperands().drop_front(2);
  if (failed(checkSizes(op, type.getShape(), part.getShape(), starts)))
    return failure();
  if (part.getElementType() != type.getElementType())
    return op->emitOpError("writes elements of type ")
           << part.getElementType() << " into " << type;
  if (type == part)
    return lowering.set(op, update);
  if (part.getNumElements() == 0)
    return lowering.set(op, value);
  SmallVector<OpFoldResult> offsets =
      findOffsets(op, lowering, starts, type.getShape(), part.getShape());
  SmallVector<int64_t> ones(type.getRank(), 1);
  return lowering.set(
      op, tensor::InsertSliceOp::create(
              builder, op->getLoc(), update, value, offsets,
              getAsIndexOpFoldResult(builder.getContext(), part.getShape()),
              getAsIndexOpFoldResult(builder.getContext(), ones))
              .getResult());
}

static LogicalResult checkPad(Operation *op) {
  RankedTensorType type = getForeignType(op->getOperand(0));
  RankedTensorType padding = getForeignType(op->getOperand(1));
  SmallVector<int64_t> low = getIntegers(op, "edge_padding_low"),
                       high = getIntegers(op, "edge_padding_high"),
                       interior = getIntegers(op, "interior_padding"), shape;
  size_t rank = type.getRank();
  if (low.size() != rank || high.size() != rank || interior.size() != rank ||
      !areAtLeast(interior, 0))
    return op->emitOpError("expected padding of ") << rank << " dimensions";
  if (padding.getRank() != 0 ||
      padding.getElementType() != type.getElementType())
    return op->emitOpError("pads ")
           << type << " by a value of type " << padding;
  for (size_t dim = 0; dim < rank; ++dim) {
    FailureOr<int64_t> size =
        getPaddedSize(op, type.getDimSize(dim), addCounts(interior[dim], 1),
                      low[dim], high[dim]);
    if (failed(size))
      return failure();
    shape.push_back(*size);
  }
  return checkShape(op, shape);
}

static LogicalResult lowerPad(Operation *op, Lowering &lowering) {
  if (failed(checkPad(op)))
    return failure();
  Value value = lowering.get(op->getOperand(0));
  Value padding = lowering.getScalar(op->getOperand(1));
  return lowering.set(op,
                      createPadded(lowering.builder, op->getLoc(), value,
                                   padding, getIntegers(op, "edge_padding_low"),
                                   getIntegers(op, "edge_padding_high"),
                                   getIntegers(op, "interior_padding")));
}

void foreign::addSlices(LoweringTable &table) {
  table["stablehlo.slice"] = {lowerSlice, 1};
  table["stablehlo.dynamic_slice"] = {lowerDynamicSlice, KnownOp::any};
  table["stablehlo.dynamic_update_slice"] = {lowerDynamicUpdateSlice,
                                             KnownOp::any};
  table["stablehlo.pad"] = {lowerPad, 2};
}
