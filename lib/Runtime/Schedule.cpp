//===- Schedule.cpp - what of a step runs side by side --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Schedule.h"

#include <array>

using namespace remat;

namespace {

/// Bytes that an entry reads or writes.
struct Access {
  int32_t space;
  uint32_t index;
  uint64_t begin, end;
  bool isWrite;
};

bool conflict(const Access &a, const Access &b) {
  return (a.isWrite || b.isWrite) && a.space == b.space && a.index == b.index &&
         a.begin < b.end && b.begin < a.end;
}

/// An argument that gives its buffer to a result is that result.
Access getAccess(const Table &table, uint32_t number, bool isWrite) {
  const remat_buffer &buffer = table.buffers[number];
  Access access = {buffer.space, buffer.index, buffer.offset,
                   buffer.offset + buffer.bytes, isWrite};
  if (buffer.space == REMAT_SPACE_ARGUMENT &&
      table.arguments[buffer.index].donation != REMAT_NONE) {
    access.space = REMAT_SPACE_RESULT;
    access.index = table.arguments[buffer.index].donation;
  }
  return access;
}

std::vector<Access> getAccesses(const Table &table, const remat_entry &entry) {
  std::vector<Access> accesses;
  uint32_t count = entry.operand_count + entry.result_count;
  for (uint32_t i = 0; i < count; ++i)
    accesses.push_back(getAccess(table, table.uses[entry.first_use + i],
                                 i >= entry.operand_count));
  if (entry.workspace != REMAT_NONE)
    accesses.push_back(getAccess(table, entry.workspace, /*isWrite=*/true));
  return accesses;
}

uint32_t getStream(const Table &table, const remat_entry &entry) {
  if (entry.kind != REMAT_ENTRY_COPY)
    return 0;
  if (table.operand(entry, 0).space == REMAT_SPACE_HOST)
    return 1;
  return table.result(entry, 0).space == REMAT_SPACE_HOST ? 2 : 0;
}

} // namespace

Schedule remat::makeSchedule(const Table &table) {
  constexpr uint32_t streamCount = Schedule::streamCount;
  size_t count = table.entries.size();
  Schedule schedule;
  schedule.waits.resize(count);
  std::vector<std::vector<Access>> accesses(count);
  std::array<std::vector<uint32_t>, streamCount> entries;
  // How many entries of the second stream are known to be done when the next
  // one of the first starts.
  std::array<std::array<size_t, streamCount>, streamCount> done = {};
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t stream = getStream(table, table.entries[i]);
    schedule.streams.push_back(stream);
    accesses[i] = getAccesses(table, table.entries[i]);
    auto conflicts = [&](uint32_t other) {
      for (const Access &a : accesses[i])
        for (const Access &b : accesses[other])
          if (conflict(a, b))
            return true;
      return false;
    };
    for (uint32_t other = 0; other < streamCount; ++other) {
      if (other == stream)
        continue;
      for (size_t j = entries[other].size(); j > done[stream][other]; --j) {
        if (!conflicts(entries[other][j - 1]))
          continue;
        schedule.waits[i].push_back(entries[other][j - 1]);
        done[stream][other] = j;
        break;
      }
    }
    entries[stream].push_back(i);
  }
  return schedule;
}
