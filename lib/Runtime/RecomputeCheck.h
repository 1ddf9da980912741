//===- RecomputeCheck.h - originals against recomputations ------*- C++ -*-===//
//
// Part of remat, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recomputation must give what its original gave: as many results of the same
// sizes, which the table tells, and the same bits, which only a run can tell.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_RECOMPUTECHECK_H
#define REMAT_LIB_RUNTIME_RECOMPUTECHECK_H

#include "Table.h"

namespace remat {

class RecomputeCheck {
public:
  explicit RecomputeCheck(const Table &table);

  /// False with a message if a recomputation has results of other sizes than
  /// its original.
  bool checkSizes(std::string &error) const;

  /// A run begins. With `compares`, it keeps copies of what is recomputed later
  /// and compares; with `traces`, it only notes hashes.
  void begin(bool compares, bool traces);

  /// An entry has run on `buffers`, its operands and results. False with a
  /// message if it repeats another one and gave other bits.
  bool observe(uint32_t entry, void *const *buffers, std::string &error);

  /// What ran forward beside what ran again, a line for each recomputation with
  /// the hashes of both; those that differ are marked.
  std::string trace() const;

private:
  uint64_t hash(uint32_t entry, void *const *buffers) const;
  void keep(uint32_t entry, void *const *buffers);
  bool compare(uint32_t entry, void *const *buffers, std::string &error) const;

  const Table &table;
  /// For each entry, the one that it repeats, or REMAT_NONE.
  std::vector<uint32_t> originals;
  std::vector<bool> isRepeated;
  std::vector<bool> hasRun;
  std::vector<uint64_t> hashes;
  /// For each entry that is repeated, its results one after the other.
  std::vector<std::vector<char>> copies;
  bool compares = false, traces = false;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_RECOMPUTECHECK_H
