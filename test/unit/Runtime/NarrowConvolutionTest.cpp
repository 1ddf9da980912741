//===- NarrowConvolutionTest.cpp - convolutions of 16 bits, and biases ----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Convolutions of f16 and bf16, which may be carried out in f32, and biases,
// which are added before the result is rounded.
//
//===----------------------------------------------------------------------===//

#include "ConvolutionCases.h"

using namespace remat;

namespace {

TEST(Convolution, Biases) {
  const int32_t types[] = {REMAT_F32, REMAT_F32, REMAT_BF16, REMAT_F16,
                           REMAT_F64};
  std::mt19937 random(12);
  int byLibrary[2] = {0, 0};
  for (int i = 0; i < 400; ++i) {
    Case test = pickCase(random, types[i % 5]);
    if (test.d.kind == REMAT_CONV_FILTER_GRADIENT)
      continue;
    // Nothing but a bias has a row of the length 0 then.
    if (test.d.input_channels == 0 || test.d.batch == 0)
      continue;
    test.d.bias = 1;
    SCOPED_TRACE("case " + std::to_string(i) + ": " +
                 remat_convolution_implementation(&test.d, 2));
    byLibrary[test.d.kind] += remat_convolution_implementation(&test.d, 2) !=
                              std::string("reference");
    runCase(test, random, 2);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(byLibrary[REMAT_CONV_FORWARD], 30);
  EXPECT_GT(byLibrary[REMAT_CONV_INPUT_GRADIENT], 20);
}

/// The sum with the bias is rounded, and not the convolution before.
TEST(Convolution, BiasesAreRoundedOnce) {
  for (int32_t type : {REMAT_BF16, REMAT_F16})
    for (int32_t kind : {REMAT_CONV_FORWARD, REMAT_CONV_INPUT_GRADIENT}) {
      remat_convolution d = {};
      d.kind = kind;
      d.bias = d.spatial_rank = 1;
      d.input_dtype = d.filter_dtype = d.output_dtype = type;
      d.batch = d.groups = d.input_channels = d.output_channels = 1;
      d.input[0] = d.output[0] = 1;
      d.filter[0] = d.stride[0] = d.dilation[0] = 1;
      std::fill_n(d.input_strides, 3, 1);
      std::fill_n(d.output_strides, 3, 1);
      std::fill_n(d.filter_strides, 4, 1);
      // 65 * 65 = 4225 is no number of 11 bits, and 4225 - 4224 is.
      Elements x(type, 1), w(type, 1), y(type, 1), bias(type, 1), initial = y;
      x.set(0, 65), w.set(0, 65), bias.set(0, -4224);
      Step step(makeCall(REMAT_ENTRY_CONVOLUTION, x, w, y, nullptr, &d, 1), {},
                {1, 0, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      ASSERT_EQ(
          step.run({x.tensor(), w.tensor(), initial.tensor(), bias.tensor()},
                   {y.tensor()}),
          REMAT_OK);
      EXPECT_EQ(y.get(0), 1) << remat_convolution_implementation(&d, 1);
    }
}

/// What oneDNN does not have is done in f32, a part of the batch at a time.
TEST(Convolution, SixteenBitsInFloat) {
  std::mt19937 random(11);
  for (int32_t type : {REMAT_F16, REMAT_BF16})
    for (int kind = 0; kind < 3; ++kind)
      for (int layout = 0; layout < 2; ++layout) {
        // Six samples are a part.
        Case test = square(kind, 12, 8, 16, 40, 1, 1, 0, layout);
        Case large = square(kind, 60, 8, 16, 40, 1, 1, 0, layout);
        for (remat_convolution *d : {&test.d, &large.d})
          d->input_dtype = d->filter_dtype = d->output_dtype = type;
        std::string name = remat_convolution_implementation(&test.d, 2);
        SCOPED_TRACE("kind " + std::to_string(kind) + ", layout " +
                     std::to_string(layout) + ", " + name);
        EXPECT_NE(name, "reference");
        if (name.substr(0, 7) == "in f32,") {
          EXPECT_EQ(remat_convolution_workspace_bytes(&test.d, 2),
                    remat_convolution_workspace_bytes(&large.d, 2));
        } else { // sums of our own, or oneDNN with AVX-512
          EXPECT_TRUE(type == REMAT_BF16 || name == "tiles") << name;
        }
        runCase(test, random, 2);
      }
}

/// Operands may be of other types than results.
TEST(Convolution, SixteenBitsOfAFewOperands) {
  std::mt19937 random(12);
  const int32_t types[] = {REMAT_F16, REMAT_F32, REMAT_BF16};
  for (int i = 0; i < 81; ++i) {
    Case test = square(i % 3, 2, 8, 16, 12, 3, 1, 1, i % 2);
    test.d.input_dtype = types[i / 3 % 3];
    test.d.filter_dtype = types[i / 9 % 3];
    test.d.output_dtype = types[i / 27 % 3];
    SCOPED_TRACE("case " + std::to_string(i));
    runCase(test, random, 1 + i % 2);
  }
}

} // namespace
