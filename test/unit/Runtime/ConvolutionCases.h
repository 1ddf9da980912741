//===- ConvolutionCases.h - convolutions against naive loops ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptions of convolutions, and steps that carry them out, whose results
// are compared with those of naive loops.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_CONVOLUTIONCASES_H
#define REMAT_TEST_UNIT_RUNTIME_CONVOLUTIONCASES_H

#include "LibraryTest.h"

#include <algorithm>

namespace remat {

/// Strides of a tensor whose dims are laid out as `order` says, outermost
/// first; its number of elements.
inline int64_t layOut(const std::vector<int64_t> &dims,
                      const std::vector<int> &order, int64_t *strides) {
  int64_t size = 1;
  for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
    strides[*dim] = size;
    size *= std::max<int64_t>(dims[static_cast<size_t>(*dim)], 1);
  }
  return size;
}

struct Case {
  remat_convolution d = {};
  int64_t inputSize, filterSize, outputSize;
};

inline void layOutCase(Case &test, int layout, std::mt19937 &random) {
  remat_convolution &d = test.d;
  std::vector<int64_t> input = {d.batch, d.input_channels};
  std::vector<int64_t> output = {d.batch, d.output_channels};
  std::vector<int64_t> filter = {d.groups, d.output_channels / d.groups,
                                 d.input_channels / d.groups};
  std::vector<int> data = {0, 1}, weights = {0, 1, 2};
  if (layout == 1) // channels last, filter hwio
    data = {0}, weights = {};
  for (int i = 0; i < d.spatial_rank; ++i) {
    input.push_back(d.input[i]);
    output.push_back(d.output[i]);
    filter.push_back(d.filter[i]);
    data.push_back(2 + i);
    weights.push_back(3 + i);
  }
  if (layout == 1) {
    data.push_back(1);
    weights.insert(weights.end(), {2, 0, 1});
  }
  auto order = [&](std::vector<int> &dims) {
    if (layout == 2)
      std::shuffle(dims.begin(), dims.end(), random);
    return dims;
  };
  test.inputSize = layOut(input, order(data), d.input_strides);
  test.outputSize = layOut(output, order(data), d.output_strides);
  test.filterSize = layOut(filter, order(weights), d.filter_strides);
}

inline Case pickCase(std::mt19937 &random, int32_t type) {
  Case test;
  remat_convolution &d = test.d;
  auto pick = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  d.kind = static_cast<int32_t>(pick(0, 2));
  d.spatial_rank = static_cast<int32_t>(pick(1, 3));
  d.input_dtype = d.filter_dtype = d.output_dtype = type;
  d.batch = pick(0, 12) == 0 ? 0 : pick(1, 4);
  d.groups = pick(0, 2) == 0 ? pick(2, 4) : 1;
  bool wide = pick(0, 1) == 0;
  d.input_channels = d.groups * (wide ? pick(1, 2) * 8 : pick(1, 3));
  d.output_channels = d.groups * (wide ? pick(1, 2) * 16 : pick(1, 3));
  if (pick(0, 20) == 0)
    d.input_channels = 0;
  for (int i = 0; i < d.spatial_rank; ++i) {
    d.input[i] = pick(1, d.spatial_rank == 1 ? 80 : 9);
    d.filter[i] = pick(1, 3);
    d.stride[i] = pick(1, 2);
    d.dilation[i] = pick(1, 2);
    d.pad_lo[i] = pick(0, 2);
    d.pad_hi[i] = pick(0, 2);
    int64_t room = d.input[i] + d.pad_lo[i] + d.pad_hi[i] -
                   d.dilation[i] * (d.filter[i] - 1) - 1;
    d.output[i] = room < 0 ? 0 : room / d.stride[i] + 1;
    if (pick(0, 6) == 0) // less than what the input would give
      d.output[i] = pick(0, static_cast<int>(d.output[i]));
  }
  layOutCase(test, static_cast<int>(pick(0, 2)), random);
  return test;
}

/// Calls body(input, filter, output) with the numbers of the elements of each
/// product that the convolution sums.
template <typename Body>
void forEachProduct(const remat_convolution &d, const Body &body) {
  int64_t y[3] = {1, 1, 1}, r[3] = {1, 1, 1};
  for (int i = 0; i < d.spatial_rank; ++i)
    y[i] = d.output[i], r[i] = d.filter[i];
  int64_t perGroup = d.input_channels / d.groups;
  int64_t outPerGroup = d.output_channels / d.groups;
  int64_t positions = y[0] * y[1] * y[2], taps = r[0] * r[1] * r[2];
  for (int64_t n = 0; n < d.batch; ++n)
    for (int64_t o = 0; o < d.output_channels; ++o)
      for (int64_t i = 0; i < perGroup; ++i)
        for (int64_t position = 0; position < positions; ++position)
          for (int64_t tap = 0; tap < taps; ++tap) {
            int64_t at[3] = {position / y[2] / y[1], position / y[2] % y[1],
                             position % y[2]};
            int64_t by[3] = {tap / r[2] / r[1], tap / r[2] % r[1], tap % r[2]};
            int64_t group = o / outPerGroup;
            int64_t in = n * d.input_strides[0] +
                         (group * perGroup + i) * d.input_strides[1];
            int64_t f = group * d.filter_strides[0] +
                        o % outPerGroup * d.filter_strides[1] +
                        i * d.filter_strides[2];
            int64_t out = n * d.output_strides[0] + o * d.output_strides[1];
            bool inside = true;
            for (int j = 0; j < d.spatial_rank; ++j) {
              int64_t x =
                  at[j] * d.stride[j] + by[j] * d.dilation[j] - d.pad_lo[j];
              inside &= x >= 0 && x < d.input[j];
              in += x * d.input_strides[2 + j];
              f += by[j] * d.filter_strides[3 + j];
              out += at[j] * d.output_strides[2 + j];
            }
            if (inside)
              body(in, f, out);
          }
}

