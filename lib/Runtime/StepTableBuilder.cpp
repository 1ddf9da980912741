//===- StepTableBuilder.cpp - builds the blob of a step -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See StepTableBuilder.h. Numbers are given in the order of the calls, and maps
// are ordered by content, so the blob depends on nothing but the calls.
//
//===----------------------------------------------------------------------===//

#include "remat/Runtime/StepTableBuilder.h"
#include "Streams.h"
#include "Table.h"

#include <algorithm>
#include <cstring>

using namespace remat;

/// Bytes rounded up; the loader rejects what would overflow here.
static uint64_t aligned(uint64_t bytes) {
  return (bytes + REMAT_ALIGNMENT - 1) / REMAT_ALIGNMENT * REMAT_ALIGNMENT;
}

/// Appends `record` unless an equal one is there; its number.
template <typename Record>
static uint32_t addOnce(std::vector<Record> &records,
                        std::map<std::string, uint32_t> &numbers,
                        const Record &record) {
  std::string key(reinterpret_cast<const char *>(&record), sizeof(record));
  auto [found, inserted] =
      numbers.insert({key, static_cast<uint32_t>(records.size())});
  if (inserted)
    records.push_back(record);
  return found->second;
}

template <typename Record>
static uint32_t append(std::vector<Record> &records, const Record &record) {
  records.push_back(record);
  return static_cast<uint32_t>(records.size()) - 1;
}

StepTableBuilder::StepTableBuilder() { addString(""); }

uint32_t StepTableBuilder::addString(const std::string &text) {
  // A NUL would end the string in the table.
  std::string kept = text.substr(0, text.find('\0'));
  auto [found, inserted] =
      stringNumbers.insert({kept, static_cast<uint32_t>(strings.size())});
  if (inserted)
    strings.append(kept.c_str(), kept.size() + 1);
  return found->second;
}

remat_signature
StepTableBuilder::makeSignature(const std::string &name, remat_dtype dtype,
                                const std::vector<int64_t> &shape) {
  remat_signature signature = {addString(name),
                               dtype,
                               static_cast<uint32_t>(shape.size()),
                               static_cast<uint32_t>(dims.size()),
                               0,
                               REMAT_NONE};
  dims.insert(dims.end(), shape.begin(), shape.end());
  return signature;
}

uint32_t StepTableBuilder::addArgument(const std::string &name,
                                       remat_dtype dtype,
                                       const std::vector<int64_t> &shape,
                                       uint32_t flags) {
  remat_signature signature = makeSignature(name, dtype, shape);
  signature.flags = flags;
  return append(arguments, signature);
}

uint32_t StepTableBuilder::addResult(const std::string &name, remat_dtype dtype,
                                     const std::vector<int64_t> &shape,
                                     uint32_t flags) {
  remat_signature signature = makeSignature(name, dtype, shape);
  signature.flags = flags;
  return append(results, signature);
}

uint32_t StepTableBuilder::addBuffer(const remat_buffer &buffer) {
  return append(buffers, buffer);
}

uint32_t StepTableBuilder::addArenaBuffer(uint64_t offset, uint64_t bytes) {
  arenaBytes = std::max(arenaBytes, offset + aligned(bytes));
  return addBuffer({REMAT_SPACE_ARENA, 0, offset, aligned(bytes),
                    static_cast<uint32_t>(buffers.size()), 0, bytes, -1, 0});
}

uint32_t StepTableBuilder::addHostBuffer(uint64_t offset, uint64_t bytes) {
  hostBytes = std::max(hostBytes, offset + aligned(bytes));
  return addBuffer({REMAT_SPACE_HOST, 0, offset, aligned(bytes),
                    static_cast<uint32_t>(buffers.size()), 0, bytes, -1, 0});
}

uint32_t StepTableBuilder::addCallerBuffer(remat_space space, uint32_t index,
                                           const remat_signature &signature) {
  uint64_t bytes = 0;
  tensorBytes(signature.dtype, dims.data() + signature.dims, signature.rank,
              bytes);
  return addBuffer({space, index, 0, bytes,
                    static_cast<uint32_t>(buffers.size()), 0, bytes,
                    signature.dtype, 0});
}

uint32_t StepTableBuilder::addArgumentBuffer(uint32_t index) {
  return addCallerBuffer(REMAT_SPACE_ARGUMENT, index, arguments[index]);
}

uint32_t StepTableBuilder::addResultBuffer(uint32_t index) {
  return addCallerBuffer(REMAT_SPACE_RESULT, index, results[index]);
}

uint32_t StepTableBuilder::addReusedBuffer(uint32_t index, uint64_t offset,
                                           uint64_t bytes) {
  return addBuffer({REMAT_SPACE_RESULT, index, offset, aligned(bytes),
                    static_cast<uint32_t>(buffers.size()), 1, bytes, -1, 0});
}

uint32_t StepTableBuilder::addConstantBuffer(const void *data, uint64_t bytes) {
  std::string content(static_cast<const char *>(data), bytes);
  auto [found, inserted] =
      constantOffsets.insert({content, aligned(constants.size())});
  if (inserted) {
    constants.resize(found->second, '\0');
    constants += content;
  }
  return addBuffer({REMAT_SPACE_CONSTANT, 0, found->second, bytes,
                    static_cast<uint32_t>(buffers.size()), 0, bytes, -1, 0});
}

