//===- CudaStep.h - a step that a CUDA device runs --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H
#define REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H

#include "Code.h"
#include "CublasLt.h"
#include "CudnnConvolution.h"
#include "DeviceStep.h"
#include "Ranges.h"

namespace remat::cuda {

class CudaStep : public DeviceStep {
public:
  CudaStep(const Driver &driver, const Table &table)
      : driver(driver), table(table), ranges(table), code(driver),
        mayCapture(!ranges.areShown()) {}
  ~CudaStep() override;
  remat_status load(const remat_module &module,
                    const remat_step_options &options, std::string &error);

  bool isOnDevice(const void *data) override;
  uint64_t usedBytes() override;
  remat_status begin(std::string &error) override;
  bool bind(size_t number, void *data, uint64_t bytes, bool isRead,
            bool isWritten, char *&address, std::string &error) override;
  remat_status start(uint32_t first, uint32_t end,
                     const std::vector<void *> &pointers, bool isSerial,
                     std::string &error) override;
  remat_status run(uint32_t entry, void *const *buffers, int64_t *nanoseconds,
                   std::string &error) override;
  remat_status finish(std::string &error) override;
  bool cancel() override;
  bool findFailure(CheckFailure &failure) const override;
  remat_status timeCopies(uint64_t bytes, int64_t &toHost, int64_t &toDevice,
                          std::string &error) override;
  bool copy(void *to, const void *from, uint64_t bytes,
            std::string &error) override;
  bool poison(void *data, uint64_t bytes, std::string &error) override;

private:
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
  enum class Mode { Idle, Direct, Serial, Capture, Replay };

  bool check(Result result, const char *what, std::string &error) const;
  bool allocate(void **memory, uint64_t bytes, std::string &error);
  remat_status allocateAll(const remat_step_options &options,
                           std::string &error);
  bool timeCopy(Stream stream, const void *from, void *to, uint64_t bytes,
                int64_t &nanoseconds, std::string &error);
  bool createStreams(std::string &error);
  remat_status prepareMatmuls(const remat_step_options &options,
                              std::string &error);
  remat_status loadMatmulLibrary(const remat_step_options &options,
                                 Algorithms &algorithms, std::string &error);
  bool describeMachine(AlgorithmMachine &machine, std::string &error) const;
  remat_status prepareMatmul(size_t number, MatmulLimits limits,
                             Algorithms &known, std::string &error);
  std::vector<const remat_plan *> findPlans(uint32_t convolution,
                                            std::string &error) const;
  bool prepareConvolution(uint32_t entry, std::string &error);
  bool prepareConvolutions(std::string &error);
  bool runEntry(uint32_t entry, void *const *buffers, std::string &error);
  bool runKernel(uint32_t entry, void *const *buffers, std::string &error);
  bool runMatmul(uint32_t entry, void *const *buffers, std::string &error);
  bool runConvolution(uint32_t entry, void *const *buffers, std::string &error);
  bool runCopy(uint32_t entry, void *const *buffers, std::string &error);
  /// Lets streams begin after the first one, or the first end after all.
  bool fork(std::string &error);
  bool join(std::string &error);
  bool endCapture(std::string &error);
  Stream streamOf(uint32_t entry) const {
    return streams[mode == Mode::Serial ? 0 : table.entries[entry].stream];
  }

  const Driver &driver;
  const Table &table;
  const Ranges ranges;
  DeviceNumber device = 0;
  uint32_t capability = 0;
  Context context = nullptr;
  bool isPushed = false;
  uint64_t freeBytes = 0;
  Code code;
  std::unique_ptr<MatmulLibrary> matmulLibrary;
  std::vector<std::unique_ptr<PreparedMatmul>> matmuls;
  std::unique_ptr<ConvolutionLibrary> convolutionLibrary;
  std::vector<std::unique_ptr<PreparedConvolution>> convolutions;
  Stream streams[REMAT_STREAM_COUNT] = {};
  /// Of each entry that another stream waits for, and at the borders of runs.
  std::vector<Event> events;
  Event borders[REMAT_STREAM_COUNT] = {}, clocks[2] = {};
  std::vector<DevicePointer> allocations;
  void *pinned = nullptr;
  /// Of each entry, on the device and read back.
  remat_kernel_status *statuses = nullptr, *failures = nullptr;
  /// By the number of the tensor.
  std::vector<Copy> copies;
  std::vector<size_t> bound;
  std::vector<Replay> replays;
  Replay *current = nullptr;
  Mode mode = Mode::Idle;
  bool mayCapture;
  uint32_t firstEntry = 0, endEntry = 0;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CUDASTEP_H
