//===- FuzzLoops.cpp - damaged loops --------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels do nothing. What the runtime itself reads and writes is carried
// values and copies. Half of the steps are for a stand-in for a GPU, which
// knows the memory that each copy may use.
//
//===----------------------------------------------------------------------===//

#include "FuzzLoops.h"
#include "FakeCuda.h"
#include "FakeDeviceCode.h"
#include "FuzzDamage.h"
#include "Table.h"
#include "remat/Runtime/Runtime.h"
#include "remat/Runtime/StepTableBuilder.h"

using namespace remat;

namespace {

void touch(void *const *, int64_t, int64_t, remat_kernel_status *) {}

StepEntry makeEntry(remat_entry_kind kind, uint32_t callee,
                    std::vector<uint32_t> operands,
                    std::vector<uint32_t> results,
                    uint32_t workspace = REMAT_NONE) {
  StepEntry entry;
  entry.kind = kind;
  entry.callee = callee;
  entry.operands = std::move(operands);
  entry.results = std::move(results);
  entry.workspace = workspace;
  return entry;
}

/// Two carried values, the first in place if it is so, an invariant, a slice
/// and a stack, with `outer` in front of the dims of the last two. Buffers 0 to
/// 6 are the arguments and results.
StepTableBuilder makeSignature(const std::vector<int64_t> &outer,
                               bool isInPlace) {
  StepTableBuilder builder;
  std::vector<int64_t> element = outer;
  element.push_back(3);
  for (const char *name : {"a", "b", "w"})
    builder.addArgument(name, REMAT_F32, {3});
  builder.addArgument("x", REMAT_F32, element);
  for (const char *name : {"a", "b"})
    builder.addResult(name, REMAT_F32, {3});
  builder.addResult("s", REMAT_F32, element);
  for (uint32_t i = 0; i < 4; ++i)
    builder.addArgumentBuffer(i);
  if (isInPlace) {
    builder.addDonation(0, 0);
    builder.addView(0);
  } else {
    builder.addResultBuffer(0);
  }
  builder.addResultBuffer(1);
  builder.addResultBuffer(2);
  return builder;
}

/// The innermost body.
std::string makeCell(bool isInPlace, bool isForDevice) {
  StepTableBuilder builder = makeSignature({}, isInPlace);
  if (isForDevice)
    builder.addKernel(0, {{"touch", 1, 32, 0}}, {});
  uint32_t t = builder.addArenaBuffer(0, 12);
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {3}, {t}));
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {1}, {6}));
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {t}, {5}));
  builder.addEntry(makeEntry(REMAT_ENTRY_KERNEL, 0, {0, 2}, {4}));
  return builder.finalize();
}

/// A loop of `body` beside another entry.
std::string makeLoop(const std::string &body, const remat_loop &loop,
                     const std::vector<int64_t> &outer, bool isInPlace,
                     uint64_t workspaceBytes) {
  StepTableBuilder builder = makeSignature(outer, isInPlace);
  remat_loop added = loop;
  added.body = builder.addBody(body);
  uint32_t w = builder.addArenaBuffer(workspaceBytes, 12);
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {2}, {w}));
  builder.addEntry(makeEntry(REMAT_ENTRY_LOOP, builder.addLoop(added),
                             {0, 1, w, 3}, {4, 5, 6},
                             builder.addArenaBuffer(0, workspaceBytes)));
  return builder.finalize();
}

/// A body that makes the states of a loop: it adds nothing to them.
std::string makeAdvance(bool isInPlace) {
  StepTableBuilder builder;
  for (const char *name : {"state", "y"})
    builder.addArgument(name, REMAT_F32, {3});
  builder.addResult("state", REMAT_F32, {3});
  uint32_t state = builder.addArgumentBuffer(0);
  uint32_t y = builder.addArgumentBuffer(1), t = builder.addArenaBuffer(0, 12);
  if (isInPlace)
    builder.addDonation(0, 0);
  builder.addEntry(makeEntry(REMAT_ENTRY_COPY, 0, {y}, {t}));
  builder.addEntry(makeEntry(
      REMAT_ENTRY_COPY, 0, {t},
      {isInPlace ? builder.addView(state) : builder.addResultBuffer(0)}));
  return builder.finalize();
}

/// A loop of `body`, whose slice is a state that `advance` makes.
std::string makeReversal(const std::string &body, const std::string &advance,
                         remat_loop loop, bool isInPlace,
                         uint64_t workspaceBytes, uint64_t hostBytes) {
  StepTableBuilder builder = makeSignature({loop.count}, isInPlace);
  builder.addArgument("state", REMAT_F32, {3});
  uint32_t state = builder.addArgumentBuffer(4);
  loop.body = builder.addBody(body);
  loop.advance = builder.addBody(advance);
  std::vector<uint32_t> operands = {0, 1, 2, state, 3};
  if (loop.flags & REMAT_LOOP_TRIPS)
    operands.push_back(
        builder.addArgumentBuffer(builder.addArgument("n", REMAT_I64, {})));
  StepEntry entry =
      makeEntry(REMAT_ENTRY_LOOP, builder.addLoop(loop), operands, {4, 5, 6},
                builder.addArenaBuffer(0, workspaceBytes));
  if (loop.host_slots > 0)
    entry.hostWorkspace = builder.addHostBuffer(0, hostBytes);
  builder.addEntry(entry);
  return builder.finalize();
}

