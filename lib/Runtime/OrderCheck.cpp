//===- OrderCheck.cpp - whether waits order what shares bytes -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each range of bytes, the entry that wrote it last and, of each stream,
// the last one that has read it since. Those before it in its stream need not
// be remembered: who is behind the last one is behind all of them. Ranges are
// of bytes, so views, what is written in place and what is placed where
// something else was need no rules of their own.
//
//===----------------------------------------------------------------------===//

#include "Streams.h"

#include <algorithm>
#include <map>
#include <utility>

using namespace remat;

namespace {

class OrderChecker {
public:
  OrderChecker(const Table &table, std::string &error)
      : t(table), clocks(clocksOf(t)), error(error) {}

  bool run() {
    for (uint32_t i = 0; i < t.entries.size(); ++i) {
      const remat_entry &entry = t.entries[i];
      for (uint32_t use = 0; use < entry.operand_count; ++use)
        if (!read(i, t.operand(entry, use)))
          return false;
      for (uint32_t use = 0; use < entry.result_count; ++use)
        if (!write(i, t.result(entry, use)))
          return false;
      for (uint32_t workspace : {entry.workspace, entry.host_workspace})
        if (workspace != REMAT_NONE && !write(i, t.buffers[workspace]))
          return false;
    }
    return true;
  }

private:
  struct Segment {
    uint64_t end;
    uint32_t writer;
    std::array<uint32_t, REMAT_STREAM_COUNT> readers;
  };
  /// By where they begin. What no entry has used yet is in none.
  using Segments = std::map<uint64_t, Segment>;

  static Segment makeSegment(uint64_t end, uint32_t writer) {
    Segment segment = {end, writer, {}};
    segment.readers.fill(REMAT_NONE);
    return segment;
  }

  /// A result that has the buffer of an argument is in its memory.
  Segments &segmentsOf(const remat_buffer &buffer) {
    uint32_t donor = buffer.space == REMAT_SPACE_RESULT
                         ? t.results[buffer.index].donation
                         : REMAT_NONE;
    return donor == REMAT_NONE ? memory[{buffer.space, buffer.index}]
                               : memory[{int32_t(REMAT_SPACE_ARGUMENT), donor}];
  }

  /// Makes `at` a border between segments.
  static void split(Segments &segments, uint64_t at) {
    auto next = segments.upper_bound(at);
    if (next == segments.begin())
      return;
    auto before = std::prev(next);
    if (before->first == at || before->second.end <= at)
      return;
    Segment rest = before->second;
    before->second.end = at;
    segments.emplace_hint(next, at, rest);
  }

  bool read(uint32_t index, const remat_buffer &buffer) {
    if (buffer.bytes == 0 || buffer.space == REMAT_SPACE_CONSTANT)
      return true;
    Segments &segments = segmentsOf(buffer);
    uint64_t at = buffer.offset, end = buffer.offset + buffer.bytes;
    uint32_t stream = t.entries[index].stream;
    split(segments, at);
    split(segments, end);
    for (auto next = segments.lower_bound(at); at < end; ++next) {
      if (next == segments.end() || next->first > at) {
        uint64_t gapEnd =
            next == segments.end() ? end : std::min(end, next->first);
        next = segments.emplace_hint(next, at, makeSegment(gapEnd, REMAT_NONE));
      }
      Segment &segment = next->second;
      if (!isOrdered(segment.writer, index))
        return fail(index, "reads", buffer, next->first, segment.end,
                    segment.writer, "writes");
      segment.readers[stream] = index;
      at = segment.end;
    }
    return true;
  }

  bool write(uint32_t index, const remat_buffer &buffer) {
    if (buffer.bytes == 0)
      return true;
    Segments &segments = segmentsOf(buffer);
    uint64_t end = buffer.offset + buffer.bytes;
    split(segments, buffer.offset);
    split(segments, end);
    auto first = segments.lower_bound(buffer.offset), next = first;
    for (; next != segments.end() && next->first < end; ++next) {
      const Segment &segment = next->second;
      for (uint32_t reader : segment.readers)
        if (!isOrdered(reader, index))
          return fail(index, "writes", buffer, next->first, segment.end, reader,
                      "reads");
      if (!isOrdered(segment.writer, index))
        return fail(index, "writes", buffer, next->first, segment.end,
                    segment.writer, "writes");
    }
    next = segments.erase(first, next);
    segments.emplace_hint(next, buffer.offset, makeSegment(end, index));
    return true;
  }

  bool isOrdered(uint32_t earlier, uint32_t later) const {
    return earlier == REMAT_NONE || earlier == later ||
           clocks.isBefore(earlier, later);
  }

  bool fail(uint32_t index, const char *does, const remat_buffer &buffer,
            uint64_t begin, uint64_t end, uint32_t other, const char *did) {
    std::string where = buffer.space == REMAT_SPACE_ARENA  ? "the arena"
                        : buffer.space == REMAT_SPACE_HOST ? "the host arena"
                        : buffer.space == REMAT_SPACE_RESULT
                            ? "result " + std::to_string(buffer.index)
                            : "argument " + std::to_string(buffer.index);
    error = t.describe(index) + " " + does + " bytes " + std::to_string(begin) +
            " to " + std::to_string(end) + " of " + where + ", which " +
            t.describe(other) + " " + did + ", without waiting for it";
    return false;
  }

  const Table &t;
  StreamClocks clocks;
  std::map<std::pair<int32_t, uint32_t>, Segments> memory;
  std::string &error;
};

} // namespace

bool remat::checkOrder(const Table &table, std::string &error) {
  // What is in one stream is in order.
  if (std::all_of(table.entries.begin(), table.entries.end(),
                  [&](const remat_entry &entry) {
                    return entry.stream == table.entries.front().stream;
                  }))
    return true;
  return OrderChecker(table, error).run();
}
