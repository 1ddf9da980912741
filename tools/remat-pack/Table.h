//===- Table.h - live ranges as a table -------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The CSV files of MiniMalloc: a line for each buffer, with the columns `id`
// (or `buffer`, `buffer_id`), `lower` (`start`, `begin`), `upper`, `size`, and,
// where they are wanted, `alignment` and `offset`. A buffer lives from the time
// `lower` to before `upper`; a column `end` names the last time of its life
// instead. An `offset` is fixed. A `hint` is not used.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMATPACK_TABLE_H
#define REMAT_TOOLS_REMATPACK_TABLE_H

#include "remat/Planning/Packing.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <string>

namespace remat::pack {

/// What a file holds.
struct Table {
  /// The names of the columns, and the fields of each line, as they were.
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> lines;
  /// One for each line.
  std::vector<planning::LiveRange> ranges;
};

/// Reads a table. Errors name the line and the column.
llvm::Expected<Table> parseTable(llvm::StringRef text);

/// Writes the lines as they were, with the column `offset` at the end.
void writeTable(const Table &table, const planning::Packing &packing,
                llvm::raw_ostream &os);

} // namespace remat::pack

#endif // REMAT_TOOLS_REMATPACK_TABLE_H
