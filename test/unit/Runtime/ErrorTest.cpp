//===- ErrorTest.cpp - everything that can be refused ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bad tensors, bad modules, failing kernels: each gives its code and a message
// that says what was found and what was expected.
//
//===----------------------------------------------------------------------===//

#include "RuntimeTest.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <random>

using namespace remat;

namespace {

void touch(void *const *, int64_t, int64_t, remat_kernel_status *) {}

/// gather: r[i] = table[indices[i]] for a table of 8 floats.
void gather(void *const *buffers, int64_t begin, int64_t end,
            remat_kernel_status *status) {
  auto *table = static_cast<const float *>(buffers[0]);
  auto *indices = static_cast<const float *>(buffers[1]);
  for (int64_t i = begin; i < end; ++i) {
    auto index = static_cast<int64_t>(indices[i]);
    if (index < 0 || index >= 8) {
      *status = {1, 1, index, 8};
      return;
    }
    static_cast<float *>(buffers[2])[i] = table[index];
  }
}

/// x (4x4), z (2) -> y (4x4), w (2); a is an arena buffer between.
struct Parts {
  Parts() {
    builder.addArgument("x", REMAT_F32, {4, 4});
    builder.addArgument("z", REMAT_F32, {2});
    builder.addResult("y", REMAT_F32, {4, 4});
    builder.addResult("w", REMAT_F32, {2});
    x = builder.addArgumentBuffer(0);
    z = builder.addArgumentBuffer(1);
    y = builder.addResultBuffer(0);
    w = builder.addResultBuffer(1);
    a = builder.addArenaBuffer(0, 64);
  }
  void finish() {
    builder.addEntry(makeEntry(0, {x, z}, {a}));
    builder.addEntry(makeEntry(0, {a}, {y, w}));
  }
  StepTableBuilder builder;
  uint32_t x, z, y, w, a;
};

TEST(RunErrors, Tensors) {
  Parts parts;
  parts.finish();
  Step step(parts.builder, {touch});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  Tensor x({4, 4}), z({2}), y({4, 4}), w({2}), wrong({4, 5});
  remat_tensor good = x, other = x;
  auto refused = [&](std::vector<remat_tensor> arguments,
                     std::vector<remat_tensor> results, const char *expected) {
    EXPECT_EQ(step.run(std::move(arguments), std::move(results)),
              REMAT_INVALID_ARGUMENT);
    EXPECT_EQ(step.message, expected);
    EXPECT_STREQ(remat_last_error(), expected);
  };
  EXPECT_EQ(step.run({x, z}, {y, w}), REMAT_OK);
  EXPECT_EQ(step.message, "");
  refused({x}, {y, w}, "step got 1 arguments, expected 2");
  refused({x, z}, {}, "step got 0 results, expected 2");
  refused({wrong, z}, {y, w},
          "argument 0 'x' is a tensor '4x5xf32', expected '4x4xf32'");
  refused({x, x}, {y, w},
          "argument 1 'z' is a tensor of rank 2, expected '2xf32'");
  other.dtype = REMAT_I32;
  refused({other, z}, {y, w},
          "argument 0 'x' is a tensor '4x4xi32', expected '4x4xf32'");
  other.dtype = 99;
  refused({other, z}, {y, w},
          "argument 0 'x' is a tensor '4x4xunknown', expected '4x4xf32'");
  other = good;
  other.data = nullptr;
  refused({other, z}, {y, w}, "argument 0 'x' has no data");
  other = good;
  other.dims = nullptr;
  refused({other, z}, {y, w}, "argument 0 'x' has no dims");
  other.rank = -1;
  refused({other, z}, {y, w}, "argument 0 'x' has no dims");
  // Dimensions of a rank that is wrong may not be there.
  other = good;
  other.rank = 1 << 30;
  refused({other, z}, {y, w},
          "argument 0 'x' is a tensor of rank 1073741824, expected '4x4xf32'");
  refused({x, z}, {x, w}, "result 0 'y' overlaps argument 0 'x'");
  other = w;
  other.data = y.values.data() + 14;
  refused({x, z}, {y, other}, "result 1 'w' overlaps result 0 'y'");
  other.data = x.values.data() + 3;
  refused({x, z}, {y, other}, "result 1 'w' overlaps argument 0 'x'");
  // Arguments may overlap each other.
  EXPECT_EQ(step.run({x, other}, {y, w}), REMAT_OK) << step.message;
  EXPECT_EQ(remat_step_run(nullptr, nullptr, 0, nullptr, 0),
            REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_step_run(step.step, nullptr, 2, nullptr, 2),
            REMAT_INVALID_ARGUMENT);
}

/// Fails the assertion with message 0.
static void failAssertion(void *const *, int64_t, int64_t,
                          remat_kernel_status *status) {
  *status = {1, 0, -1, -1};
}

/// Kernels would take another byte for either truth value.
TEST(RunErrors, TruthValues) {
  StepTableBuilder builder;
  builder.addArgument("mask", REMAT_I1, {100});
  builder.addResult("y", REMAT_I1, {100});
  builder.addEntry(
      makeCopy(builder.addArgumentBuffer(0), builder.addResultBuffer(0)));
  Step step(builder, {});
  ASSERT_EQ(step.loaded, REMAT_OK) << step.message;
  std::vector<unsigned char> mask(100, 1), y(100, 0xff);
  mask[3] = 0;
  int64_t dims[] = {100};
  auto run = [&] {
    return step.run({{mask.data(), REMAT_I1, 1, dims}},
                    {{y.data(), REMAT_I1, 1, dims}});
  };
  EXPECT_EQ(run(), REMAT_OK) << step.message;
  EXPECT_EQ(y, mask);
  for (unsigned char bad : {2, 128, 255}) {
    mask[99] = bad;
    EXPECT_EQ(run(), REMAT_INVALID_ARGUMENT);
    EXPECT_EQ(step.message, "argument 0 'mask' has the byte " +
                                std::to_string(bad) +
                                " as element 99 of type 'i1', expected 0 or 1");
  }
}

TEST(RunErrors, Assertion) {
  StepTableBuilder builder;
  builder.addResult("y", REMAT_F32, {4});
  builder.addCheck("must not be zero");
  StepEntry entry = makeEntry(0, {}, {builder.addResultBuffer(0)});
  entry.name = "divide";
  builder.addEntry(entry);
  Step step(builder, {failAssertion}, {1, 0, nullptr, 0});
  Tensor y({4});
  ASSERT_EQ(step.run({}, {y}), REMAT_ASSERTION_FAILED);
  EXPECT_EQ(step.message, "entry 0 'divide': must not be zero");
  EXPECT_STREQ(remat_status_name(REMAT_ASSERTION_FAILED), "assertion failed");
}

TEST(RunErrors, IndexOutOfBounds) {
  StepTableBuilder builder;
  builder.addArgument("table", REMAT_F32, {8});
  builder.addArgument("indices", REMAT_F32, {100});
  builder.addResult("y", REMAT_F32, {100});
  builder.addCheck("unused");
  builder.addCheck("indices of the embedding");
  StepEntry entry =
      makeEntry(0, {builder.addArgumentBuffer(0), builder.addArgumentBuffer(1)},
                {builder.addResultBuffer(0)}, 100);
  entry.name = "tensor.gather";
  entry.location = "model.mlir:7:3";
  builder.addEntry(entry);
  for (int threads : {1, 2, 4}) {
    Step step(builder, {gather}, {threads, 0, nullptr, 0});
    Tensor table({8}, 1), indices({100}, 2), y({100});
    ASSERT_EQ(step.run({table, indices}, {y}), REMAT_OK);
    indices.values[99] = 1000;
    indices.values[30] = -5;
    indices.values[31] = 70;
    // Several threads fail; the first in the order of the indices is told.
    for (int repeat = 0; repeat < 20; ++repeat) {
      ASSERT_EQ(step.run({table, indices}, {y}), REMAT_INDEX_OUT_OF_BOUNDS);
      EXPECT_EQ(step.message,
                "entry 0 'tensor.gather' at model.mlir:7:3: index -5 is out of "
                "bounds, expected 0 to 7: indices of the embedding");
    }
    indices.values.assign(100, 7);
    EXPECT_EQ(step.run({table, indices}, {y}), REMAT_OK);
    EXPECT_STREQ(remat_step_error(step.step), "");
  }
}

TEST(LoadErrors, OutOfMemory) {
  for (int shift : {60, 63}) {
    StepTableBuilder arena, host;
    arena.setArenaBytes(uint64_t(1) << shift);
    host.setHostBytes(uint64_t(1) << shift);
    EXPECT_EQ(Step(arena, {}).loaded, REMAT_OUT_OF_MEMORY);
    EXPECT_EQ(Step(host, {}).loaded, REMAT_OUT_OF_MEMORY);
  }
}

TEST(LoadErrors, Options) {
  StepTableBuilder builder;
  EXPECT_EQ(Step(builder, {}, {-1, 0, nullptr, 0}).loaded,
            REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(Step(builder, {}, {1, 1u << 31, nullptr, 0}).loaded,
            REMAT_INVALID_ARGUMENT);
  remat_step *step;
  EXPECT_EQ(remat_step_load(nullptr, nullptr, &step), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(step, nullptr);
  remat_module module = {};
  EXPECT_EQ(remat_step_load(&module, nullptr, nullptr), REMAT_INVALID_ARGUMENT);
  EXPECT_EQ(remat_step_load(&module, nullptr, &step), REMAT_INVALID_MODULE);
  remat_step_free(nullptr);
}

/// Loads `parts` and expects a message.
void refused(const Parts &parts, const char *expected,
             std::vector<remat_kernel_fn> kernels = {touch}) {
  Step step(parts.builder, std::move(kernels));
  EXPECT_EQ(step.loaded, REMAT_INVALID_MODULE);
  EXPECT_EQ(step.step, nullptr);
  EXPECT_NE(step.message.find(expected), std::string::npos) << step.message;
}

TEST(LoadErrors, Entries) {
  {
    Parts p;
    refused(p, "nothing writes result 0 'y'");
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(0, {p.a}, {p.y, p.w}));
    refused(p, "entry 0 reads buffer 4 before anything wrote it");
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(0, {}, {p.x}));
    refused(p, "entry 0 writes to an argument or a constant");
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(0, {77}, {p.y}));
    refused(p, "entry 0 uses buffer 77 of 5");
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(1, {p.x}, {p.y, p.w}));
    refused(p, "entry 0 calls kernel 1, which does not exist");
  }
  {
    Parts p;
    p.finish();
    refused(p, "entry 0 calls kernel 0, which does not exist", {nullptr});
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(0, {p.x}, {p.y, p.w}, -3));
    refused(p, "entry 0 has extent -3 and grain 1");
  }
  {
    Parts p;
    p.builder.addEntry(makeEntry(0, {p.x}, {p.y, p.w}, 1, p.x));
    refused(p, "entry 0 has a workspace that is not an aligned buffer");
  }
  {
    Parts p;
    p.builder.addEntry(makeCopy(p.x, p.y));
    p.builder.addEntry(makeCopy(p.y, p.y));
    refused(p, "entry 1 copies a buffer onto itself");
  }
  {
    Parts p;
    StepEntry entry = makeEntry(0, {p.x, p.z}, {p.y});
    entry.kind = REMAT_ENTRY_MATMUL;
    p.builder.addEntry(entry);
    refused(p, "entry 0 calls matmul 0, which does not exist");
    entry.kind = REMAT_ENTRY_CONVOLUTION;
    Parts q;
    q.builder.addEntry(entry);
    refused(q, "entry 0 calls convolution 0, which does not exist");
    entry.kind = REMAT_ENTRY_KIND_COUNT;
    Parts r;
    r.builder.addEntry(entry);
    refused(r, "entry 0 has unknown kind 8");
  }
}

