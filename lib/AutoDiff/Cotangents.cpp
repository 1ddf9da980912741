//===- Cotangents.cpp - sums of cotangents --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cotangents.h"

#include "Emit.h"

using namespace mlir;
using namespace remat;

bool Cotangents::Slice::overlaps(const Slice &other) const {
  for (auto [offset, size, stride, otherOffset, otherSize, otherStride] :
       llvm::zip(offsets, sizes, strides, other.offsets, other.sizes,
                 other.strides)) {
    if (size == 0 || otherSize == 0)
      return false;
    if (offset + (size - 1) * stride < otherOffset ||
        otherOffset + (otherSize - 1) * otherStride < offset)
      return false;
  }
  return true;
}

/// The dimension along which `slices`, which do not overlap, make up a tensor
/// of `type`. They are then sorted by their position.
static std::optional<int64_t>
findPartition(MutableArrayRef<Cotangents::Slice> slices,
              RankedTensorType type) {
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    int64_t total = 0;
    bool fits = llvm::all_of(slices, [&](const Cotangents::Slice &slice) {
      total += slice.sizes[dim];
      for (int64_t other = 0; other < type.getRank(); ++other)
        if (slice.strides[other] != 1 ||
            (other != dim && slice.sizes[other] != type.getDimSize(other)))
          return false;
      return cast<RankedTensorType>(slice.value.getType()).getRank() ==
             type.getRank();
    });
    if (!fits || total != type.getDimSize(dim))
      continue;
    llvm::sort(slices,
               [&](const Cotangents::Slice &a, const Cotangents::Slice &b) {
                 return a.offsets[dim] < b.offsets[dim];
               });
    return dim;
  }
  return std::nullopt;
}

Value Cotangents::get(Value forward, OpBuilder &builder, Location loc) {
  Value sum = getSum(forward, builder, loc);
  auto type = dyn_cast<RankedTensorType>(forward.getType());
  if (!sum || !type || sum.getType() == type)
    return sum;
  return sums[forward].whole =
             createConversion(builder, loc, sum, type.getElementType());
}

Value Cotangents::getSum(Value forward, OpBuilder &builder, Location loc) {
  auto found = sums.find(forward);
  if (found == sums.end())
    return nullptr;
  Sum &sum = found->second;
  if (sum.slices.empty())
    return sum.whole;
  SmallVector<Slice> slices = std::move(sum.slices);
  sum.slices.clear();
  auto type = cast<RankedTensorType>(forward.getType());
  if (!sum.whole) {
    if (std::optional<int64_t> dim = findPartition(slices, type)) {
      SmallVector<Value> parts;
      for (const Slice &slice : slices)
        parts.push_back(slice.value);
      sum.whole = parts.front();
      if (parts.size() > 1)
        sum.whole = tensor::ConcatOp::create(builder, loc, type, *dim, parts);
      return sum.whole;
    }
  }
  bool addToWhole = static_cast<bool>(sum.whole);
  if (!addToWhole)
    sum.whole = createZeros(builder, loc, type);
  for (const Slice &slice : slices) {
    Type element = getElementTypeOrSelf(sum.whole.getType());
    Value part = createConversion(builder, loc, slice.value, element);
    if (addToWhole) {
      Value known = createExtractSlice(
          builder, loc, sum.whole, cast<RankedTensorType>(part.getType()),
          slice.offsets, slice.sizes, slice.strides);
      part = createSum(builder, loc, known, part);
    }
    sum.whole = createInsertSlice(builder, loc, part, sum.whole, slice.offsets,
                                  slice.sizes, slice.strides);
  }
  return sum.whole;
}

static unsigned getElementBits(Value value) {
  Type type = getElementTypeOrSelf(value.getType());
  if (auto complex = dyn_cast<ComplexType>(type))
    type = complex.getElementType();
  return type.getIntOrFloatBitWidth();
}

void Cotangents::add(Value forward, Value term, OpBuilder &builder,
                     Location loc) {
  Value known = getSum(forward, builder, loc);
  if (known && known.getType() != term.getType()) {
    Value &narrow = getElementBits(known) < getElementBits(term) ? known : term;
    Value wide = narrow == known ? term : known;
    narrow = createConversion(builder, loc, narrow,
                              getElementTypeOrSelf(wide.getType()));
  }
  sums[forward].whole = known ? createSum(builder, loc, known, term) : term;
}

void Cotangents::addSlice(Value forward, Slice slice, OpBuilder &builder,
                          Location loc) {
  if (llvm::any_of(sums[forward].slices,
                   [&](const Slice &other) { return slice.overlaps(other); }))
    getSum(forward, builder, loc);
  sums[forward].slices.push_back(std::move(slice));
}
