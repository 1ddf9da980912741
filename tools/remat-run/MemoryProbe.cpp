//===- MemoryProbe.cpp - the process's resident memory --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MemoryProbe.h"

#include <cstdio>
#include <cstring>

using namespace remat::run;

/// A field of /proc/self/status that is given in kB, in bytes; -1 if missing.
static int64_t readStatus(const char *field) {
  std::FILE *file = std::fopen("/proc/self/status", "r");
  if (!file)
    return -1;
  char line[256];
  long long kilobytes = -1;
  while (std::fgets(line, sizeof(line), file))
    if (std::strncmp(line, field, std::strlen(field)) == 0)
      std::sscanf(line + std::strlen(field), ": %lld", &kilobytes);
  std::fclose(file);
  return kilobytes < 0 ? -1 : kilobytes * 1024;
}

MemoryProbe::MemoryProbe() {
  // Writing 5 resets the high-water mark, see proc(5).
  if (std::FILE *file = std::fopen("/proc/self/clear_refs", "w")) {
    std::fputs("5", file);
    std::fclose(file);
  }
  before = readStatus("VmRSS");
}

int64_t MemoryProbe::getGrowth() const {
  int64_t peak = readStatus("VmHWM");
  return before < 0 || peak < 0 ? -1 : peak - before;
}
