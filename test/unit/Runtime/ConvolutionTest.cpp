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

#include "ConvolutionCases.h"

#include <cstdlib>

using namespace remat;

namespace {

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

/// Whether the library has matmuls of bf16 here.
bool hasBfloat16Matmuls() {
  remat_matmul m = {};
  m.a_dtype = m.b_dtype = m.c_dtype = REMAT_BF16;
  std::fill_n(m.batch, 3, 1);
  m.m = m.n = m.k = 64;
  m.a_m_stride = m.b_k_stride = m.c_m_stride = 64;
  m.a_k_stride = m.b_n_stride = m.c_n_stride = 1;
  return remat_matmul_implementation(&m, 1) != std::string("tiles");
}

/// Gradients of filters of one point in bf16 read channels-last tensors where
/// they are, and copy others.
TEST(Convolution, Points) {
  if (!hasBfloat16Matmuls())
    GTEST_SKIP() << "no matmuls of bf16 on this CPU";
  std::mt19937 random(14);
  for (int64_t stride : {1, 2})
    for (int layout = 0; layout < 2; ++layout) {
      Case test = square(REMAT_CONV_FILTER_GRADIENT, 2, 48, 96, 9, 1, stride, 0,
                         layout);
      remat_convolution &d = test.d;
      d.input_dtype = d.filter_dtype = d.output_dtype = REMAT_BF16;
      std::string name = remat_convolution_implementation(&d, 1);
      SCOPED_TRACE("stride " + std::to_string(stride) + ", layout " +
                   std::to_string(layout) + ": " + name);
      EXPECT_EQ(name.substr(0, 7), "windows");
      EXPECT_EQ(remat_convolution_copied_bytes(&d, 1) == 0,
                layout == 1 && stride == 1);
      for (int threads : {1, 2})
        runCase(test, random, threads);
    }
}

/// Gradients of filters in bf16 whose windows do not overlap are matmuls, of a
/// chunk of positions after the other if there are many.
TEST(Convolution, Patches) {
  if (!hasBfloat16Matmuls())
    GTEST_SKIP() << "no matmuls of bf16 on this CPU";
  std::mt19937 random(18);
  for (int64_t stride : {3, 4, 5})
    for (int64_t extent : {22, 152})
      for (int layout = 0; layout < 2; ++layout) {
        Case test = square(REMAT_CONV_FILTER_GRADIENT, 3, 8, 32, extent, 4,
                           stride, 0, layout);
        remat_convolution &d = test.d;
        d.input_dtype = d.filter_dtype = d.output_dtype = REMAT_BF16;
        std::string name = remat_convolution_implementation(&d, 1);
        SCOPED_TRACE("stride " + std::to_string(stride) + ", layout " +
                     std::to_string(layout) + ": " + name);
        EXPECT_EQ(name.substr(0, 7) == "windows", stride >= 4);
        for (int threads : {1, 2})
          runCase(test, random, threads);
      }
}

/// In f32, a filter of one point is a matmul where there is a matrix unit, if
/// the positions of an image, or of all of them for the filter's gradient, lie
/// at one distance.
TEST(Convolution, PointsOfF32) {
  std::mt19937 random(16);
  auto usesUnit = [](const std::string &name) { return name == "amx tiles"; };
  remat_matmul m = {};
  m.a_dtype = m.b_dtype = m.c_dtype = REMAT_F32;
  std::fill_n(m.batch, 3, 1);
  m.m = m.n = m.k = 256;
  m.a_m_stride = m.b_k_stride = m.c_m_stride = 256;
  m.a_k_stride = m.b_n_stride = m.c_n_stride = 1;
  bool hasUnit = usesUnit(remat_matmul_implementation(&m, 1));
  for (int kind = 0; kind < 3; ++kind)
    for (int layout = 0; layout < 2; ++layout)
      for (int64_t batch : {1, 3})
        for (int64_t stride : {1, 2})
          for (int64_t pad : {0, 1}) {
            Case test =
                square(kind, batch, 160, 129, 15, 1, stride, pad, layout);
            std::string name = remat_convolution_implementation(&test.d, 2);
            SCOPED_TRACE("kind " + std::to_string(kind) + ", layout " +
                         std::to_string(layout) + ", stride " +
                         std::to_string(stride) + ": " + name);
            bool isPoint = pad == 0 && stride == 1;
            bool isSum = kind == REMAT_CONV_FILTER_GRADIENT;
            EXPECT_EQ(usesUnit(name),
                      hasUnit && isPoint &&
                          (!isSum || batch == 1 || layout == 1));
            runCase(test, random, 1 + pad);
            if (HasFatalFailure())
              return;
          }
}

/// Gradients of filters in bf16 are products with f32 sums, which are rounded
/// once, in any number of chunks of positions.
TEST(Convolution, PointsInChunks) {
  if (!hasBfloat16Matmuls())
    GTEST_SKIP() << "no matmuls of bf16 on this CPU";
  std::mt19937 random(15);
  for (int64_t size : {8, 20}) {
    Case test =
        square(REMAT_CONV_FILTER_GRADIENT, 2, 720, 64, size, 1, 1, 0, 0);
    remat_convolution &d = test.d;
    d.input_dtype = d.filter_dtype = d.output_dtype = REMAT_BF16;
    std::string name = remat_convolution_implementation(&d, 1);
    EXPECT_EQ(name.substr(0, 7), "windows") << name;
    for (int threads : {1, 3})
      runCase(test, random, threads);
  }
  // Many threads have too little to do in a matmul of one tile.
  Case narrow = square(REMAT_CONV_FILTER_GRADIENT, 2, 64, 64, 40, 1, 1, 0, 1);
  narrow.d.input_dtype = narrow.d.filter_dtype = narrow.d.output_dtype =
      REMAT_BF16;
  EXPECT_NE(
      std::string(remat_convolution_implementation(&narrow.d, 8)).substr(0, 7),
      "windows");
}

/// Convolutions of bf16 that kernels of oneDNN 2.6 get wrong: windows that
/// begin behind the input, windows that fit without padding but are moved into
/// it, rows with gaps and channels that fill no block, and inputs that are
/// narrower than a stride.
TEST(Convolution, WhereOneDnnIsWrong) {
  struct Dim {
    int64_t input, filter, stride, dilation, pad, output;
  };
  struct Wrong {
    int32_t kind;
    int64_t inputs, outputs;
    Dim dims[2];
  };
  const Wrong cases[] = {
      {REMAT_CONV_FORWARD,
       64,
       160,
       {{19, 2, 2, 1, 1, 11}, {12, 3, 2, 1, 2, 7}}},
      {REMAT_CONV_FORWARD, 8, 32, {{2, 1, 2, 1, 0, 2}, {6, 3, 1, 1, 2, 8}}},
      {REMAT_CONV_FORWARD, 16, 16, {{5, 1, 1, 1, 0, 5}, {8, 4, 4, 1, 3, 2}}},
      {REMAT_CONV_FORWARD, 32, 16, {{9, 5, 3, 2, 1, 1}, {9, 5, 4, 1, 3, 2}}},
      {REMAT_CONV_FILTER_GRADIENT,
       40,
       16,
       {{9, 3, 1, 2, 1, 7}, {32, 3, 1, 1, 1, 32}}},
      {REMAT_CONV_FILTER_GRADIENT,
       40,
       16,
       {{5, 1, 1, 2, 0, 5}, {32, 3, 1, 1, 1, 32}}},
      {REMAT_CONV_FILTER_GRADIENT,
       17,
       40,
       {{5, 3, 1, 2, 0, 1}, {32, 3, 1, 1, 1, 32}}},
      {REMAT_CONV_FILTER_GRADIENT,
       16,
       16,
       {{4, 2, 1, 1, 1, 4}, {1, 3, 2, 1, 1, 1}}},
      {REMAT_CONV_FILTER_GRADIENT,
       24,
       3,
       {{5, 4, 1, 1, 2, 5}, {3, 2, 4, 1, 1, 1}}},
  };
  std::mt19937 random(16);
  for (const Wrong &wrong : cases)
    for (int layout = 0; layout < 2; ++layout) {
      Case test;
      remat_convolution &d = test.d;
      d.kind = wrong.kind;
      d.spatial_rank = 2;
      d.input_dtype = d.filter_dtype = d.output_dtype = REMAT_BF16;
      d.batch = 2, d.groups = 1;
      d.input_channels = wrong.inputs, d.output_channels = wrong.outputs;
      for (int i = 0; i < 2; ++i) {
        const Dim &dim = wrong.dims[i];
        d.input[i] = dim.input, d.filter[i] = dim.filter;
        d.stride[i] = dim.stride, d.dilation[i] = dim.dilation;
        d.pad_lo[i] = dim.pad, d.pad_hi[i] = 4, d.output[i] = dim.output;
      }
      layOutCase(test, layout, random);
      SCOPED_TRACE("case " + std::to_string(&wrong - cases) + ", layout " +
                   std::to_string(layout) + ": " +
                   remat_convolution_implementation(&d, 1));
      runCase(test, random, 1);
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
