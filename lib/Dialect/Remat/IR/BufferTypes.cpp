//===- BufferTypes.cpp - types as bytes in memory -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/BufferTypes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

int64_t remat::getElementBytes(Type elementType) {
  if (auto complex = dyn_cast<ComplexType>(elementType))
    return 2 * getElementBytes(complex.getElementType());
  if (elementType.isIndex())
    return 8;
  return llvm::divideCeil(elementType.getIntOrFloatBitWidth(), 8);
}

bool remat::hasBufferSize(ShapedType type) {
  if (!type.hasRank())
    return true;
  Type element = type.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  int64_t bytes =
      element.isIntOrIndexOrFloat()
          ? std::max<int64_t>(getElementBytes(type.getElementType()), 1)
          : 1;
  for (int64_t size : type.getShape()) {
    if (ShapedType::isDynamic(size) || size == 0)
      continue;
    if (llvm::MulOverflow(bytes, size, bytes) || bytes > maxBufferBytes)
      return false;
  }
  return true;
}

bool remat::isBufferType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || tensor.getEncoding())
    return false;
  Type element = tensor.getElementType();
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  if (!element.isIntOrIndexOrFloat())
    return false;
  // LLVM pads others, so that elements would be further apart.
  if (!element.isIndex()) {
    unsigned width = element.getIntOrFloatBitWidth();
    if (isa<FloatTF32Type>(element) || width == 0 ||
        (width > 8 && (!llvm::isPowerOf2_32(width) || width > 128)))
      return false;
  }
  return hasBufferSize(tensor);
}

int64_t remat::getBufferBytes(RankedTensorType type) {
  return llvm::alignTo(type.getNumElements() *
                           getElementBytes(type.getElementType()),
                       bufferAlignment);
}

int64_t remat::getBufferBytes(Value value) {
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}
