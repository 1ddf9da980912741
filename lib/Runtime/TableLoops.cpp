//===- TableLoops.cpp - checks the loops of a table -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bodies of loops are tables within the table, which are read and checked
// by the same functions. What follows from that is checked here: that a body
// fits its loop, and the loop its entry.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Table.h"
#include "remat/Schedules/Revolve.h"

#include <algorithm>

using namespace remat;

namespace {

bool fail(std::string &error, std::string text) {
  error = std::move(text);
  return false;
}

std::string number(uint64_t value) { return std::to_string(value); }

/// The module that a body would be.
bool findBody(const remat_module &module, const Table &t, uint32_t index,
              remat_module &body, std::string &error) {
  const remat_section &range = t.bodies[index];
  std::string name = "body " + number(index);
  uint64_t end;
  if (__builtin_add_overflow(range.offset, range.count, &end) ||
      end > t.header.body_bytes.count)
    return fail(error, name + " lies outside of section 'body_bytes'");
  if (range.offset % REMAT_ALIGNMENT != 0)
    return fail(error, name + " is at byte " + number(range.offset) +
                           ", expected a multiple of " +
                           number(REMAT_ALIGNMENT));
  // Else a few bytes could stand for any number of tables.
  if (index > 0 &&
      range.offset < t.bodies[index - 1].offset + t.bodies[index - 1].count)
    return fail(error, name + " begins before the end of the one before it");
  body = module;
  body.blob = t.bodyBytes + range.offset;
  body.blob_bytes = range.count;
  return true;
}

/// What a step may be that is not run by a caller.
bool checkBody(const Table &body, std::string &error) {
  if (body.callBegins.size() != 2)
    return fail(error, "has " + number(body.callBegins.size() - 1) +
                           " calls, expected 1");
  if (body.header.state_bytes != 0)
    return fail(error, "has a state of " + number(body.header.state_bytes) +
                           " bytes, expected 0");
  if (!body.packedValues.empty())
    return fail(error, "has " + number(body.packedValues.size()) +
                           " packed values, expected 0");
  for (uint32_t i = 0; i < body.entries.size(); ++i)
    if (body.entries[i].stream != REMAT_STREAM_COMPUTE)
      return fail(error, "has " + body.describe(i) + " in stream " +
                             number(body.entries[i].stream) +
                             ", expected all in stream " +
                             number(REMAT_STREAM_COMPUTE));
  return true;
}

bool isSameType(const Table &t, const remat_signature &a, const Table &u,
                const remat_signature &b) {
  auto dims = t.dims.begin() + a.dims;
  return a.dtype == b.dtype && a.rank == b.rank &&
         std::equal(dims, dims + a.rank, u.dims.begin() + b.dims);
}

/// Arguments and results of a body, of which the first `carried` are carried.
/// These may be updated in place, and the arguments from `firstSlice` on may
/// give their buffers to what is stacked.
bool checkCarried(const Table &body, const std::string &name, uint64_t carried,
                  uint64_t firstSlice, uint64_t arguments, uint64_t results,
                  std::string &error) {
  if (body.arguments.size() != arguments || body.results.size() != results)
    return fail(error, name + number(body.arguments.size()) +
                           " arguments and " + number(body.results.size()) +
                           " results, expected " + number(arguments) + " and " +
                           number(results));
  for (uint32_t i = 0; i < arguments; ++i) {
    const remat_signature &argument = body.arguments[i];
    bool isUpdated = i < carried
                         ? argument.donation == i
                         : i >= firstSlice && argument.donation >= carried;
    if (argument.donation != REMAT_NONE && !isUpdated)
      return fail(error, name + "argument " + number(i) +
                             " in the buffer of result " +
                             number(argument.donation) +
                             ", expected that of a carried value or of an "
                             "element of a slice");
    if (i < carried && !isSameType(body, argument, body, body.results[i]))
      return fail(error, name + "argument and result " + number(i) +
                             " of different types, expected what is carried");
  }
  return true;
}

/// The part of a loop that makes states.
bool checkAdvance(const Table &t, const remat_loop &loop, std::string &error) {
  if (loop.advance >= t.bodyTables.size() || loop.advance == loop.body)
    return fail(error, "advances with body " + number(loop.advance) + " of " +
                           number(t.bodyTables.size()) +
                           ", expected another than its own");
  if (loop.slots < 1)
    return fail(error, "has " + std::to_string(loop.slots) +
                           " slots for states, expected at least 1");
  if (loop.host_slots < 0 || loop.period < (loop.host_slots > 0 ? 1 : 0) ||
      (loop.host_slots == 0 && loop.period != 0))
    return fail(error, "has " + std::to_string(loop.host_slots) +
                           " slots on the host with a period of " +
                           std::to_string(loop.period) +
                           ", expected both above 0, or none");
  const Table &advance = t.bodyTables[loop.advance];
  const Table &body = t.bodyTables[loop.body];
  uint64_t states = advance.results.size();
  std::string name = "advances with body " + number(loop.advance) + " with ";
  uint64_t arguments = states + loop.advance_invariants + loop.advance_slices;
  if (!checkCarried(advance, name, states, arguments, arguments, states, error))
    return false;
  for (uint64_t i = 0; i < states; ++i)
    if (!isSameType(advance, advance.results[i], body,
                    body.arguments[firstState(loop) + i]))
      return fail(error, "has argument " + number(firstState(loop) + i) +
                             " of its body of another type than state " +
                             number(i));
  return true;
}

/// Whether argument `number` of a body is one `dtype`.
bool isNumber(const Table &body, uint32_t number, remat_dtype dtype) {
  return number < body.arguments.size() &&
         body.arguments[number].dtype == dtype &&
         body.arguments[number].rank == 0;
}

/// What says how often a loop runs.
bool checkCount(const remat_loop &loop, std::string &error) {
  const unsigned whenRun = REMAT_LOOP_TRIPS | REMAT_LOOP_WHILE;
  if (loop.flags & ~(unsigned(REMAT_LOOP_REVERSE) | whenRun))
    return fail(error, "has unknown flags: " + number(loop.flags));
  if (loop.count < 0 || (loop.count == 0 && !(loop.flags & whenRun)))
    return fail(error, "has " + std::to_string(loop.count) +
                           " iterations, expected at least 1");
  if (loop.count == 0 &&
      (loop.slices != 0 || loop.stacks != 0 || loop.advance != REMAT_NONE))
    return fail(error, "has slices, stacks or an advance without a limit of "
                       "its iterations, expected at least 1");
  if ((loop.flags & REMAT_LOOP_WHILE) &&
      (loop.flags != REMAT_LOOP_WHILE || loop.advance != REMAT_NONE))
    return fail(error, "ends when its body says so, and has flags " +
                           number(loop.flags) +
                           " or an advance, expected flags " +
                           number(REMAT_LOOP_WHILE) + " and none");
  return true;
}

/// Which parts of a loop are lists.
bool checkLists(const Table &t, const remat_loop &loop, std::string &error) {
  if (loop.lists == 0)
    return true;
  uint64_t end = loop.lists - 1 + partsOf(loop);
  if (end > t.loopLists.size())
    return fail(error, "has lists up to " + number(end) + " of " +
                           number(t.loopLists.size()));
  for (uint64_t i = loop.lists - 1; i < end; ++i)
    if (t.loopLists[i] > 1)
      return fail(error, "has " + number(t.loopLists[i]) + " as list " +
                             number(i) + ", expected 0 or 1");
  if (loop.flags & (REMAT_LOOP_TRIPS | REMAT_LOOP_WHILE))
    return fail(error, "has lists and flags " + number(loop.flags) +
                           ", expected as many iterations as elements");
  return true;
}

/// A loop against the bodies that it names.
bool checkLoop(const Table &t, const remat_loop &loop, std::string &error) {
  if (!checkCount(loop, error) || !checkLists(t, loop, error))
    return false;
  if (loop.body >= t.bodyTables.size())
    return fail(error, "runs body " + number(loop.body) + " of " +
                           number(t.bodyTables.size()));
  bool hasAdvance = loop.advance < t.bodyTables.size();
  uint64_t states = hasAdvance ? t.bodyTables[loop.advance].results.size() : 0;
  // Elements of iterations that do not run are zeros, which an update in place
  // would not leave.
  uint64_t arguments = firstState(loop) + states + loop.slices;
  bool runsAll = !(loop.flags & (REMAT_LOOP_TRIPS | REMAT_LOOP_WHILE));
  if (!checkCarried(t.bodyTables[loop.body],
                    "has body " + number(loop.body) + " with ", loop.carried,
                    runsAll ? firstState(loop) + states : arguments, arguments,
                    uint64_t(loop.carried) + loop.stacks, error))
    return false;
  if ((loop.flags & REMAT_LOOP_WHILE) &&
      (loop.carried < 2 || !isNumber(t.bodyTables[loop.body], 0, REMAT_I1) ||
       !isNumber(t.bodyTables[loop.body], 1, REMAT_I64)))
    return fail(error, "ends when its body says so, expected an i1 and an i64 "
                       "in front of what it carries");
  if (loop.advance != REMAT_NONE)
    return checkAdvance(t, loop, error);
  if (loop.advance_invariants != 0 || loop.advance_slices != 0 ||
      loop.slots != 0 || loop.host_slots != 0 || loop.period != 0)
    return fail(error, "has slots or operands of an advance, but none");
  return true;
}

/// Whether two buffers of an entry overlap. A result that an argument gives its
/// buffer to is in that argument's memory.
bool shareBytes(const Table &t, const remat_buffer &a, const remat_buffer &b) {
  auto memory = [&](const remat_buffer &buffer) {
    uint32_t donor = buffer.space == REMAT_SPACE_RESULT
                         ? t.results[buffer.index].donation
                         : REMAT_NONE;
    return donor == REMAT_NONE
               ? std::pair<int32_t, uint32_t>(buffer.space, buffer.index)
               : std::pair<int32_t, uint32_t>(REMAT_SPACE_ARGUMENT, donor);
  };
  return memory(a) == memory(b) && a.bytes > 0 && b.bytes > 0 &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

/// Checks that a buffer holds `bytes` bytes, and no more but padding.
bool checkBytes(const Table &t, uint32_t index, const std::string &what,
                const remat_buffer &buffer, uint64_t bytes,
                std::string &error) {
  uint64_t padded = 0;
  if (alignBytes(bytes, padded) &&
      (buffer.used == bytes || buffer.used == padded))
    return true;
  return fail(error, t.describe(index) + " has " + what + " of " +
                         number(buffer.used) + " bytes, expected " +
                         number(bytes));
}

/// Values that an entry has, one after the other.
class ValueChecker {
public:
  ValueChecker(const Table &t, uint32_t index, std::string &error)
      : t(t), index(index), error(error) {}

  /// The next value is one i64.
  bool checkNumber() {
    const remat_buffer &buffer = t.operand(t.entries[index], use);
    return checkBytes(t, index, "operand " + number(use++), buffer,
                      sizeof(int64_t), error);
  }

  /// The next values are those of `count` signatures, from number `first` on.
  bool check(const Table &body, const std::vector<remat_signature> &signatures,
             uint64_t first, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i)
      if (!checkNext(body.bytesOf(signatures[first + i])))
        return false;
    return true;
  }

  /// The next values are `count` parts of the loop, from `part` on, whose
  /// elements are those of signatures from number `first` on: in one buffer for
  /// all iterations, or in one for each.
  bool checkParts(const Table &body,
                  const std::vector<remat_signature> &signatures,
                  uint64_t first, uint64_t part, uint64_t count) {
    const remat_loop &loop = t.loops[t.entries[index].callee];
    auto iterations = static_cast<uint64_t>(loop.count);
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t bytes = body.bytesOf(signatures[first + i]);
      bool isOne = !isList(t, loop, part + i);
      if (isOne && __builtin_mul_overflow(bytes, iterations, &bytes))
        return fail(error, t.describe(index) + " has " + describeNext() +
                               " of more bytes than fit 64 bits");
      for (uint64_t j = 0; j < (isOne ? 1 : iterations); ++j)
        if (!checkNext(bytes))
          return false;
    }
    return true;
  }

private:
  std::string describeNext() const {
    const remat_entry &e = t.entries[index];
    bool isOperand = use < e.operand_count;
    return (isOperand ? "operand " : "result ") +
           number(isOperand ? use : use - e.operand_count);
  }
  bool checkNext(uint64_t bytes) {
    std::string name = describeNext();
    return checkBytes(t, index, name, t.operand(t.entries[index], use++), bytes,
                      error);
  }