TEST(LoadErrors, Placement) {
  {
    Parts p;
    uint32_t b = p.builder.addArenaBuffer(32, 32);
    p.builder.addEntry(makeEntry(0, {p.x}, {p.a}));
    p.builder.addEntry(makeEntry(0, {p.a}, {b}));
    p.builder.addEntry(makeEntry(0, {b}, {p.y, p.w}));
    refused(p, "entry 1 places buffer 5 over buffer 4, which is still needed");
  }
  {
    Parts p;
    p.builder.addBuffer({REMAT_SPACE_ARENA, 0, 64, 64, 5, 0});
    p.finish();
    refused(p, "buffer 5 (64 bytes at 64) lies outside of its space of 64");
  }
  {
    Parts p;
    p.builder.addBuffer({REMAT_SPACE_ARENA, 0, UINT64_MAX, 64, 5, 0});
    p.finish();
    refused(p, "lies outside of its space");
  }
  {
    Parts p;
    p.builder.addBuffer({REMAT_SPACE_RESULT, 2, 0, 4, 5, 0});
    p.finish();
    refused(p, "buffer 5 is in no known space, argument or result");
  }
  {
    Parts p;
    p.builder.addBuffer({REMAT_SPACE_ARENA, 0, 0, 64, 99, 0});
    p.finish();
    refused(p, "buffer 5 is a view of no buffer");
  }
  {
    Parts p;
    p.builder.addBuffer({REMAT_SPACE_ARENA, 0, 0, 64, p.x, 0});
    p.finish();
    refused(p, "buffer 5 is not a part of its root, buffer 0");
  }
}