/// Whether the loops of a table run at most `most` iterations in all. The
/// square of a loop's is more than those of its advance.
bool isShort(const Table &table, int64_t most) {
  for (const remat_entry &entry : table.entries) {
    if (entry.kind != REMAT_ENTRY_LOOP)
      continue;
    const remat_loop &loop = table.loops[entry.callee];
    // Without a limit there may be any number.
    if (loop.count < 1 || loop.count > most || loop.count * loop.count > most)
      return false;
    for (uint32_t body : {loop.body, loop.advance})
      if (body != REMAT_NONE &&
          !isShort(table.bodyTables[body], most / (loop.count * loop.count)))
        return false;
  }
  return true;
}

/// The table, in one of three cases damaged.
std::string maybeDamage(std::string table, std::mt19937_64 &random) {
  if (random() % 3 == 0) {
    table = damage(table, random);
    seal(table);
  }
  return table;
}

/// A loop in a loop. Workspaces are those of bodies that are whole.
std::string makeNested(std::mt19937_64 &random, bool isForDevice) {
  bool isInPlace = random() % 2;
  uint32_t flags = random() % 2;
  std::string cell = makeCell(isInPlace, isForDevice);
  remat_loop loop = {0,          2, 1, 1, 1, flags, 1 + int64_t(random() % 3),
                     REMAT_NONE, 0, 0, 0, 0};
  uint64_t bytes = loopWorkspaceBytes(loop, cell);
  std::string row =
      makeLoop(maybeDamage(cell, random), loop, {loop.count}, isInPlace, bytes);
  remat_loop rows = loop;
  rows.count = 1 + int64_t(random() % 3);
  uint64_t rowBytes = loopWorkspaceBytes(rows, row);
  row = maybeDamage(row, random);
  return maybeDamage(
      makeLoop(row, rows, {rows.count, loop.count}, isInPlace, rowBytes),
      random);
}

/// A loop that makes its states.
std::string makeReversed(std::mt19937_64 &random, bool isForDevice) {
  bool isInPlace = random() % 2;
  std::string cell = makeCell(isInPlace, isForDevice);
  std::string advance = makeAdvance(random() % 2);
  remat_loop loop = {0,
                     2,
                     1,
                     0,
                     1,
                     uint32_t(random() % 4),
                     1 + int64_t(random() % 6),
                     1,
                     0,
                     1,
                     0,
                     1 + int64_t(random() % 4)};
  if (random() % 2) {
    loop.host_slots = 1 + int64_t(random() % 4);
    loop.period = 1 + int64_t(random() % 4);
  }
  uint64_t bytes = loopWorkspaceBytes(loop, cell, advance);
  uint64_t hostBytes = loopHostBytes(loop, cell, advance);
  cell = maybeDamage(cell, random);
  advance = maybeDamage(advance, random);
  return maybeDamage(
      makeReversal(cell, advance, loop, isInPlace, bytes, hostBytes), random);
}

/// Runs a step on tensors of its own; false if these would be too large.
bool run(remat_step *step) {
  const uint64_t most = 1 << 20;
  std::vector<std::vector<char>> memory;
  std::vector<remat_tensor> arguments, results;
  remat_tensor_info info;
  for (size_t i = 0; i < remat_step_argument_count(step); ++i) {
    if (remat_step_argument(step, i, &info) != REMAT_OK || info.bytes > most)
      return false;
    memory.emplace_back(info.bytes);
    // How often a loop runs.
    if (info.dtype == REMAT_I64 && info.bytes > 0)
      memory.back()[0] = 2;
    arguments.push_back(
        {memory.back().data(), info.dtype, info.rank, info.dims});
  }
  for (size_t i = 0; i < remat_step_result_count(step); ++i) {
    if (remat_step_result(step, i, &info) != REMAT_OK || info.bytes > most)
      return false;
    memory.emplace_back(info.bytes);
    void *data = info.donation == REMAT_NONE ? memory.back().data()
                                             : arguments[info.donation].data;
    results.push_back({data, info.dtype, info.rank, info.dims});
  }
  // On a device, the second run is recorded, and the third repeats it.
  for (int i = 0; i < 3; ++i)
    remat_step_run(step, arguments.data(), arguments.size(), results.data(),
                   results.size());
  return true;
}

} // namespace

std::string remat::tryLoops(uint64_t seed, LoopCounts &counts) {
  std::mt19937_64 random(seed);
  ++counts.tables;
  bool isForDevice = random() % 2;
  std::string blob = random() % 2 ? makeNested(random, isForDevice)
                                  : makeReversed(random, isForDevice);

  const remat_kernel_fn kernels[] = {touch};
  const std::string code = makeDeviceCode();
  remat_module module = makeModule(blob, kernels, 1);
  if (isForDevice) {
    module.kernel_count = 0;
    module.device_code = code.data();
    fakecuda::reset(seed);
    // Whatever the entry has, there is one address.
    fakecuda::define("touch", 1, [](const auto &) {});
  }
  Table table;
  std::string error;
  if (readTable(module, table, error) &&
      (table.header.arena_bytes >> 30 || table.header.host_bytes >> 30))
    return ""; // only slow
  bool isRefused = !checkStepTable(blob, error);
  remat_step_options options = {};
  options.threads = 1;
  options.flags = unsigned(random() % 8);
  options.determinism_check = remat_determinism_check(random() % 3);
  remat_step *step = nullptr;
  if (remat_step_load(&module, &options, &step) != REMAT_OK) {
    ++counts.refused;
    return *remat_last_error() ? "" : "a wrong loop is refused without a word";
  }
  if (!isRefused && isShort(table, 1 << 12) && run(step))
    ++(isForDevice ? counts.runOnDevice : counts.run);
  remat_step_free(step);
  if (isForDevice)
    for (const std::string &complaint : fakecuda::getComplaints())
      return complaint;
  return isRefused ? "a step runs that its check refuses: " + error : "";
}
