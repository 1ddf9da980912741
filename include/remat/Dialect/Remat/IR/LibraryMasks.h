//===- LibraryMasks.h - masks of ReLUs for a library ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_LIBRARYMASKS_H
#define REMAT_DIALECT_REMAT_IR_LIBRARYMASKS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On what makes the mask of a ReLU and what reads it (UnitAttr): the order of
/// bits is the library's, so that calls of it do both. No operation of a user
/// has it.
constexpr llvm::StringLiteral libraryMaskAttrName = "remat.library_mask";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_LIBRARYMASKS_H
