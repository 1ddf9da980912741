//===- TextOptions.cpp - tables as options of passes and pipelines --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/TextOptions.h"

using namespace llvm;
using namespace remat;

std::string remat::addKnownOptions(StringRef message,
                                   ArrayRef<StringRef> known) {
  StringRef name = message.trim();
  if (!name.consume_front("<Pass-Options-Parser>: no such option "))
    return message.str();
  return toString(makeUnknownNameError("option", name, known));
}
