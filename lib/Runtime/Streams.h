//===- Streams.h - what entries wait for ------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Copies run in streams beside the computation. The compiler gives each entry
// its stream and waits (`assignStreams`), the run time checks what it is given
// (`checkOrder`). Both count with the same clocks, but each by rules of its
// own.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_STREAMS_H
#define REMAT_LIB_RUNTIME_STREAMS_H

#include "Table.h"

#include <array>

namespace remat {

/// Which entries of a table have ended when another one ends, whatever the
/// speed of each stream: a vector clock for each entry. Entries are added in
/// the order of the table.
class StreamClocks {
public:
  explicit StreamClocks(size_t entries) : clocks(entries), streams(entries) {}

  /// Adds the next entry: it is behind those of its stream.
  void begin(uint32_t entry, uint32_t stream) {
    clocks[entry] = ended;
    advance(clocks[entry], last[stream]);
    streams[entry] = stream;
    clocks[entry][stream] = ++counts[stream];
    last[stream] = clocks[entry];
  }
  /// The entry added last is behind `earlier`, too.
  void wait(uint32_t entry, uint32_t earlier) {
    advance(clocks[entry], clocks[earlier]);
    last[streams[entry]] = clocks[entry];
  }
  /// All that was added so far ends before what is added from now on.
  void join() { ended = counts; }

  /// Whether `earlier` has ended when `later` begins; both were added.
  bool isBefore(uint32_t earlier, uint32_t later) const {
    uint32_t stream = streams[earlier];
    return clocks[later][stream] >= clocks[earlier][stream] && earlier != later;
  }

private:
  /// For each stream, how many of its entries have ended.
  using Clock = std::array<uint32_t, REMAT_STREAM_COUNT>;
  static void advance(Clock &clock, const Clock &other) {
    for (uint32_t stream = 0; stream < REMAT_STREAM_COUNT; ++stream)
      if (clock[stream] < other[stream])
        clock[stream] = other[stream];
  }

  std::vector<Clock> clocks;
  std::vector<uint32_t> streams;
  std::array<Clock, REMAT_STREAM_COUNT> last = {};
  Clock counts = {}, ended = {};
};

/// The clocks of a table whose entries have their streams and waits.
StreamClocks clocksOf(const Table &table);

/// Sets stream and waits of all entries of a table that has no waits yet, with
/// the fewest that keep these rules:
///
///  * An entry reads what the one before it in the table wrote, and writes over
///    nothing that is still read.
///  * A copy begins when all computation before it has ended.
///  * What comes behind the last use of a buffer of the arena begins when the
///    copies of that buffer have ended, and what writes to the host arena when
///    the copies of buffers there have whose last use is before it. So no more
///    bytes are live at one time than in the order of the entries.
///
/// This is the clock of the planner's simulator, seen from the table: a
/// transfer that the plan hides behind computation is hidden.
void assignStreams(Table &table);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_STREAMS_H
