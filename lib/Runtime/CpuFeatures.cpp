//===- CpuFeatures.cpp - what the code of a step needs of a CPU -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// GCC's library asks the CPU, and whether the system saves its registers, for
// GCC and for Clang. The features are those that code has without asking for
// them by name, and that GCC 12 knows: of newer ones an older library says that
// they are missing. Each name has to be a literal.
//
//===----------------------------------------------------------------------===//

#include "CpuFeatures.h"

using namespace remat;

#ifdef __x86_64__

namespace {
struct CpuFeature {
  std::string_view name;
  bool isHere;
};
} // namespace

#define REMAT_FEATURE(name) {name, __builtin_cpu_supports(name) != 0}

/// Whether this machine is known to lack what LLVM calls `name`.
static bool isMissing(std::string_view name) {
  static const CpuFeature features[] = {
      REMAT_FEATURE("sse3"),
      REMAT_FEATURE("ssse3"),
      REMAT_FEATURE("sse4.1"),
      REMAT_FEATURE("sse4.2"),
      REMAT_FEATURE("sse4a"),
      REMAT_FEATURE("popcnt"),
      REMAT_FEATURE("avx"),
      REMAT_FEATURE("avx2"),
      REMAT_FEATURE("fma"),
      REMAT_FEATURE("fma4"),
      REMAT_FEATURE("xop"),
      REMAT_FEATURE("f16c"),
      REMAT_FEATURE("bmi"),
      REMAT_FEATURE("bmi2"),
      REMAT_FEATURE("tbm"),
      REMAT_FEATURE("lzcnt"),
      REMAT_FEATURE("movbe"),
      REMAT_FEATURE("gfni"),
      REMAT_FEATURE("avx512f"),
      REMAT_FEATURE("avx512dq"),
      REMAT_FEATURE("avx512bw"),
      REMAT_FEATURE("avx512cd"),
      REMAT_FEATURE("avx512vl"),
      REMAT_FEATURE("avx512ifma"),
      REMAT_FEATURE("avx512vbmi"),
      REMAT_FEATURE("avx512vbmi2"),
      REMAT_FEATURE("avx512vnni"),
      REMAT_FEATURE("avx512bitalg"),
      REMAT_FEATURE("avx512vpopcntdq"),
      REMAT_FEATURE("avx512bf16"),
      REMAT_FEATURE("avx512fp16"),
      REMAT_FEATURE("avxvnni"),
      REMAT_FEATURE("amx-tile"),
      REMAT_FEATURE("amx-bf16"),
  };
  for (const CpuFeature &feature : features)
    if (feature.name == name)
      return !feature.isHere;
  return false;
}

#else

static bool isMissing(std::string_view) { return false; }

#endif

std::string remat::findMissingCpuFeatures(std::string_view needed) {
  std::string missing;
  while (!needed.empty()) {
    size_t end = needed.find(',');
    std::string_view name = needed.substr(0, end);
    needed.remove_prefix(end == needed.npos ? needed.size() : end + 1);
    if (isMissing(name))
      missing.append(missing.empty() ? "" : ",").append(name);
  }
  return missing;
}
