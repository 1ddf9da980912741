//===- LastError.h - message of the last failure ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remat_last_error() returns: one string per thread.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_LASTERROR_H
#define REMAT_LIB_RUNTIME_LASTERROR_H

#include <string>

namespace remat {

std::string &lastError();

} // namespace remat

#endif // REMAT_LIB_RUNTIME_LASTERROR_H
