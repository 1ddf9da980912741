//===- Tensor.cpp - host tensors of the command line tools ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Tensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace llvm;
using namespace remat::tools;

size_t remat::tools::getElementSize(remat_dtype dtype) {
  switch (dtype) {
  case REMAT_I1:
  case REMAT_I8:
    return 1;
  case REMAT_F16:
  case REMAT_BF16:
  case REMAT_I16:
    return 2;
  case REMAT_F32:
  case REMAT_I32:
    return 4;
  case REMAT_C128:
    return 16;
  default:
    return 8;
  }
}

StringRef remat::tools::getDtypeName(remat_dtype dtype) {
  static constexpr StringLiteral names[] = {"f32", "f64", "f16", "bf16",
                                            "i1",  "i8",  "i16", "i32",
                                            "i64", "c64", "c128"};
  return names[dtype];
}

Tensor::Tensor(remat_dtype dtype, ArrayRef<int64_t> shape)
    : dtype(dtype), shape(shape), numElements(1) {
  int64_t bytes = getElementSize(dtype);
  bool overflows = false;
  for (int64_t size : shape) {
    overflows |= MulOverflow(bytes, size, bytes) != 0;
    numElements *= size;
  }
  if (!overflows)
    data.reset(std::aligned_alloc(
        REMAT_ALIGNMENT,
        alignTo(std::max<uint64_t>(bytes, 1), REMAT_ALIGNMENT)));
}

Tensor Tensor::copy() const {
  Tensor other(dtype, shape);
  if (other.isAllocated())
    std::memcpy(other.getData(), getData(), getBytes());
  return other;
}

/// The semantics of the 16-bit float types.
static const fltSemantics &getSemantics(remat_dtype dtype) {
  return dtype == REMAT_F16 ? APFloat::IEEEhalf() : APFloat::BFloat();
}

template <typename T>
static T load(const void *data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T),
              sizeof(T));
  return value;
}

template <typename T>
static void store(void *data, size_t index, T value) {
  std::memcpy(static_cast<char *>(data) + index * sizeof(T), &value, sizeof(T));
}

double Tensor::get(size_t index) const {
  switch (dtype) {
  case REMAT_F32:
  case REMAT_C64:
    return load<float>(data.get(), index);
  case REMAT_F64:
  case REMAT_C128:
    return load<double>(data.get(), index);
  case REMAT_F16:
  case REMAT_BF16: {
    APFloat value(getSemantics(dtype),
                  APInt(16, load<uint16_t>(data.get(), index)));
    return value.convertToDouble();
  }
  case REMAT_I1:
  case REMAT_I8:
    return load<int8_t>(data.get(), index);
  case REMAT_I16:
    return load<int16_t>(data.get(), index);
  case REMAT_I32:
    return load<int32_t>(data.get(), index);
  default:
    return static_cast<double>(load<int64_t>(data.get(), index));
  }
}

void Tensor::set(size_t index, double value) {
  switch (dtype) {
  case REMAT_F32:
  case REMAT_C64:
    return store(data.get(), index, static_cast<float>(value));
  case REMAT_F64:
  case REMAT_C128:
    return store(data.get(), index, value);
  case REMAT_F16:
  case REMAT_BF16: {
    APFloat rounded(value);
    bool losesInfo;
    rounded.convert(getSemantics(dtype), APFloat::rmNearestTiesToEven,
                    &losesInfo);
    return store(
        data.get(), index,
        static_cast<uint16_t>(rounded.bitcastToAPInt().getZExtValue()));
  }
  default:
    return setInteger(index, static_cast<int64_t>(value));
  }
}

void Tensor::setInteger(size_t index, int64_t value) {
  switch (getElementSize(dtype)) {
  case 1:
    return store(data.get(), index, static_cast<int8_t>(value));
  case 2:
    return store(data.get(), index, static_cast<int16_t>(value));
  case 4:
    return store(data.get(), index, static_cast<int32_t>(value));
  default:
    return store(data.get(), index, value);
  }
}

remat_tensor Tensor::getView() const {
  return {data.get(), dtype, static_cast<int32_t>(shape.size()), shape.data()};
}

uint64_t Tensor::hash() const {
  uint64_t hash = 0xcbf29ce484222325;
  const auto *bytes = static_cast<const unsigned char *>(data.get());
  for (size_t i = 0, e = getBytes(); i < e; ++i)
    hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}
