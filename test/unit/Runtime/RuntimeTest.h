//===- RuntimeTest.h - helpers of the runtime's tests -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds modules from a StepTableBuilder and handwritten kernels, and keeps
// what a module points to alive.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_RUNTIMETEST_H
#define REMAT_TEST_UNIT_RUNTIME_RUNTIMETEST_H

#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/StepTableBuilder.h"

#include <gtest/gtest.h>
#include <utility>

namespace remat {

/// A float tensor of the test's own.
struct Tensor {
  explicit Tensor(std::vector<int64_t> shape, float value = 0)
      : dims(std::move(shape)) {
    size_t count = 1;
    for (int64_t dim : dims)
      count *= static_cast<size_t>(dim);
    values.assign(count, value);
  }
  operator remat_tensor() {
    return {values.data(), REMAT_F32, static_cast<int32_t>(dims.size()),
            dims.data()};
  }
  std::vector<int64_t> dims;
  std::vector<float> values;
};

/// A kernel: r[i] = a[i] + b[i] for the buffers a, b, r.
inline void add(void *const *buffers, int64_t begin, int64_t end,
                remat_kernel_status *) {
  auto *a = static_cast<const float *>(buffers[0]);
  auto *b = static_cast<const float *>(buffers[1]);
  auto *r = static_cast<float *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    r[i] = a[i] + b[i];
}

/// A step made of what a builder holds.
class Step {
public:
  Step(const StepTableBuilder &builder, std::vector<remat_kernel_fn> functions,
       remat_step_options options = {})
      : Step(builder.finalize(), std::move(functions), options) {}

  /// With code for a device, the step is for one.
  Step(std::string table, std::vector<remat_kernel_fn> functions,
       remat_step_options options = {}, std::string deviceCode = {})
      : blob(std::move(table)), kernels(std::move(functions)),
        code(std::move(deviceCode)) {
    remat_module module = makeModule(blob, kernels.data(), kernels.size());
    if (!code.empty())
      module.device_code = code.data();
    loaded = remat_step_load(&module, &options, &step);
    if (loaded != REMAT_OK)
      message = remat_last_error();
  }
  ~Step() { remat_step_free(step); }
  Step(const Step &) = delete;

  remat_status run(std::vector<remat_tensor> arguments,
                   std::vector<remat_tensor> results) {
    remat_status status =
        remat_step_run(step, arguments.data(), arguments.size(), results.data(),
                       results.size());
    message = remat_step_error(step);
    return status;
  }

  remat_step_stats stats() const {
    remat_step_stats stats;
    remat_step_get_stats(step, &stats);
    return stats;
  }

  std::vector<uint64_t> bodyRuns(size_t entry) const {
    size_t count = 0;
    const uint64_t *runs = remat_step_body_runs(step, entry, &count);
    return {runs, runs + count};
  }

  remat_step *step = nullptr;
  remat_status loaded;
  std::string message;

private:
  std::string blob;
  std::vector<remat_kernel_fn> kernels;
  std::string code;
};

/// An entry that calls kernel `callee`.
inline StepEntry makeEntry(uint32_t callee, std::vector<uint32_t> operands,
                           std::vector<uint32_t> results, int64_t extent = 1,
                           uint32_t workspace = REMAT_NONE) {
  StepEntry entry;
  entry.callee = callee;
  entry.operands = std::move(operands);
  entry.results = std::move(results);
  entry.extent = extent;
  entry.workspace = workspace;
  return entry;
}

inline StepEntry makeCopy(uint32_t from, uint32_t to) {
  StepEntry entry = makeEntry(0, {from}, {to});
  entry.kind = REMAT_ENTRY_COPY;
  return entry;
}

inline StepEntry makeRelease(uint32_t buffer) {
  StepEntry entry = makeEntry(0, {buffer}, {});
  entry.kind = REMAT_ENTRY_RELEASE;
  return entry;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_RUNTIMETEST_H
