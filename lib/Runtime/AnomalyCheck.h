//===- AnomalyCheck.h - the first NaN or infinity ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a NaN or an infinity comes from: the entry that wrote one although what
// it read had none.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_ANOMALYCHECK_H
#define REMAT_LIB_RUNTIME_ANOMALYCHECK_H

#include "Table.h"

#include <functional>
#include <optional>

namespace remat {

/// What of a buffer is not finite: its first NaN and its first infinity.
struct NonFinite {
  std::optional<uint64_t> nan, infinity;
};

/// Reads `bytes` bytes of numbers, once, on at most `threads` threads. Nothing
/// is found of types without such numbers.
NonFinite findNonFinite(const void *data, uint64_t bytes, int32_t dtype,
                        int threads);

class AnomalyCheck {
public:
  /// Gives the bytes at an address of the step for this thread to read, until
  /// the next call; null if that failed.
  using Read = std::function<const void *(const void *data, uint64_t bytes)>;

  AnomalyCheck(const Table &table, int threads, Read read)
      : table(table), threads(threads), read(std::move(read)),
        packed(table.packedValues.size()), isReported(table.entries.size()) {}

  /// A run of the step begins.
  void begin();

  /// An entry is about to run on `buffers`, its operands and results. Looks at
  /// the operands that it will overwrite.
  void enter(uint32_t entry, void *const *buffers);

  /// The entry has run. False with a message if it wrote a NaN although it read
  /// none, or an infinity although it read only finite numbers. A constant in
  /// the entry's operation counts as read.
  bool leave(uint32_t entry, void *const *buffers, std::string &message);

  /// Keeps the message of an entry, the first one of it in this run.
  void report(uint32_t entry, const std::string &message);
  /// Keeps what the body of a loop has reported and has not passed on.
  void passOn(AnomalyCheck &body, const std::string &place);
  bool hasNews() const { return passedOn < messages.size(); }

  /// What was kept in this run, a line for each message.
  const std::string &reports() const { return text; }

private:
  struct Kinds {
    bool nan = false, infinity = false;
  };
  NonFinite find(const remat_buffer &buffer, const void *data) const;
  Kinds look(const remat_buffer &buffer, const void *data) const;
  void keep(std::string message);
  Kinds lookAtOperands(uint32_t entry, void *const *buffers) const;
  std::string describe(uint32_t entry, uint32_t result, uint64_t element,
                       bool isNan) const;

  const Table &table;
  int threads;
  Read read;
  /// Of the operands that the entry under way overwrites.
  Kinds overwritten;
  std::vector<bool> isOverwritten;
  /// Of the values that codecs of the caller keep.
  std::vector<Kinds> packed;
  std::vector<bool> isReported;
  std::vector<std::string> messages;
  size_t passedOn = 0;
  std::string text;
};

} // namespace remat

#endif // REMAT_LIB_RUNTIME_ANOMALYCHECK_H
