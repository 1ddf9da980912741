//===- Streams.cpp - what entries wait for --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Walks the table once. Of what an entry must wait for in another stream, the
// last entry stands for those before it, so that no entry has more waits than
// there are other streams.
//
//===----------------------------------------------------------------------===//

#include "Streams.h"

#include <algorithm>

using namespace remat;

namespace {

/// For each stream an entry of it, or REMAT_NONE.
struct PerStream : std::array<uint32_t, REMAT_STREAM_COUNT> {
  PerStream() { fill(REMAT_NONE); }
  /// Keeps the later one.
  void add(uint32_t stream, uint32_t entry) {
    uint32_t &mine = (*this)[stream];
    if (entry != REMAT_NONE && (mine == REMAT_NONE || mine < entry))
      mine = entry;
  }
};

/// The last accesses to one piece of memory.
struct Accesses {
  uint32_t writer = REMAT_NONE;
  PerStream readers; // since it was written
  PerStream users;
  uint32_t lastUse = REMAT_NONE; // of the whole table
};

class StreamAssigner {
public:
  explicit StreamAssigner(Table &table)
      : t(table), clocks(t.entries.size()),
        memory(t.buffers.size() + t.arguments.size() + t.results.size()) {}

  void run() {
    for (uint32_t i = 0; i < t.entries.size(); ++i) {
      t.entries[i].stream = streamOf(t.entries[i]);
      forEachUse(i, [&](Accesses &used, bool) { used.lastUse = i; });
    }
    auto nextCall = t.callBegins.begin();
    for (uint32_t i = 0; i < t.entries.size(); ++i) {
      for (; nextCall != t.callBegins.end() && *nextCall == i; ++nextCall)
        clocks.join();
      addWaits(i);
      recordUses(i);
    }
  }

private:
  const remat_buffer &buffer(const remat_entry &entry, uint32_t use) const {
    return t.buffers[t.uses[entry.first_use + use]];
  }

  uint32_t streamOf(const remat_entry &entry) const {
    if (entry.kind != REMAT_ENTRY_COPY)
      return REMAT_STREAM_COMPUTE;
    bool fromHost = t.isOnHost(buffer(entry, 0));
    bool toHost = t.isOnHost(buffer(entry, 1));
    if (fromHost == toHost)
      return REMAT_STREAM_COMPUTE;
    return toHost ? REMAT_STREAM_TO_HOST : REMAT_STREAM_TO_DEVICE;
  }

  /// What `buffer` lies in: its root, or the memory of an argument or result,
  /// which are one where the argument gives its buffer to the result.
  Accesses &accessesOf(const remat_buffer &buffer) {
    size_t number = buffer.root;
    if (buffer.space == REMAT_SPACE_ARGUMENT) {
      number = t.buffers.size() + buffer.index;
    } else if (buffer.space == REMAT_SPACE_RESULT && !buffer.reused) {
      uint32_t donor = t.results[buffer.index].donation;
      number =
          t.buffers.size() +
          (donor == REMAT_NONE ? t.arguments.size() + buffer.index : donor);
    }
    return memory[number];
  }

  /// Calls function(accesses, isWritten). A workspace is nobody else's, and is
  /// in no copy.
  template <typename Function>
  void forEachUse(uint32_t index, const Function &function) {
    const remat_entry &entry = t.entries[index];
    for (uint32_t i = 0; i < entry.operand_count + entry.result_count; ++i)
      function(accessesOf(buffer(entry, i)), i >= entry.operand_count);
  }

  void addWaits(uint32_t index) {
    remat_entry &entry = t.entries[index];
    PerStream needs;
    auto require = [&](const PerStream &others) {
      for (uint32_t stream = 0; stream < REMAT_STREAM_COUNT; ++stream)
        needs.add(stream, others[stream]);
    };
    forEachUse(index, [&](Accesses &used, bool isWritten) {
      if (used.writer != REMAT_NONE)
        needs.add(t.entries[used.writer].stream, used.writer);
      if (isWritten)
        require(used.readers);
    });
    if (entry.stream != REMAT_STREAM_COMPUTE)
      needs.add(REMAT_STREAM_COMPUTE, lastCompute);
    require(freed);
    for (uint32_t i = 0; i < entry.result_count; ++i)
      if (buffer(entry, entry.operand_count + i).space == REMAT_SPACE_HOST)
        require(freedOnHost);
    if (entry.host_workspace != REMAT_NONE)
      require(freedOnHost);

    clocks.begin(index, entry.stream);
    auto isNeeded = [&](uint32_t earlier) {
      return earlier != REMAT_NONE && !clocks.isBefore(earlier, index);
    };
    entry.first_wait = static_cast<uint32_t>(t.waits.size());
    for (uint32_t earlier : needs)
      if (isNeeded(earlier) &&
          std::none_of(needs.begin(), needs.end(), [&](uint32_t other) {
            return isNeeded(other) && clocks.isBefore(earlier, other);
          }))
        t.waits.push_back(earlier);
    std::sort(t.waits.begin() + entry.first_wait, t.waits.end());
    entry.wait_count = static_cast<uint32_t>(t.waits.size()) - entry.first_wait;
    for (uint32_t i = 0; i < entry.wait_count; ++i)
      clocks.wait(index, t.waits[entry.first_wait + i]);
  }

  void recordUses(uint32_t index) {
    const remat_entry &entry = t.entries[index];
    if (entry.stream == REMAT_STREAM_COMPUTE)
      lastCompute = index;
    forEachUse(index, [&](Accesses &used, bool isWritten) {
      used.users.add(entry.stream, index);
      if (!isWritten) {
        used.readers.add(entry.stream, index);
        return;
      }
      used.writer = index;
      used.readers = PerStream();
    });
    for (uint32_t i = 0; i < entry.operand_count + entry.result_count; ++i) {
      const remat_buffer &used = buffer(entry, i);
      Accesses &accesses = accessesOf(used);
      bool isFreed = used.space == REMAT_SPACE_ARENA ||
                     used.space == REMAT_SPACE_HOST || used.reused;
      if (!isFreed || accesses.lastUse != index)
        continue;
      PerStream &ends = used.space == REMAT_SPACE_HOST ? freedOnHost : freed;
      for (uint32_t stream = 0; stream < REMAT_STREAM_COUNT; ++stream)
        ends.add(stream, accesses.users[stream]);
    }
  }

  Table &t;
  StreamClocks clocks;
  std::vector<Accesses> memory;
  uint32_t lastCompute = REMAT_NONE;
  /// The last entries that used a buffer whose last use is passed.
  PerStream freed, freedOnHost;
};

} // namespace

StreamClocks remat::clocksOf(const Table &table) {
  StreamClocks clocks(table.entries.size());
  auto nextCall = table.callBegins.begin();
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    for (; nextCall != table.callBegins.end() && *nextCall == i; ++nextCall)
      clocks.join();
    const remat_entry &entry = table.entries[i];
    clocks.begin(i, entry.stream);
    for (uint32_t wait = 0; wait < entry.wait_count; ++wait)
      clocks.wait(i, table.waits[entry.first_wait + wait]);
  }
  return clocks;
}

void remat::assignStreams(Table &table) { StreamAssigner(table).run(); }
