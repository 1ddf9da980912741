//===- Parallel.cpp - independent work on the threads of a context --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Parallel.h"

#include "llvm/Support/ThreadPool.h"

void remat::forEachInParallel(mlir::MLIRContext *context, size_t count,
                              llvm::function_ref<void(size_t)> function) {
  if (!context->isMultithreadingEnabled() || count < 2) {
    for (size_t i = 0; i < count; ++i)
      function(i);
    return;
  }
  // A thread of the pool that waits for a group works on it meanwhile.
  llvm::ThreadPoolTaskGroup others(context->getThreadPool());
  for (size_t i = 1; i < count; ++i)
    others.async([&, i] { function(i); });
  function(0);
  others.wait();
}
