//===- VectorAccess.cpp - elements that are next to each other ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VectorAccess.h"

#include "remat/Codegen/KernelContext.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// The bytes of a vector. LLVM would load a vector of bytes one by one, as soon
/// as it sees that they are taken apart.
static SmallVector<Value> takeBytes(OpBuilder &builder, Location loc,
                                    Value vector) {
  int64_t width = cast<VectorType>(vector.getType()).getDimSize(0);
  int64_t wordBytes = std::min<int64_t>(width, 4);
  Type word = builder.getIntegerType(8 * wordBytes);
  Value words = vector::BitCastOp::create(
      builder, loc, VectorType::get({width / wordBytes}, word), vector);
  SmallVector<Value> bytes;
  for (int64_t i = 0; i < width; ++i) {
    Value rest = vector::ExtractOp::create(builder, loc, words, i / wordBytes);
    if (i % wordBytes != 0)
      rest = arith::ShRUIOp::create(
          builder, loc, rest,
          arith::ConstantOp::create(
              builder, loc, builder.getIntegerAttr(word, 8 * (i % wordBytes))));
    bytes.push_back(
        arith::TruncIOp::create(builder, loc, builder.getI8Type(), rest));
  }
  return bytes;
}

SmallVector<Value> remat::cuda::loadVector(OpBuilder &builder, Location loc,
                                           int64_t width, Type type,
                                           Value buffer, Value address) {
  Type storage = getStorageType(type);
  Value vector = vector::LoadOp::create(
      builder, loc, VectorType::get({width}, storage), buffer,
      ValueRange(address), /*nontemporal=*/false,
      llvm::MaybeAlign(width * getElementBytes(storage)));
  SmallVector<Value> elements;
  if (storage.isInteger(8) && width != 1)
    elements = takeBytes(builder, loc, vector);
  else
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(vector::ExtractOp::create(builder, loc, vector, i));
  if (storage != type)
    for (Value &element : elements)
      element = arith::TruncIOp::create(builder, loc, type, element);
  return elements;
}

void remat::cuda::storeVector(OpBuilder &builder, Location loc,
                              ArrayRef<Value> values, Value buffer,
                              Value address) {
  Type storage = getStorageType(values.front().getType());
  SmallVector<Value> elements(values);
  for (Value &value : elements)
    if (value.getType() != storage)
      value = arith::ExtUIOp::create(builder, loc, storage, value);
  int64_t width = values.size();
  Value vector = vector::FromElementsOp::create(
      builder, loc, VectorType::get({width}, storage), elements);
  vector::StoreOp::create(builder, loc, vector, buffer, ValueRange(address),
                          /*nontemporal=*/false,
                          llvm::MaybeAlign(width * getElementBytes(storage)));
}
