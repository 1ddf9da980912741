//===- UserLibrary.h - code that a flag brings in ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_USERLIBRARY_H
#define REMAT_TOOLS_COMMON_USERLIBRARY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace remat::tools {

/// Loads a shared library for good, of `contents` such as "codecs", and finds
/// the function that gives them. The path is that of a file, as all paths of
/// flags are; only if there is none, the system looks for the name.
llvm::Expected<void *> loadUserFunction(llvm::StringRef path,
                                        llvm::StringRef contents,
                                        const char *function);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_USERLIBRARY_H
