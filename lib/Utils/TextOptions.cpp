//===- TextOptions.cpp - tables as options of passes and pipelines --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/TextOptions.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace remat;

std::string remat::explainOptions(StringRef message, StringRef text,
                                  ArrayRef<StringRef> known) {
  StringRef name = message.trim();
  if (name.consume_front("<Pass-Options-Parser>: no such option "))
    return toString(makeUnknownNameError("option", name, known));
  if (!name.empty())
    return message.str();
  SmallVector<StringRef> words;
  SplitString(text, words, " \t\n{}");
  for (StringRef word : words)
    if (is_contained(known, word))
      name = word;
  return formatv("the option '{0}' has no value, expected '{0}=...'",
                 name.empty() ? text : name)
      .str();
}
