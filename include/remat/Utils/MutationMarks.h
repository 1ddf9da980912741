//===- MutationMarks.h - marks of values that are overwritten ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The import of buffers leaves these marks; the check of mutation, after
// differentiation, reads and removes them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_MUTATIONMARKS_H
#define REMAT_UTILS_MUTATIONMARKS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On a remat.tag: the location of an operation that overwrites the value, or a
/// unit where a value only must not be fused away.
constexpr llvm::StringLiteral overwrittenAttrName = "overwritten";

/// On a remat.overwritten: the number of the buffer.
constexpr llvm::StringLiteral bufferAttrName = "buffer";

} // namespace remat

#endif // REMAT_UTILS_MUTATIONMARKS_H
