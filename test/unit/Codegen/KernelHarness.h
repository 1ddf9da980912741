//===- KernelHarness.h - run one kernel through the runtime -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel given as text is wrapped into a graph of one task, planned, placed,
// compiled and run by the step runtime.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_CONVERSION_KERNELHARNESS_H
#define REMAT_TEST_UNIT_CONVERSION_KERNELHARNESS_H

#include "remat/Runtime/Runtime.h"

#include <cstring>
#include <string>
#include <vector>

namespace remat::test {

/// A tensor's elements, whatever their type.
using Bytes = std::vector<char>;

template <typename T>
Bytes toBytes(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!bytes.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename T>
std::vector<T> fromBytes(const Bytes &bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Reproducible values in [-1, 1).
std::vector<float> makeValues(size_t count, unsigned seed = 1);

struct RunResult {
  /// What failed, or empty. Diagnostics are included.
  std::string error;
  std::vector<Bytes> results;
  /// Least seconds of a run, of as many as were asked for.
  double seconds = 0;
};

/// The CPU to compile for if a test names none: that of the variable
/// REMAT_TEST_MCPU, else this machine.
std::string getTestedCpu();

struct RunOptions {
  int threads = 1;
  int repetitions = 1;
  /// One whose code this machine can run.
  std::string cpu = getTestedCpu();
};

/// Compiles the function @k in `kernel` (text of a module) and runs it.
RunResult runKernel(const std::string &kernel,
                    const std::vector<Bytes> &arguments,
                    const RunOptions &options = RunOptions());

/// The text of an affine map attribute.
inline std::string map(const std::string &text) {
  return "affine_map<" + text + ">";
}

} // namespace remat::test

#endif // REMAT_TEST_UNIT_CONVERSION_KERNELHARNESS_H
