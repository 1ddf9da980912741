//===- LibraryTest.h - helpers of the library call tests --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands of any element type with values that every type holds exactly (small
// integers over 4), so that sums can be compared closely with naive loops.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_LIBRARYTEST_H
#define REMAT_TEST_UNIT_RUNTIME_LIBRARYTEST_H

#include "RuntimeTest.h"

#include <cmath>
#include <cstring>
#include <random>

namespace remat {

inline bool isInteger(int32_t dtype) { return dtype >= REMAT_I8; }

/// Memory of `count` elements, somewhere in an allocation: the start moves with
/// `shift` elements, so that addresses differ between runs.
class Elements {
public:
  Elements(int32_t type, int64_t size, int shift = 0)
      : dtype(type), count(size), bytes(remat_dtype_bytes(type)),
        memory((static_cast<size_t>(size) + 64) * bytes),
        start(static_cast<size_t>(shift) * bytes) {}

  void fill(std::mt19937 &random) {
    for (int64_t i = 0; i < count; ++i)
      set(i, (static_cast<int>(random() % 17) - 8) *
                 (isInteger(dtype) ? 1.0 : 0.25));
  }

  double get(int64_t i) const {
    const char *at = data() + i * static_cast<int64_t>(bytes);
    auto as = [&](auto zero) {
      std::memcpy(&zero, at, sizeof(zero));
      return static_cast<double>(zero);
    };
    switch (dtype) {
    case REMAT_F32:
      return as(float());
    case REMAT_F64:
      return as(double());
    case REMAT_F16: {
      auto bits = static_cast<int>(as(uint16_t()));
      int exponent = bits >> 10 & 31, mantissa = bits & 1023;
      double value = exponent == 0 ? std::ldexp(mantissa, -24)
                                   : std::ldexp(1024 + mantissa, exponent - 25);
      return bits >> 15 ? -value : value;
    }
    case REMAT_BF16: {
      auto bits = static_cast<uint32_t>(as(uint16_t())) << 16;
      float value;
      std::memcpy(&value, &bits, 4);
      return value;
    }
    case REMAT_I8:
      return as(int8_t());
    case REMAT_I16:
      return as(int16_t());
    case REMAT_I32:
      return as(int32_t());
    default:
      return as(int64_t());
    }
  }

  /// `value` must be exact in the type.
  void set(int64_t i, double value) {
    char *at = data() + i * static_cast<int64_t>(bytes);
    auto as = [&](auto element) { std::memcpy(at, &element, sizeof(element)); };
    switch (dtype) {
    case REMAT_F32:
      return as(static_cast<float>(value));
    case REMAT_F64:
      return as(value);
    case REMAT_F16: {
      int exponent;
      double fraction = std::frexp(std::fabs(value), &exponent);
      auto bits = static_cast<uint16_t>(value < 0 ? 0x8000 : 0);
      if (value != 0 && exponent + 14 > 0)
        bits = static_cast<uint16_t>(
            bits | (exponent + 14) << 10 |
            (static_cast<int>(std::ldexp(fraction, 11)) & 1023));
      else // subnormal
        bits = static_cast<uint16_t>(
            bits | static_cast<int>(std::ldexp(std::fabs(value), 24)));
      return as(bits);
    }
    case REMAT_BF16: {
      auto single = static_cast<float>(value);
      uint32_t bits;
      std::memcpy(&bits, &single, 4);
      return as(static_cast<uint16_t>(bits >> 16));
    }
    case REMAT_I8:
      return as(static_cast<int8_t>(value));
    case REMAT_I16:
      return as(static_cast<int16_t>(value));
    case REMAT_I32:
      return as(static_cast<int32_t>(value));
    default:
      return as(static_cast<int64_t>(value));
    }
  }

  /// Distance allowed between a naive sum and ours.
  double tolerance(double value) const {
    switch (dtype) {
    case REMAT_F16:
      return std::fabs(value) / 1024 + 1e-3;
    case REMAT_BF16:
      return std::fabs(value) / 128 + 1e-3;
    default:
      return isInteger(dtype) ? 0 : std::fabs(value) * 1e-4 + 1e-4;
    }
  }

  char *data() { return memory.data() + start; }
  const char *data() const { return memory.data() + start; }
  remat_tensor tensor() { return {data(), dtype, 1, &count}; }
  bool sameBits(const Elements &other) const {
    return std::memcmp(data(), other.data(),
                       static_cast<size_t>(count) * bytes) == 0;
  }

  int32_t dtype;
  int64_t count;

private:
  size_t bytes;
  std::vector<char> memory;
  size_t start;
};

/// A bias has an element for each channel of the result.
inline int64_t countBiases(const remat_convolution &convolution) {
  return convolution.kind == REMAT_CONV_FORWARD ? convolution.output_channels
                                                : convolution.input_channels;
}

/// Makes a step of one library call on two arguments and one result, with the
/// workspace that the call asks for. The result first is a copy of a third
/// argument. With `apart`, a matmul is added to that argument instead. The bias
/// of a convolution is a fourth.
inline StepTableBuilder makeCall(remat_entry_kind kind, const Elements &a,
                                 const Elements &b, const Elements &c,
                                 const remat_matmul *matmul,
                                 const remat_convolution *convolution,
                                 int threads, bool apart = false) {
  StepTableBuilder builder;
  auto type = [](const Elements &e) {
    return static_cast<remat_dtype>(e.dtype);
  };
  builder.addArgument("a", type(a), {a.count});
  builder.addArgument("b", type(b), {b.count});
  builder.addArgument("initial", type(c), {c.count});
  builder.addResult("c", type(c), {c.count});
  StepEntry entry =
      makeEntry(0, {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1)},
                {builder.addResultBuffer(0)});
  uint32_t initial = builder.addArgumentBuffer(2);
  if (!apart)
    builder.addEntry(makeCopy(initial, entry.results[0]));
  entry.kind = kind;
  entry.name = "call";
  int64_t bytes;
  if (matmul) {
    entry.callee = builder.addMatmul(*matmul);
    bytes = remat_matmul_workspace_bytes(matmul, threads);
    if (matmul->accumulate)
      entry.operands.push_back(apart ? initial : entry.results[0]);
  } else {
    entry.callee = builder.addConvolution(*convolution);
    if (convolution->bias) {
      builder.addArgument("bias", type(c), {countBiases(*convolution)});
      entry.operands.push_back(builder.addArgumentBuffer(3));
    }
    bytes = remat_convolution_workspace_bytes(convolution, threads);
  }
  EXPECT_GE(bytes, 0) << remat_last_error();
  if (bytes > 0)
    entry.workspace = builder.addArenaBuffer(0, static_cast<uint64_t>(bytes));
  builder.setThreads(static_cast<uint32_t>(threads));
  builder.addEntry(entry);
  return builder;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_LIBRARYTEST_H
