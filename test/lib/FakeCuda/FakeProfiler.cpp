//===- FakeProfiler.cpp - a profiler that writes down ranges --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library that NVTX_INJECTION64_PATH may name. It writes the ranges of the
// program into its log, each with its depth in front.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using Function = void (*)();
using GetTable = const void *(*)(uint32_t);

struct Callbacks {
  size_t bytes;
  int (*getFunctions)(int module, Function ***table, unsigned *count);
};

std::vector<std::string> &getLog() {
  static std::vector<std::string> log;
  return log;
}

int depth = 0;

int push(const char *name) {
  getLog().push_back(std::to_string(depth) + " " + name);
  return depth++;
}

int pop() { return --depth; }

} // namespace

extern "C" {

size_t fakeProfilerCount() { return getLog().size(); }
const char *fakeProfilerRange(size_t number) {
  return getLog()[number].c_str();
}

int InitializeInjectionNvtx2(GetTable getTable) {
  constexpr uint32_t callbacks = 1;
  constexpr int core = 1, numModules = 7;
  constexpr unsigned rangePush = 9, rangePop = 11;
  auto *table = static_cast<const Callbacks *>(getTable(callbacks));
  Function **functions = nullptr;
  unsigned count = 0;
  if (!table || table->bytes < sizeof(Callbacks))
    return 0;
  // A profiler sets functions of each module as it likes.
  for (int module = numModules - 1; module >= core; --module) {
    if (!table->getFunctions(module, &functions, &count) || count < 2)
      return 0;
    *functions[count - 1] = nullptr;
  }
  if (count <= rangePop)
    return 0;
  *functions[rangePush] = reinterpret_cast<Function>(push);
  *functions[rangePop] = reinterpret_cast<Function>(pop);
  return 1;
}
}
