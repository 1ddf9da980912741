//===- StepLoad.cpp - loads a step ----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everything that can be done once is done here, so that a run only walks the
// table.
//
//===----------------------------------------------------------------------===//

#include "CpuFeatures.h"
#include "Step.h"
#include "Threads.h"

#include <algorithm>
#include <sys/mman.h>

using namespace remat;

Memory::~Memory() {
  if (mapped > 0)
    munmap(data, mapped);
}

bool Memory::allocate(uint64_t bytes) {
  if (bytes == 0)
    return true;
  if (bytes > static_cast<uint64_t>(PTRDIFF_MAX))
    return false;
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  // Fewer page faults where the system has large pages; only advice.
  madvise(memory, bytes, MADV_HUGEPAGE);
  data = static_cast<char *>(memory);
  mapped = bytes;
  return true;
}

/// Whether this machine can run the functions of `module`.
static bool checkCpu(const remat_module &module, std::string &message) {
  if (!module.cpu_features)
    return true;
  std::string missing = findMissingCpuFeatures(module.cpu_features);
  if (missing.empty())
    return true;
  message = "the step was compiled for a CPU with instructions that this "
            "machine lacks: " +
            missing + "; compile it for one without them (--mcpu)";
  return false;
}

remat_status remat_step::load(const remat_module &module,
                              const remat_step_options &options,
                              std::string &message) {
  const int mostThreads = 4096;
  if (options.threads < 0 || options.threads > mostThreads) {
    message = "option 'threads' is " + std::to_string(options.threads) +
              ", expected 0 to " + std::to_string(mostThreads);
    return REMAT_INVALID_ARGUMENT;
  }
  const uint32_t known = unsigned(REMAT_STEP_PROFILE) | REMAT_STEP_POISON |
                         REMAT_STEP_DEBUG | REMAT_STEP_ANOMALY_ERROR |
                         REMAT_STEP_ANOMALY_WARN | REMAT_STEP_STATE_IS_GIVEN;
  if (options.flags & ~known) {
    message = "option 'flags' has unknown bits: " +
              std::to_string(options.flags & ~known);
    return REMAT_INVALID_ARGUMENT;
  }
  if (options.determinism_check < REMAT_CHECK_METADATA ||
      options.determinism_check > REMAT_CHECK_BITWISE) {
    message = "option 'determinism_check' is " +
              std::to_string(options.determinism_check) + ", expected 0 to 2";
    return REMAT_INVALID_ARGUMENT;
  }
  threads =
      options.threads > 0 ? atMostThreads(options.threads) : availableThreads();
  if (!canStartThreads(threads)) {
    message = "cannot start " + std::to_string(threads) +
              " threads; ask for fewer by the option 'threads'";
    return REMAT_OUT_OF_MEMORY;
  }
  flags = options.flags;
  countsBodyRuns = flags & REMAT_STEP_PROFILE;
  kernels = module.kernels;
  if (!readTable(module, table, message) || !checkCpu(module, message) ||
      !checkEntries(&module, table, message) ||
      !findLifetimes(table, lifetimes, message) || !checkOrder(table, message))
    return REMAT_INVALID_MODULE;
  if (!findRecomputations(options, message))
    return REMAT_INVALID_MODULE;
  entryNames = Ranges(table);
  if (!findCodecs(options, message))
    return REMAT_INVALID_ARGUMENT;
  if (remat_status status = allocate(module, options, message))
    return status;
  findUsage();
  if (remat_status status = prepare(options, message))
    return status;
  findTensorEvents();
  findResultPlaces();
  ranges.reserve(table.arguments.size() + table.results.size());
  if (flags & REMAT_STEP_PROFILE) {
    times.assign(table.entries.size(), 0);
    if (!device)
      cpuTimes.assign(table.entries.size(), 0);
    spans.assign(table.entries.size(), {0, 0});
  }
  stats.arena_bytes = table.header.arena_bytes;
  stats.host_bytes = table.header.host_bytes;
  if (!copyStreams.start(
          table, [this](uint32_t index) { runBeside(index); }, message))
    return REMAT_OUT_OF_MEMORY;
  return REMAT_OK;
}

bool remat_step::findRecomputations(const remat_step_options &options,
                                    std::string &message) {
  recomputeCheck = std::make_unique<RecomputeCheck>(table);
  isBitwise = options.determinism_check == REMAT_CHECK_BITWISE;
  return options.determinism_check == REMAT_CHECK_NONE ||
         recomputeCheck->checkSizes(message);
}

