//===- Tables.h - tables of text --------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_SUPPORT_TABLES_H
#define REMAT_SUPPORT_TABLES_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace remat {

/// Prints rows of cells in columns with two spaces in front of each. Numbers
/// are aligned on the right; with `beginsWithNames`, the first column is
/// aligned on the left.
void printAligned(llvm::raw_ostream &os,
                  llvm::ArrayRef<std::vector<std::string>> rows,
                  bool beginsWithNames = false);

} // namespace remat

#endif // REMAT_SUPPORT_TABLES_H
