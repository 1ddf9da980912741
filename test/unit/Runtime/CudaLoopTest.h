//===- CudaLoopTest.h - loops for a CPU and for a GPU -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Steps of the same loops for either machine: their kernels are the same
// functions, so that the stand-in for a GPU must give the bits of the CPU.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_CUDALOOPTEST_H
#define REMAT_TEST_UNIT_RUNTIME_CUDALOOPTEST_H

#include "CudaTest.h"
#include "LoopTest.h"

#include <array>

namespace remat {

/// A kernel with the addresses of its operands and results.
struct LoopKernel {
  const char *name;
  size_t buffers;
  void (*run)(void *const *buffers, remat_kernel_status *status);
};

namespace loopkernels {

inline float *at(void *const *buffers, size_t i) {
  return static_cast<float *>(buffers[i]);
}
inline int64_t readNumber(void *const *buffers, size_t i) {
  int64_t number;
  std::memcpy(&number, buffers[i], sizeof(number));
  return number;
}

template <typename Function>
void compute(void *const *buffers, Function function) {
  for (int64_t i = 0; i < cudaElements; ++i)
    at(buffers, 2)[i] = function(at(buffers, 0)[i], at(buffers, 1)[i]);
}

inline void multiply(void *const *buffers, remat_kernel_status *) {
  compute(buffers, [](float a, float b) { return a * b; });
}
inline void add(void *const *buffers, remat_kernel_status *) {
  compute(buffers, [](float a, float b) { return a + b; });
}
inline void subtract(void *const *buffers, remat_kernel_status *) {
  compute(buffers, [](float a, float b) { return a - b; });
}
/// (n, most) -> (n + 1 < most, n + 1)
inline void count(void *const *buffers, remat_kernel_status *) {
  int64_t next = readNumber(buffers, 0) + 1;
  *static_cast<uint8_t *>(buffers[2]) = next < readNumber(buffers, 1);
  std::memcpy(buffers[3], &next, sizeof(next));
}
/// Copies what is less than 100, and fails otherwise.
inline void check(void *const *buffers, remat_kernel_status *status) {
  float value = at(buffers, 0)[0];
  if (value >= 100 && !status->failed)
    *status = {1, -1, static_cast<int64_t>(value), 100};
  std::memcpy(buffers[1], buffers[0], cudaElements * sizeof(float));
}
/// A number of as many as the first element says.
inline void convert(void *const *buffers, remat_kernel_status *) {
  auto number = static_cast<int64_t>(at(buffers, 0)[0]);
  std::memcpy(buffers[1], &number, sizeof(number));
}

} // namespace loopkernels

enum LoopKernelNumber : uint32_t {
  Multiply,
  Add,
  Subtract,
  Count,
  Check,
  Convert
};
inline constexpr std::array<LoopKernel, 6> allLoopKernels = {
    {{"multiply", 3, loopkernels::multiply},
     {"add", 3, loopkernels::add},
     {"subtract", 3, loopkernels::subtract},
     {"count", 4, loopkernels::count},
     {"check", 2, loopkernels::check},
     {"convert", 2, loopkernels::convert}}};

template <size_t number>
void runOnCpu(void *const *buffers, int64_t, int64_t,
              remat_kernel_status *status) {
  allLoopKernels[number].run(buffers, status);
}
inline const std::vector<remat_kernel_fn> cpuLoopKernels = {
    runOnCpu<0>, runOnCpu<1>, runOnCpu<2>,
    runOnCpu<3>, runOnCpu<4>, runOnCpu<5>};

/// Lets the stand-in have the kernels.
inline void defineLoopKernels() {
  for (const LoopKernel &kernel : allLoopKernels)
    fakecuda::define(
        kernel.name, kernel.buffers + 1, [kernel](const auto &parameters) {
          kernel.run(parameters.data(), static_cast<remat_kernel_status *>(
                                            parameters[kernel.buffers]));
        });
}

/// A step table for one machine or the other, with the kernels.
class LoopTable : public StepTableBuilder {
public:
  explicit LoopTable(bool isForDevice) {
    for (const LoopKernel &kernel : allLoopKernels)
      if (isForDevice)
        addKernel(0, {{kernel.name, 1, 64, 0}}, {});
  }
  uint32_t argument(const std::string &name, std::vector<int64_t> dims = {},
                    remat_dtype dtype = REMAT_F32) {
    dims.push_back(cudaElements);
    return addArgumentBuffer(addArgument(name, dtype, dims));
  }
  uint32_t result(const std::string &name, std::vector<int64_t> dims = {}) {
    dims.push_back(cudaElements);
    return addResultBuffer(addResult(name, REMAT_F32, dims));
  }
  uint32_t number(const std::string &name, remat_dtype dtype = REMAT_I64) {
    return addArgumentBuffer(addArgument(name, dtype, {}));
  }
  uint32_t numberResult(const std::string &name,
                        remat_dtype dtype = REMAT_I64) {
    return addResultBuffer(addResult(name, dtype, {}));
  }
  /// A new place in the arena.
  uint32_t place(uint64_t bytes = cudaElements * sizeof(float)) {
    uint64_t offset = arenaEnd;
    arenaEnd += (bytes + 255) / 256 * 256;
    return addArenaBuffer(offset, bytes);
  }
  void run(LoopKernelNumber kernel, std::vector<uint32_t> operands,
           std::vector<uint32_t> results) {
    addEntry(makeEntry(kernel, std::move(operands), std::move(results)));
  }
  void runLoop(uint32_t loop, std::vector<uint32_t> operands,
               std::vector<uint32_t> results, uint64_t workspaceBytes,
               uint64_t hostBytes = 0) {
    StepEntry entry =
        makeLoop(loop, std::move(operands), std::move(results),
                 workspaceBytes == 0 ? REMAT_NONE : place(workspaceBytes));
    if (hostBytes > 0)
      entry.hostWorkspace = addHostBuffer(0, hostBytes);
    entry.name = "scan";
    addEntry(entry);
  }

private:
  uint64_t arenaEnd = 0;
};

/// The body (h, w, x) -> (h * w + x, h - x), as that of LoopTest.h. With a
/// check, h must stay below 100.
inline std::string makeDeviceCell(bool isForDevice, bool isInPlace = false,
                                  bool isChecked = false) {
  LoopTable body(isForDevice);
  uint32_t h = body.argument("h"), w = body.argument("w"),
           x = body.argument("x");
  uint32_t next = body.result("h"), s = body.result("s");
  uint32_t product = body.place();
  if (isInPlace)
    body.addDonation(0, 0);
  body.run(Subtract, {h, x}, {s});
  body.run(Multiply, {h, w}, {product});
  uint32_t checked = isChecked ? body.place() : product;
  if (isChecked)
    body.run(Check, {product}, {checked});
  body.run(Add, {checked, x}, {isInPlace ? body.addView(h) : next});
  return body.finalize();
}

/// A step of one loop of that body.
inline LoopTable makeCellStep(bool isForDevice, int64_t count, uint32_t flags,
                              bool isInPlace = false, bool isChecked = false) {
  LoopTable table(isForDevice);
  std::string cell = makeDeviceCell(isForDevice, isInPlace, isChecked);
  remat_loop loop = makeRecord(table.addBody(cell), 1, 1, 1, 1, flags, count);
  std::vector<uint32_t> operands = {table.argument("h"), table.argument("w"),
                                    table.argument("x", {count})};
  if (flags & REMAT_LOOP_TRIPS) {
    uint32_t trips = table.place(sizeof(int64_t));
    table.run(Convert, {table.argument("n")}, {trips});
    operands.push_back(trips);
  }
  std::vector<uint32_t> results = {table.result("h"),
                                   table.result("s", {count})};
  table.runLoop(table.addLoop(loop), operands, results,
                loopWorkspaceBytes(loop, cell));
  return table;
}

/// What a test gives a step, or gets of it.
struct LoopTensor {
  LoopTensor(remat_dtype dtype, std::vector<int64_t> shape)
      : dtype(dtype), dims(std::move(shape)) {
    uint64_t count = remat_dtype_bytes(dtype);
    for (int64_t dim : dims)
      count *= static_cast<uint64_t>(dim);
    bytes.assign(count, '\0');
  }
  template <typename Number>
  static LoopTensor make(remat_dtype dtype, Number n) {
    LoopTensor tensor(dtype, {});
    std::memcpy(tensor.bytes.data(), &n, sizeof(n));
    return tensor;
  }
  operator remat_tensor() {
    return {bytes.data(), dtype, static_cast<int32_t>(dims.size()),
            dims.data()};
  }
  float *floats() { return reinterpret_cast<float *>(bytes.data()); }

  remat_dtype dtype;
  std::vector<int64_t> dims;
  std::vector<char> bytes;
};

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_CUDALOOPTEST_H
