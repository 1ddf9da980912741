//===- Elements.h - rows of elements of any type ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loads and stores of strided rows, converting to the type that a loop computes
// in: float for f16, bf16 and f32; double for f64; int64_t for integers, which
// wrap when stored.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_ELEMENTS_H
#define REMAT_LIB_RUNTIME_ELEMENTS_H

#include "remat/Runtime/StepTable.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace remat {

inline float floatFromBits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

inline uint32_t bitsOfFloat(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float bf16ToFloat(uint16_t bits) {
  return floatFromBits(static_cast<uint32_t>(bits) << 16);
}

/// Rounds to nearest, ties to even.
inline uint16_t floatToBf16(float value) {
  uint32_t bits = bitsOfFloat(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) // NaN: stay one
    return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float f16ToFloat(uint16_t half) {
  // Shift exponent and mantissa into place, then correct the exponent's bias by
  // a product, which also normalises subnormal numbers.
  uint32_t magnitude = static_cast<uint32_t>(half & 0x7fffu) << 13;
  uint32_t bits = bitsOfFloat(floatFromBits(magnitude) * 0x1p112f);
  if ((half & 0x7c00u) == 0x7c00u)
    bits |= 0x7f800000u;
  return floatFromBits(bits | static_cast<uint32_t>(half & 0x8000u) << 16);
}

/// Rounds to nearest, ties to even. Without branches, so that loops of it are
/// vectorized.
inline uint16_t floatToF16(float value) {
  uint32_t bits = bitsOfFloat(value);
  uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  uint32_t odd = (magnitude >> 13) & 1u;
  uint32_t normal = (magnitude + 0xc8000fffu + odd) >> 13;
  // 0.5 has the unit of the last place of subnormal numbers.
  uint32_t subnormal =
      bitsOfFloat(floatFromBits(magnitude) + 0.5f) - bitsOfFloat(0.5f);
  // Quiet, with as much of it as fits.
  uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
  uint32_t result = magnitude < 0x38800000u ? subnormal : normal;
  result = magnitude >= 0x477ff000u ? 0x7c00u : result; // 65536 or more
  result = magnitude > 0x7f800000u ? nan : result;
  return static_cast<uint16_t>(sign | result);
}

/// A value that is to be rounded to f16 or bf16, once. A double that is no
/// float becomes the one of its two neighbours whose last bit is odd.
template <typename T>
float toOddFloat(T value) {
  auto nearest = static_cast<float>(value);
  if constexpr (std::is_same_v<T, double>) {
    bool isBeyond = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
    bool isInexact =
        static_cast<double>(nearest) != value && !std::isnan(value);
    nearest = floatFromBits((bitsOfFloat(nearest) - isBeyond) | isInexact);
  }
  return nearest;
}

/// What loops over elements of `dtype` compute in.
enum class Compute { Float, Double, Integer };
inline Compute computeType(int32_t dtype) {
  switch (dtype) {
  case REMAT_F64:
    return Compute::Double;
  case REMAT_F32:
  case REMAT_F16:
  case REMAT_BF16:
    return Compute::Float;
  default:
    return Compute::Integer;
  }
}

/// Calls function(T()) with the type that the dtypes are computed in: the
/// widest of them.
template <typename Function>
void dispatch(const int32_t (&dtypes)[3], const Function &function) {
  Compute compute = computeType(dtypes[0]);
  for (int32_t dtype : dtypes)
    if (computeType(dtype) == Compute::Double)
      compute = Compute::Double;
  switch (compute) {
  case Compute::Float:
    return function(float());
  case Compute::Double:
    return function(double());
  case Compute::Integer:
    // Unsigned, so that sums wrap. The low bits are those of the signed sum.
    return function(uint64_t());
  }
}

/// Whether elements of `dtype` lie in memory as values of T.
template <typename T>
bool holds(int32_t dtype) {
  return std::is_same_v<T, float>    ? dtype == REMAT_F32
         : std::is_same_v<T, double> ? dtype == REMAT_F64
                                     : dtype == REMAT_I64;
}

/// row[i] = base[offset + i * stride], for 0 <= i < count.
template <typename T>
void loadRow(T *row, const void *base, int32_t dtype, int64_t offset,
             int64_t stride, int64_t count) {
  auto load = [&](auto zero, auto convert) {
    using Element = decltype(zero);
    // Through memcpy: the caller's data may have any alignment.
    const char *from = static_cast<const char *>(base) +
                       offset * static_cast<int64_t>(sizeof(Element));
    if (stride == 1 && holds<T>(dtype)) {
      std::memcpy(row, from, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      Element element;
      std::memcpy(&element,
                  from + i * stride * static_cast<int64_t>(sizeof(Element)),
                  sizeof(Element));
      row[i] = static_cast<T>(convert(element));
    }
  };
  auto same = [](auto element) { return element; };
  switch (dtype) {
  case REMAT_F32:
    return load(float(), same);
  case REMAT_F64:
    return load(double(), same);
  case REMAT_F16:
    return load(uint16_t(), f16ToFloat);
  case REMAT_BF16:
    return load(uint16_t(), bf16ToFloat);
  case REMAT_I8:
    return load(int8_t(), same);
  case REMAT_I16:
    return load(int16_t(), same);
  case REMAT_I32:
    return load(int32_t(), same);
  default:
    return load(int64_t(), same);
  }
}

/// base[offset + i * stride] = row[i], for 0 <= i < count.
template <typename T>
void storeRow(const T *row, void *base, int32_t dtype, int64_t offset,
              int64_t stride, int64_t count) {
  auto store = [&](auto convert) {
    using Element = decltype(convert(T()));
    char *to = static_cast<char *>(base) +
               offset * static_cast<int64_t>(sizeof(Element));
    if (stride == 1 && holds<T>(dtype)) {
      std::memcpy(to, row, static_cast<size_t>(count) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      Element element = convert(row[i]);
      std::memcpy(to + i * stride * static_cast<int64_t>(sizeof(Element)),
                  &element, sizeof(Element));
    }
  };
  switch (dtype) {
  case REMAT_F32:
    return store([](T value) { return static_cast<float>(value); });
  case REMAT_F64:
    return store([](T value) { return static_cast<double>(value); });
  case REMAT_F16:
    return store([](T value) { return floatToF16(toOddFloat(value)); });
  case REMAT_BF16:
    return store([](T value) { return floatToBf16(toOddFloat(value)); });
  case REMAT_I8:
    return store([](T value) { return static_cast<int8_t>(value); });
  case REMAT_I16:
    return store([](T value) { return static_cast<int16_t>(value); });
  case REMAT_I32:
    return store([](T value) { return static_cast<int32_t>(value); });
  default:
    return store([](T value) { return static_cast<int64_t>(value); });
  }
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_ELEMENTS_H