  const Table &t;
  const uint32_t index;
  std::string &error;
  uint32_t use = 0;
};

bool checkValues(const Table &t, uint32_t index, std::string &error) {
  const remat_loop &loop = t.loops[t.entries[index].callee];
  const Table &body = t.bodyTables[loop.body];
  const Table *advance = advanceOf(t, loop);
  uint64_t states = advance ? advance->results.size() : 0;
  ValueChecker values(t, index, error);
  uint64_t firstStack = loop.slices, firstOfAdvance = firstStack + loop.stacks;
  if (!values.check(body, body.arguments, 0, firstState(loop)) ||
      !values.checkParts(body, body.arguments, firstState(loop) + states, 0,
                         loop.slices))
    return false;
  if (advance && (!values.check(*advance, advance->arguments, 0,
                                states + loop.advance_invariants) ||
                  !values.checkParts(*advance, advance->arguments,
                                     states + loop.advance_invariants,
                                     firstOfAdvance, loop.advance_slices)))
    return false;
  if ((loop.flags & REMAT_LOOP_TRIPS) && !values.checkNumber())
    return false;
  return values.check(body, body.results, 0, loop.carried) &&
         values.checkParts(body, body.results, loop.carried, firstStack,
                           loop.stacks);
}

/// The operand of an entry that its result `index` may lie in: what is carried
/// and updated in place; and the element of a slice that an iteration writes an
/// element of a stack over, or a whole slice whose iterations do. More than any
/// entry has if there is none.
uint64_t findUpdatedOperand(const Table &t, const remat_loop &loop,
                            uint64_t index) {
  const Table &body = t.bodyTables[loop.body];
  if (index < loop.carried)
    return isInPlace(body, index) ? index : REMAT_NONE;
  uint64_t element = index - loop.carried, stack = 0;
  auto countOf = [&](uint64_t part) {
    return countBuffers(t, loop, part, part + 1);
  };
  while (element >= countOf(loop.slices + stack))
    element -= countOf(loop.slices + stack++);
  uint32_t donor = body.results[loop.carried + stack].donation;
  if (donor == REMAT_NONE)
    return REMAT_NONE;
  const Table *advance = advanceOf(t, loop);
  uint64_t slice =
      donor - firstState(loop) - (advance ? advance->results.size() : 0);
  if (countOf(slice) != countOf(loop.slices + stack))
    return REMAT_NONE;
  return firstState(loop) + countBuffers(t, loop, 0, slice) + element;
}