uint32_t StepTableBuilder::addView(uint32_t buffer, uint64_t offset,
                                   uint64_t bytes) {
  remat_buffer view = buffers[buffer];
  view.offset += offset;
  view.bytes = view.used = bytes;
  view.row = 0;
  return addBuffer(view);
}

uint32_t StepTableBuilder::addView(uint32_t buffer) {
  return addView(buffer, 0, buffers[buffer].bytes);
}

void StepTableBuilder::setContents(uint32_t buffer, int32_t dtype,
                                   uint64_t bytes, uint32_t row) {
  buffers[buffer].dtype = dtype;
  buffers[buffer].used = bytes;
  buffers[buffer].row = row;
}

uint32_t StepTableBuilder::addMatmul(const remat_matmul &matmul) {
  return addOnce(matmuls, matmulNumbers, matmul);
}

uint32_t
StepTableBuilder::addConvolution(const remat_convolution &convolution) {
  return addOnce(convolutions, convolutionNumbers, convolution);
}

void StepTableBuilder::addPlan(uint32_t convolution, uint32_t capability,
                               uint32_t version, const std::string &text,
                               uint64_t workspaceBytes) {
  uint32_t string = addString(text);
  for (const remat_plan &plan : plans)
    if (plan.convolution == convolution && plan.capability == capability &&
        plan.text == string)
      return;
  plans.push_back({convolution, capability, version, string, workspaceBytes,
                   REMAT_NONE, 0});
}

void StepTableBuilder::addCodePlan(uint32_t convolution, uint32_t kernel,
                                   uint64_t workspaceBytes) {
  // Kernels of equal convolutions compute the same.
  for (const remat_plan &plan : plans)
    if (plan.convolution == convolution && plan.kernel != REMAT_NONE)
      return;
  plans.push_back({convolution, 0, 0, 0, workspaceBytes, kernel, 0});
}

uint32_t StepTableBuilder::addPackedValue(const std::string &codec, uint64_t id,
                                          remat_dtype dtype,
                                          const std::vector<int64_t> &shape,
                                          uint64_t packedBytes) {
  auto [found, inserted] = packedValueNumbers.insert(
      {id, static_cast<uint32_t>(packedValues.size())});
  if (inserted) {
    packedValues.push_back({id, packedBytes, addString(codec), dtype,
                            static_cast<uint32_t>(shape.size()),
                            static_cast<uint32_t>(dims.size())});
    dims.insert(dims.end(), shape.begin(), shape.end());
  }
  return found->second;
}

uint32_t StepTableBuilder::addBody(const std::string &table) {
  auto [found, inserted] =
      bodyNumbers.insert({table, static_cast<uint32_t>(bodies.size())});
  if (inserted) {
    bodies.push_back({aligned(bodyBytes.size()), table.size()});
    bodyBytes.resize(bodies.back().offset, '\0');
    bodyBytes += table;
  }
  return found->second;
}

uint32_t StepTableBuilder::addLoop(remat_loop loop,
                                   const std::vector<uint32_t> &lists) {
  if (!lists.empty()) {
    auto [found, inserted] = listNumbers.insert(
        {lists, static_cast<uint32_t>(loopLists.size()) + 1});
    if (inserted)
      loopLists.insert(loopLists.end(), lists.begin(), lists.end());
    loop.lists = found->second;
  }
  return addOnce(loops, loopNumbers, loop);
}

uint32_t StepTableBuilder::addKernel(uint32_t unit,
                                     const std::vector<DeviceLaunch> &added,
                                     const std::vector<uint64_t> &scratch) {
  remat_device_kernel kernel = {unit,
                                static_cast<uint32_t>(launches.size()),
                                static_cast<uint32_t>(added.size()),
                                static_cast<uint32_t>(scratchOffsets.size()),
                                static_cast<uint32_t>(scratch.size()),
                                0};
  for (const DeviceLaunch &launch : added)
    launches.push_back({addString(launch.function), launch.blocks,
                        launch.threads, launch.sharedBytes});
  scratchOffsets.insert(scratchOffsets.end(), scratch.begin(), scratch.end());
  return append(kernels, kernel);
}

uint32_t StepTableBuilder::addCheck(const std::string &message) {
  auto [found, inserted] =
      checkNumbers.insert({message, static_cast<uint32_t>(checks.size())});
  if (inserted)
    checks.push_back(addString(message));
  return found->second;
}

