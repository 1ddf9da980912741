//===- JsonFiles.h - files in JSON ------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_JSONFILES_H
#define REMAT_UTILS_JSONFILES_H

#include "llvm/Support/JSON.h"

namespace remat {

/// What is in the file. The error names the file if it cannot be read or is not
/// JSON.
llvm::Expected<llvm::json::Value> readJsonFile(llvm::StringRef path);

} // namespace remat

#endif // REMAT_UTILS_JSONFILES_H