/// When iterations use the operands and the results of an entry.
class Iterations {
public:
  Iterations(const Table &t, const remat_entry &e) {
    const remat_loop &loop = t.loops[e.callee];
    reads.assign(e.operand_count, INT64_MAX);
    writes.assign(e.result_count, INT64_MIN);
    // Where the number of iterations is known when it runs, none has a buffer
    // of its own.
    uint64_t firstStack = loop.slices,
             firstOfAdvance = firstStack + loop.stacks;
    addParts(t, loop, 0, firstStack, firstState(loop), 0, reads);
    addParts(t, loop, firstStack, firstOfAdvance, loop.carried, 0, writes);
    // The states before an iteration are made for the last time when all that
    // is behind it has been reversed, and it has not.
    if (const Table *advance = advanceOf(t, loop))
      addParts(t, loop, firstOfAdvance, partsOf(loop),
               firstState(loop) + countBuffers(t, loop, 0, firstStack) +
                   advance->results.size() + loop.advance_invariants,
               /*before=*/1, reads);
  }

  /// Whether the last iteration that uses operand `j` comes before that which
  /// alone writes result `i`.
  bool isReadBefore(uint32_t j, uint32_t i) const {
    return reads[j] < writes[i];
  }

private:
  static void addParts(const Table &t, const remat_loop &loop, uint64_t first,
                       uint64_t last, uint64_t begin, int64_t before,
                       std::vector<int64_t> &uses) {
    for (uint64_t part = first; part < last; ++part) {
      uint64_t count = countBuffers(t, loop, part, part + 1);
      if (isList(t, loop, part))
        for (uint64_t i = 0; i < count; ++i)
          uses[begin + i] = static_cast<int64_t>(loop.flags & REMAT_LOOP_REVERSE
                                                     ? count - 1 - i
                                                     : i) -
                            before;
      begin += count;
    }
  }

