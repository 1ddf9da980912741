//===- TensorParts.cpp - tensors that are made of slices ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/TensorParts.h"

#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace remat;

bool TensorPart::overlaps(const TensorPart &other) const {
  if (llvm::is_contained(sizes, 0) || llvm::is_contained(other.sizes, 0))
    return false;
  for (auto [offset, size, stride, otherOffset, otherSize, otherStride] :
       llvm::zip(offsets, sizes, strides, other.offsets, other.sizes,
                 other.strides)) {
    // Of a part that goes backwards, the last element is the first one in the
    // tensor.
    auto [first, last] = std::minmax({offset, offset + (size - 1) * stride});
    auto [otherFirst, otherLast] =
        std::minmax({otherOffset, otherOffset + (otherSize - 1) * otherStride});
    if (last < otherFirst || otherLast < first)
      return false;
    // All distances between elements are that of the first two, and a multiple
    // of this.
    int64_t step =
        std::gcd(size > 1 ? stride : 0, otherSize > 1 ? otherStride : 0);
    if (step > 1 && (offset - otherOffset) % step != 0)
      return false;
  }
  return true;
}

/// The dimension along which `parts`, which do not overlap, make up a tensor of
/// `type`. They are then sorted by their position.
static std::optional<int64_t> findPartition(MutableArrayRef<TensorPart> parts,
                                            RankedTensorType type) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t total = 0;
    bool fits = llvm::all_of(parts, [&](const TensorPart &part) {
      total += part.sizes[dim];
      for (int64_t other = 0; other < type.getRank(); ++other)
        if ((part.strides[other] != 1 && part.sizes[other] != 1) ||
            (other != dim && part.sizes[other] != type.getDimSize(other)))
          return false;
      return true;
    });
    if (!fits || total != type.getDimSize(dim))
      continue;
    llvm::sort(parts, [&](const TensorPart &a, const TensorPart &b) {
      return a.offsets[dim] < b.offsets[dim];
    });
    return dim;
  }
  return std::nullopt;
}

/// The value of `part` with all dimensions of the tensor; null if it is not
/// known which ones it lacks.
static Value withAllDims(OpBuilder &builder, Location loc,
                         const TensorPart &part) {
  auto type = cast<RankedTensorType>(part.value.getType());
  if (type.getRank() == static_cast<int64_t>(part.sizes.size()))
    return part.value;
  RankedTensorType full =
      RankedTensorType::get(part.sizes, type.getElementType());
  auto groups = getReassociationIndicesForReshape(full, type);
  if (!groups)
    return {};
  return tensor::ExpandShapeOp::create(builder, loc, full, part.value, *groups);
}

Value remat::createFromParts(OpBuilder &builder, Location loc,
                             RankedTensorType type,
                             MutableArrayRef<TensorPart> parts) {
  if (std::optional<int64_t> dim = findPartition(parts, type)) {
    SmallVector<Value> values;
    for (const TensorPart &part : parts)
      if (!llvm::is_contained(part.sizes, 0))
        values.push_back(withAllDims(builder, loc, part));
    if (!values.empty() && !llvm::is_contained(values, Value()))
      return values.size() == 1
                 ? values.front()
                 : tensor::ConcatOp::create(builder, loc, type, *dim, values);
  }
  Value whole = createZeros(builder, loc, type);
  auto getAttrs = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  for (const TensorPart &part : parts)
    if (!llvm::is_contained(part.sizes, 0))
      whole = tensor::InsertSliceOp::create(
          builder, loc, part.value, whole, getAttrs(part.offsets),
          getAttrs(part.sizes), getAttrs(part.strides));
  return whole;
}
