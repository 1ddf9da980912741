//===- Driver.h - the CUDA driver, if there is one --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of libcuda that steps need, declared here and found when the
// first step for a device is loaded: the run time links nothing of CUDA, and a
// machine without it only misses such steps.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_DRIVER_H
#define REMAT_LIB_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace remat::cuda {

/// Types of the driver's interface. Only 0, success, is told apart here; the
/// driver names the others.
using Result = int;
using DeviceNumber = int;
using DevicePointer = unsigned long long;
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;

/// An address as the driver takes it.
inline DevicePointer toDevice(const void *data) {
  return reinterpret_cast<DevicePointer>(data);
}

constexpr int capabilityMajor = 75, capabilityMinor = 76;
constexpr int mostSharedBytes = 97;   // device attribute
constexpr int dynamicSharedBytes = 8; // function attribute
constexpr unsigned streamNonBlocking = 1;
constexpr unsigned eventDisableTiming = 2;
constexpr unsigned hostAllocPortable = 1;
constexpr int captureRelaxed = 2;
constexpr int pointerMemoryType = 2, pointerDevice = 9; // pointer attributes
constexpr unsigned memoryOfDevice = 2;

/// name, suffix of the symbol since its parameters last changed, parameters
#define REMAT_CUDA_FUNCTIONS(F)                                                \
  F(Init, "", (unsigned))                                                      \
  F(GetErrorName, "", (Result, const char **))                                 \
  F(GetErrorString, "", (Result, const char **))                               \
  F(DeviceGetCount, "", (int *))                                               \
  F(DeviceGet, "", (DeviceNumber *, int))                                      \
  F(DeviceGetName, "", (char *, int, DeviceNumber))                            \
  F(DeviceGetAttribute, "", (int *, int, DeviceNumber))                        \
  F(DevicePrimaryCtxRetain, "", (Context *, DeviceNumber))                     \
  F(DevicePrimaryCtxRelease, "_v2", (DeviceNumber))                            \
  F(CtxGetCurrent, "", (Context *))                                            \
  F(CtxGetDevice, "", (DeviceNumber *))                                        \
  F(CtxPushCurrent, "_v2", (Context))                                          \
  F(CtxPopCurrent, "_v2", (Context *))                                         \
  F(ModuleLoadData, "", (Module *, const void *))                              \
  F(ModuleUnload, "", (Module))                                                \
  F(ModuleGetFunction, "", (Function *, Module, const char *))                 \
  F(FuncSetAttribute, "", (Function, int, int))                                \
  F(MemGetInfo, "_v2", (size_t *, size_t *))                                   \
  F(MemAlloc, "_v2", (DevicePointer *, size_t))                                \
  F(MemFree, "_v2", (DevicePointer))                                           \
  F(MemHostAlloc, "", (void **, size_t, unsigned))                             \
  F(MemFreeHost, "", (void *))                                                 \
  F(PointerGetAttributes, "", (unsigned, int *, void **, DevicePointer))       \
  F(MemcpyAsync, "", (DevicePointer, DevicePointer, size_t, Stream))           \
  F(MemsetD8Async, "", (DevicePointer, unsigned char, size_t, Stream))         \
  F(StreamCreate, "", (Stream *, unsigned))                                    \
  F(StreamDestroy, "_v2", (Stream))                                            \
  F(StreamSynchronize, "", (Stream))                                           \
  F(StreamWaitEvent, "", (Stream, Event, unsigned))                            \
  F(StreamBeginCapture, "_v2", (Stream, int))                                  \
  F(StreamEndCapture, "", (Stream, Graph *))                                   \
  F(EventCreate, "", (Event *, unsigned))                                      \
  F(EventDestroy, "_v2", (Event))                                              \
  F(EventRecord, "", (Event, Stream))                                          \
  F(EventSynchronize, "", (Event))                                             \
  F(EventElapsedTime, "", (float *, Event, Event))                             \
  F(LaunchKernel, "",                                                          \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,     \
     unsigned, Stream, void **, void **))                                      \
  F(GraphInstantiateWithFlags, "", (GraphExec *, Graph, unsigned long long))   \
  F(GraphLaunch, "", (GraphExec, Stream))                                      \
  F(GraphExecDestroy, "", (GraphExec))                                         \
  F(GraphDestroy, "", (Graph))

struct Driver {
#define REMAT_CUDA_MEMBER(name, suffix, parameters) Result(*name) parameters;
  REMAT_CUDA_FUNCTIONS(REMAT_CUDA_MEMBER)
#undef REMAT_CUDA_MEMBER

  /// The driver, which is initialized, or null with a message that says what is
  /// missing. It is loaded once and stays.
  static const Driver *get(std::string &error);

  /// The device that the thread has asked for, else that of the thread's
  /// context, as a library that the caller uses has made it, else the first
  /// one. False with a message if there is none.
  bool findDevice(DeviceNumber &device, uint32_t &capability,
                  std::string &error) const;

  /// False with a message about `what` on failure.
  bool check(Result result, const char *what, std::string &error) const;

  /// The driver's name of a failure and what it means.
  std::string describe(Result result) const;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_DRIVER_H
