//===- Parallel.h - independent work on the threads of a context *- C++ -* ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_PARALLEL_H
#define REMAT_UTILS_PARALLEL_H

#include "mlir/IR/MLIRContext.h"

namespace remat {

/// Calls `function` with 0 up to `count` - 1: on threads of the context's pool,
/// if it may use any, and else in this order. The calling thread makes the
/// first call itself, so that it may report what that finds, and waits for all
/// others. May be called within such a function.
void forEachInParallel(mlir::MLIRContext *context, size_t count,
                       llvm::function_ref<void(size_t)> function);

} // namespace remat

#endif // REMAT_UTILS_PARALLEL_H
