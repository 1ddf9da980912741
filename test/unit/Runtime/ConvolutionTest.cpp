//===- ConvolutionTest.cpp - convolutions against naive loops -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Many random descriptions of all three kinds: ranks, layouts, groups, strides,
// dilations, paddings, types, empty tensors.
//
//===----------------------------------------------------------------------===//

#include "LibraryTest.h"

#include <algorithm>
#include <cstdlib>

using namespace remat;

namespace {

/// Strides of a tensor whose dims are laid out as `order` says, outermost
/// first; its number of elements.
int64_t layOut(const std::vector<int64_t> &dims, const std::vector<int> &order,
               int64_t *strides) {
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

void layOutCase(Case &test, int layout, std::mt19937 &random) {
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

Case pickCase(std::mt19937 &random, int32_t type) {
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

void runCase(const Case &test, std::mt19937 &random, int threads) {
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

/// Large enough for eight threads: 10 million multiplications and more.
Case pickLargeCase(std::mt19937 &random, int32_t type) {
  Case test;
  remat_convolution &d = test.d;
  auto pick = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  d.kind = static_cast<int32_t>(pick(0, 1) ? REMAT_CONV_FORWARD
                                           : REMAT_CONV_INPUT_GRADIENT);
  d.spatial_rank = 2;
  d.input_dtype = d.filter_dtype = d.output_dtype = type;
  d.batch = pick(3, 5);
  d.groups = pick(1, 2);
  d.input_channels = d.groups * pick(30, 50);
  d.output_channels = d.groups * pick(30, 50);
  for (int i = 0; i < 2; ++i) {
    d.input[i] = pick(24, 33);
    d.filter[i] = 3;
    d.stride[i] = pick(1, 2);
    d.dilation[i] = d.pad_lo[i] = d.pad_hi[i] = 1;
    d.output[i] = (d.input[i] - 1) / d.stride[i] + 1;
  }
  layOutCase(test, static_cast<int>(pick(0, 2)), random);
  return test;
}

/// While other processes use the cores, convolutions run on one thread, but for
/// oneDNN's gradients of filters: their images are divided among the threads.
TEST(Convolution, SameBitsOnAnyNumberOfThreads) {
  std::mt19937 random(9);
  for (int i = 0; i < 18; ++i) {
    const int32_t types[] = {REMAT_BF16, REMAT_F32, REMAT_F16};
    Case test = pickLargeCase(random, types[i % 3]);
    if (i >= 12) {
      test.d.kind = REMAT_CONV_FILTER_GRADIENT;
      if (remat_convolution_implementation(&test.d, 1) != std::string("tiles"))
        continue;
    }
    Operands t(test, random);
    Elements &a = t.first(test.d.kind), &b = t.second(test.d.kind);
    Elements initial = t.result(test.d.kind), first = initial;
    for (int threads : {1, 2, 3, 8}) {
      Elements c = initial;
      Step step(
          makeCall(REMAT_ENTRY_CONVOLUTION, a, b, c, nullptr, &test.d, threads),
          {}, {threads, 0, nullptr, 0});
      ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
      ASSERT_EQ(step.run({a.tensor(), b.tensor(), initial.tensor()},
                         {threads == 1 ? first.tensor() : c.tensor()}),
                REMAT_OK);
      if (threads > 1) {
        EXPECT_TRUE(c.sameBits(first))
            << "case " << i << ", " << threads << " threads, "
            << remat_convolution_implementation(&test.d, threads);
      }
    }
  }
}

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

TEST(Convolution, RandomDescriptions) {
  const int32_t types[] = {REMAT_F32, REMAT_F32, REMAT_F32, REMAT_BF16,
                           REMAT_F64, REMAT_F16, REMAT_I32};
  std::mt19937 random(6);
  int byLibrary = 0;
  for (int i = 0; i < 700; ++i) {
    Case test = pickCase(random, types[i % 7]);
    std::string name = remat_convolution_implementation(&test.d, 2);
    byLibrary += name != "reference";
    SCOPED_TRACE("case " + std::to_string(i) + ", kind " +
                 std::to_string(test.d.kind) + ", " + name);
    runCase(test, random, 1 + i % 3);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(byLibrary, 200);
}

Case square(int32_t kind, int64_t batch, int64_t ic, int64_t oc, int64_t size,
            int64_t filter, int64_t stride, int64_t pad, int layout) {
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

TEST(Convolution, LibraryTakesWhatMatters) {
  for (int kind = 0; kind < 3; ++kind)
    for (int layout = 0; layout < 2; ++layout)
      for (int64_t stride : {1, 2}) {
        Case test = square(kind, 2, 32, 64, 16, 3, stride, 1, layout);
        std::string name = remat_convolution_implementation(&test.d, 2);
        EXPECT_NE(name, "reference");
        // A matmul inside would allocate while it runs.
        EXPECT_EQ(name.find("gemm"), std::string::npos) << name;
      }
}

/// Few positions and many channels: the filter is used where it is, and the
/// workspace is smaller than a copy of it.
TEST(Convolution, FewPositions) {
  std::mt19937 random(8);
  for (int kind = 0; kind < 3; ++kind)
    for (int layout = 0; layout < 2; ++layout)
      for (int64_t filter : {1, 3})
        for (int64_t stride : {1, 2}) {
          Case test =
              square(kind, 4, 48, 96, 4, filter, stride, filter / 2, layout);
          SCOPED_TRACE("kind " + std::to_string(kind) + ", layout " +
                       std::to_string(layout) + ", filter " +
                       std::to_string(filter));
          std::string name = remat_convolution_implementation(&test.d, 1);
          EXPECT_EQ(name.substr(0, 7), "windows");
          if (layout == 0 && filter == 3 && stride == 2) {
            EXPECT_LT(remat_convolution_workspace_bytes(&test.d, 1),
                      test.filterSize * 4);
          }
          for (int threads : {1, 2})
            runCase(test, random, threads);
        }
}

/// Convolutions in f64 are products, too, of more than one chunk of positions:
/// the workspace does not grow with their number.
TEST(Convolution, Double) {
  std::mt19937 random(10);
  for (int kind = 0; kind < 3; ++kind)
    for (int layout = 0; layout < 2; ++layout) {
      Case test = square(kind, 3, 24, 8, 20, 3, 1, 1, layout);
      Case large = square(kind, 3, 24, 8, 80, 3, 1, 1, layout);
      for (remat_convolution *d : {&test.d, &large.d})
        d->input_dtype = d->filter_dtype = d->output_dtype = REMAT_F64;
      SCOPED_TRACE("kind " + std::to_string(kind) + ", layout " +
                   std::to_string(layout));
      EXPECT_EQ(remat_convolution_implementation(&test.d, 2),
                std::string("windows, tiles"));
      EXPECT_EQ(remat_convolution_workspace_bytes(&test.d, 1),
                remat_convolution_workspace_bytes(&large.d, 1));
      for (int threads : {1, 2})
        runCase(test, random, threads);
    }
}

/// Channels-last tensors are read where they are, if any are.
TEST(Convolution, CopiedBytes) {
  for (int kind = 0; kind < 3; ++kind)
    for (int64_t stride : {1, 2}) {
      Case plain = square(kind, 2, 32, 64, 16, 3, stride, 1, 0);
      Case last = square(kind, 2, 32, 64, 16, 3, stride, 1, 1);
      int64_t input = 4 * 2 * 32 * 16 * 16;
      int64_t output = 4 * 2 * 64 * 16 * 16 / (stride * stride);
      int64_t copied = remat_convolution_copied_bytes(&plain.d, 1);
      EXPECT_TRUE(copied == 0 || copied == input || copied == output ||
                  copied == input + output)
          << copied;
      EXPECT_LE(remat_convolution_copied_bytes(&last.d, 1), copied);
      plain.d.input_dtype = plain.d.filter_dtype = plain.d.output_dtype =
          REMAT_F64;
      EXPECT_EQ(remat_convolution_copied_bytes(&plain.d, 1), 0);
      plain.d.batch = -1;
      EXPECT_EQ(remat_convolution_copied_bytes(&plain.d, 1), -1);
    }
}

/// What is copied to a layout of the library is copied for a part of the batch
/// at a time.
TEST(Convolution, WorkspaceDoesNotGrowWithTheBatch) {
  std::mt19937 random(9);
  for (int kind = 0; kind < 3; ++kind) {
    Case test = square(kind, 24, 16, 16, 32, 1, 1, 0, 0);
    std::string name = remat_convolution_implementation(&test.d, 2);
    SCOPED_TRACE("kind " + std::to_string(kind) + ", " + name);
    if (name.find("avx512") != std::string::npos) { // others: other layouts
      EXPECT_LT(remat_convolution_workspace_bytes(&test.d, 2), 3 << 19);
    }
    runCase(test, random, 2);
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

/// Steps and padding of a dimension whose input and filter are known, and the
/// output that they give.
template <typename Pick>
void pickWindow(remat_convolution &d, int dim, const Pick &pick) {
  d.stride[dim] = pick(1, 2);
  d.dilation[dim] = d.filter[dim] < 5 ? pick(1, 2) : 1;
  d.pad_lo[dim] = pick(0, 4);
  d.pad_hi[dim] = pick(0, 4);
  d.output[dim] = (d.input[dim] + d.pad_lo[dim] + d.pad_hi[dim] -
                   d.dilation[dim] * (d.filter[dim] - 1) - 1) /
                      d.stride[dim] +
                  1;
}

/// Filters of one input channel, which oneDNN takes where they are three wide.
TEST(Convolution, DepthwiseFilters) {
  const int32_t types[] = {REMAT_F32, REMAT_F32, REMAT_BF16, REMAT_F16};
  std::mt19937 random(10);
  auto pick = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  int own = 0;
  for (int i = 0; i < 60; ++i) {
    Case test;
    remat_convolution &d = test.d;
    d.kind = REMAT_CONV_FILTER_GRADIENT;
    d.spatial_rank = static_cast<int32_t>(1 + i % 3);
    d.input_dtype = d.filter_dtype = d.output_dtype = types[i % 4];
    d.batch = pick(1, 5);
    d.groups = d.input_channels = pick(2, d.spatial_rank == 3 ? 20 : 40);
    d.output_channels = d.groups * (i % 5 == 0 ? pick(2, 3) : 1);
    for (int dim = 0; dim < d.spatial_rank; ++dim) {
      // Long rows take more than one band.
      d.input[dim] = pick(7, d.spatial_rank == 1   ? 3000
                             : d.spatial_rank == 2 ? 20
                                                   : 9);
      d.filter[dim] = pick(4, 7);
      pickWindow(d, dim, pick);
    }
    layOutCase(test, static_cast<int>(pick(0, 2)), random);
    std::string name = remat_convolution_implementation(&d, 1);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + name);
    own += name == "depthwise";
    runCase(test, random, 1 + i % 3);
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(own, 60);
  // A ConvNeXt's: less than a tenth of a copy of its operands as workspace.
  Case wide = square(REMAT_CONV_FILTER_GRADIENT, 8, 64, 64, 24, 7, 1, 3, 0);
  wide.d.groups = 64;
  std::mt19937 unused;
  layOutCase(wide, 0, unused);
  EXPECT_EQ(std::string(remat_convolution_implementation(&wide.d, 1)),
            "depthwise");
  EXPECT_LT(remat_convolution_workspace_bytes(&wide.d, 1),
            (wide.inputSize + wide.outputSize) * 4 / 10);
}

/// Gradients of filters with more channels, taps or positions than fit in a
/// block or a chunk of our own loops, which take them without AVX-512.
TEST(Convolution, FilterGradients) {
  const int32_t types[] = {REMAT_F32, REMAT_F32, REMAT_BF16, REMAT_F16};
  // Input channels, output channels, extents of rank, filter.
  const int64_t shapes[][6] = {{100, 90, 2, 9, 9, 3},  {8, 12, 1, 1, 4000, 3},
                               {7, 9, 2, 14, 300, 4},  {6, 8, 2, 15, 15, 11},
                               {40, 33, 2, 12, 13, 1}, {13, 70, 1, 1, 300, 5}};
  std::mt19937 random(11);
  auto pick = [&](int low, int high) {
    return low + static_cast<int64_t>(random() % (high - low + 1));
  };
  int own = 0;
  for (int i = 0; i < 24; ++i) {
    const int64_t *shape = shapes[i % 6];
    Case test;
    remat_convolution &d = test.d;
    d.kind = REMAT_CONV_FILTER_GRADIENT;
    d.spatial_rank = static_cast<int32_t>(shape[2]);
    d.input_dtype = d.filter_dtype = d.output_dtype = types[i % 4];
    d.batch = pick(1, 2);
    d.groups = i % 5 == 4 ? 2 : 1;
    d.input_channels = d.groups * shape[0];
    d.output_channels = d.groups * shape[1];
    for (int dim = 0; dim < d.spatial_rank; ++dim) {
      d.input[dim] = shape[5 - d.spatial_rank + dim];
      d.filter[dim] = shape[5];
      pickWindow(d, dim, pick);
    }
    layOutCase(test, static_cast<int>(pick(0, 2)), random);
    std::string name = remat_convolution_implementation(&d, 1);
    SCOPED_TRACE("case " + std::to_string(i) + ", " + name);
    own += name == "tiles";
    runCase(test, random, 1 + i % 3);
    if (HasFatalFailure())
      return;
  }
  const char *isa = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (isa && isa == std::string("AVX2")) {
    EXPECT_GE(own, 20); // the others have few positions
  }
}

TEST(Convolution, SameBitsEveryTime) {
  for (int kind = 0; kind < 3; ++kind)
    for (int layout = 0; layout < 2; ++layout) {
      std::mt19937 random(7);
      Case test = square(kind, 4, 32, 32, 13, 3, 1, 1, layout);
      Operands t(test, random);
      for (Elements *e : {&t.input, &t.filter, &t.output})
        for (int64_t i = 0; i < e->count; ++i)
          e->set(i, static_cast<double>(random()) / 4e9 - 0.5);
      Elements &a = t.first(kind), &b = t.second(kind), &c = t.result(kind);
      Elements initial(REMAT_F32, c.count), first(REMAT_F32, c.count);
      StepTableBuilder builder =
          makeCall(REMAT_ENTRY_CONVOLUTION, a, b, c, nullptr, &test.d, 2);
      for (int repeat = 0; repeat < 8; ++repeat) {
        Step step(
            builder, {},
            {2, repeat % 2 ? unsigned(REMAT_STEP_POISON) : 0u, nullptr, 0});
        Elements other(REMAT_F32, c.count, repeat * 3);
        ASSERT_EQ(step.run({a.tensor(), b.tensor(), initial.tensor()},
                           {repeat == 0 ? first.tensor() : other.tensor()}),
                  REMAT_OK)
            << step.message;
        if (repeat > 0) {
          EXPECT_TRUE(other.sameBits(first));
        }
      }
    }
}

TEST(Convolution, Refused) {
  auto refused = [](const remat_convolution &d, const char *expected) {
    EXPECT_EQ(remat_convolution_workspace_bytes(&d, 1), -1);
    EXPECT_NE(std::string(remat_last_error()).find(expected), std::string::npos)
        << remat_last_error();
  };
  remat_convolution good = square(0, 1, 4, 6, 8, 3, 1, 0, 0).d, bad = good;
  EXPECT_GE(remat_convolution_workspace_bytes(&good, 1), 0);
  bad.groups = 4;
  refused(bad, "has 4 groups, which do not divide its 4 input and 6 output");
  bad = good;
  bad.output[1] = 7;
  refused(bad, "output extent 7 exceeds what the input gives, 6");
  bad = good;
  bad.stride[0] = 0;
  refused(bad, "stride and dilation must be at least 1");
  bad = good;
  bad.spatial_rank = 4;
  refused(bad, "spatial rank 4, expected 1 to 3");
  bad = good;
  bad.output_strides[3] = 0;
  refused(bad, "convolution output overlaps itself");
}

} // namespace
