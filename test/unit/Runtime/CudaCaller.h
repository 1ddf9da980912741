//===- CudaCaller.h - a caller with streams of its own ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_CUDACALLER_H
#define REMAT_TEST_UNIT_RUNTIME_CUDACALLER_H

#include "CudaTest.h"

extern "C" int cuStreamCreate(void **stream, unsigned flags);
extern "C" int cuStreamDestroy_v2(void *stream);
extern "C" int cuStreamSynchronize(void *stream);
extern "C" int cuMemcpyAsync(unsigned long long to, unsigned long long from,
                             size_t bytes, void *stream);
extern "C" int cuDevicePrimaryCtxRetain(void **context, int device);
extern "C" int cuDevicePrimaryCtxRelease_v2(int device);
extern "C" int cuCtxPushCurrent_v2(void *context);
extern "C" int cuCtxPopCurrent_v2(void **context);

namespace remat {

/// Of a vector of these tests.
constexpr size_t bytes = cudaElements * sizeof(float);

/// A stream of the caller, in a context that is the thread's.
struct CallersStream {
  CallersStream() {
    cuDevicePrimaryCtxRetain(&context, 0);
    cuCtxPushCurrent_v2(context);
    cuStreamCreate(&stream, 1);
  }
  ~CallersStream() {
    cuStreamSynchronize(stream);
    cuStreamDestroy_v2(stream);
    cuCtxPopCurrent_v2(&context);
    cuDevicePrimaryCtxRelease_v2(0);
  }
  CallersStream(const CallersStream &) = delete;
  /// A vector, behind what the stream was given before.
  void copy(void *to, const void *from) const {
    cuMemcpyAsync(reinterpret_cast<uintptr_t>(to),
                  reinterpret_cast<uintptr_t>(from), bytes, stream);
  }
  void *context = nullptr, *stream = nullptr;
};

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_CUDACALLER_H