struct Operands {
  Operands(const Case &test, std::mt19937 &random)
      : input(test.d.input_dtype, test.inputSize),
        filter(test.d.filter_dtype, test.filterSize),
        output(test.d.output_dtype, test.outputSize),
        bias(result(test.d.kind).dtype, countBiases(test.d)) {
    for (Elements *e : {&input, &filter, &output, &bias})
      e->fill(random);
  }
  Elements &first(int32_t kind) {
    return kind == REMAT_CONV_INPUT_GRADIENT ? output : input;
  }
  Elements &second(int32_t kind) {
    return kind == REMAT_CONV_FILTER_GRADIENT ? output : filter;
  }
  Elements &result(int32_t kind) {
    return kind == REMAT_CONV_FORWARD          ? output
           : kind == REMAT_CONV_INPUT_GRADIENT ? input
                                               : filter;
  }
  Elements input, filter, output, bias;
};

inline void runCase(const Case &test, std::mt19937 &random, int threads) {
  const remat_convolution &d = test.d;
  Operands t(test, random);
  Elements &a = t.first(d.kind), &b = t.second(d.kind);
  Elements initial = t.result(d.kind);
  Elements &c = t.result(d.kind);
  Step step(makeCall(REMAT_ENTRY_CONVOLUTION, a, b, c, nullptr, &d, threads),
            {}, {threads, REMAT_STEP_POISON, nullptr, 0});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  std::vector<remat_tensor> arguments = {a.tensor(), b.tensor(),
                                         initial.tensor()};
  if (d.bias)
    arguments.push_back(t.bias.tensor());
  ASSERT_EQ(step.run(arguments, {c.tensor()}), REMAT_OK) << step.message;
  EXPECT_EQ(step.stats().degraded_calls, 0u);
  std::vector<double> sums(static_cast<size_t>(c.count), 0);
  forEachProduct(d, [&](int64_t in, int64_t f, int64_t out) {
    switch (d.kind) {
    case REMAT_CONV_FORWARD:
      sums[static_cast<size_t>(out)] += t.input.get(in) * t.filter.get(f);
      break;
    case REMAT_CONV_INPUT_GRADIENT:
      sums[static_cast<size_t>(in)] += t.output.get(out) * t.filter.get(f);
      break;
    default:
      sums[static_cast<size_t>(f)] += t.input.get(in) * t.output.get(out);
    }
  });
  int64_t stride =
      d.kind == REMAT_CONV_FORWARD ? d.output_strides[1] : d.input_strides[1];
  for (int64_t i = 0; d.bias && i < c.count; ++i)
    sums[static_cast<size_t>(i)] += t.bias.get(i / stride % t.bias.count);
  // Layouts have no gaps, but an empty result has its one element untouched.
  bool empty = false;
  for (int i = 0; i < d.spatial_rank; ++i)
    empty |= d.kind == REMAT_CONV_FORWARD && d.output[i] == 0;
  empty |= d.kind != REMAT_CONV_FILTER_GRADIENT && d.batch == 0;
  empty |= d.kind != REMAT_CONV_FORWARD && d.input_channels == 0;
  for (int64_t i = 0; i < c.count; ++i) {
    double expected = empty ? initial.get(i) : sums[static_cast<size_t>(i)];
    ASSERT_NEAR(c.get(i), expected, c.tolerance(expected)) << "element " << i;
  }
}

inline Case square(int32_t kind, int64_t batch, int64_t ic, int64_t oc,
                   int64_t size, int64_t filter, int64_t stride, int64_t pad,
                   int layout) {
  Case test;
  remat_convolution &d = test.d;
  d.kind = kind, d.spatial_rank = 2;
  d.batch = batch, d.groups = 1, d.input_channels = ic, d.output_channels = oc;
  for (int i = 0; i < 2; ++i) {
    d.input[i] = size, d.filter[i] = filter, d.stride[i] = stride;
    d.dilation[i] = 1, d.pad_lo[i] = d.pad_hi[i] = pad;
    d.output[i] = (size + 2 * pad - filter) / stride + 1;
  }
  std::mt19937 unused;
  layOutCase(test, layout, unused);
  return test;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_CONVOLUTIONCASES_H
