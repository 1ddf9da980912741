//===- CudaTest.h - helpers of tests of steps for a GPU ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_CUDATEST_H
#define REMAT_TEST_UNIT_RUNTIME_CUDATEST_H

#include "FakeCuda.h"
#include "RuntimeTest.h"

#include "remat/Runtime/DeviceCode.h"

#include <cstring>

namespace remat {

struct Image {
  uint32_t unit;
  remat_image_kind kind;
  uint32_t capability;
  std::string contents;
};

/// Device code with these images, which are only names to the stand-in.
inline std::string makeDeviceCode(const std::vector<Image> &images,
                                  uint32_t units = 1) {
  std::string bytes(sizeof(remat_device_code) +
                        images.size() * sizeof(remat_device_image),
                    '\0');
  std::vector<remat_device_image> records;
  for (const Image &image : images) {
    records.push_back({image.unit, image.kind, image.capability, 0,
                       bytes.size(), image.contents.size() + 1});
    bytes.append(image.contents.c_str(), image.contents.size() + 1);
  }
  remat_device_code header = {};
  header.magic = REMAT_DEVICE_CODE_MAGIC;
  header.unit_count = units;
  header.image_count = static_cast<uint32_t>(images.size());
  header.bytes = bytes.size();
  header.images_offset = sizeof(header);
  std::memcpy(&bytes[0], &header, sizeof(header));
  if (!records.empty())
    std::memcpy(&bytes[sizeof(header)], records.data(),
                records.size() * sizeof(remat_device_image));
  header.checksum = remat_table_checksum(bytes.data(), bytes.size());
  std::memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

inline std::string makeDeviceCode() {
  return makeDeviceCode({{0, REMAT_IMAGE_CUBIN, 80, "cubin 8.0"},
                         {0, REMAT_IMAGE_CUBIN, 90, "cubin 9.0"},
                         {0, REMAT_IMAGE_PTX, 90, "PTX 9.0"}});
}

/// A step for the stand-in, whose copies run beside the computation.
class CudaStep : public Step {
public:
  explicit CudaStep(const StepTableBuilder &builder,
                    remat_step_options options = {},
                    std::string deviceCode = makeDeviceCode())
      : Step(finalize(builder), {}, options, std::move(deviceCode)) {}

private:
  static std::string finalize(StepTableBuilder builder) {
    builder.assignStreams();
    return builder.finalize();
  }
};

/// Number of elements of the tensors in these tests.
constexpr int64_t cudaElements = 64;

/// A kernel of one launch on tensors of `cudaElements` floats.
template <typename Function>
void defineKernel(const std::string &name, size_t buffers, Function function) {
  fakecuda::define(name, buffers + 1,
                   [=](const std::vector<void *> &parameters) {
                     std::vector<float *> values;
                     for (size_t i = 0; i < buffers; ++i)
                       values.push_back(static_cast<float *>(parameters[i]));
                     for (int64_t i = 0; i < cudaElements; ++i)
                       function(values, i);
                   });
}

/// Buffers of arguments and results with as many floats.
inline uint32_t addVectorArgument(StepTableBuilder &builder, const char *name) {
  return builder.addArgumentBuffer(
      builder.addArgument(name, REMAT_F32, {cudaElements}));
}
inline uint32_t addVectorResult(StepTableBuilder &builder, const char *name) {
  return builder.addResultBuffer(
      builder.addResult(name, REMAT_F32, {cudaElements}));
}

inline uint32_t addKernel(StepTableBuilder &builder, const std::string &name) {
  return builder.addKernel(0, {{name, 1, 64, 0}}, {});
}

/// y = (x + 1) * 2, where the sum is moved to the host and back while another
/// value, which the result needs as well, takes its place.
inline StepTableBuilder makeOffloadingStep() {
  defineKernel("add", 2, [](auto &v, int64_t i) { v[1][i] = v[0][i] + 1; });
  defineKernel("square", 2,
               [](auto &v, int64_t i) { v[1][i] = v[0][i] * v[0][i]; });
  defineKernel("join", 3,
               [](auto &v, int64_t i) { v[2][i] = v[0][i] * 2 + v[1][i]; });
  StepTableBuilder builder;
  uint32_t x = addVectorArgument(builder, "x");
  uint32_t y = addVectorResult(builder, "y");
  constexpr uint64_t bytes = cudaElements * sizeof(float);
  uint32_t sum = builder.addArenaBuffer(0, bytes);
  uint32_t kept = builder.addHostBuffer(0, bytes);
  uint32_t squares = builder.addArenaBuffer(0, bytes);
  uint32_t others = builder.addArenaBuffer(bytes, bytes);
  uint32_t again = builder.addArenaBuffer(0, bytes);
  builder.addEntry(makeEntry(addKernel(builder, "add"), {x}, {sum}));
  builder.addEntry(makeCopy(sum, kept));
  uint32_t square = addKernel(builder, "square");
  builder.addEntry(makeEntry(square, {x}, {squares}));
  builder.addEntry(makeEntry(square, {squares}, {others}));
  builder.addEntry(makeCopy(kept, again));
  builder.addEntry(makeEntry(addKernel(builder, "join"), {again, others}, {y}));
  return builder;
}

/// What that step gives for x.
inline float expectOffloaded(float x) { return (x + 1) * 2 + x * x * x * x; }

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_CUDATEST_H
