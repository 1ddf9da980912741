//===- NumberParser.h - flags whose value is a number -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_NUMBERPARSER_H
#define REMAT_TOOLS_COMMON_NUMBERPARSER_H

#include "llvm/Support/CommandLine.h"

#include <type_traits>

namespace remat::tools {

/// As LLVM's parser of numbers, but one that says what it expected when it
/// refuses a value. LLVM's parsers of `long` are final.
template <typename T>
struct NumberParser : llvm::cl::parser<T> {
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    llvm::StringRef expected;
    if constexpr (std::is_floating_point_v<T>) {
      if (!text.getAsDouble(value))
        return false;
      expected = "a number";
    } else {
      if (!text.getAsInteger(10, value))
        return false;
      expected = std::is_signed_v<T> ? "an integer" : "an integer, 0 or more";
    }
    return option.error("expected " + expected + ", got '" + text + "'");
  }
};

template <typename T>
using NumberFlag = llvm::cl::opt<T, /*ExternalStorage=*/false, NumberParser<T>>;

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_NUMBERPARSER_H
