//===- Utf8.h - names of programs in JSON -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names and locations in IR are any bytes, and JSON is UTF-8: LLVM's writer
// ends the process at anything else.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_UTF8_H
#define REMAT_UTILS_UTF8_H

#include "llvm/Support/JSON.h"

#include <string>

namespace remat {

/// `text` with U+FFFD in the place of what is no UTF-8.
inline std::string toUtf8(llvm::StringRef text) {
  return llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text);
}

} // namespace remat

#endif // REMAT_UTILS_UTF8_H
