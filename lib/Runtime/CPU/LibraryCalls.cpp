//===- LibraryCalls.cpp - questions about library calls -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C functions of LibraryCalls.h.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/LibraryCalls.h"
#include "Descriptors.h"
#include "LastError.h"
#include "LibraryCall.h"
#include "Threads.h"

#include <new>

using namespace remat;

namespace {

/// The prepared call, or null for an unsound description.
std::unique_ptr<LibraryCall> prepare(const remat_matmul &matmul, int threads) {
  Footprint footprint;
  if (!checkMatmul(matmul, footprint, lastError()))
    return nullptr;
  return prepareMatmul(matmul, threads);
}

std::unique_ptr<LibraryCall> prepare(const remat_convolution &convolution,
                                     int threads) {
  Footprint footprint;
  if (!checkConvolution(convolution, footprint, lastError()))
    return nullptr;
  return prepareConvolution(convolution, threads);
}

template <typename Descriptor>
std::unique_ptr<LibraryCall> ask(const Descriptor *descriptor, int threads) {
  try {
    if (!descriptor) {
      lastError() = "descriptor is NULL";
      return nullptr;
    }
    return prepare(*descriptor, threads > 0 ? threads : availableThreads());
  } catch (...) { // out of memory
    return nullptr;
  }
}

template <typename Descriptor>
int64_t workspaceBytes(const Descriptor *descriptor, int threads) {
  std::unique_ptr<LibraryCall> call = ask(descriptor, threads);
  return call ? static_cast<int64_t>(call->workspaceBytes) : -1;
}

template <typename Descriptor>
const char *implementation(const Descriptor *descriptor, int threads) {
  thread_local std::string name;
  std::unique_ptr<LibraryCall> call = ask(descriptor, threads);
  name = call ? std::move(call->implementation) : "invalid";
  return name.c_str();
}

} // namespace

int64_t remat_matmul_workspace_bytes(const remat_matmul *matmul, int threads) {
  return workspaceBytes(matmul, threads);
}

int64_t remat_convolution_workspace_bytes(const remat_convolution *convolution,
                                          int threads) {
  return workspaceBytes(convolution, threads);
}

int64_t remat_convolution_copied_bytes(const remat_convolution *convolution,
                                       int threads) {
  std::unique_ptr<LibraryCall> call = ask(convolution, threads);
  return call ? static_cast<int64_t>(call->copiedBytes) : -1;
}

const char *remat_matmul_implementation(const remat_matmul *matmul,
                                        int threads) {
  return implementation(matmul, threads);
}

const char *
remat_convolution_implementation(const remat_convolution *convolution,
                                 int threads) {
  return implementation(convolution, threads);
}
