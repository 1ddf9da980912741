//===- CompiledKernel.h - a function, ready to be run again -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a small function, with or without its gradients, as a step is
// compiled, and holds the buffers that it runs on.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_BENCH_KERNELS_COMPILEDKERNEL_H
#define REMAT_TOOLS_BENCH_KERNELS_COMPILEDKERNEL_H

#include "remat/Runtime/Runtime.h"
#include "remat/Target/Target.h"

#include <memory>
#include <string>
#include <vector>

namespace remat::bench {

class CompiledKernel {
public:
  /// Compiles the function @main of `text`. With `backward`, it computes the
  /// gradients of all floating-point arguments, too, from a cotangent for each
  /// result.
  static llvm::Expected<std::unique_ptr<CompiledKernel>>
  create(const std::string &text, bool backward, int threads);
  ~CompiledKernel();

  /// Runs once; false on failure, see getError.
  bool run();
  std::string getError() const;
  /// Bytes of arguments and results.
  int64_t getBytes() const;

private:
  CompiledKernel() = default;
  std::vector<remat_tensor> makeTensors(size_t count, bool isResult);

  std::unique_ptr<LoadedModule> code;
  remat_step *step = nullptr;
  std::vector<std::vector<char>> buffers;
  std::vector<remat_tensor> arguments, results;
};

} // namespace remat::bench

#endif // REMAT_TOOLS_BENCH_KERNELS_COMPILEDKERNEL_H
