//===- LastError.h - message of the last failure ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remat_last_error() returns: one string per thread. No exception leaves a
// C function, and every failure leaves a message.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_LASTERROR_H
#define REMAT_LIB_RUNTIME_LASTERROR_H

#include "remat/Runtime/Runtime.h"

#include <new>
#include <string>

namespace remat {

std::string &lastError();

inline remat_status fail(remat_status status, const char *message) noexcept {
  try {
    lastError() = message;
  } catch (...) {
    lastError().clear(); // not even the message fits
  }
  return status;
}

/// Runs `function`, whose only exceptions are allocations that fail, and what
/// functions of the caller throw.
template <typename Function>
remat_status guard(const Function &function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc &) {
    return fail(REMAT_OUT_OF_MEMORY, "out of memory");
  } catch (...) {
    return fail(REMAT_INVALID_ARGUMENT,
                "a function that was given to the step threw an exception");
  }
}

} // namespace remat

#endif // REMAT_LIB_RUNTIME_LASTERROR_H