TEST(LoadErrors, LibraryCalls) {
  remat_matmul good = {};
  good.batch[0] = good.batch[1] = good.batch[2] = 1;
  good.m = 4, good.k = 4, good.n = 1;
  good.a_m_stride = 4, good.a_k_stride = 1, good.b_k_stride = 1;
  good.c_m_stride = 1, good.c_n_stride = 1;
  auto check = [](const remat_matmul &matmul, const char *expected) {
    Parts p;
    uint32_t b = p.builder.addArenaBuffer(64, 16);
    p.builder.addEntry(makeEntry(0, {p.x}, {b}));
    StepEntry entry = makeEntry(p.builder.addMatmul(matmul), {p.x, b}, {p.y});
    entry.kind = REMAT_ENTRY_MATMUL;
    p.builder.addEntry(entry);
    p.builder.addEntry(makeEntry(0, {p.x}, {p.w}));
    if (expected)
      return refused(p, expected);
    Step step(p.builder, {touch});
    EXPECT_EQ(step.loaded, REMAT_OK) << step.message;
  };
  check(good, nullptr);
  remat_matmul bad = good;
  bad.m = 5;
  check(bad, "entry 1 reads 80 bytes of operand 0, which has 64");
  bad = good;
  bad.m = INT64_MAX;
  check(bad, "is too large");
  bad = good;
  bad.c_m_stride = 0;
  check(bad, "matmul result overlaps itself");
  bad = good;
  bad.a_m_stride = -4;
  check(bad, "negative extent or stride");
  bad = good;
  bad.c_dtype = REMAT_I32;
  check(bad, "mixes integers and floats: 'f32' and 'i32'");
  bad = good;
  bad.a_dtype = REMAT_I1;
  check(bad, "cannot have element type 'i1'");
  bad = good;
  bad.accumulate = 1;
  check(bad, "has 2 operands and 1 results, expected 3 and 1");
  bad.epilogue = REMAT_EPILOGUE_BIAS;
  check(bad, "has 2 operands and 1 results, expected 4 and 1");
  bad.epilogue = REMAT_EPILOGUE_A_SUMS;
  check(bad, "expected one that is added to nothing, got accumulate 1");
  bad = good;
  bad.epilogue = REMAT_EPILOGUE_INPUT;
  check(bad, "matmul has unknown epilogue 8");
  bad.epilogue = REMAT_EPILOGUE_BIAS | REMAT_EPILOGUE_GELU_GRADIENT;
  check(bad, "matmul has unknown epilogue 17");
  bad.epilogue = REMAT_EPILOGUE_COLUMN_SUMS;
  check(bad, "matmul has unknown epilogue 32");
  bad.epilogue = REMAT_EPILOGUE_GELU | REMAT_EPILOGUE_BIAS;
  check(bad, "has 2 operands and 1 results, expected 3 and 1");
  bad.epilogue |= REMAT_EPILOGUE_INPUT;
  check(bad, "has 2 operands and 1 results, expected 3 and 2");
  bad.epilogue = REMAT_EPILOGUE_GELU_GRADIENT | REMAT_EPILOGUE_COLUMN_SUMS;
  check(bad, "has 2 operands and 1 results, expected 3 and 2");
  bad.epilogue = REMAT_EPILOGUE_B_SUMS;
  check(bad, "has 2 operands and 1 results, expected 2 and 2");
  bad.epilogue = REMAT_EPILOGUE_GELU | REMAT_EPILOGUE_MASK;
  check(bad, "matmul has unknown epilogue 260");
  bad.epilogue = REMAT_EPILOGUE_RELU | REMAT_EPILOGUE_MASK;
  check(bad, "with a mask, expected a multiple of 128 columns, got ");
  bad.epilogue = REMAT_EPILOGUE_RELU_GRADIENT;
  bad.accumulate = 1;
  check(bad, "expected one that is added to nothing, got accumulate 1");
  bad.accumulate = 0;
  bad.batch[0] = 2;
  check(bad, "matmul has an epilogue with a mask, expected one product, got a "
             "batch");
  bad.batch[0] = 1;
  bad.epilogue = REMAT_EPILOGUE_B_SUMS;
  bad.batch[0] = 2;
  check(bad, "expected one product, got a batch");
  bad = good;
  bad.epilogue = REMAT_EPILOGUE_BIAS;
  bad.a_dtype = bad.b_dtype = bad.c_dtype = REMAT_I32;
  check(bad, "expected one of floats, got 'i32'");
  remat_convolution convolution = {};
  EXPECT_EQ(remat_convolution_workspace_bytes(&convolution, 1), -1);
  convolution.kind = 7;
  EXPECT_EQ(remat_convolution_workspace_bytes(&convolution, 1), -1);
  EXPECT_STREQ(remat_last_error(), "convolution has unknown kind 7");
  convolution.kind = REMAT_CONV_FILTER_GRADIENT;
  convolution.spatial_rank = 1;
  convolution.groups = convolution.stride[0] = convolution.dilation[0] = 1;
  convolution.bias = 1;
  EXPECT_EQ(remat_convolution_workspace_bytes(&convolution, 1), -1);
  EXPECT_STREQ(remat_last_error(), "convolution has a bias, expected none of "
                                   "the gradient of a filter");
  convolution.kind = REMAT_CONV_FORWARD;
  convolution.bias = 2;
  EXPECT_EQ(remat_convolution_workspace_bytes(&convolution, 1), -1);
  EXPECT_STREQ(remat_last_error(), "convolution has bias 2, expected 0 or 1");
  convolution.bias = 1;
  convolution.input_dtype = convolution.filter_dtype =
      convolution.output_dtype = REMAT_I32;
  EXPECT_EQ(remat_convolution_workspace_bytes(&convolution, 1), -1);
  EXPECT_STREQ(remat_last_error(),
               "convolution has a bias, expected one of floats, got 'i32'");
  EXPECT_EQ(remat_matmul_workspace_bytes(nullptr, 1), -1);
}

