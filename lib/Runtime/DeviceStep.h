//===- DeviceStep.h - a step that a device runs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loaded step asks of a device. The step keeps what a table alone says:
// checks of tensors, lifetimes, counted bytes, traces.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_DEVICESTEP_H
#define REMAT_LIB_RUNTIME_DEVICESTEP_H

#include "Table.h"
#include "remat/Runtime/DeviceCode.h"
#include "remat/Runtime/Runtime.h"

#include <memory>

namespace remat {

/// A failed check of a kernel.
struct CheckFailure {
  uint32_t entry;
  /// Number of the check, or -1.
  int64_t check;
  int64_t index, bound;
};

class DeviceStep {
public:
  virtual ~DeviceStep() = default;

  char *arena = nullptr;
  /// Memory of the host that the device copies to and from.
  char *host = nullptr;
  char *constants = nullptr;
  /// The choices of the library for matmuls, see remat_step_algorithms.
  std::string algorithms;

  /// Whether `data` is memory of the device.
  virtual bool isOnDevice(const void *data) = 0;

  /// Bytes by which the device's free memory became less by loading and running
  /// the step.
  virtual uint64_t usedBytes() = 0;

  /// A run: `begin`, `bind` for each tensor, `start`, `run` for each entry,
  /// `finish`. After a failure, `cancel`. All but `finish` may return before
  /// the device is done.
  virtual remat_status begin(std::string &error) = 0;
  /// Where tensor `number` of the caller is on the device: at `data`, or in a
  /// copy, which is written before the entries if they read it, and read back
  /// behind them if they write it. False with a message on failure.
  virtual bool bind(size_t number, void *data, uint64_t bytes, bool isRead,
                    bool isWritten, char *&address, std::string &error) = 0;
  /// Begins the entries from `first` on with these pointers. A serial run has
  /// one entry after the other, so that each failure names its entry; another
  /// may be the repetition of one with the same pointers.
  virtual remat_status start(uint32_t first, uint32_t end,
                             const std::vector<void *> &pointers, bool isSerial,
                             std::string &error) = 0;
  /// `nanoseconds`, if it is not null, is set to the entry's time, in a serial
  /// run.
  virtual remat_status run(uint32_t entry, void *const *buffers,
                           int64_t *nanoseconds, std::string &error) = 0;
  virtual remat_status finish(std::string &error) = 0;
  /// True if the run may be repeated: it failed because it was recorded to be
  /// repeated later, which will not be tried again.
  virtual bool cancel() = 0;
  /// The first failed check of the run that is finished, if there is one.
  virtual bool findFailure(CheckFailure &failure) const = 0;

  /// The least nanoseconds, of several, that a copy of so many bytes takes to
  /// the host and to the device, between runs.
  virtual remat_status timeCopies(uint64_t bytes, int64_t &toHost,
                                  int64_t &toDevice, std::string &error) = 0;

  /// Within a serial run; false with a message on failure.
  virtual bool copy(void *to, const void *from, uint64_t bytes,
                    std::string &error) = 0;
  virtual bool poison(void *data, uint64_t bytes, std::string &error) = 0;
};

/// Loads the code of `module`, whose table is `table`, on a CUDA device. A code
/// other than REMAT_OK comes with a message.
remat_status loadCudaStep(const remat_module &module, const Table &table,
                          const remat_step_options &options,
                          std::unique_ptr<DeviceStep> &step,
                          std::string &message);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_DEVICESTEP_H
