//===- RecomputeCheck.h - originals against recomputations ------*- C++ -*-===//
//
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

  /// Calls begin, the first of a step if `isFirst`. With `comparesBits`, what
  /// is recomputed later is kept and compared; with `tracesRun`, only its hash
  /// is. That is in `memory` of `bytes(comparesBits)`, or, if this is null, in
  /// the check's own.
  void begin(char *memory, bool comparesBits, bool tracesRun, bool isFirst);

  /// The bytes that calls leave to each other for this.
  uint64_t bytes(bool comparesBits) const;

  /// Whether an entry is repeated or repeats another one; of others, `observe`
  /// has nothing to see.
  bool observes(uint32_t entry) const {
    return isRepeated[entry] || originals[entry] != REMAT_NONE;
  }

  /// An entry has run on `buffers`, its operands and results. False with a
  /// message if it repeats another one and gave other bits.
  bool observe(uint32_t entry, void *const *buffers, std::string &error);

  /// What ran forward beside what ran again, a line for each recomputation with
  /// the hashes of both; those that differ are marked.
  std::string trace() const;

  /// Bytes of the memory that were written since calls began.
  uint64_t writtenBytes() const { return written; }

private:
  /// What is known of an entry that is repeated or repeats another one.
  struct Record {
    uint64_t hash, hasRun;
  };
  Record get(uint32_t entry) const;
  uint64_t hash(uint32_t entry, void *const *buffers) const;
  void keep(uint32_t entry, void *const *buffers);
  bool compare(uint32_t entry, void *const *buffers, std::string &error) const;

  const Table &table;
  /// For each entry, the one that it repeats, or REMAT_NONE.
  std::vector<uint32_t> originals;
  std::vector<bool> isRepeated;
  /// For each entry, where its record is in the memory, and, if it is repeated,
  /// its results, one after the other.
  std::vector<uint64_t> records, copies;
  uint64_t recordBytes = 0, copyBytes = 0, written = 0;
  std::vector<char> ownMemory;
  char *memory = nullptr;
  bool compares = false, traces = false;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_RECOMPUTECHECK_H