TEST(LoadErrors, Blob) {
  Parts parts;
  parts.finish();
  std::string blob = parts.builder.finalize();
  EXPECT_EQ(Step(blob, {touch}).loaded, REMAT_OK);
  for (size_t size : {size_t(0), size_t(7), sizeof(remat_step_header) - 1,
                      sizeof(remat_step_header), blob.size() - 1})
    EXPECT_EQ(Step(blob.substr(0, size), {touch}).loaded, REMAT_INVALID_MODULE);
  std::string other = blob;
  other[8] = 1; // the version
  EXPECT_EQ(Step(other, {touch}).message,
            "step table has version 1, this runtime runs version 17");
  other = blob;
  other[0] = 'x';
  EXPECT_EQ(Step(other, {touch}).message, "module's blob is not a step table");
}

#ifdef __x86_64__
/// No machine has what AMD took out again and what Intel has had since 2023.
TEST(LoadErrors, Cpu) {
  Parts parts;
  parts.finish();
  std::string blob = parts.builder.finalize();
  remat_kernel_fn kernels[] = {touch};
  remat_module module = makeModule(blob, kernels, 1);
  module.cpu_features = "sse2,of a later version";
  remat_step_options options = {};
  remat_step *step = nullptr;
  ASSERT_EQ(remat_step_load(&module, &options, &step), REMAT_OK);
  remat_step_free(step);
  module.cpu_features = "sse3,xop,amx-tile";
  EXPECT_EQ(remat_step_load(&module, &options, &step), REMAT_INVALID_MODULE);
  std::string message = remat_last_error();
  EXPECT_EQ(message.find("the step was compiled for a CPU with instructions "
                         "that this machine lacks: "),
            0u)
      << message;
  EXPECT_TRUE(message.find("xop; compile it") != message.npos ||
              message.find("amx-tile; compile it") != message.npos)
      << message;
  EXPECT_EQ(message.find("sse3"), message.npos) << message;
}
#endif

