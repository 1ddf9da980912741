//===- StandardStreams.h - when nobody reads what is printed ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_STANDARDSTREAMS_H
#define REMAT_SUPPORT_STANDARDSTREAMS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// For the first line of a program. If what it prints on the standard output
/// cannot be written (to a full disk, a closed pipe, or nothing at all), it
/// says so on the standard error and ends with exit status 1, where LLVM's
/// stream would end it by a fatal error or a signal. Standard streams that are
/// closed are no longer free for the next file that is opened.
void guardStandardStreams(llvm::StringLiteral tool);

} // namespace remat

#endif // REMAT_SUPPORT_STANDARDSTREAMS_H
