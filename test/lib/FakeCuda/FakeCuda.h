//===- FakeCuda.h - a CUDA driver on host memory ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stand-in for libcuda that shows how a program uses the driver. Memory of
// the device is memory of the host that is never given out again. What a stream
// is given waits in a queue until the program waits for it; then the streams'
// queues are drained in a random order that only events restrict. Kernels are
// functions of the test. What a device would refuse, or compute by chance, is
// an error here.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_FAKECUDA_H
#define REMAT_TEST_FAKECUDA_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace fakecuda {

/// A kernel with the addresses that it was given.
using Kernel = std::function<void(const std::vector<void *> &)>;

/// Forgets everything. The order of the queues depends on `seed`.
void reset(uint64_t seed);

/// Functions called `name` of all modules have `parameters` addresses.
void define(const std::string &name, size_t parameters, Kernel kernel);

/// What the device is, and what it has.
void setDevices(int count, int major, int minor);
void setMemory(size_t bytes);

/// The call number `call` from now on of a function, such as "cuMemAlloc_v2",
/// gives `result`.
void fail(const std::string &function, int result, int call = 0);

/// The milliseconds between two events: the next one each time, the last one
/// from then on.
void setElapsedTimes(std::vector<float> milliseconds);

/// Streams do not wait for events, so that a test can show that they must.
void ignoreWaits(bool ignores);

/// How often a function was called.
size_t countCalls(const std::string &function);

/// The first bytes of the images that were loaded, up to a NUL.
std::vector<std::string> getImages();

/// What was wrong, such as "use of freed memory"; empty if nothing was.
std::vector<std::string> getComplaints();

/// Allocations, modules, streams, events, graphs and contexts that exist.
size_t countObjects();

/// Memory of a device for a test's own tensors.
void *allocate(size_t bytes, int device = 0);
void release(void *memory);

/// For libraries: adds work to a stream, which reads or writes `memory`.
void enqueue(void *stream, const std::vector<const void *> &memory,
             std::function<void()> work);

void setDeviceName(const std::string &name);

/// What cuBLASLt is, and chooses from now on: `algorithm`, which needs so many
/// bytes of workspace. It takes those up to `most` if it is given one.
struct LibraryState {
  size_t version = 130100;
  uint64_t algorithm = 0;
  size_t workspaceBytes = 0;
  uint64_t most = UINT64_MAX;
  /// Those of the matmuls that were run.
  std::vector<uint64_t> used;
  /// Rows, columns and terms of those whose algorithms were asked for.
  std::vector<std::array<uint64_t, 3>> asked;
};
LibraryState &getLibrary();

/// How the matmul that was described last multiplies, by cuBLASLt's number.
int getComputeType();

/// What a matmul does before it writes its result, by cuBLASLt's numbers.
struct Epilogue {
  uint32_t kind = 1;
  const void *bias = nullptr;
  void *aux = nullptr;
  int64_t auxLeading = 0;
};

/// The epilogue of the matmul whose algorithm was asked for last.
Epilogue getPreparedEpilogue();

/// The version that the stand-in for libcudnn has.
void setCudnnVersion(size_t version);

/// Its next execution gives `status`.
void failCudnn(int status);

/// The text of the plan that it carried out last.
std::string getCudnnPlan();

} // namespace fakecuda

#endif // REMAT_TEST_FAKECUDA_H