/// Extents and sizes that only kernels know cannot be checked one by one: any
/// bit that is not what the compiler wrote is found all the same.
TEST(LoadErrors, EveryBitIsChecked) {
  Parts parts;
  parts.finish();
  std::string blob = parts.builder.finalize();
  for (size_t bit = 0; bit < 8 * blob.size(); ++bit) {
    std::string damaged = blob;
    damaged[bit / 8] ^= 1 << bit % 8;
    Step step(damaged, {touch});
    ASSERT_EQ(step.loaded, REMAT_INVALID_MODULE) << "bit " << bit;
    bool isRead = bit / 8 < offsetof(remat_step_header, checksum);
    if (!isRead) {
      ASSERT_NE(step.message.find("step table is damaged"), std::string::npos)
          << "bit " << bit << ": " << step.message;
    }
  }
  // Two bits of which a plain sum or product would keep one parity.
  for (size_t at = sizeof(remat_step_header); at + 16 <= blob.size(); at += 8) {
    std::string damaged = blob;
    damaged[at + 7] ^= char(0x80);
    damaged[at + 15] ^= char(0x80);
    EXPECT_EQ(Step(damaged, {touch}).loaded, REMAT_INVALID_MODULE);
    damaged = blob;
    std::swap_ranges(damaged.begin() + at, damaged.begin() + at + 8,
                     damaged.begin() + at + 8);
    if (damaged != blob) {
      EXPECT_EQ(Step(damaged, {touch}).loaded, REMAT_INVALID_MODULE);
    }
  }
}

