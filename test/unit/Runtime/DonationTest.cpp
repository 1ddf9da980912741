//===- DonationTest.cpp - arguments that give their buffers to results ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include "gtest/gtest.h"

using namespace remat;

/// result += the second operand, of which there are four elements.
static void addFour(void *const *buffers, int64_t, int64_t,
                    remat_kernel_status *) {
  const auto *left = static_cast<const float *>(buffers[0]);
  const auto *right = static_cast<const float *>(buffers[1]);
  auto *sum = static_cast<float *>(buffers[2]);
  for (int i = 0; i < 4; ++i)
    sum[i] = left[i] + right[i];
}

namespace {
/// A step with the arguments `sum` and `x`, of which the first gives its buffer
/// to the result.
struct Donation : ::testing::Test {
  Donation() {
    builder.addArgument("sum", REMAT_F32, {4});
    builder.addArgument("x", REMAT_F32, {4});
    builder.addResult("sum", REMAT_F32, {4});
    sum = builder.addArgumentBuffer(0);
    x = builder.addArgumentBuffer(1);
  }
  void donate() { builder.addDonation(0, 0); }
  std::string load() {
    Step step(builder, {addFour});
    return step.loaded == REMAT_OK ? "" : step.message;
  }

  StepTableBuilder builder;
  uint32_t sum, x;
};
} // namespace

TEST_F(Donation, IsWrittenOver) {
  donate();
  builder.addEntry(makeEntry(0, {sum, x}, {builder.addView(sum)}));
  Step step(builder, {addFour});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  remat_tensor_info info;
  ASSERT_EQ(remat_step_argument(step.step, 0, &info), REMAT_OK);
  EXPECT_EQ(info.donation, 0u);
  ASSERT_EQ(remat_step_argument(step.step, 1, &info), REMAT_OK);
  EXPECT_EQ(info.donation, REMAT_NONE);
  ASSERT_EQ(remat_step_result(step.step, 0, &info), REMAT_OK);
  EXPECT_EQ(info.donation, 0u);
  EXPECT_EQ(info.flags, 0u);

  Tensor total({4}, 10), term({4}, 0.5), other({4});
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(step.run({total, term}, {total}), REMAT_OK) << step.message;
  EXPECT_EQ(total.values, std::vector<float>(4, 11.5));
  EXPECT_EQ(step.stats().measured_peak_bytes, 0u);

  EXPECT_EQ(step.run({total, term}, {other}), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step.message,
            "argument 0 'sum' and result 0 'sum' have different data, expected "
            "the same: the argument gives its buffer to the result");
  EXPECT_EQ(step.run({total, total}, {total}), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step.message, "result 0 'sum' overlaps argument 1 'x'");
}

TEST_F(Donation, IsReadNoLonger) {
  donate();
  uint32_t result = builder.addResultBuffer(0);
  uint32_t scratch = builder.addArenaBuffer(0, 16);
  builder.addEntry(makeCopy(x, result));
  EXPECT_EQ(load(), "");
  builder.addEntry(makeCopy(sum, scratch));
  EXPECT_EQ(load(),
            "entry 1 reads argument 0, which a result was written over");
}

TEST_F(Donation, IsNotReadByItsOverwriter) {
  donate();
  builder.addEntry(makeEntry(0, {sum, x}, {builder.addResultBuffer(0)}));
  EXPECT_EQ(load(),
            "entry 0 reads argument 0, which a result was written over");
}

TEST_F(Donation, IsNeededToWriteToArguments) {
  builder.addEntry(makeEntry(0, {sum, x}, {builder.addView(sum)}));
  EXPECT_EQ(load(), "entry 0 writes to an argument or a constant");
}

TEST_F(Donation, IsNotLent) {
  donate();
  uint32_t reused = builder.addReusedBuffer(0, 0, 0);
  builder.addEntry(makeCopy(x, reused));
  builder.addEntry(makeCopy(reused, builder.addResultBuffer(0)));
  EXPECT_EQ(load(),
            "buffer 2 is reused but in a result that an argument is in");
}

TEST_F(Donation, NamesAResultOfItsType) {
  builder.addResult("y", REMAT_F32, {2, 2});
  builder.addDonation(0, 1);
  EXPECT_EQ(load(), "argument 0 gives its buffer to a result of another type");
}

TEST_F(Donation, StaysInItsMemory) {
  builder.addArgument("m", REMAT_F32, {4}, REMAT_TENSOR_HOST);
  builder.addResult("m", REMAT_F32, {4});
  builder.addDonation(2, 1);
  EXPECT_EQ(load(), "argument 2 gives its buffer to a result in other memory");
}

TEST_F(Donation, IsNeededForResultsOnTheHost) {
  builder.addResult("y", REMAT_F32, {4}, REMAT_TENSOR_HOST);
  EXPECT_EQ(load(), "result 1 is in host memory without having the buffer of "
                    "an argument there");
}

TEST_F(Donation, IsMutual) {
  donate();
  builder.addDonation(1, 0);
  EXPECT_EQ(load(),
            "argument 0 gives its buffer to a result that does not have it");
}

/// A derivative that does not exist can be told from zeros.
TEST(Signature, AbsentResult) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4});
  builder.addResult("x.grad", REMAT_F32, {4}, REMAT_TENSOR_ABSENT);
  builder.addEntry(
      makeCopy(builder.addArgumentBuffer(0), builder.addResultBuffer(0)));
  Step step(builder, {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  remat_tensor_info info;
  ASSERT_EQ(remat_step_result(step.step, 0, &info), REMAT_OK);
  EXPECT_EQ(info.flags, unsigned(REMAT_TENSOR_ABSENT));
}

TEST(Signature, UnknownFlags) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_F32, {4});
  builder.addResult("y", REMAT_F32, {4}, 4);
  builder.addEntry(
      makeCopy(builder.addArgumentBuffer(0), builder.addResultBuffer(0)));
  EXPECT_EQ(Step(builder, {}).message, "result 0 has unknown flags");
}

/// A complex number is two floats.
TEST(Signature, ComplexNumbers) {
  StepTableBuilder builder;
  builder.addArgument("x", REMAT_C64, {3});
  builder.addArgument("z", REMAT_C128, {3});
  builder.addResult("y", REMAT_C64, {3});
  builder.addResult("w", REMAT_C128, {3});
  builder.addEntry(
      makeCopy(builder.addArgumentBuffer(0), builder.addResultBuffer(0)));
  builder.addEntry(
      makeCopy(builder.addArgumentBuffer(1), builder.addResultBuffer(1)));
  Step step(builder, {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  remat_tensor_info info;
  ASSERT_EQ(remat_step_argument(step.step, 0, &info), REMAT_OK);
  EXPECT_EQ(info.bytes, 24u);
  ASSERT_EQ(remat_step_argument(step.step, 1, &info), REMAT_OK);
  EXPECT_EQ(info.bytes, 48u);
  std::vector<float> x = {1, 2, 3, 4, 5, 6}, y(6);
  std::vector<double> z = {1, 2, 3, 4, 5, 6}, w(6);
  int64_t dims[] = {3};
  EXPECT_EQ(
      step.run(
          {{x.data(), REMAT_C64, 1, dims}, {z.data(), REMAT_C128, 1, dims}},
          {{y.data(), REMAT_C64, 1, dims}, {w.data(), REMAT_C128, 1, dims}}),
      REMAT_OK)
      << step.message;
  EXPECT_EQ(x, y);
  EXPECT_EQ(z, w);
}
