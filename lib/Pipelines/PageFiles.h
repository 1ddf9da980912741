//===- PageFiles.h - the files that pages are made of -----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Defined in what cmake/EmbedFiles.cmake makes of the files in Page.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_PAGEFILES_H
#define REMAT_LIB_PIPELINES_PAGEFILES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace remat::page {

/// page.html, page.css, and D3 with its licence.
extern const llvm::StringRef frame, style, library, license;
/// The scripts, in the order in which they run.
extern const llvm::ArrayRef<llvm::StringRef> scripts;

} // namespace remat::page

#endif // REMAT_LIB_PIPELINES_PAGEFILES_H
