//===- StandardStreams.cpp - when nobody reads what is printed ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Support/StandardStreams.h"

#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

static StringRef toolName;

/// Runs when the program is about to end, before LLVM destroys its streams.
static void checkStreams() {
  outs().flush();
  if (std::error_code error = outs().error()) {
    outs().clear_error();
    WithColor::error(errs(), toolName)
        << "standard output: " << error.message() << '\n';
    _exit(EXIT_FAILURE);
  }
  // There is nowhere left to say it.
  errs().clear_error();
}

/// Gives a closed descriptor to /dev/null in a mode in which its use fails.
static void occupy(int descriptor, int mode) {
  if (fcntl(descriptor, F_GETFD) != -1)
    return;
  int null = open("/dev/null", mode);
  if (null != -1 && null != descriptor) {
    dup2(null, descriptor);
    close(null);
  }
}

void remat::guardStandardStreams(StringLiteral tool) {
  toolName = tool;
  occupy(STDIN_FILENO, O_WRONLY);
  occupy(STDOUT_FILENO, O_RDONLY);
  occupy(STDERR_FILENO, O_RDWR);
  // Writing to a pipe that nobody reads is an error like any other.
  std::signal(SIGPIPE, SIG_IGN);
  // The streams have to be made first: what is made last is destroyed first.
  outs();
  errs();
  std::atexit(checkStreams);
}
