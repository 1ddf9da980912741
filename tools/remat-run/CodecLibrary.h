//===- CodecLibrary.h - codecs from a shared library ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMAT_RUN_CODECLIBRARY_H
#define REMAT_TOOLS_REMAT_RUN_CODECLIBRARY_H

#include "remat/Runtime/Runtime.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace remat::run {

/// The codecs of the library in --codecs, which is loaded once; none if there
/// is no such flag.
llvm::Expected<llvm::ArrayRef<remat_codec>> getCodecs();

} // namespace remat::run

#endif // REMAT_TOOLS_REMAT_RUN_CODECLIBRARY_H
