//===- CudaStep.h - a step that a CUDA device runs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H
#define REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H

#include "Code.h"
#include "CudaTable.h"

namespace remat::cuda {

/// What the addresses of a buffer are multiples of, as far as it matters to
/// libraries. A value in the body of a loop may be an element of a slice or a
/// stack, which follow each other without gaps; which of them are depends on
/// the plan, which must not change what a library chooses.
uint32_t findAlignment(const Table &table, const remat_buffer &buffer,
                       bool isBody);

/// What the tables of a step share.
class CudaStep : public DeviceStep {
public:
  CudaStep(const Driver &driver, const Table &table, bool mayRecord);
  ~CudaStep() override;
  remat_status load(const remat_module &module,
                    const remat_step_options &options, std::string &error);

  int findDevice(const void *data) override;
  bool waitFor(void *stream, std::string &error) override;
  uint64_t usedBytes() override;
  remat_status loadTable(const Table &loaded, DeviceTable *&result,
                         std::string &error) override;
  remat_status begin(std::string &error) override;
  bool bind(size_t number, void *data, uint64_t bytes, bool isRead,
            bool isWritten, char *&address, std::string &error) override;
  remat_status start(uint32_t first, uint32_t end,
                     const std::vector<void *> &pointers, bool isSerial,
                     std::string &error) override;
  bool isSerial() const override { return mode == Mode::Serial; }
  bool settle(std::string &error) override;
  remat_status finish(const std::optional<void *> &follower,
                      std::string &error) override;
  bool cancel() override;
  remat_status timeCopies(uint64_t bytes, int64_t &toHost, int64_t &toDevice,
                          std::string &error) override;
  bool move(void *to, const void *from, uint64_t bytes,
            std::string &error) override;
  bool fill(void *data, unsigned char value, uint64_t bytes,
            std::string &error) override;
  bool copyBeside(void *to, const void *from, uint64_t bytes, bool isToHost,
                  std::array<uint64_t, 2> after, uint64_t &number,
                  std::string &error) override;
  bool waitBeside(uint64_t number, std::string &error) override;
  bool copy(void *to, const void *from, uint64_t bytes,
            std::string &error) override;
  bool read(void *to, const void *from, uint64_t bytes,
            std::string &error) override;
  bool hasFailed() const override;

private:
  friend class CudaTable;

  /// Makes the step's context the thread's as long as this object lives.
  class Scope {
  public:
    explicit Scope(const CudaStep &step) : driver(step.driver) {
      driver.CtxPushCurrent(step.context);
    }
    ~Scope() {
      Context popped;
      driver.CtxPopCurrent(&popped);
    }

  private:
    const Driver &driver;
  };
  /// A copy on the device of a tensor that is elsewhere.
  struct Copy {
    DevicePointer memory = 0;
    uint64_t bytes = 0;
    void *data = nullptr;
    bool isWritten = false;
  };
  /// A recorded run with what it was recorded for.
  struct Replay {
    uint32_t first, end;
    std::vector<void *> pointers;
    /// Null as long as it was only seen.
    GraphExec graph;
  };
  /// The matmul that all entries with one description are.
  struct SharedMatmul {
    remat_matmul matmul;
    MatmulLimits limits;
    uint64_t entries = 0;
    /// One of these entries, for messages.
    std::string user;
    DividedMatmul prepared;
  };
  enum class Mode { Idle, Direct, Serial, Capture, Replay };

  bool check(Result result, const char *what, std::string &error) const;
  /// Checks what gave a stream some work of the run.
  bool launch(Result result, const char *what, std::string &error) {
    return check(result, what, error) && countLaunch(error);
  }
  /// False with a message if the run becomes too long to be recorded.
  bool countLaunch(std::string &error);
  bool allocate(void **memory, uint64_t bytes, std::string &error);
  remat_status allocateAll(const remat_step_options &options,
                           std::string &error);
  bool timeCopy(Stream stream, const void *from, void *to, uint64_t bytes,
                int64_t &nanoseconds, std::string &error);
  bool createStreams(std::string &error);
  void findMatmulLimits(const Table &of, const std::string &place, bool isBody);
  remat_status chooseMatmuls(const remat_step_options &options,
                             std::string &error);
  remat_status loadMatmulLibrary(const remat_step_options &options,
                                 Algorithms &known, std::string &error);
  bool describeMachine(AlgorithmMachine &machine, std::string &error) const;
  remat_status chooseMatmul(SharedMatmul &shared, Algorithms &known,
                            std::string &error);
  remat_status choosePart(const MatmulPart &part, SharedMatmul &shared,
                          Algorithms &known, std::string &error);
  remat_status lendWorkspace(MatmulLimits &limits, std::string &error);
  const DividedMatmul *findMatmul(const remat_matmul &matmul) const;
  /// Ranges of statuses that the run has: of entries, and of all bodies.
  std::vector<std::pair<uint64_t, uint64_t>> findStatuses() const;
  bool readStatuses(std::string &error);
  /// Lets `stream` wait for the copy of this number.
  bool waitForCopy(Stream stream, uint64_t number, std::string &error);
  /// Lets streams begin after the first one, or the first end after all.
  bool fork(std::string &error);
  bool join(std::string &error);
  bool endCapture(std::string &error);

  const Driver &driver;
  /// That of the step itself.
  const Table &table;
  DeviceNumber device = 0;
  uint32_t capability = 0;
  Context context = nullptr;
  bool isPushed = false;
  uint64_t freeBytes = 0;
  Code code;
  std::unique_ptr<MatmulLibrary> matmulLibrary;
  std::vector<SharedMatmul> matmuls;
  /// Beside the arena, for matmuls that find no algorithm within theirs.
  void *spareWorkspace = nullptr;
  std::unique_ptr<ConvolutionLibrary> convolutionLibrary;
  std::vector<std::unique_ptr<CudaTable>> tables;
  Stream streams[REMAT_STREAM_COUNT] = {};
  /// At the borders of runs, and around what is timed.
  Event borders[REMAT_STREAM_COUNT] = {}, clocks[2] = {};
  /// Where the computation is when a copy beside it is passed on, and behind
  /// the last of these to the device and to the host. Copies in one direction
  /// come one after the other, so a later one may stand for an earlier one.
  static constexpr uint64_t copiesInFlight = 4;
  Event computed = nullptr, copyEnds[2][copiesInFlight] = {};
  uint64_t passedCopies[2] = {};
  std::vector<DevicePointer> allocations;
  void *pinned = nullptr;
  /// Of each entry of all tables, on the device and read back.
  const uint64_t statusCount;
  remat_kernel_status *statuses = nullptr, *failures = nullptr;
  /// Whether no check is said to have failed, but by runs under way.
  bool areStatusesClear = false;
  /// Where a number of the device is brought to. A copy that the host did not
  /// wait for, because something failed, must not be about its stack.
  int64_t *number = nullptr;
  /// Of the tables that are loaded by now.
  uint64_t usedStatuses = 0;
  /// By the number of the tensor.
  std::vector<Copy> copies;
  std::vector<size_t> bound;
  std::vector<Replay> replays;
  Replay *current = nullptr;
  Mode mode = Mode::Idle;
  /// Whether the host reads how often a loop runs. What it runs depends on it.
  const bool readsTrips;
  bool mayCapture;
  /// Launches of the run that is recorded.
  uint64_t recorded = 0;
  uint32_t firstEntry = 0, endEntry = 0;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H
