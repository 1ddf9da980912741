//===- Tables.cpp - tables of text ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Support/Tables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Unicode.h"

using namespace llvm;

/// Columns of a terminal; bytes of what is no UTF-8.
static size_t getColumns(StringRef text) {
  int columns = sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : columns;
}

void remat::printAligned(raw_ostream &os,
                         ArrayRef<std::vector<std::string>> rows,
                         bool beginsWithNames) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (auto [width, cell] : zip(widths, row))
      width = std::max(width, getColumns(cell));
  for (const std::vector<std::string> &row : rows) {
    for (auto [column, cell] : enumerate(row)) {
      std::string pad(widths[column] - getColumns(cell), ' ');
      bool isName = column == 0 && beginsWithNames;
      os << "  " << (isName ? cell : pad) << (isName ? pad : cell);
    }
    os << '\n';
  }
}
