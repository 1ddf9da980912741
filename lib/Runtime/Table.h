//===- Table.h - a checked step table ---------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The records of a blob, copied out of it and checked: whoever holds a Table
// can follow every number in it without looking.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_TABLE_H
#define REMAT_LIB_RUNTIME_TABLE_H

#include "remat/Runtime/StepTable.h"

#include <string>
#include <vector>

namespace remat {

/// The bytes from the beginning of a row to that of the next, of a buffer with
/// gaps between rows.
inline uint64_t strideOf(const remat_buffer &buffer) {
  constexpr uint64_t mask = REMAT_ROW_ALIGNMENT - 1;
  return (uint64_t(buffer.row) + mask) & ~mask;
}

/// Calls `visit` with offset and size of each range of bytes that mean
/// something, in order, until it returns false: rows, where there are gaps
/// between them, or all that is used.
template <typename Visit>
void forEachRow(const remat_buffer &buffer, Visit visit) {
  const uint64_t size = buffer.row ? buffer.row : buffer.used;
  const uint64_t stride = buffer.row ? strideOf(buffer) : size;
  if (size == 0)
    return;
  for (uint64_t offset = 0; offset < buffer.used; offset += stride)
    if (!visit(offset, size))
      return;
}

struct Table {
  remat_step_header header;
  std::vector<char> strings;
  std::vector<int64_t> dims;
  std::vector<remat_signature> arguments;
  std::vector<remat_signature> results;
  std::vector<remat_buffer> buffers;
  std::vector<remat_entry> entries;
  std::vector<uint32_t> uses;
  /// Of all entries; see remat_entry.
  std::vector<uint32_t> waits;
  std::vector<remat_matmul> matmuls;
  std::vector<remat_convolution> convolutions;
  std::vector<remat_packed_value> packedValues;
  std::vector<remat_device_kernel> kernels;
  std::vector<remat_launch> launches;
  std::vector<uint64_t> scratch;
  std::vector<remat_plan> plans;
  std::vector<remat_loop> loops;
  std::vector<uint32_t> loopLists;
  std::vector<remat_section> bodies;
  std::vector<uint32_t> checks;
  /// Where each call begins, the first at 0, and the number of all entries.
  std::vector<uint32_t> callBegins;
  /// In the blob; read only.
  const char *constants;
  const char *bodyBytes;
  /// What is in `bodies`.
  std::vector<Table> bodyTables;

  const char *string(uint32_t offset) const { return strings.data() + offset; }
  const remat_buffer &operand(const remat_entry &entry, uint32_t i) const {
    return buffers[uses[entry.first_use + i]];
  }
  const remat_buffer &result(const remat_entry &entry, uint32_t i) const {
    return buffers[uses[entry.first_use + entry.operand_count + i]];
  }
  /// Whether the buffer is in host memory: the step's or the caller's.
  bool isOnHost(const remat_buffer &buffer) const;
  /// Bytes of an argument or a result.
  uint64_t bytesOf(const remat_signature &signature) const;
  /// "'name' at location (entry 7)", as far as they are known.
  std::string describe(uint32_t entry) const;
};

/// What the schedule does to the root buffers: derived from what entries use,
/// not from any plan. For each entry, the roots that come to life when it
/// starts and those that die when it is done, workspaces in both.
struct Lifetimes {
  std::vector<std::vector<uint32_t>> births;
  std::vector<std::vector<uint32_t>> deaths;
  /// For each call, the roots that live when it begins.
  std::vector<std::vector<uint32_t>> inherited;
};

/// Reads and checks the module's table; false with a message when it is
/// malformed. `depth` is the number of loops that the table is the body of.
bool readTable(const remat_module &module, Table &table, std::string &error,
               unsigned depth = 0);

/// Reads and checks the bodies of loops in a table that has been read for the
/// rest, and the loops against them. The table itself is in `depth` loops.
bool readBodies(const remat_module &module, Table &table, unsigned depth,
                std::string &error);

/// Checks entries against descriptors, buffers and, of a module, kernels; those
/// of the bodies of loops, too.
bool checkEntries(const remat_module *module, const Table &table,
                  std::string &error);

/// Checks everything about bodies of loops that is not about single records.
bool checkBodies(const remat_module *module, const Table &table,
                 std::string &error);

/// Checks an entry, of a sound loop, against its buffers.
bool checkLoopEntry(const Table &table, uint32_t index, std::string &error);

/// Where things are in the workspace of a loop, and its bytes. The arenas are
/// at its start.
struct LoopWorkspace {
  uint64_t copies, states, otherStates, slots, stages, bytes;
  /// Of one slot.
  uint64_t slotBytes;
  /// Of the host workspace, and where its slots begin, behind what an iteration
  /// has there.
  uint64_t hostBytes, hostSlots;
};
/// False if the bytes do not fit 64 bits, or the bodies have not what the loop
/// carries. `advance` is null if the loop has none.
bool findLoopWorkspace(const remat_loop &loop, const Table &body,
                       const Table *advance, LoopWorkspace &workspace);

/// Which argument of a loop's body is the first behind what is carried and the
/// invariants: of a loop with an advance a state, else an element of a slice.
inline uint64_t firstState(const remat_loop &loop) {
  return uint64_t(loop.carried) + loop.invariants;
}
/// How many slices and stacks a loop has, with the slices of its advance.
inline uint64_t partsOf(const remat_loop &loop) {
  return uint64_t(loop.slices) + loop.stacks + loop.advance_slices;
}
/// Whether part `i` of a loop in this table, a slice, then a stack, then a
/// slice of its advance, is a list: a buffer for each iteration.
inline bool isList(const Table &table, const remat_loop &loop, uint64_t i) {
  return loop.lists != 0 && table.loopLists[loop.lists - 1 + i] != 0;
}
/// How many buffers an entry has for the parts of a loop from `first` on and
/// before `last`; more than any entry has if it were 2^32 for one of them.
uint64_t countBuffers(const Table &table, const remat_loop &loop,
                      uint64_t first, uint64_t last);
/// The advance of a loop in this table, or null.
inline const Table *advanceOf(const Table &table, const remat_loop &loop) {
  return loop.advance == REMAT_NONE ? nullptr : &table.bodyTables[loop.advance];
}

/// Whether value `i` that a loop carries is updated in place by its body.
inline bool isInPlace(const Table &body, uint32_t i) {
  return body.arguments[i].donation == i;
}

/// Whether an entry may write over the buffer `root`, which is no result of it,
/// before it ends: a loop does where an earlier iteration alone reads that,
/// which is checked where loops are.
inline bool mayBeOverwritten(const Table &table, uint32_t entry,
                             uint32_t root) {
  return table.entries[entry].kind == REMAT_ENTRY_LOOP &&
         table.buffers[root].reused;
}

/// Finds the lifetimes; checks that nothing is read before it is written, that
/// live buffers do not overlap, that all results are written, and that what a
/// call leaves for another is where it lasts.
bool findLifetimes(const Table &table, Lifetimes &lifetimes,
                   std::string &error);

/// Checks that streams and waits order all entries that use the same bytes, if
/// one of them writes: whatever they run beside, each reads what the entry
/// before it in the table wrote. Names the two entries and the bytes if not.
bool checkOrder(const Table &table, std::string &error);

/// Bytes of a tensor; false on a bad type, a negative extent or overflow.
bool tensorBytes(int32_t dtype, const int64_t *dims, uint32_t rank,
                 uint64_t &bytes);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_TABLE_H
