//===- FakeProfiler.cpp - a profiler that writes down ranges --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library that NVTX_INJECTION64_PATH and INTEL_LIBITTNOTIFY64 may name. It
// writes the ranges of the program into its log, each with its depth in front;
// those of ITT with the domain, too.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstdint>
#include <pthread.h>
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

// What the functions of ITT do.

struct FakeDomain {
  int flags;
  std::string name;
};
struct FakeId {
  unsigned long long parts[3];
};

FakeDomain *fakeIttDomain(const char *name) { return new FakeDomain{1, name}; }
const char *fakeIttHandle(const char *name) {
  return (new std::string(name))->c_str();
}
void fakeIttBegin(const FakeDomain *domain, FakeId, FakeId, const char *name) {
  getLog().push_back(domain->name + ": " + std::to_string(depth) + " " + name);
}
void fakeIttEnd(const FakeDomain *domain) {
  getLog().push_back(domain->name + ": end");
}

/// The part of ITT's record that is in front of the list of functions.
struct FakeRecord {
  unsigned char magic[8];
  unsigned long version[3];
  long states[3];
  pthread_mutex_t mutex;
  void *library, *errorHandler;
  const char **path;
  struct Info {
    const char *name;
    Function *pointer;
    void *initial, *none;
    int group;
  } *list;
};

void __itt_api_init(FakeRecord *record, int) {
  if (record->magic[0] != 0xED || record->magic[7] != 0x30)
    return;
  // It may be called while another thread's functions are set.
  pthread_mutex_lock(&record->mutex);
  pthread_mutex_lock(&record->mutex);
  for (FakeRecord::Info *info = record->list; info->name; ++info) {
    std::string name = info->name;
    if (name == "__itt_domain_create")
      *info->pointer = reinterpret_cast<Function>(fakeIttDomain);
    else if (name == "__itt_string_handle_create")
      *info->pointer = reinterpret_cast<Function>(fakeIttHandle);
    else if (name == "__itt_task_begin")
      *info->pointer = reinterpret_cast<Function>(fakeIttBegin);
    else if (name == "__itt_task_end")
      *info->pointer = reinterpret_cast<Function>(fakeIttEnd);
  }
  pthread_mutex_unlock(&record->mutex);
  pthread_mutex_unlock(&record->mutex);
}
}