uint32_t StepTableBuilder::addEntry(const StepEntry &entry) {
  remat_entry record = {};
  record.kind = entry.kind;
  record.flags =
      (entry.backward ? unsigned(REMAT_ENTRY_BACKWARD) : 0u) |
      (entry.update ? unsigned(REMAT_ENTRY_UPDATE) : 0u) |
      (entry.recompute ? unsigned(REMAT_ENTRY_RECOMPUTE) : 0u) |
      (entry.writesInfinity ? unsigned(REMAT_ENTRY_WRITES_INFINITY) : 0u) |
      (entry.writesNaN ? unsigned(REMAT_ENTRY_WRITES_NAN) : 0u);
  record.callee = entry.callee;
  record.first_use = static_cast<uint32_t>(uses.size());
  record.operand_count = static_cast<uint32_t>(entry.operands.size());
  record.result_count = static_cast<uint32_t>(entry.results.size());
  uses.insert(uses.end(), entry.operands.begin(), entry.operands.end());
  uses.insert(uses.end(), entry.results.begin(), entry.results.end());
  record.workspace = entry.workspace;
  record.host_workspace = entry.hostWorkspace;
  record.task = entry.task;
  record.original = entry.original;
  record.copy = entry.copy;
  record.forward_index = entry.forwardIndex;
  record.extent = entry.extent;
  record.grain = entry.grain;
  record.name = addString(entry.name);
  record.location = addString(entry.location);
  record.origins = addString(entry.origins);
  return append(entries, record);
}

void StepTableBuilder::assignStreams() {
  Table table = {};
  table.arguments = arguments;
  table.results = results;
  table.buffers = buffers;
  table.entries = std::move(entries);
  table.uses = uses;
  table.callBegins = calls;
  remat::assignStreams(table);
  entries = std::move(table.entries);
  waits = std::move(table.waits);
}

std::string StepTableBuilder::finalize() const {
  remat_step_header header = {};
  header.magic = REMAT_STEP_TABLE_MAGIC;
  header.version = REMAT_STEP_TABLE_VERSION;
  header.threads = threads;
  header.arena_bytes = arenaBytes;
  header.host_bytes = hostBytes;
  header.state_bytes = stateBytes;
  header.flags = flags;
  std::string blob(sizeof(header), '\0');
  auto section = [&](const auto &records) {
    remat_section where = {aligned(blob.size()), records.size()};
    blob.resize(where.offset, '\0');
    blob.append(reinterpret_cast<const char *>(records.data()),
                records.size() * sizeof(records[0]));
    return where;
  };
  header.strings = section(strings);
  header.dims = section(dims);
  header.arguments = section(arguments);
  header.results = section(results);
  header.buffers = section(buffers);
  header.entries = section(entries);
  header.uses = section(uses);
  header.matmuls = section(matmuls);
  header.convolutions = section(convolutions);
  header.checks = section(checks);
  header.constants = section(constants);
  header.calls = section(calls);
  header.packed_values = section(packedValues);
  header.waits = section(waits);
  header.kernels = section(kernels);
  header.launches = section(launches);
  header.scratch = section(scratchOffsets);
  header.plans = section(plans);
  header.loops = section(loops);
  header.loop_lists = section(loopLists);
  header.bodies = section(bodies);
  header.body_bytes = section(bodyBytes);
  blob.resize(aligned(blob.size()), '\0');
  header.blob_bytes = blob.size();
  std::memcpy(&blob[0], &header, sizeof(header));
  header.checksum = remat_table_checksum(blob.data(), blob.size());
  std::memcpy(&blob[0], &header, sizeof(header));
  return blob;
}

remat_module remat::makeModule(const std::string &table,
                               const remat_kernel_fn *kernels,
                               size_t kernelCount) {
  remat_module module = {};
  module.version = REMAT_STEP_TABLE_VERSION;
  module.blob = table.data();
  module.blob_bytes = table.size();
  module.kernels = kernels;
  module.kernel_count = static_cast<uint32_t>(kernelCount);
  return module;
}

/// False if the blobs are no step tables, or not those of the loop.
static bool findWorkspace(const remat_loop &loop, const std::string &body,
                          const std::string &advance,
                          LoopWorkspace &workspace) {
  auto read = [](const std::string &blob, Table &table) {
    std::string error;
    remat_module module = makeModule(blob);
    return readTable(module, table, error);
  };
  bool hasAdvance = loop.advance != REMAT_NONE;
  Table bodyTable, advanceTable;
  return read(body, bodyTable) &&
         (!hasAdvance || read(advance, advanceTable)) &&
         findLoopWorkspace(loop, bodyTable,
                           hasAdvance ? &advanceTable : nullptr, workspace);
}

uint64_t remat::loopWorkspaceBytes(const remat_loop &loop,
                                   const std::string &body,
                                   const std::string &advance) {
  LoopWorkspace workspace;
  return findWorkspace(loop, body, advance, workspace) ? workspace.bytes
                                                       : UINT64_MAX;
}

uint64_t remat::loopHostBytes(const remat_loop &loop, const std::string &body,
                              const std::string &advance) {
  LoopWorkspace workspace;
  return findWorkspace(loop, body, advance, workspace) ? workspace.hostBytes
                                                       : UINT64_MAX;
}

bool remat::checkStepTable(const std::string &blob, std::string &error) {
  remat_module module = makeModule(blob);
  Table table;
  Lifetimes lifetimes;
  return readTable(module, table, error) &&
         checkEntries(nullptr, table, error) &&
         findLifetimes(table, lifetimes, error) && checkOrder(table, error);
}