  /// By operand and by result, the place in the order of iterations: above all
  /// places for what any may read, and below them for what any may write.
  std::vector<int64_t> reads, writes;
};

/// Whether iterations can read what they read, whatever they write.
bool checkOverlaps(const Table &t, uint32_t index, std::string &error) {
  const remat_entry &e = t.entries[index];
  const remat_loop &loop = t.loops[e.callee];
  Iterations iterations(t, e);
  for (uint32_t i = 0; i < e.result_count; ++i) {
    const remat_buffer &result = t.result(e, i);
    uint64_t updated = findUpdatedOperand(t, loop, i);
    for (uint32_t j = 0; j < e.operand_count; ++j) {
      const remat_buffer &operand = t.operand(e, j);
      bool isOne = j == updated && operand.offset == result.offset;
      if (!isOne && !iterations.isReadBefore(j, i) &&
          shareBytes(t, operand, result))
        return fail(error, t.describe(index) + " has result " + number(i) +
                               " that overlaps operand " + number(j));
    }
    for (uint32_t j = 0; j < i; ++j)
      if (shareBytes(t, t.result(e, j), result))
        return fail(error, t.describe(index) + " has results " + number(j) +
                               " and " + number(i) + " that overlap");
  }
  return true;
}

} // namespace

uint64_t remat::countBuffers(const Table &table, const remat_loop &loop,
                             uint64_t first, uint64_t last) {
  uint64_t buffers = 0;
  auto count = static_cast<uint64_t>(loop.count);
  for (uint64_t i = first; i < last; ++i)
    buffers +=
        isList(table, loop, i) ? std::min<uint64_t>(count, REMAT_NONE) : 1;
  return buffers;
}

