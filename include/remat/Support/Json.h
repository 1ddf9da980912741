//===- Json.h - JSON that may come from anywhere ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's parser calls itself for each array and object within another one, so
// that a text of nothing but brackets takes all of the stack.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_JSON_H
#define REMAT_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace remat {

/// How many arrays and objects may be within each other. No format that is read
/// has more than ten.
inline constexpr int maxJsonDepth = 1000;

/// What `text` says. The error has the line and the column, both from 1.
inline llvm::Expected<llvm::json::Value> parseJson(llvm::StringRef text) {
  int depth = 0;
  bool isInString = false;
  for (size_t at = 0; at < text.size(); ++at) {
    char character = text[at];
    if (isInString && character == '\\')
      ++at;
    else if (character == '"')
      isInString = !isInString;
    else if (!isInString && (character == '[' || character == '{'))
      ++depth;
    else if (!isInString && (character == ']' || character == '}'))
      --depth;
    if (depth <= maxJsonDepth)
      continue;
    llvm::StringRef before = text.take_front(at);
    size_t lineStart = before.rfind('\n') + 1;
    return llvm::createStringError(
        "[%zu:%zu, byte=%zu]: Expected at most %d arrays and objects within "
        "each other",
        before.count('\n') + 1, at - lineStart + 1, at, maxJsonDepth);
  }
  return llvm::json::parse(text);
}

} // namespace remat

#endif // REMAT_SUPPORT_JSON_H
