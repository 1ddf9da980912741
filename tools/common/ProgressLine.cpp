//===- ProgressLine.cpp - how far a tool is -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/ProgressLine.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

using namespace llvm;
using namespace remat::tools;

/// Characters of a bar.
static constexpr size_t barWidth = 20;

/// Goes to the beginning of the terminal's line and deletes it.
static constexpr StringLiteral clearLine = "\r\033[K";

/// What is longer than the terminal's line is cut off: in a second line, it
/// would not be deleted.
static constexpr StringLiteral cutLines = "\033[?7l", wrapLines = "\033[?7h";

ProgressLine::ProgressLine(StringRef tool, bool shows,
                           std::function<ProgressState()> describe)
    : tool(tool), describe(std::move(describe)),
      isTerminal(sys::Process::StandardErrIsDisplayed()) {
  if (shows)
    printer = std::thread([this] { printEachSecond(); });
}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::clear() {
  stop();
  if (hasLine)
    errs() << clearLine;
  hasLine = false;
}

void ProgressLine::stop() {
  if (!printer.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isEnded = true;
  }
  ended.notify_all();
  printer.join();
}

void ProgressLine::finish() {
  bool shows = printer.joinable();
  stop();
  // On a terminal, a short one would only be in the way.
  if (shows && (!isTerminal || hasLine))
    print(/*isLast=*/true);
}

double ProgressLine::getSeconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

void ProgressLine::printEachSecond() {
  std::unique_lock<std::mutex> lock(mutex);
  auto next = start;
  while (true) {
    next += std::chrono::seconds(1);
    if (ended.wait_until(lock, next, [this] { return isEnded; }))
      return;
    print(/*isLast=*/false);
  }
}

/// The mutex is held, or the thread that prints has ended.
void ProgressLine::print(bool isLast) {
  ProgressState state = describe();
  std::string line = isTerminal ? clearLine.str() : "";
  line += formatv("{0}: {1:f1} s: ", tool, getSeconds());
  if (isTerminal && state.share) {
    double share = std::clamp(*state.share, 0.0, 1.0);
    size_t done = size_t(share * double(barWidth));
    line +=
        "[" + std::string(done, '#') + std::string(barWidth - done, '.') + "] ";
  }
  line += state.text;
  hasLine = isTerminal && !isLast;
  line = hasLine ? (cutLines + line + wrapLines).str() : line + '\n';
  // In one piece.
  errs() << line;
}