/// What running entries takes, when the memory is there.
remat_status remat_step::prepare(const remat_step_options &options,
                                 std::string &message) {
  layOutPointers();
  if (!device && !prepareCalls(message))
    return REMAT_LIBRARY_ERROR;
  statuses.resize(static_cast<size_t>(threads));
  prepareAnomalies();
  return loadBodies(options, message);
}

remat_status remat_step::allocate(const remat_module &module,
                                  const remat_step_options &options,
                                  std::string &message) {
  uint64_t bytes = table.header.arena_bytes;
  if (module.device_code)
    bytes -= givenStateBytes(table, options);
  if (options.arena) {
    const uint64_t alignment =
        module.device_code ? REMAT_DEVICE_ALIGNMENT : REMAT_ALIGNMENT;
    uint64_t skew = reinterpret_cast<uintptr_t>(options.arena) % alignment;
    if (skew != 0) {
      message = "option 'arena' is " + std::to_string(skew) +
                " bytes past a multiple of " + std::to_string(alignment) +
                ", expected it to be aligned";
      return REMAT_INVALID_ARGUMENT;
    }
    if (options.arena_bytes < bytes) {
      message = "option 'arena' has " + std::to_string(options.arena_bytes) +
                " bytes, expected at least " + std::to_string(bytes);
      return REMAT_INVALID_ARGUMENT;
    }
    arena.borrow(options.arena);
  }
  if (module.device_code)
    return loadOnDevice(module, options, message);
  if (!options.arena && !arena.allocate(bytes)) {
    message = "cannot allocate an arena of " + std::to_string(bytes) + " bytes";
    return REMAT_OUT_OF_MEMORY;
  }
  if (!host.allocate(table.header.host_bytes)) {
    message = "cannot allocate a host arena of " +
              std::to_string(table.header.host_bytes) + " bytes";
    return REMAT_OUT_OF_MEMORY;
  }
  return REMAT_OK;
}

void remat_step::layOutPointers() {
  for (const remat_entry &entry : table.entries) {
    Prepared next = {pointers.size(), nullptr, nullptr, 0};
    auto add = [&](uint32_t number) {
      const remat_buffer &buffer = table.buffers[number];
      if (buffer.space == REMAT_SPACE_ARENA && buffer.bytes > 0)
        next.touched = std::max(next.touched, buffer.offset + buffer.bytes);
      bool lasts = buffer.space == REMAT_SPACE_HOST ||
                   (buffer.space == REMAT_SPACE_ARENA &&
                    buffer.offset < table.header.state_bytes);
      bool caller = buffer.space == REMAT_SPACE_ARGUMENT ||
                    buffer.space == REMAT_SPACE_RESULT ||
                    (lasts && callCount() > 1);
      bool isPlaced = isBody && (buffer.space == REMAT_SPACE_ARENA ||
                                 buffer.space == REMAT_SPACE_HOST);
      if (isPlaced)
        placed.push_back({pointers.size(), number});
      if (caller)
        supplied.push_back({pointers.size(), number});
      pointers.push_back(caller || isPlaced ? nullptr : address(buffer));
    };
    for (uint32_t i = 0; i < entry.operand_count + entry.result_count; ++i)
      add(table.uses[entry.first_use + i]);
    for (uint32_t workspace : {entry.workspace, entry.host_workspace})
      if (workspace != REMAT_NONE)
        add(workspace);
    prepared.push_back(next);
  }
}

void remat_step::findUsage() {
  Usage none = {std::vector<bool>(callCount()), std::vector<bool>(callCount())};
  argumentUsage.assign(table.arguments.size(), none);
  resultUsage.assign(table.results.size(), none);
  for (size_t call = 0; call < callCount(); ++call)
    for (uint32_t i = table.callBegins[call]; i < table.callBegins[call + 1];
         ++i) {
      const remat_entry &entry = table.entries[i];
      uint32_t count = entry.operand_count + entry.result_count;
      for (uint32_t use = 0; use < count; ++use) {
        const remat_buffer &buffer = table.operand(entry, use);
        bool isResult = buffer.space == REMAT_SPACE_RESULT;
        if (!isResult && buffer.space != REMAT_SPACE_ARGUMENT)
          continue;
        Usage &usage = (isResult ? resultUsage : argumentUsage)[buffer.index];
        usage.used[call] = true;
        if (use < entry.operand_count)
          continue;
        usage.written[call] = true;
        // What is written over an argument is a result.
        if (!isResult) {
          Usage &over = resultUsage[table.arguments[buffer.index].donation];
          over.used[call] = over.written[call] = true;
        }
      }
    }
}

