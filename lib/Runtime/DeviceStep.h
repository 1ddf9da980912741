//===- DeviceStep.h - a step that a device runs -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a loaded step asks of a device. The step keeps what a table alone says:
// checks of tensors, lifetimes, counted bytes, traces, and how loops run.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_DEVICESTEP_H
#define REMAT_LIB_RUNTIME_DEVICESTEP_H

#include "Table.h"
#include "remat/Runtime/DeviceCode.h"
#include "remat/Runtime/Runtime.h"

#include <array>
#include <memory>
#include <optional>

namespace remat {

/// A failed check of a kernel.
struct CheckFailure {
  uint32_t entry;
  /// Number of the check, or -1.
  int64_t check;
  int64_t index, bound;
};

/// The entries of a table, that of a step or of the body of a loop. Its owner
/// is the step.
class DeviceTable {
public:
  virtual ~DeviceTable() = default;

  char *constants = nullptr;

  /// Runs an entry that is no loop. `nanoseconds`, if it is not null, is set to
  /// the entry's time, in a serial run.
  virtual remat_status run(uint32_t entry, void *const *buffers,
                           int64_t *nanoseconds, std::string &error) = 0;
  /// Begins and ends an entry that is a loop, whose body's entries run between.
  virtual remat_status enter(uint32_t entry, bool isTimed,
                             std::string &error) = 0;
  virtual remat_status leave(uint32_t entry, int64_t *nanoseconds,
                             std::string &error) = 0;
  /// The first failed check of the entries from `first` on and before `end`
  /// that is known by now, if there is one.
  virtual bool findFailure(uint32_t first, uint32_t end,
                           CheckFailure &failure) const = 0;
};

/// Bytes at the start of the arena that are not there, as each call is given a
/// state in their place. The rest has the alignment of the whole.
inline uint64_t givenStateBytes(const Table &table,
                                const remat_step_options &options) {
  return options.flags & REMAT_STEP_STATE_IS_GIVEN
             ? table.header.state_bytes / REMAT_DEVICE_ALIGNMENT *
                   REMAT_DEVICE_ALIGNMENT
             : 0;
}

class DeviceStep {
public:
  virtual ~DeviceStep() = default;

  char *arena = nullptr;
  /// Memory of the host that the device copies to and from.
  char *host = nullptr;
  /// The choices of the library for matmuls, see remat_step_algorithms.
  std::string algorithms;
  /// Entries whose library calls generated code stands in for.
  uint64_t degradedCalls = 0;

  /// The number of the device, as the driver counts.
  int ordinal = 0;

  /// The number of the device that `data` is memory of; -1 of the host's.
  virtual int findDevice(const void *data) = 0;
  /// Whether `data` is memory of this device.
  bool isOnDevice(const void *data) { return findDevice(data) == ordinal; }
  /// Lets the next run begin behind what `stream`, of the caller, has by now;
  /// false with a message on failure.
  virtual bool waitFor(void *stream, std::string &error) = 0;

  /// Bytes by which the device's free memory became less by loading and running
  /// the step.
  virtual uint64_t usedBytes() = 0;

  /// Loads the entries of a table: the step's, then those of the bodies of its
  /// loops, each in front of the bodies that it has itself. The table stays
  /// where it is.
  virtual remat_status loadTable(const Table &table, DeviceTable *&loaded,
                                 std::string &error) = 0;

  /// Whether runs have been finished that nobody has waited for.
  bool isUnderWay = false;
  /// Waits for these; false with a message on failure.
  virtual bool settle(std::string &error) = 0;

  /// A run: `begin`, `bind` for each tensor, `start`, the entries of the step's
  /// table, `finish`. After a failure, `cancel`. All may return before the
  /// device is done, `finish` only if it is given a stream.
  virtual remat_status begin(std::string &error) = 0;
  /// Where tensor `number` of the caller is on the device: at `data`, or in a
  /// copy, which is written before the entries if they read it, and read back
  /// behind them if they write it. False with a message on failure.
  virtual bool bind(size_t number, void *data, uint64_t bytes, bool isRead,
                    bool isWritten, char *&address, std::string &error) = 0;
  /// Begins the entries from `first` on with these pointers. A serial run has
  /// one entry after the other, so that each failure names its entry; another
  /// may be the repetition of one with the same pointers, whose entries and
  /// iterations the step only counts once more.
  virtual remat_status start(uint32_t first, uint32_t end,
                             const std::vector<void *> &pointers, bool isSerial,
                             std::string &error) = 0;
  /// Whether the run under way is serial.
  virtual bool isSerial() const = 0;
  /// Waits for the run. With `follower`, a stream of the caller, that stream
  /// goes on behind the run in place of the host, unless the host has to copy
  /// tensors or did have to read numbers: then `isUnderWay` is set.
  virtual remat_status finish(const std::optional<void *> &follower,
                              std::string &error) = 0;
  /// True if the run may be repeated: it failed because it was recorded to be
  /// repeated later, which will not be tried again.
  virtual bool cancel() = 0;

  /// The least nanoseconds, of several, that a copy of so many bytes takes to
  /// the host and to the device, between runs.
  virtual remat_status timeCopies(uint64_t bytes, int64_t &toHost,
                                  int64_t &toDevice, std::string &error) = 0;

  /// Behind the entries so far and before those that follow, in the stream of
  /// the computation; false with a message on failure.
  virtual bool move(void *to, const void *from, uint64_t bytes,
                    std::string &error) = 0;
  virtual bool fill(void *data, unsigned char value, uint64_t bytes,
                    std::string &error) = 0;

  /// Beside the computation: a copy to or from memory of the host that begins
  /// when the entries so far and the copies `after` have ended, those in its
  /// direction, too. `number` says which it is, from 1 on; 0 is none. False
  /// with a message on failure.
  virtual bool copyBeside(void *to, const void *from, uint64_t bytes,
                          bool isToHost, std::array<uint64_t, 2> after,
                          uint64_t &number, std::string &error) = 0;
  /// Lets what the computation's stream gets from now on wait for the copy of
  /// this number; false with a message on failure.
  virtual bool waitBeside(uint64_t number, std::string &error) = 0;

  /// Waits for what the computation's stream has, then for the copy; false with
  /// a message on failure. Not in a run that may be recorded.
  virtual bool copy(void *to, const void *from, uint64_t bytes,
                    std::string &error) = 0;
  /// The same, of at most 8 bytes to the host, and brings there which checks
  /// have failed so far.
  virtual bool read(void *to, const void *from, uint64_t bytes,
                    std::string &error) = 0;
  /// Whether one of those has, or one of a run under way that is known by now.
  virtual bool hasFailed() const = 0;
};

/// Loads what the tables of `module`, of which the step's is `table`, have in
/// common on a CUDA device. Runs are recorded if `mayRecord`. A code other than
/// REMAT_OK comes with a message.
remat_status loadCudaStep(const remat_module &module, const Table &table,
                          const remat_step_options &options, bool mayRecord,
                          std::unique_ptr<DeviceStep> &step,
                          std::string &message);

} // namespace remat

#endif // REMAT_LIB_RUNTIME_DEVICESTEP_H
