//===- LayerFolding.cpp - names that equal layers share -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/LayerFolding.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace remat::planning {

static bool isSeparator(char c) { return c == '.' || c == '/'; }

std::string foldLayer(StringRef layer) {
  // Of a plain list of layers, a number is all that says which one it is.
  if (all_of(layer, [](char c) { return isDigit(c) || isSeparator(c); }))
    return layer.str();
  std::string folded;
  while (!layer.empty()) {
    StringRef part = layer.take_until(isSeparator);
    layer = layer.drop_front(part.size());
    bool isNumber = !part.empty() && all_of(part, isDigit);
    folded += isNumber ? "*" : part.str();
    folded += layer.take_front();
    layer = layer.drop_front(std::min<size_t>(layer.size(), 1));
  }
  return folded;
}

StringRef dropNumber(StringRef name) {
  return name.ends_with(")") ? name.take_front(name.rfind(" (")) : name;
}

std::string foldName(StringRef name) {
  constexpr StringLiteral ofIteration = ", of iteration ";
  auto [what, iteration] = name.split(ofIteration);
  StringRef layer = what.take_until([](char c) { return c == ' '; });
  std::string folded = foldLayer(layer);
  if (folded == layer && iteration.empty())
    return name.str();
  StringRef rest = what.drop_front(layer.size());
  if (iteration.empty())
    return folded + dropNumber(rest).str();
  return folded + rest.str() + ofIteration.str() + "*" +
         dropNumber(iteration.drop_while(isDigit)).str();
}

std::string abbreviateName(StringRef name) {
  constexpr size_t widest = 64;
  if (name.size() <= widest)
    return name.str();
  StringRef rest = name.take_back(widest - 3);
  // From the beginning of a character of UTF-8.
  rest = rest.drop_while([](char c) { return (c & 0xC0) == 0x80; });
  return "..." + rest.str();
}

} // namespace remat::planning
