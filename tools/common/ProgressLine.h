//===- ProgressLine.h - how far a tool is -----------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_COMMON_PROGRESSLINE_H
#define REMAT_TOOLS_COMMON_PROGRESSLINE_H

#include "llvm/ADT/StringRef.h"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace remat::tools {

/// How far something is, in words, and the share of it that is done where that
/// is known.
struct ProgressState {
  std::string text;
  std::optional<double> share;
};

/// As long as it lives, says once a second on standard error how far a tool is:
/// on a terminal in one line that changes, with a bar, else in lines below each
/// other. What takes less than a second says nothing.
class ProgressLine {
public:
  /// Without `shows`, nothing is said. `describe` is called in another thread.
  ProgressLine(llvm::StringRef tool, bool shows,
               std::function<ProgressState()> describe);
  ~ProgressLine();
  ProgressLine(const ProgressLine &) = delete;

  /// Says it once more, and for the last time, in a line that stays.
  void finish();
  /// Takes back what is on the terminal's line, and says nothing from then on.
  void clear();
  double getSeconds() const;

private:
  void printEachSecond();
  void print(bool isLast);
  void stop();

  std::string tool;
  std::function<ProgressState()> describe;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  bool isTerminal, hasLine = false;

  /// Guards what is below, which the thread that prints reads.
  std::mutex mutex;
  std::condition_variable ended;
  bool isEnded = false;
  std::thread printer;
};

} // namespace remat::tools

#endif // REMAT_TOOLS_COMMON_PROGRESSLINE_H