bool remat::readBodies(const remat_module &module, Table &table, unsigned depth,
                       std::string &error) {
  table.bodyTables.clear();
  if (!table.bodies.empty() && depth >= REMAT_LOOP_NESTING)
    return fail(error, "has loops that are in " + number(depth) +
                           " others, expected less");
  for (uint32_t i = 0; i < table.bodies.size(); ++i) {
    remat_module body;
    if (!findBody(module, table, i, body, error))
      return false;
    table.bodyTables.emplace_back();
    if (!readTable(body, table.bodyTables.back(), error, depth + 1))
      return fail(error, "body " + number(i) + ": " + error);
    if (!checkBody(table.bodyTables.back(), error))
      return fail(error, "body " + number(i) + " " + error);
  }
  for (size_t i = 0; i < table.loops.size(); ++i)
    if (!checkLoop(table, table.loops[i], error))
      return fail(error, "loop " + number(i) + " " + error);
  return true;
}

bool remat::checkBodies(const remat_module *module, const Table &table,
                        std::string &error) {
  for (size_t i = 0; i < table.bodyTables.size(); ++i) {
    Lifetimes lifetimes;
    const Table &body = table.bodyTables[i];
    if (!checkEntries(module, body, error) ||
        !findLifetimes(body, lifetimes, error) || !checkOrder(body, error))
      return fail(error, "body " + number(i) + ": " + error);
  }
  return true;
}

/// Adds the bytes of the first `count` results of a body, each rounded up.
static bool addResults(const Table &body, uint64_t count, bool withInPlace,
                       uint64_t &bytes) {
  if (count > body.results.size() || count > body.arguments.size())
    return false;
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t padded = 0;
    if ((withInPlace || !isInPlace(body, i)) &&
        (!alignBytes(body.bytesOf(body.results[i]), padded) ||
         __builtin_add_overflow(bytes, padded, &bytes)))
      return false;
  }
  return true;
}

