//===- AnomalyTest.cpp - where a NaN comes from ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NaNs and infinities are found in numbers of all types, at all places, and
// reported where they are made of finite ones.
//
//===----------------------------------------------------------------------===//

#include "AnomalyCheck.h"
#include "RuntimeTest.h"

#include <cstring>
#include <limits>

using namespace remat;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// Looks at `count` ones of `dtype`, of which two at the end are other bits.
template <typename Bits>
NonFinite look(int32_t dtype, size_t count, Bits one, Bits last, Bits first) {
  std::vector<Bits> numbers(count, one);
  numbers[count - 1] = last;
  numbers[count - 2] = first;
  return findNonFinite(numbers.data(), count * sizeof(Bits), dtype,
                       /*threads=*/2);
}

TEST(Anomaly, AllTypes) {
  // Within a block of the search, and at the end of several.
  for (size_t count : {2u, 1024u, 10001u}) {
    auto expect = [&](NonFinite found) {
      EXPECT_EQ(found.nan, count - 1);
      EXPECT_EQ(found.infinity, count - 2);
    };
    expect(look<uint16_t>(REMAT_F16, count, 0x7bff, 0xfc01, 0xfc00));
    expect(look<uint16_t>(REMAT_BF16, count, 0x7f7f, 0xff81, 0x7f80));
    expect(
        look<uint32_t>(REMAT_F32, count, 0x7f7fffff, 0x7f800001, 0xff800000));
    expect(look<uint64_t>(REMAT_F64, count, 0x7fefffffffffffff,
                          0xfff0000000000001, 0x7ff0000000000000));
  }
  // The imaginary part of the last of two complex numbers, and its real part.
  NonFinite found = look<uint32_t>(REMAT_C64, 4, 0, 0x7fc00000, 0x7f800000);
  EXPECT_EQ(found.nan, 1u);
  EXPECT_EQ(found.infinity, 1u);
  // -1 is no NaN.
  found = look<uint32_t>(REMAT_I32, 4, 0, ~0u, ~0u);
  EXPECT_FALSE(found.nan || found.infinity);
}

/// r[i] = a[i] * a[i].
void square(void *const *buffers, int64_t begin, int64_t end,
            remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] * a[i];
}

/// r[i] = a[i] - a[i].
void cancel(void *const *buffers, int64_t begin, int64_t end,
            remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] - a[i];
}

/// x -> square, in place -> cancel.
StepTableBuilder squares(bool writesInfinity = false) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4});
  builder.addResult("y", REMAT_F32, {4});
  uint32_t x = builder.addArgumentBuffer(0), y = builder.addResultBuffer(0);
  uint32_t a = builder.addArenaBuffer(0, 16);
  builder.setContents(a, REMAT_F32, 16);
  uint32_t b = builder.addView(a, 0, 16);
  auto add = [&](uint32_t callee, uint32_t from, uint32_t to) {
    StepEntry entry = makeEntry(callee, {from}, {to}, 4);
    entry.name = callee == 0 ? "square" : "cancel";
    entry.location = "model.py:" + std::to_string(callee + 3);
    entry.origins = "l h.0\no 'mul' at model.py:3\nx\n";
    entry.writesInfinity = writesInfinity;
    builder.addEntry(entry);
  };
  add(0, x, a);
  add(0, a, b);
  add(1, b, y);
  return builder;
}

const std::vector<remat_kernel_fn> kernels = {square, cancel};

remat_step_options withFlags(uint32_t flags) { return {1, flags, nullptr, 0}; }

TEST(Anomaly, Error) {
  Step step(squares(), kernels, withFlags(REMAT_STEP_ANOMALY_ERROR));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({4}, 1), y({4});
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_STREQ(remat_step_anomalies(step.step), "");
  // Of two squares in one place, the second overflows.
  x.values[2] = 1e15f;
  EXPECT_EQ(step.run({x}, {y}), REMAT_ANOMALY);
  EXPECT_EQ(step.message,
            "infinity in element 2 of result 0 of entry 1 'square' at "
            "model.py:3 of h.0: made by 'mul' at model.py:3");
  EXPECT_EQ(step.message + "\n", remat_step_anomalies(step.step));
  EXPECT_STREQ(remat_status_name(REMAT_ANOMALY), "anomaly");
  // A step can be run again.
  x.values[2] = 1;
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
}

TEST(Anomaly, Warning) {
  Step step(squares(), kernels, withFlags(REMAT_STEP_ANOMALY_WARN));
  Tensor x({4}, 1), y({4});
  x.values[2] = 1e15f;
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  std::string text = remat_step_anomalies(step.step);
  EXPECT_NE(text.find("infinity in element 2 of result 0 of entry 1"),
            std::string::npos)
      << text;
  // A NaN of an infinity is another finding.
  EXPECT_NE(text.find("NaN in element 2 of result 0 of entry 2"),
            std::string::npos)
      << text;
}

TEST(Anomaly, NotMadeByTheStep) {
  for (bool isConstant : {false, true}) {
    Step step(squares(isConstant), kernels, withFlags(REMAT_STEP_ANOMALY_WARN));
    // What overflows is excused by a constant; an argument excuses itself, also
    // where it is overwritten.
    Tensor x({4}, 1), y({4});
    x.values[2] = isConstant ? 1e30f : infinity;
    EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
    std::string text = remat_step_anomalies(step.step);
    EXPECT_EQ(text.find("infinity"), std::string::npos) << text;
    EXPECT_NE(text.find("NaN"), std::string::npos) << text;
    x.values[2] = nan;
    EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
    EXPECT_STREQ(remat_step_anomalies(step.step), "");
  }
}

/// r[i] of two rows of 3 elements, which begin every 4: a[i] squared.
void squareRows(void *const *buffers, int64_t begin, int64_t end,
                remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i / 3 * 4 + i % 3] = a[i] * a[i];
}

/// The other way.
void packRows(void *const *buffers, int64_t begin, int64_t end,
              remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *r = static_cast<float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i / 3 * 4 + i % 3];
}

// What is in the gaps between rows is nobody's: the arena is poisoned.
TEST(Anomaly, GapsBetweenRows) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {2, 3});
  builder.addResult("y", REMAT_F32, {2, 3});
  uint32_t rows = builder.addArenaBuffer(0, 32);
  builder.setContents(rows, REMAT_F32, 32, /*row=*/12);
  builder.addEntry(makeEntry(0, {builder.addArgumentBuffer(0)}, {rows}, 6));
  builder.addEntry(makeEntry(1, {rows}, {builder.addResultBuffer(0)}, 6));
  Step step(builder, {squareRows, packRows},
            withFlags(REMAT_STEP_ANOMALY_ERROR | REMAT_STEP_POISON));
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({2, 3}, 1), y({2, 3});
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  x.values[4] = 1e30f;
  EXPECT_EQ(step.run({x}, {y}), REMAT_ANOMALY);
  EXPECT_NE(step.message.find("infinity in element 4 of result 0 of entry 0"),
            std::string::npos)
      << step.message;
}

TEST(Anomaly, OffByDefault) {
  Step step(squares(), kernels);
  Tensor x({4}, 1e30f), y({4});
  EXPECT_EQ(step.run({x}, {y}), REMAT_OK) << step.message;
  EXPECT_STREQ(remat_step_anomalies(step.step), "");
  EXPECT_STREQ(remat_step_anomalies(nullptr), "");
}

} // namespace
