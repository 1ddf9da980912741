//===- TableEntries.cpp - checks the schedule of a table ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What entries need of their callees and buffers, and when buffers live.
//
//===----------------------------------------------------------------------===//

#include "Descriptors.h"
#include "Table.h"

#include <map>
#include <utility>

using namespace remat;

namespace {

bool fail(std::string &error, std::string text) {
  error = std::move(text);
  return false;
}

std::string number(uint64_t value) { return std::to_string(value); }

bool overlap(const remat_buffer &a, const remat_buffer &b) {
  return a.space == b.space && a.index == b.index && a.bytes > 0 &&
         b.bytes > 0 && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

/// Checks what an entry has of the step's memory for itself, if anything.
bool checkWorkspace(const Table &t, uint32_t index, uint32_t workspace,
                    remat_space space, std::string &error) {
  if (workspace == REMAT_NONE)
    return true;
  if (workspace >= t.buffers.size())
    return fail(error, t.describe(index) + " has no such workspace, buffer " +
                           number(workspace));
  const remat_buffer &buffer = t.buffers[workspace];
  if (buffer.space == space && buffer.root == workspace &&
      buffer.offset % REMAT_ALIGNMENT == 0)
    return true;
  return fail(error, t.describe(index) +
                         " has a workspace that is not an "
                         "aligned buffer of the " +
                         (space == REMAT_SPACE_ARENA ? "arena" : "host arena"));
}

bool checkUses(const Table &t, uint32_t index, std::string &error) {
  const remat_entry &e = t.entries[index];
  uint64_t count = uint64_t(e.operand_count) + e.result_count;
  if (count > t.uses.size() || e.first_use > t.uses.size() - count)
    return fail(error,
                t.describe(index) + " has operands outside of the table");
  for (uint64_t i = 0; i < count; ++i)
    if (t.uses[e.first_use + i] >= t.buffers.size())
      return fail(error, t.describe(index) + " uses buffer " +
                             number(t.uses[e.first_use + i]) + " of " +
                             number(t.buffers.size()));
  for (uint32_t i = 0; i < e.result_count; ++i) {
    const remat_buffer &result = t.result(e, i);
    if (result.space == REMAT_SPACE_CONSTANT ||
        (result.space == REMAT_SPACE_ARGUMENT &&
         t.arguments[result.index].donation == REMAT_NONE))
      return fail(error,
                  t.describe(index) + " writes to an argument or a constant");
  }
  // Kernels of a device do not reach the caller's host memory.
  if (e.kind != REMAT_ENTRY_COPY)
    for (uint64_t i = 0; i < count; ++i) {
      const remat_buffer &used = t.buffers[t.uses[e.first_use + i]];
      if (used.space != REMAT_SPACE_HOST && t.isOnHost(used))
        return fail(error,
                    t.describe(index) +
                        (used.space == REMAT_SPACE_ARGUMENT ? " uses argument "
                                                            : " uses result ") +
                        number(used.index) +
                        ", which is in host memory, expected a copy");
    }
  if (e.host_workspace != REMAT_NONE && e.kind != REMAT_ENTRY_LOOP)
    return fail(error, t.describe(index) +
                           " has a workspace on the host, expected a loop");
  return checkWorkspace(t, index, e.workspace, REMAT_SPACE_ARENA, error) &&
         checkWorkspace(t, index, e.host_workspace, REMAT_SPACE_HOST, error);
}

/// Only copies leave the computation's stream, and nothing waits for what comes
/// later.
bool checkStream(const Table &t, uint32_t index, std::string &error) {
  const remat_entry &e = t.entries[index];
  if (e.stream >= REMAT_STREAM_COUNT)
    return fail(error, t.describe(index) + " is in stream " + number(e.stream) +
                           " of " + number(REMAT_STREAM_COUNT));
  if (e.stream != REMAT_STREAM_COMPUTE && e.kind != REMAT_ENTRY_COPY)
    return fail(error, t.describe(index) + " is in stream " + number(e.stream) +
                           ", expected a copy there");
  if (e.wait_count > t.waits.size() ||
      e.first_wait > t.waits.size() - e.wait_count)
    return fail(error, t.describe(index) + " has waits outside of the table");
  for (uint32_t i = 0; i < e.wait_count; ++i)
    if (t.waits[e.first_wait + i] >= index)
      return fail(error, t.describe(index) + " waits for entry " +
                             number(t.waits[e.first_wait + i]) +
                             ", which is not before it");
  return true;
}

/// Operand and result counts, sizes, and overlaps of a library call.
bool checkLibraryEntry(const Table &t, uint32_t index,
                       const Footprint &footprint, const MatmulExtras &extras,
                       std::string &error) {
  const remat_entry &e = t.entries[index];
  uint32_t operands = extras.countOperands(), results = extras.countResults();
  if (e.operand_count != operands || e.result_count != results)
    return fail(error, t.describe(index) + " has " + number(e.operand_count) +
                           " operands and " + number(e.result_count) +
                           " results, expected " + number(operands) + " and " +
                           number(results));
  for (uint32_t i = 0; i < operands; ++i) {
    bool isHeld = extras.accumulates && i == 2;
    const remat_buffer &operand = t.operand(e, i);
    uint64_t read = i < 2    ? footprint.operands[i]
                    : isHeld ? footprint.result
                             : footprint.epilogueOperand;
    if (operand.bytes < read)
      return fail(error, t.describe(index) +
                             (isHeld ? " adds to " : " reads ") + number(read) +
                             " bytes of operand " + number(i) + ", which has " +
                             number(operand.bytes));
    for (uint32_t j = 0; j < results; ++j) {
      const remat_buffer &result = t.result(e, j);
      if (isHeld && j == 0) {
        if (operand.offset != result.offset && overlap(operand, result))
          return fail(error,
                      t.describe(index) +
                          " has a result that overlaps a part of operand 2");
      } else if (overlap(operand, result)) {
        return fail(error, t.describe(index) +
                               " has a result that overlaps operand " +
                               number(i));
      }
    }
  }
  for (uint32_t j = 0; j < results; ++j) {
    uint64_t written = j == 0 ? footprint.result : footprint.epilogueResult;
    if (t.result(e, j).bytes < written)
      return fail(error, t.describe(index) + " writes " + number(written) +
                             " bytes of its result, which has " +
                             number(t.result(e, j).bytes));
  }
  if (results == 2 && overlap(t.result(e, 0), t.result(e, 1)))
    return fail(error, t.describe(index) + " has results that overlap");
  return true;
}

/// Sizes of what a codec of the caller reads and writes.
bool checkPackedValue(const Table &t, uint32_t index, std::string &error) {
  const remat_entry &e = t.entries[index];
  if (e.operand_count != 1 || e.result_count != 1)
    return fail(error, t.describe(index) +
                           " packs without exactly one operand and one result");
  const remat_packed_value &v = t.packedValues[e.callee];
  uint64_t bytes = 0;
  tensorBytes(v.dtype, t.dims.data() + v.dims, v.rank, bytes);
  bool packs = e.kind == REMAT_ENTRY_PACK;
  uint64_t read = packs ? bytes : v.packed_bytes;
  uint64_t written = packs ? v.packed_bytes : bytes;
  const remat_buffer &operand = t.operand(e, 0), &result = t.result(e, 0);
  if (operand.bytes < read)
    return fail(error, t.describe(index) + " reads " + number(read) +
                           " bytes of operand 0, which has " +
                           number(operand.bytes));
  if (result.bytes < written)
    return fail(error, t.describe(index) + " writes " + number(written) +
                           " bytes of its result, which has " +
                           number(result.bytes));
  if (overlap(operand, result))
    return fail(error,
                t.describe(index) + " has a result that overlaps operand 0");
  return true;
}

/// What the launches of a kernel on a device take of an entry's workspace.
bool checkDeviceKernel(const Table &t, uint32_t index, uint32_t callee,
                       std::string &error) {
  const remat_entry &e = t.entries[index];
  const remat_device_kernel &kernel = t.kernels[callee];
  uint64_t bytes = e.workspace == REMAT_NONE ? 0 : t.buffers[e.workspace].bytes;
  for (uint32_t i = 0; i < kernel.scratch_count; ++i)
    if (t.scratch[kernel.first_scratch + i] > bytes)
      return fail(error, t.describe(index) + " has a workspace of " +
                             number(bytes) + " bytes, its kernel uses byte " +
                             number(t.scratch[kernel.first_scratch + i]));
  return true;
}

/// What the code takes that carries a convolution out where no library does.
bool checkConvolutionCode(const Table &t, uint32_t index, std::string &error) {
  for (const remat_plan &plan : t.plans)
    if (plan.convolution == t.entries[index].callee &&
        plan.kernel != REMAT_NONE &&
        !checkDeviceKernel(t, index, plan.kernel, error))
      return false;
  return true;
}

bool checkCallee(const remat_module *module, const Table &t, uint32_t index,
                 std::string &error) {
  const remat_entry &e = t.entries[index];
  std::string reason;
  Footprint footprint;
  auto missing = [&](const char *what) {
    return fail(error, t.describe(index) + " calls " + what + " " +
                           number(e.callee) + ", which does not exist");
  };
  switch (e.kind) {
  case REMAT_ENTRY_KERNEL:
    if (module && (module->device_code ? e.callee >= t.kernels.size()
                                       : e.callee >= module->kernel_count ||
                                             !module->kernels[e.callee]))
      return missing("kernel");
    if (e.extent < 0 || e.grain < 1)
      return fail(error, t.describe(index) + " has extent " +
                             std::to_string(e.extent) + " and grain " +
                             std::to_string(e.grain));
    return !module || !module->device_code ||
           checkDeviceKernel(t, index, e.callee, error);
  case REMAT_ENTRY_MATMUL:
    if (e.callee >= t.matmuls.size())
      return missing("matmul");
    if (!checkMatmul(t.matmuls[e.callee], footprint, reason))
      return fail(error, t.describe(index) + ": " + reason);
    return checkLibraryEntry(t, index, footprint,
                             MatmulExtras(t.matmuls[e.callee]), error);
  case REMAT_ENTRY_CONVOLUTION:
    if (e.callee >= t.convolutions.size())
      return missing("convolution");
    if (!checkConvolution(t.convolutions[e.callee], footprint, reason))
      return fail(error, t.describe(index) + ": " + reason);
    return checkLibraryEntry(t, index, footprint,
                             MatmulExtras(t.convolutions[e.callee]), error) &&
           checkConvolutionCode(t, index, error);
  case REMAT_ENTRY_COPY:
    if (e.operand_count != 1 || e.result_count != 1)
      return fail(error, t.describe(index) +
                             " is a copy without exactly one operand and one "
                             "result");
    if (overlap(t.operand(e, 0), t.result(e, 0)))
      return fail(error, t.describe(index) + " copies a buffer onto itself");
    return true;
  case REMAT_ENTRY_RELEASE:
    if (e.operand_count != 1 || e.result_count != 0)
      return fail(error, t.describe(index) + " is a release with " +
                             number(e.operand_count) + " operands and " +
                             number(e.result_count) +
                             " results, expected 1 and 0");
    return true;
  case REMAT_ENTRY_PACK:
  case REMAT_ENTRY_UNPACK:
    if (e.callee >= t.packedValues.size())
      return missing("packed value");
    return checkPackedValue(t, index, error);
  case REMAT_ENTRY_LOOP:
    if (e.callee >= t.loops.size())
      return missing("loop");
    return checkLoopEntry(t, index, error);
  default:
    return fail(error, t.describe(index) + " has unknown kind " +
                           std::to_string(e.kind));
  }
}

/// The roots that are live at some point of the schedule, by address.
class LiveRanges {
public:
  /// Adds a root; REMAT_NONE, or the live root that it overlaps.
  uint32_t insert(const Table &t, uint32_t root) {
    const remat_buffer &buffer = t.buffers[root];
    if (buffer.bytes == 0)
      return REMAT_NONE;
    auto &live = ranges[{buffer.space, buffer.index}];
    auto next = live.lower_bound(buffer.offset);
    if (next != live.end() && overlap(t.buffers[next->second], buffer))
      return next->second;
    if (next != live.begin() &&
        overlap(t.buffers[std::prev(next)->second], buffer))
      return std::prev(next)->second;
    live[buffer.offset] = root;
    return REMAT_NONE;
  }

  void erase(const Table &t, uint32_t root) {
    const remat_buffer &buffer = t.buffers[root];
    auto &live = ranges[{buffer.space, buffer.index}];
    auto found = live.find(buffer.offset);
    if (found != live.end() && found->second == root)
      live.erase(found);
  }

private:
  std::map<std::pair<int32_t, uint32_t>, std::map<uint64_t, uint32_t>> ranges;
};

/// The caller's buffers hold values all the time; others come and go. A result
/// comes when it is written, since its buffer may be reused until then.
bool isBorn(const remat_buffer &buffer) {
  return buffer.space == REMAT_SPACE_ARENA ||
         buffer.space == REMAT_SPACE_HOST || buffer.space == REMAT_SPACE_RESULT;
}
bool isMortal(const remat_buffer &buffer) {
  return isBorn(buffer) &&
         (buffer.space != REMAT_SPACE_RESULT || buffer.reused);
}

/// Births, and what is read before it is written.
bool findBirths(const Table &t, std::vector<bool> &written,
                Lifetimes &lifetimes, std::string &error) {
  for (uint32_t i = 0; i < t.entries.size(); ++i) {
    const remat_entry &e = t.entries[i];
    for (uint32_t j = 0; j < e.operand_count; ++j) {
      const remat_buffer &operand = t.operand(e, j);
      bool given = operand.space == REMAT_SPACE_ARGUMENT ||
                   operand.space == REMAT_SPACE_CONSTANT;
      if (!given && operand.bytes > 0 && !written[operand.root])
        return fail(error, t.describe(i) + " reads buffer " +
                               number(operand.root) +
                               " before anything wrote it");
    }
    auto define = [&](uint32_t root) {
      if (!written[root] && isBorn(t.buffers[root]))
        lifetimes.births[i].push_back(root);
      written[root] = true;
    };
    for (uint32_t j = 0; j < e.result_count; ++j)
      define(t.result(e, j).root);
    for (uint32_t workspace : {e.workspace, e.host_workspace}) {
      if (workspace == REMAT_NONE)
        continue;
      if (written[workspace])
        return fail(error, t.describe(i) +
                               " has a workspace that is in use elsewhere");
      define(workspace);
    }
  }
  return true;
}

/// Checks that nothing reads an argument when another buffer of the result that
/// is in its place has been written, or is.
bool checkDonated(const Table &t, std::string &error) {
  std::vector<bool> gone(t.arguments.size(), false);
  for (uint32_t i = 0; i < t.entries.size(); ++i) {
    const remat_entry &e = t.entries[i];
    for (uint32_t j = 0; j < e.result_count; ++j) {
      const remat_buffer &result = t.result(e, j);
      if (result.space == REMAT_SPACE_RESULT &&
          t.results[result.index].donation != REMAT_NONE)
        gone[t.results[result.index].donation] = true;
    }
    for (uint32_t j = 0; j < e.operand_count; ++j) {
      const remat_buffer &operand = t.operand(e, j);
      if (operand.space == REMAT_SPACE_ARGUMENT && gone[operand.index])
        return fail(error, t.describe(i) + " reads argument " +
                               number(operand.index) +
                               ", which a result was written over");
    }
  }
  return true;
}

/// Deaths: at the last entry that uses the root in any way.
void findDeaths(const Table &t, Lifetimes &lifetimes) {
  std::vector<bool> dead(t.buffers.size(), false);
  for (size_t i = t.entries.size(); i-- > 0;) {
    const remat_entry &e = t.entries[i];
    auto use = [&](uint32_t buffer) {
      uint32_t root = t.buffers[buffer].root;
      // An empty buffer may be read without ever having been written.
      if (!dead[root] && isMortal(t.buffers[root]) && t.buffers[root].bytes > 0)
        lifetimes.deaths[i].push_back(root);
      dead[root] = true;
    };
    for (uint32_t j = 0; j < e.operand_count + e.result_count; ++j)
      use(t.uses[e.first_use + j]);
    for (uint32_t workspace : {e.workspace, e.host_workspace})
      if (workspace != REMAT_NONE)
        use(workspace);
  }
}

/// What a call leaves for another lies in the state or on the host; results are
/// no mortal buffers.
bool findInherited(const Table &t, Lifetimes &lifetimes, std::string &error) {
  std::vector<bool> live(t.buffers.size(), false);
  lifetimes.inherited.clear();
  for (size_t call = 0; call + 1 < t.callBegins.size(); ++call) {
    lifetimes.inherited.emplace_back();
    for (uint32_t root = 0; root < live.size(); ++root) {
      if (!live[root])
        continue;
      const remat_buffer &buffer = t.buffers[root];
      bool lasts = buffer.space == REMAT_SPACE_ARENA
                       ? buffer.offset + buffer.bytes <= t.header.state_bytes
                       : !buffer.reused;
      if (!lasts)
        return fail(error, "buffer " + number(root) +
                               " is needed by a later call but does not last");
      lifetimes.inherited.back().push_back(root);
    }
    for (uint32_t i = t.callBegins[call]; i < t.callBegins[call + 1]; ++i) {
      for (uint32_t root : lifetimes.births[i])
        live[root] = isMortal(t.buffers[root]) && t.buffers[root].bytes > 0;
      for (uint32_t root : lifetimes.deaths[i])
        live[root] = false;
    }
  }
  return true;
}

} // namespace

bool remat::checkEntries(const remat_module *module, const Table &table,
                         std::string &error) {
  if (!checkBodies(module, table, error))
    return false;
  for (uint32_t i = 0; i < table.entries.size(); ++i)
    if (!checkUses(table, i, error) || !checkStream(table, i, error) ||
        !checkCallee(module, table, i, error))
      return false;
  return true;
}

bool remat::findLifetimes(const Table &table, Lifetimes &lifetimes,
                          std::string &error) {
  lifetimes.births.assign(table.entries.size(), {});
  lifetimes.deaths.assign(table.entries.size(), {});
  std::vector<bool> written(table.buffers.size(), false);
  if (!findBirths(table, written, lifetimes, error) ||
      !checkDonated(table, error))
    return false;
  findDeaths(table, lifetimes);

  LiveRanges live;
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    for (uint32_t root : lifetimes.deaths[i])
      if (mayBeOverwritten(table, i, root))
        live.erase(table, root);
    for (uint32_t root : lifetimes.births[i]) {
      uint32_t other = live.insert(table, root);
      if (other != REMAT_NONE)
        return fail(error, table.describe(i) + " places buffer " +
                               number(root) + " over buffer " + number(other) +
                               ", which is still needed");
    }
    for (uint32_t root : lifetimes.deaths[i])
      live.erase(table, root);
  }
  if (!findInherited(table, lifetimes, error))
    return false;

  std::vector<bool> given(table.results.size(), false);
  for (uint32_t i = 0; i < table.buffers.size(); ++i) {
    const remat_buffer &buffer = table.buffers[i];
    if (written[i] && buffer.space == REMAT_SPACE_RESULT && !buffer.reused)
      given[buffer.index] = true;
    if (written[i] && buffer.space == REMAT_SPACE_ARGUMENT)
      given[table.arguments[buffer.index].donation] = true;
  }
  for (uint32_t i = 0; i < table.results.size(); ++i) {
    const remat_signature &s = table.results[i];
    uint64_t bytes = 0;
    tensorBytes(s.dtype, table.dims.data() + s.dims, s.rank, bytes);
    if (!given[i] && bytes > 0)
      return fail(error, "nothing writes result " + number(i) + " '" +
                             table.string(s.name) + "'");
  }
  return true;
}