bool remat::findLoopWorkspace(const remat_loop &loop, const Table &body,
                              const Table *advance, LoopWorkspace &workspace) {
  workspace = {};
  uint64_t arena = body.header.arena_bytes;
  if (advance)
    arena = std::max(arena, advance->header.arena_bytes);
  if (!alignBytes(arena, workspace.copies))
    return false;
  uint64_t end = workspace.copies;
  if (!addResults(body, loop.carried, /*withInPlace=*/false, end))
    return false;
  workspace.states = workspace.otherStates = workspace.slots = end;
  workspace.stages = workspace.bytes = end;
  workspace.hostBytes = body.header.host_bytes;
  if (advance)
    workspace.hostBytes =
        std::max(workspace.hostBytes, advance->header.host_bytes);
  if (!alignBytes(workspace.hostBytes, workspace.hostSlots))
    return false;
  workspace.hostBytes = workspace.hostSlots;
  if (!advance)
    return true;
  uint64_t states = advance->results.size();
  bool areInStages = areAllOnHost(loop.count, loop.host_slots, loop.period);
  if (!areInStages && !addResults(*advance, states, /*withInPlace=*/true, end))
    return false;
  workspace.otherStates = end;
  if (!areInStages && !addResults(*advance, states, /*withInPlace=*/false, end))
    return false;
  workspace.slots = end;
  if (!addResults(*advance, states, /*withInPlace=*/true, workspace.slotBytes))
    return false;
  // All of the following are at least 0 in a loop that was checked.
  auto add = [&](int64_t slots, uint64_t &bytes) {
    uint64_t more = 0;
    return slots >= 0 &&
           !__builtin_mul_overflow(workspace.slotBytes,
                                   static_cast<uint64_t>(slots), &more) &&
           !__builtin_add_overflow(bytes, more, &bytes);
  };
  bool isOnHost = loop.host_slots > 0;
  int64_t longest = isOnHost ? std::min(loop.period, loop.count) : loop.count;
  if (!add(std::min(loop.slots, longest) - 1, end))
    return false;
  workspace.stages = end;
  if (!add(isOnHost ? 2 : 0, end))
    return false;
  workspace.bytes = end;
  return !isOnHost ||
         (longest > 0 &&
          add(std::min(loop.host_slots, segmentsOf(loop.count, longest) - 1),
              workspace.hostBytes));
}

bool remat::checkLoopEntry(const Table &t, uint32_t index, std::string &error) {
  const remat_entry &e = t.entries[index];
  const remat_loop &loop = t.loops[e.callee];
  const Table &body = t.bodyTables[loop.body];
  const Table *advance = advanceOf(t, loop);
  uint64_t firstOfAdvance = uint64_t(loop.slices) + loop.stacks;
  uint64_t operands = firstState(loop) + countBuffers(t, loop, 0, loop.slices);
  uint64_t results = uint64_t(loop.carried) +
                     countBuffers(t, loop, loop.slices, firstOfAdvance);
  if (advance)
    operands += advance->results.size() + loop.advance_invariants +
                countBuffers(t, loop, firstOfAdvance, partsOf(loop));
  if (loop.flags & REMAT_LOOP_TRIPS)
    ++operands;
  if (e.operand_count != operands || e.result_count != results)
    return fail(error, t.describe(index) + " has " + number(e.operand_count) +
                           " operands and " + number(e.result_count) +
                           " results, expected " + number(operands) + " and " +
                           number(results));
  if (!checkValues(t, index, error) || !checkOverlaps(t, index, error))
    return false;
  uint64_t room = e.workspace == REMAT_NONE ? 0 : t.buffers[e.workspace].bytes;
  LoopWorkspace needed;
  if (!findLoopWorkspace(loop, body, advance, needed))
    return fail(error, t.describe(index) +
                           " needs a workspace of more bytes than fit 64 bits");
  if (room < needed.bytes)
    return fail(error, t.describe(index) + " has a workspace of " +
                           number(room) + " bytes, expected at least " +
                           number(needed.bytes));
  room = e.host_workspace == REMAT_NONE ? 0 : t.buffers[e.host_workspace].bytes;
  if (room < needed.hostBytes)
    return fail(error, t.describe(index) + " has a workspace on the host of " +
                           number(room) + " bytes, expected at least " +
                           number(needed.hostBytes));
  return true;
}
