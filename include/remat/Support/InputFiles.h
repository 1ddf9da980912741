//===- InputFiles.h - text that programs read -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Editors and spreadsheets of some systems write a byte-order mark in front of
// text, or text in UTF-16. To parsers either is an unexpected character that
// nobody sees. Here the mark of UTF-8 is left out, and UTF-16 is an error that
// says so.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_INPUTFILES_H
#define REMAT_SUPPORT_INPUTFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <memory>

namespace remat {

/// The contents of a file. An error names the file.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readTextFile(llvm::StringRef path);

/// The same; "-" is the standard input.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>>
readTextFileOrInput(llvm::StringRef path);

} // namespace remat

#endif // REMAT_SUPPORT_INPUTFILES_H
