//===- UserLibrary.cpp - code that a flag brings in -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/UserLibrary.h"

#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace remat;

Expected<void *> tools::loadUserFunction(StringRef path, StringRef contents,
                                         const char *function) {
  // The system takes a name without a folder for one of its own libraries.
  SmallString<128> name(path);
  if (sys::fs::exists(name))
    if (std::error_code error = sys::fs::make_absolute(name))
      return createFileError(path, error);
  std::string message;
  auto library =
      sys::DynamicLibrary::getPermanentLibrary(name.c_str(), &message);
  if (!library.isValid())
    return createStringError("could not load the " + contents + " of '" + path +
                             "': " + message);
  if (void *address = library.getAddressOfSymbol(function))
    return address;
  return createFileError(
      path, createStringError("is no library of " + contents +
                              ": it has no function '" + function + "'"));
}
