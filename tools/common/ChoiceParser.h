//===- ChoiceParser.h - flags with a few values -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_CHOICEPARSER_H
#define REMAT_TOOLS_COMMON_CHOICEPARSER_H

#include "llvm/Support/CommandLine.h"

namespace remat::tools {

/// As LLVM's parser of enumerations, but one that says what the choices are
/// when it refuses a value.
template <typename T>
struct ChoiceParser : llvm::cl::parser<T> {
  using llvm::cl::parser<T>::parser;

  bool parse(llvm::cl::Option &option, llvm::StringRef, llvm::StringRef text,
             T &value) {
    std::string names;
    for (const auto &choice : this->Values) {
      if (choice.Name == text) {
        value = choice.V.getValue();
        return false;
      }
      names += (names.empty() ? "'" : ", '") + choice.Name.str() + "'";
    }
    return option.error("unknown value '" + text + "', expected one of " +
                        names);
  }
};

template <typename T>
using ChoiceFlag = llvm::cl::opt<T, /*ExternalStorage=*/false, ChoiceParser<T>>;

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_CHOICEPARSER_H
