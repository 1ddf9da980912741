//===- Interrupts.cpp - Ctrl-C and its like -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Interrupts.h"

#include "remat/Support/OutputFiles.h"

#include "llvm/Support/Signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace remat;

static StringLiteral toolName = "";
static std::atomic<void (*)()> interruptFunction = nullptr;

static bool isIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

/// Asked before LLVM replaces what the caller of the program wanted.
static const bool ignoresHangup = isIgnored(SIGHUP);

/// The rest of a line on standard error, as far as a signal handler may.
static void print(StringRef text) {
  // That it was not written is nothing that could be said.
  if (write(STDERR_FILENO, text.data(), text.size()) < 0)
    return;
}

static void onSignal(int signal) {
  int error = errno;
  if (void (*function)() = interruptFunction.exchange(nullptr)) {
    function();
    errno = error;
    return;
  }
  print(toolName);
  print(": interrupted, unfinished files are not written\n");
  // Deletes temporary files.
  sys::RunInterruptHandlers();
  // It is delivered when this handler returns.
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void tools::setInterruptFunction(void (*function)()) {
  interruptFunction = function;
}

void tools::handleInterrupts(StringLiteral tool) {
  toolName = tool;
  OutputFiles::handleSignals();
  struct sigaction action = {};
  action.sa_handler = onSignal;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaction(signal, &action, nullptr);
  if (ignoresHangup)
    std::signal(SIGHUP, SIG_IGN);
}
