//===- Tables.cpp - tables of text ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Support/Tables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace llvm;

void remat::printAligned(raw_ostream &os,
                         ArrayRef<std::vector<std::string>> rows,
                         bool beginsWithNames) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const std::vector<std::string> &row : rows)
    for (auto [width, cell] : zip(widths, row))
      width = std::max(width, cell.size());
  for (const std::vector<std::string> &row : rows) {
    for (auto [column, cell] : enumerate(row)) {
      os << "  ";
      if (column == 0 && beginsWithNames)
        os << left_justify(cell, widths[column]);
      else
        os << right_justify(cell, widths[column]);
    }
    os << '\n';
  }
}
