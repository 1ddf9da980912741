//===- Cotangents.cpp - sums of cotangents --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cotangents.h"

#include "Emit.h"

using namespace mlir;
using namespace remat;

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
  SmallVector<TensorPart> slices = std::move(sum.slices);
  sum.slices.clear();
  auto type = cast<RankedTensorType>(forward.getType());
  Type element = getElementTypeOrSelf(sum.whole ? sum.whole.getType() : type);
  for (TensorPart &slice : slices)
    slice.value = createConversion(builder, loc, slice.value, element);
  if (!sum.whole)
    return sum.whole = createFromParts(builder, loc, type, slices);
  for (const TensorPart &slice : slices) {
    Value known = createExtractSlice(
        builder, loc, sum.whole, cast<RankedTensorType>(slice.value.getType()),
        slice.offsets, slice.sizes, slice.strides);
    sum.whole = createInsertSlice(
        builder, loc, createSum(builder, loc, known, slice.value), sum.whole,
        slice.offsets, slice.sizes, slice.strides);
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

void Cotangents::addSlice(Value forward, TensorPart slice, OpBuilder &builder,
                          Location loc) {
  if (llvm::any_of(sums[forward].slices, [&](const TensorPart &other) {
        return slice.overlaps(other);
      }))
    getSum(forward, builder, loc);
  sums[forward].slices.push_back(std::move(slice));
}
