//===- ReaderTags.h - tags for some readers of a value ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_READERTAGS_H
#define REMAT_UTILS_READERTAGS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On a remat.tag with a codec: it is about what the readers of its result
/// save, not about the value.
constexpr llvm::StringLiteral readerTagAttrName = "for_readers";

} // namespace remat

#endif // REMAT_UTILS_READERTAGS_H
