//===- Step.h - a loaded step -----------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What remat_step_load makes of a module: the checked table, memory, prepared
// library calls, and for each entry the addresses of its buffers.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_STEP_H
#define REMAT_LIB_RUNTIME_STEP_H

#include "AnomalyCheck.h"
#include "CopyQueue.h"
#include "CopyStreams.h"
#include "DeviceStep.h"
#include "IterationTimes.h"
#include "LibraryCall.h"
#include "Ranges.h"
#include "RecomputeCheck.h"
#include "Streams.h"
#include "Table.h"
#include "remat/Runtime/Runtime.h"

#include <atomic>
#include <map>
#include <optional>
#include <tuple>

namespace remat {

/// The global switch of traces, see remat_set_debug.
extern std::atomic<int> debugMode;

/// The flags of steps that look for NaNs and infinities.
inline constexpr uint32_t looksForAnomalies =
    unsigned(REMAT_STEP_ANOMALY_ERROR) | REMAT_STEP_ANOMALY_WARN;

/// What it takes to read the clock on the wall, in nanoseconds.
int64_t measureClock();

/// Runs loops: LoopRun.cpp.
class LoopRunner;

/// Zeroed memory from the system, given back at the end. Pages are touched when
/// they are first used and then stay.
class Memory {
public:
  Memory() = default;
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  /// False when the system has not that much.
  bool allocate(uint64_t bytes);
  /// Uses memory of somebody else.
  void borrow(void *memory) { data = static_cast<char *>(memory); }

  /// Never null, so that empty buffers have an address too.
  char *get() { return data ? data : empty; }

private:
  char *data = nullptr;
  uint64_t mapped = 0;
  alignas(REMAT_ALIGNMENT) char empty[REMAT_ALIGNMENT];
};

} // namespace remat

struct remat_step {
  /// Prepares everything; a code other than REMAT_OK comes with a message.
  remat_status load(const remat_module &module,
                    const remat_step_options &options, std::string &message);

  /// Makes the calls from `first` up to, not including, `end`. Without a state,
  /// what they leave to each other is in the step's own arena.
  remat_status run(size_t first, size_t end, const remat_tensor *arguments,
                   size_t argumentCount, const remat_tensor *results,
                   size_t resultCount, remat_state *state);
  /// See remat_step_algorithms; null on a CPU.
  const std::string *getAlgorithms() const {
    return device ? &device->algorithms : nullptr;
  }
  /// See remat_step_measure_link.
  remat_status measureLink(remat_link_speed &speed, std::string &message);
  /// Bytes that a state needs for the check of recomputations.
  uint64_t checkBytes() const {
    return isBitwise || (flags & REMAT_STEP_DEBUG)
               ? recomputeCheck->bytes(isBitwise)
               : 0;
  }
  size_t callCount() const { return table.callBegins.size() - 1; }

  /// Figures of the last run, and what the device has left now.
  remat_step_stats getStats() const;
  remat_tensor_info describeArgument(size_t index) const;
  remat_tensor_info describeResult(size_t index) const;

  remat::Table table;
  remat_step_stats stats = {};
  std::vector<int64_t> times, cpuTimes;
  std::vector<remat_entry_span> spans;
  /// Of each entry, see remat_step_body_runs; empty unless they are counted.
  std::vector<std::vector<uint64_t>> bodyRuns;
  /// Of each entry, what its bodies took in the last run and in the fastest
  /// one, see remat_step_body_times; empty unless it is a loop that is timed.
  std::vector<std::vector<int64_t>> bodyTimes, leastBodyTimes;
  std::string error;
  /// The trace of the last run; empty if there is none.
  std::string traceText;
  /// Null unless the step looks for NaNs and infinities.
  std::unique_ptr<remat::AnomalyCheck> anomalyCheck;
  /// See remat_step_observe.
  remat_observe_fn observer = nullptr;
  void *observerUser = nullptr;
  bool isOnDevice() const { return device != nullptr; }
  /// See remat_step_device, remat_step_wait, remat_step_follow,
  /// remat_step_synchronize and remat_step_check_count.
  int deviceNumber() const { return device ? device->ordinal : -1; }
  remat_status wait(void *stream, std::string &message);
  remat_status follow(void *stream, std::string &message);
  remat_status synchronize();
  size_t countChecks() const;
  int threads = 1;
  /// Set while the step runs.
  std::atomic_flag busy = ATOMIC_FLAG_INIT;

private:
  friend class remat::LoopRunner;

