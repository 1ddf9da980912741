//===- FuzzMain.h - flags and seeds of the fuzzers --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the fuzzers in C++ have in common. It is without LLVM, as the run time.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_FUZZMAIN_H
#define REMAT_TEST_UNIT_FUZZMAIN_H

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

namespace remat {

struct FuzzOptions {
  uint64_t seed = 1, count = UINT64_MAX;
  double seconds = 1e9;
  std::string keep;
};

/// Reads one flag; whether its value is one.
inline bool parseFuzzValue(const std::string &name, const std::string &value,
                           FuzzOptions &options) {
  const char *begin = value.c_str();
  char *end = nullptr;
  if (name == "--keep")
    options.keep = value;
  else if (name == "--seconds")
    options.seconds = std::strtod(begin, &end);
  else
    (name == "--seed" ? options.seed : options.count) =
        std::strtoull(begin, &end, 10);
  // A number does not wrap around a minus.
  return !value.empty() && (!end || (!*end && value[0] != '-'));
}

/// Reads the flags, or says what is wrong with them.
inline bool parseFuzzOptions(int argc, char **argv, FuzzOptions &options) {
  for (int i = 1; i < argc; ++i) {
    std::string flag = argv[i];
    size_t at = flag.find('=');
    std::string name = flag.substr(0, at);
    std::string value = at == std::string::npos ? "" : flag.substr(at + 1);
    bool known = name == "--seed" || name == "--count" || name == "--seconds" ||
                 name == "--keep";
    if (known && parseFuzzValue(name, value, options))
      continue;
    std::fprintf(stderr,
                 "%s '%s', expected --seed=N, --count=N, --seconds=N or "
                 "--keep=DIR\n",
                 known ? "bad flag" : "unknown flag", argv[i]);
    return false;
  }
  return true;
}

/// Set by Ctrl-C and `kill`, of which the second one ends the process.
inline volatile std::sig_atomic_t isFuzzStopped = 0;

inline void handleFuzzSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { isFuzzStopped = 1; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

/// Calls `tryInput` with seed after seed, as long as the options say and nobody
/// stops it; how often that was. Says on a terminal, once a second, how far it
/// is.
template <typename TryInput>
uint64_t tryInputs(const FuzzOptions &options, TryInput tryInput) {
  handleFuzzSignals();
  bool isTerminal = isatty(STDERR_FILENO) != 0;
  auto start = std::chrono::steady_clock::now();
  double shown = 0;
  uint64_t runs = 0;
  for (; runs < options.count && !isFuzzStopped; ++runs) {
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    if (passed.count() > options.seconds)
      break;
    if (isTerminal && passed.count() > shown + 1) {
      shown = passed.count();
      std::fprintf(stderr, "\r\033[K%.1f s: %llu inputs", shown,
                   static_cast<unsigned long long>(runs));
    }
    tryInput(options.seed + runs);
  }
  if (shown != 0)
    std::fprintf(stderr, "\r\033[K");
  return runs;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_FUZZMAIN_H
