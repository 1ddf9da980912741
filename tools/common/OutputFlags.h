//===- OutputFlags.h - flags that name files to write -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_OUTPUTFLAGS_H
#define REMAT_TOOLS_COMMON_OUTPUTFLAGS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace remat::tools {

/// A flag such as "--json" and the file that it names; "" if it was not given.
struct OutputFlag {
  llvm::StringRef flag, path;
};

/// An error if two flags name the same file, or both the standard output, or if
/// one names what is read, such as the model, which would be lost.
llvm::Error checkFileNames(llvm::ArrayRef<OutputFlag> flags,
                           llvm::ArrayRef<llvm::StringRef> inputs);

/// Where a tool prints what is for people: not into a file that is the standard
/// output.
llvm::raw_ostream &getTextStream(llvm::ArrayRef<OutputFlag> flags);

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_OUTPUTFLAGS_H