  /// A pointer that the caller's tensors supply.
  struct Supplied {
    size_t pointer;
    uint32_t buffer;
  };
  /// A range of the caller's memory.
  struct Range {
    uintptr_t begin, end;
    bool isResult, written;
    uint32_t index;
  };
  /// Memory that the calls of a run write, of the step or of the state.
  struct Scratch {
    uintptr_t begin, end;
    const char *name;
  };
  /// What running an entry takes beside its record.
  struct Prepared {
    size_t firstPointer;
    remat::LibraryCall *call;
    /// The same on one thread, with the same bits, for when other processes use
    /// the cores; `call` if there is none.
    remat::LibraryCall *alone;
    uint64_t touched; // end of its highest arena buffer
  };

  remat_status allocate(const remat_module &module,
                        const remat_step_options &options,
                        std::string &message);
  void layOutPointers();
  bool prepareCalls(std::string &message);
  /// The call of an entry where there is but one thread for it, with other bits
  /// if sums depend on their number.
  remat::LibraryCall *callOnOneThread(uint32_t index);
  bool findCodecs(const remat_step_options &options, std::string &message);
  bool findRecomputations(const remat_step_options &options,
                          std::string &message);
  remat_status prepare(const remat_step_options &options, std::string &message);
  remat_status loadBodies(const remat_step_options &options,
                          std::string &message);
  remat_status loadBody(remat::Table checked, const remat_step &outer,
                        const remat_step_options &options,
                        std::string &message);
  void prepareBodyRuns();
  void restartTimes();
  uint64_t countBodyRuns() const;
  uint64_t countBodyTimes() const;
  remat::LibraryCall *callFor(const remat_entry &entry, int callThreads,
                              bool reference);

  /// How calls use an argument or result: for each, whether it is used at all
  /// and whether it is written.
  struct Usage {
    std::vector<bool> used, written;
  };
  void findUsage();
  void findTensorEvents();
  void findResultPlaces();
  uint32_t lastEntryBeside(uint32_t index, const remat::StreamClocks &clocks);
  void beginTensorEvents(const remat_state *state, size_t resultCount);
  bool isAwaited(size_t result) const;
  remat_status provideResults(uint32_t entry);
  remat_status provideResult(uint32_t result);
  void releaseTensors(uint32_t entry);
  remat_status provideAll();
  void releaseAll();
  remat_tensor_info describe(const remat_signature &signature,
                             const Usage &usage) const;

  bool checkTensors(const char *what, const remat_tensor *tensors, size_t count,
                    const std::vector<remat_signature> &signatures,
                    const std::vector<Usage> &usages);
  bool checkTensor(const std::string &name, const remat_tensor &tensor,
                   const remat_tensor_info &info, bool isAwaited);
  bool checkBools(const std::string &name, const remat_tensor &tensor,
                  uint64_t bytes);
  /// Whether a flag is set for any of the calls that are run.
  bool isAmongCalls(const std::vector<bool> &calls) const;
  /// Whether the calls that are run must be given the tensor.
  bool isNeeded(const Usage &usage) const;
  bool checkDonations();
  std::string describeRange(const Range &range) const;
  bool checkOverlaps();
  bool checkState(size_t call, const remat_state &state);
  /// Whether the state of the current run is where the caller gave it.
  bool isStateInPlace();
  bool checkScratch();
  /// Checks that a tensor of the call is in none of the memory that calls
  /// write, or in the state where it may be.
  bool checkBesideScratch(const Range &range);
  remat_status poisonMemory();
  remat_status runHere(size_t first, size_t end);
  remat_status runEntries(uint32_t begin, uint32_t end);
  /// A moment on the clock that times are taken on, on that of spans, and in
  /// CPU time.
  struct Moment {
    int64_t time = 0, wall = 0, cpu = 0;
  };
  /// `isBeside` on a thread that copies beside those that compute.
  Moment now(bool isBeside = false) const;
  remat_status execute(uint32_t index);
  remat_status runEntry(uint32_t index);
  remat_status runKernel(uint32_t index);
  remat_status runCall(uint32_t index);
  remat_status runLoop(uint32_t index);
  remat_status copy(const void *from, void *to, uint64_t bytes);
  remat_status fill(void *data, unsigned char value, uint64_t bytes);
  uint64_t copiedBytes(uint32_t index) const;
  void runBeside(uint32_t index);
  void recordTime(uint32_t index, const Moment &start, const Moment &end);
  bool observe(uint32_t index);
  void prepareAnomalies();
  void beginAnomalies();
  void callObserver(uint32_t index);
  remat_status enterEntry(uint32_t index);
  remat_status leaveEntry(uint32_t index);
  remat_status reportFailure(const remat::CheckFailure &failure);
  remat_status runCodec(uint32_t index, void *const *buffers);
  void poison(uint32_t root);
  char *address(const remat_buffer &buffer);
  void placeArena(void *memory, void *hosts);

