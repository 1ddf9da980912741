//===- Locations.cpp - what locations say of a program --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Locations.h"

#include "llvm/ADT/Twine.h"

using namespace mlir;
using namespace remat;

bool remat::isOptimizerLocation(Location loc) {
  auto name = dyn_cast<NameLoc>(loc);
  return name && name.getName() == optimizerLocName;
}

std::optional<Location> remat::findForwardLocation(Location loc) {
  std::optional<Location> forward;
  for (auto name = dyn_cast<NameLoc>(loc);
       name && isDerivativeName(name.getName());
       name = dyn_cast<NameLoc>(name.getChildLoc()))
    forward = name.getChildLoc();
  return forward;
}

StringRef remat::findLabel(Location loc) {
  StringRef label;
  loc->walk([&](Location inner) {
    auto name = dyn_cast<NameLoc>(inner);
    if (!name || isDerivativeName(name.getName()) ||
        name.getName() == optimizerLocName ||
        name.getName().strref().starts_with(tagLocPrefix))
      return WalkResult::advance();
    label = name.getName();
    label.consume_back("/");
    return WalkResult::interrupt();
  });
  return label;
}

static void addScopes(Location loc, SmallVectorImpl<StringRef> &scopes) {
  if (auto name = dyn_cast<NameLoc>(loc)) {
    StringRef scope = name.getName().getValue().rsplit('/').first;
    if (!scope.empty() && scope.size() < name.getName().size())
      scopes.push_back(scope);
    addScopes(name.getChildLoc(), scopes);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      addScopes(part, scopes);
  } else if (auto call = dyn_cast<CallSiteLoc>(loc)) {
    addScopes(call.getCallee(), scopes);
  }
}

SmallVector<StringRef, 1> remat::findScopes(Location loc) {
  SmallVector<StringRef, 1> scopes;
  addScopes(loc, scopes);
  return scopes;
}

std::string remat::describeLocation(Location loc) {
  std::string text;
  loc->walk([&](Location inner) {
    auto file = dyn_cast<FileLineColLoc>(inner);
    if (!file)
      return WalkResult::advance();
    text = (file.getFilename().strref() + ":" + Twine(file.getLine()) + ":" +
            Twine(file.getColumn()))
               .str();
    return WalkResult::interrupt();
  });
  return text;
}