/// The same with a checksum that fits, as a faulty compiler would write it.
/// Whatever is wrong with a blob, loading it is an answer and not a crash, and
/// what loads also runs: `touch` reads nothing, so any table is safe to run.
TEST(LoadErrors, RandomDamage) {
  Parts parts;
  remat_matmul matmul = {};
  matmul.batch[0] = matmul.batch[1] = matmul.batch[2] = 1;
  matmul.m = 4, matmul.k = 4, matmul.n = 1;
  matmul.a_m_stride = 4, matmul.a_k_stride = 1, matmul.b_k_stride = 1;
  matmul.c_m_stride = 1, matmul.c_n_stride = 1;
  uint32_t b = parts.builder.addArenaBuffer(64, 16);
  uint32_t c = parts.builder.addArenaBuffer(128, 16);
  parts.builder.addEntry(makeEntry(0, {parts.x}, {b}));
  StepEntry entry =
      makeEntry(parts.builder.addMatmul(matmul), {parts.x, b}, {c});
  entry.kind = REMAT_ENTRY_MATMUL;
  parts.builder.addEntry(entry);
  parts.finish();
  std::string blob = parts.builder.finalize();
  std::mt19937 random(1);
  int loaded = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = blob;
    size_t at = random() % blob.size();
    char bytes[4] = {0, 1, -1, static_cast<char>(random())};
    damaged[at] = bytes[random() % 4];
    // Not the sizes of the arenas: those are allowed to be anything.
    std::memcpy(&damaged[offsetof(remat_step_header, arena_bytes)],
                &blob[offsetof(remat_step_header, arena_bytes)], 16);
    uint64_t sum = remat_table_checksum(damaged.data(), damaged.size());
    std::memcpy(&damaged[offsetof(remat_step_header, checksum)], &sum,
                sizeof(sum));
    Step step(damaged, {touch}, {1, 0, nullptr, 0});
    loaded += step.loaded == REMAT_OK;
    if (step.loaded != REMAT_OK) {
      EXPECT_NE(step.message, "");
      continue;
    }
    Tensor x({4, 4}), z({2}), y({4, 4}), w({2});
    step.run({x, z}, {y, w});
  }
  EXPECT_GT(loaded, 0);
}

} // namespace
