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
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

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

/// Calls `tryInput` with seed after seed, as long as the options say; how often
/// that was.
template <typename TryInput>
uint64_t tryInputs(const FuzzOptions &options, TryInput tryInput) {
  auto start = std::chrono::steady_clock::now();
  for (uint64_t runs = 0; runs < options.count; ++runs) {
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    if (passed.count() > options.seconds)
      return runs;
    tryInput(options.seed + runs);
  }
  return options.count;
}

} // namespace remat

#endif // REMAT_TEST_UNIT_FUZZMAIN_H