  // On a device: StepDevice.cpp.
  remat_status loadOnDevice(const remat_module &module,
                            const remat_step_options &options,
                            std::string &message);
  bool isHostMemory(const void *data);
  bool checkPlace(const std::string &name, const void *data);
  bool isSerial() const;
  bool isAllOnDevice(const remat_state *state, bool isCopied) const;
  remat_status settle(bool waits);
  bool bindTensors();
  bool checkGivenState(const remat_state *state);
  bool bindState(const remat_state *state, bool &isCopied);
  remat_status tryOnDevice(size_t first, size_t end, remat_state *state);
  remat_status runOnDevice(size_t first, size_t end, remat_state *state);
  remat_status executeOnDevice(uint32_t index);
  bool describeFailure(uint32_t begin, uint32_t end, remat_status &status);
  bool describeLoopFailure(uint32_t index, remat_status &status);

  /// Null in the body of a loop.
  std::unique_ptr<remat::DeviceStep> ownDevice;
  /// The device of the step and its bodies, and the entries of this one. Null
  /// if entries run on this CPU.
  remat::DeviceStep *device = nullptr;
  remat::DeviceTable *deviceTable = nullptr;
  /// The stream that goes on behind the next call, and behind that under way.
  std::optional<void *> nextFollower, follower;
  /// The caller's tensors with their addresses on the device; of the body of a
  /// loop, the tensors of the current iteration.
  std::vector<remat_tensor> boundArguments, boundResults;

  const remat_kernel_fn *kernels = nullptr;
  uint32_t flags = 0;
  remat::Memory arena, host;
  remat::Lifetimes lifetimes;
  /// The names of entries that run here, for profilers.
  remat::Ranges entryNames;
  std::unique_ptr<remat::RecomputeCheck> recomputeCheck;
  bool isBitwise = false;
  /// Whether it is counted how often bodies run.
  bool countsBodyRuns = false;
  /// Whether the current run is traced.
  bool isTraced = false;
  std::map<std::tuple<int32_t, uint32_t, int, bool>,
           std::unique_ptr<remat::LibraryCall>>
      calls;
  std::vector<Prepared> prepared;
  /// Of each packed value of the table.
  std::vector<remat_codec> codecs;
  std::vector<void *> pointers;
  std::vector<Supplied> supplied;
  /// Of the table's bodies of loops.
  std::vector<std::unique_ptr<remat_step>> bodies;
  /// Whether this is the body of a loop, and what it needs then: pointers into
  /// its arena, which is in the workspace of one entry or another, and the
  /// bytes of its arguments and results.
  bool isBody = false;
  /// Of the body of a loop on a device: the iteration in which a check failed,
  /// or -1 where it is not known.
  int64_t failedIteration = -1;
  std::vector<Supplied> placed;
  std::vector<uint64_t> argumentBytes, resultBytes;
  /// What its entries take; of none unless they are timed.
  remat::IterationTimes iterationTimes;
  std::vector<Range> ranges;
  std::vector<Scratch> scratch;
  std::vector<remat_kernel_status> statuses;
  std::vector<Usage> argumentUsage, resultUsage;
  /// When a call first uses a result, and when it last uses an argument, or a
  /// result of an earlier call that it does not write.
  struct TensorEvent {
    uint32_t entry;
    bool isResult;
    uint32_t tensor;
    /// Whether an entry beside the computation uses it.
    bool isBeside;
  };
  /// In the order of the entries, of all calls.
  std::vector<TensorEvent> resultBegins, tensorEnds;
  /// Of each result, see state_offset of remat_tensor_info.
  std::vector<uint64_t> resultPlaces;
  /// Of each result, the pointers that are in it.
  std::vector<std::vector<Supplied>> resultPointers;
  /// What the current run asks of its caller; null if nothing.
  const remat_tensor_events *events = nullptr;
  /// The tensors of such a run: results get their data while it runs.
  std::vector<remat_tensor> eventResults;
  /// The next ones of the current run.
  size_t nextBegin = 0, nextEnd = 0;
  const remat_tensor *currentArguments = nullptr;
  const remat_tensor *currentResults = nullptr;
  size_t currentCall = 0, currentEnd = 0;
  /// When the first call of the current run began, for spans.
  int64_t runBegin = 0;
  /// In a call with a state, what it does not use may be missing.
  bool needsAllTensors = true;
  /// Where the state and what is offloaded lie in the current run.
  char *stateMemory = nullptr;
  /// The state of the current run; null if there is none.
  const remat_state *currentState = nullptr;
  char *hostMemory = nullptr;
  /// Whether copies run on threads of their own in the current run.
  bool isBeside = false;
  /// The last members: their threads end before what they use.
  remat::CopyQueue loopCopies;
  remat::CopyStreams copyStreams;
};

#endif // REMAT_LIB_RUNTIME_STEP_H
