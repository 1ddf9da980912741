//===- Schedule.h - what of a step runs side by side ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Entries of a stream run in the order of the table; those of different streams
// run side by side but for what they wait for.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_SCHEDULE_H
#define REMAT_LIB_RUNTIME_SCHEDULE_H

#include "Table.h"

namespace remat {

struct Schedule {
  /// One that computes, and one for each direction of copies.
  static constexpr uint32_t streamCount = 3;
  /// For each entry, its stream and the entries of other streams that must be
  /// done before it starts.
  std::vector<uint32_t> streams;
  std::vector<std::vector<uint32_t>> waits;
};

/// Copies to and from the host have streams of their own. An entry waits for
/// the last entries of other streams that touch bytes of its buffers, where one
/// of both writes.
Schedule makeSchedule(const Table &table);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_SCHEDULE_H