LibraryCall *remat_step::callFor(const remat_entry &entry, int callThreads,
                                 bool reference) {
  std::unique_ptr<LibraryCall> &call =
      calls[{entry.kind, entry.callee, callThreads, reference}];
  if (call)
    return call.get();
  if (entry.kind == REMAT_ENTRY_MATMUL) {
    const remat_matmul &matmul = table.matmuls[entry.callee];
    call = reference ? prepareTiledMatmul(matmul, callThreads)
                     : prepareMatmul(matmul, callThreads);
  } else {
    const remat_convolution &convolution = table.convolutions[entry.callee];
    call = reference ? referenceConvolution(convolution, callThreads)
                     : prepareConvolution(convolution, callThreads);
  }
  return call.get();
}

/// Whether no sum of a call depends on the number of threads. oneDNN divides
/// the images of a filter's gradient among the threads, and adds up theirs.
static bool hasSameBitsOnAllThreads(const remat_entry &entry,
                                    const Table &table) {
  return entry.kind == REMAT_ENTRY_MATMUL ||
         table.convolutions[entry.callee].kind != REMAT_CONV_FILTER_GRADIENT;
}

LibraryCall *remat_step::callOnOneThread(uint32_t index) {
  const remat_entry &entry = table.entries[index];
  const Prepared &ways = prepared[index];
  if (ways.alone->threads <= 1)
    return ways.alone;
  LibraryCall *call = callFor(entry, 1, /*reference=*/false);
  if (call && call->workspaceBytes <= ways.call->workspaceBytes)
    return call;
  return callFor(entry, 1, /*reference=*/true);
}

bool remat_step::prepareCalls(std::string &message) {
  // The compiler sized the workspaces for its number of threads. More threads
  // may need more, so that library calls stay at that number.
  int planned = static_cast<int>(
      std::min<uint32_t>(table.header.threads, static_cast<uint32_t>(threads)));
  int most = planned > 0 ? planned : threads;
  for (uint32_t i = 0; i < table.entries.size(); ++i) {
    const remat_entry &entry = table.entries[i];
    if (entry.kind != REMAT_ENTRY_MATMUL &&
        entry.kind != REMAT_ENTRY_CONVOLUTION)
      continue;
    uint64_t room = entry.workspace == REMAT_NONE
                        ? 0
                        : table.buffers[entry.workspace].bytes;
    LibraryCall *call = nullptr;
    for (int count = most; count > 0; count /= 2) {
      call = callFor(entry, count, /*reference=*/false);
      if (call && call->workspaceBytes <= room)
        break;
    }
    // On another processor the library may need more than was planned.
    if (call && call->workspaceBytes > room)
      call = callFor(entry, threads, /*reference=*/true);
    if (!call) {
      message = "cannot prepare " + table.describe(i);
      return false;
    }
    if (call != callFor(entry, most, /*reference=*/false))
      ++stats.degraded_calls;
    prepared[i].call = prepared[i].alone = call;
    if (call->threads > 1 && hasSameBitsOnAllThreads(entry, table))
      if (LibraryCall *alone = callFor(entry, 1, /*reference=*/false))
        if (alone->workspaceBytes <= room &&
            alone->implementation == call->implementation)
          prepared[i].alone = alone;
  }
  return true;
}

char *remat_step::address(const remat_buffer &buffer) {
  auto given = [&](const remat_tensor &tensor) {
    char *data = static_cast<char *>(tensor.data);
    return data ? data + buffer.offset : nullptr;
  };
  switch (buffer.space) {
  case REMAT_SPACE_ARENA:
    if (callCount() > 1 && buffer.offset < table.header.state_bytes)
      return stateMemory + buffer.offset;
    return arena.get() + buffer.offset;
  case REMAT_SPACE_HOST:
    return (callCount() > 1 ? hostMemory : host.get()) + buffer.offset;
  case REMAT_SPACE_ARGUMENT:
    return given(currentArguments[buffer.index]);
  case REMAT_SPACE_RESULT:
    return given(currentResults[buffer.index]);
  default:
    // Kernels take all buffers alike; the loader saw that none writes here.
    return (device ? deviceTable->constants
                   : const_cast<char *>(table.constants)) +
           buffer.offset;
  }
}
