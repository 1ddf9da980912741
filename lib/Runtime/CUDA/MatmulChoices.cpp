//===- MatmulChoices.cpp - one algorithm for each description -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other algorithms add up in another order. So all entries with one description
// share one, in every run, and in every step that is given the choices of this.
// The bodies of loops are no exception: one may make again what another made.
//
//===----------------------------------------------------------------------===//

#include "CudaStep.h"

#include "../Descriptors.h"

#include <algorithm>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

/// The largest power of two up to 256 that divides `bytes`.
static uint32_t alignmentOf(uint64_t bytes) {
  uint64_t bits = bytes | REMAT_DEVICE_ALIGNMENT;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

uint32_t remat::cuda::findAlignment(const Table &table,
                                    const remat_buffer &buffer, bool isBody) {
  if (!isBody)
    return alignmentOf(buffer.offset);
  const remat_signature *tensor =
      buffer.space == REMAT_SPACE_ARGUMENT ? &table.arguments[buffer.index]
      : buffer.space == REMAT_SPACE_RESULT ? &table.results[buffer.index]
                                           : nullptr;
  return alignmentOf(buffer.offset | REMAT_ALIGNMENT |
                     (tensor ? table.bytesOf(*tensor) : buffer.used));
}

/// Lowers limits to what an entry has.
static void lowerLimits(const Table &table, const remat_entry &entry,
                        bool isBody, MatmulLimits &limits) {
  const remat_matmul &matmul = table.matmuls[entry.callee];
  uint64_t room =
      entry.workspace == REMAT_NONE ? 0 : table.buffers[entry.workspace].bytes;
  limits.workspaceBytes = std::min(limits.workspaceBytes, room);
  auto lower = [&](uint32_t number, uint32_t alignment) {
    limits.alignments[number] = std::min(limits.alignments[number], alignment);
  };
  auto alignment = [&](const remat_buffer &buffer) {
    return findAlignment(table, buffer, isBody);
  };
  MatmulExtras extras(matmul);
  if (extras.hasOperand())
    lower(extras.readsBias ? 3 : 4,
          alignment(table.operand(entry, extras.getOperand())));
  if (extras.hasResult())
    lower(extras.writesSums ? 3 : 4, alignment(table.result(entry, 1)));
  if (extras.accumulates)
    lower(5, alignment(table.operand(entry, 2)));
  const int64_t *strides[] = {matmul.a_batch_stride, matmul.b_batch_stride,
                              matmul.c_batch_stride};
  const int32_t dtypes[] = {matmul.a_dtype, matmul.b_dtype, matmul.c_dtype};
  for (uint32_t i = 0; i < 3; ++i) {
    lower(i,
          alignment(i == 2 ? table.result(entry, 0) : table.operand(entry, i)));
    for (int dim = 0; dim < 3; ++dim)
      if (matmul.batch[dim] > 1)
        lower(i, alignmentOf(static_cast<uint64_t>(strides[i][dim]) *
                             remat_dtype_bytes(dtypes[i])));
  }
}

/// Finds the least workspace and the worst alignment that the entries with each
/// description have, in a table and the bodies in it.
void CudaStep::findMatmulLimits(const Table &of, const std::string &place,
                                bool isBody) {
  for (uint32_t i = 0; i < of.entries.size(); ++i) {
    const remat_entry &entry = of.entries[i];
    if (entry.kind != REMAT_ENTRY_MATMUL)
      continue;
    const remat_matmul &matmul = of.matmuls[entry.callee];
    auto found = std::find_if(
        matmuls.begin(), matmuls.end(), [&](const SharedMatmul &shared) {
          return std::memcmp(&shared.matmul, &matmul, sizeof(matmul)) == 0;
        });
    if (found == matmuls.end()) {
      found = matmuls.emplace(found);
      found->matmul = matmul;
      found->limits.workspaceBytes = UINT64_MAX;
    }
    ++found->entries;
    found->user = place + of.describe(i);
    lowerLimits(of, entry, isBody, found->limits);
  }
  for (size_t i = 0; i < of.bodyTables.size(); ++i)
    findMatmulLimits(of.bodyTables[i],
                     place + "body " + std::to_string(i) + ": ",
                     /*isBody=*/true);
}

const DividedMatmul *CudaStep::findMatmul(const remat_matmul &matmul) const {
  for (const SharedMatmul &shared : matmuls)
    if (std::memcmp(&shared.matmul, &matmul, sizeof(matmul)) == 0)
      return &shared.prepared;
  return nullptr;
}

remat_status CudaStep::chooseMatmuls(const remat_step_options &options,
                                     std::string &error) {
  findMatmulLimits(table, "", /*isBody=*/false);
  if (matmuls.empty()) {
    if (options.algorithms)
      algorithms.assign(static_cast<const char *>(options.algorithms),
                        options.algorithm_bytes);
    return REMAT_OK;
  }
  Algorithms known;
  if (remat_status status = loadMatmulLibrary(options, known, error))
    return status;
  for (SharedMatmul &shared : matmuls)
    if (remat_status status = chooseMatmul(shared, known, error)) {
      error.insert(0, shared.user + ": ");
      return status;
    }
  algorithms = known.write();
  return REMAT_OK;
}

bool CudaStep::describeMachine(AlgorithmMachine &machine,
                               std::string &error) const {
  machine = {};
  machine.capability = capability;
  machine.libraryVersion = matmulLibrary->getVersion();
  char name[sizeof(machine.device)] = {};
  if (!check(driver.DeviceGetName(name, sizeof(name) - 1, device),
             "asking for the device's name", error))
    return false;
  // Machines are compared with what is behind the name.
  std::strncpy(machine.device, name, sizeof(machine.device) - 1);
  return true;
}

/// Also takes the choices of the options; a status with a message if they are
/// of another machine.
remat_status CudaStep::loadMatmulLibrary(const remat_step_options &options,
                                         Algorithms &known,
                                         std::string &error) {
  matmulLibrary = MatmulLibrary::load(error);
  if (!matmulLibrary)
    return REMAT_LIBRARY_ERROR;
  AlgorithmMachine machine;
  if (!describeMachine(machine, error))
    return REMAT_DEVICE_ERROR;
  if (!options.algorithms) {
    known.setMachine(machine);
    return REMAT_OK;
  }
  if (!known.read(options.algorithms, options.algorithm_bytes, error))
    return REMAT_INVALID_ARGUMENT;
  const AlgorithmMachine &stored = known.getMachine();
  if (std::memcmp(&stored, &machine, sizeof(machine)) == 0)
    return REMAT_OK;
  error = "the stored algorithms of matmuls are of " + stored.describe() +
          ", expected " + machine.describe() +
          "; load the step without them to choose others";
  return REMAT_STALE_ALGORITHMS;
}

/// Lets a description that finds no algorithm within the workspace that was
/// planned have another one: other devices and versions of the library may want
/// more of it. All such matmuls have one beside the arena, since they run one
/// after the other.
remat_status CudaStep::lendWorkspace(MatmulLimits &limits, std::string &error) {
  // With as much, cuBLASLt 13.1 has an algorithm for every matmul that it
  // takes.
  constexpr uint64_t spareBytes = uint64_t(32) << 20;
  if (!spareWorkspace && !allocate(&spareWorkspace, spareBytes, error))
    return REMAT_OUT_OF_MEMORY;
  limits.workspaceBytes = spareBytes;
  limits.workspace = spareWorkspace;
  return REMAT_OK;
}

/// Prepares a part with the algorithm that is known for its description, or
/// with one that is known from then on.
remat_status CudaStep::choosePart(const MatmulPart &part, SharedMatmul &shared,
                                  Algorithms &known, std::string &error) {
  const remat_matmul &matmul = part.matmul;
  MatmulLimits limits = shared.limits;
  auto lower = [&](uint32_t number, uint64_t offset) {
    limits.alignments[number] =
        std::min(limits.alignments[number], alignmentOf(offset));
  };
  lower(0, part.a);
  lower(1, part.b);
  lower(2, part.c);
  lower(3, part.vector);
  lower(5, part.c);
  Algorithms::Record record = {};
  constexpr size_t buffers = sizeof(limits.alignments) / sizeof(uint32_t);
  static_assert(sizeof(limits.alignments) <= sizeof(record.alignments));
  const Algorithms::Record *stored = known.find(matmul, limits.allowsTf32);
  for (size_t i = 0; stored && i < buffers; ++i)
    if (limits.alignments[i] < stored->alignments[i]) {
      error = "the stored algorithm of a matmul needs addresses that are "
              "multiples of " +
              std::to_string(stored->alignments[i]) + ", and buffer " +
              std::to_string(i) + " is at one of " +
              std::to_string(limits.alignments[i]);
      return REMAT_STALE_ALGORITHMS;
    }
  limits.stored = stored ? &stored->algorithm : nullptr;
  std::unique_ptr<PreparedMatmul> prepared =
      matmulLibrary->prepare(matmul, limits, error);
  bool mayLend =
      !stored || stored->algorithm.workspaceBytes > limits.workspaceBytes;
  if (!prepared && mayLend && !limits.workspace) {
    if (remat_status status = lendWorkspace(shared.limits, error))
      return status;
    limits.workspaceBytes = shared.limits.workspaceBytes;
    limits.workspace = shared.limits.workspace;
    // If that does not help, the message stays what it is.
    std::string ignored;
    prepared = matmulLibrary->prepare(matmul, limits, ignored);
    if (prepared)
      degradedCalls += shared.entries;
  }
  if (!prepared)
    return stored ? REMAT_STALE_ALGORITHMS : REMAT_LIBRARY_ERROR;
  if (!stored) {
    record.matmul = matmul;
    record.allowsTf32 = limits.allowsTf32;
    for (size_t i = 0; i < buffers; ++i)
      record.alignments[i] = limits.alignments[i];
    record.algorithm = prepared->getAlgorithm();
    known.add(record);
  }
  shared.prepared.add(part, std::move(prepared));
  return REMAT_OK;
}

remat_status CudaStep::chooseMatmul(SharedMatmul &shared, Algorithms &known,
                                    std::string &error) {
  bool allowsTf32 = (table.header.flags & REMAT_TABLE_TF32) != 0;
  shared.limits.allowsTf32 = allowsTf32;
  for (const MatmulPart &part : splitMatmul(shared.matmul, allowsTf32))
    if (remat_status status = choosePart(part, shared, known, error))
      return status;
  return REMAT_OK;
}
