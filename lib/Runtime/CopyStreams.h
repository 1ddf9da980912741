//===- CopyStreams.h - threads that copy beside the computation -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread for each stream of copies that a table has. The thread that runs a
// step passes each copy on when it comes to it, and goes on. It is the only one
// that computes, so a copy can only have to wait for other copies.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_COPYSTREAMS_H
#define REMAT_LIB_RUNTIME_COPYSTREAMS_H

#include "Table.h"

#include <functional>

namespace remat {

class CopyStreams {
public:
  CopyStreams() = default;
  ~CopyStreams();
  CopyStreams(const CopyStreams &) = delete;

  /// Makes the threads, none for a table without copies in a stream of their
  /// own. `copy` carries out an entry and may not throw. False with a message
  /// if the system has no more threads. The table must stay where it is.
  bool start(const Table &table, std::function<void(uint32_t)> copy,
             std::string &message);

  /// Begins a run at an entry: what is before it has ended. Afterwards, whether
  /// there are threads. A process that was forked from the one that made them
  /// has none.
  bool begin(uint32_t entry);
  /// Lets the next entry of its stream begin.
  void pass(uint32_t entry);
  /// Waits for the end of an entry that was passed on or is before the run, or
  /// is no copy.
  void wait(uint32_t entry);
  /// Waits for the end of all that was passed on.
  void drain();

private:
  struct State;
  /// Not deleted where its threads do not exist.
  State *state = nullptr;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_COPYSTREAMS_H
