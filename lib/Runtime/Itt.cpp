//===- Itt.cpp - a profiler that knows ITT --------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profiler's library either exports the functions, or a function that is
// given a record with a list of them, and sets the pointers that it wants to be
// called. The layout of the record is that of ITT's static part, version 3.
//
//===----------------------------------------------------------------------===//

#include "Profilers.h"

#include <cstdlib>
#include <dlfcn.h>
#include <pthread.h>

using namespace remat;

namespace {

struct Domain {
  /// 0 while the profiler wants none of its tasks.
  volatile int flags;
};
struct Id {
  unsigned long long parts[3];
};
using Function = void (*)();
using CreateDomain = Domain *(*)(const char *);
using CreateHandle = void *(*)(const char *);
using BeginTask = void (*)(const Domain *, Id, Id, void *);
using EndTask = void (*)(const Domain *);

enum FunctionNumber { createDomain, createHandle, beginTask, endTask, count };
Function functions[count];

struct FunctionInfo {
  const char *name;
  Function *pointer;
  /// What is called before and without a profiler: never.
  void *initial, *none;
  int group;
};
/// The group of domains, names and tasks.
constexpr int structureGroup = 1 << 12, allGroups = -1;
FunctionInfo list[] = {
    {"__itt_domain_create", &functions[createDomain], nullptr, nullptr,
     structureGroup},
    {"__itt_string_handle_create", &functions[createHandle], nullptr, nullptr,
     structureGroup},
    {"__itt_task_begin", &functions[beginTask], nullptr, nullptr,
     structureGroup},
    {"__itt_task_end", &functions[endTask], nullptr, nullptr, structureGroup},
    {nullptr, nullptr, nullptr, nullptr, 0}};

struct Record {
  unsigned char magic[8] = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30};
  unsigned long major = 3, minor = 22, build = 20180723;
  volatile long isInitialized = 0, hasMutex = 1, counter = 1;
  pthread_mutex_t mutex;
  void *library = nullptr, *errorHandler = nullptr;
  const char **path = nullptr;
  FunctionInfo *functions = list;
  /// Lists of other programs' parts, of threads, domains and names.
  void *next = nullptr, *threads = nullptr, *domains = nullptr;
  void *names = nullptr;
  int state = 0;
  void *counters = nullptr;
  unsigned collectsEvents = 0;
  void *histograms = nullptr;
  /// What later versions have.
  void *reserved[4] = {};
};
Record record;

Domain *domain = nullptr;

void initializeMutex() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&record.mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

/// Lets the profiler set the functions. It stays loaded.
bool attach() {
  const char *path = std::getenv("INTEL_LIBITTNOTIFY64");
  void *library = path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library)
    return false;
  using Initialize = void (*)(Record *, int);
  auto initialize =
      reinterpret_cast<Initialize>(dlsym(library, "__itt_api_init"));
  if (initialize) {
    initializeMutex();
    record.library = library;
    initialize(&record, allGroups);
    record.isInitialized = 1;
  } else {
    for (int i = 0; i < count; ++i)
      functions[i] = reinterpret_cast<Function>(dlsym(library, list[i].name));
  }
  for (Function function : functions)
    if (!function)
      return false;
  domain = reinterpret_cast<CreateDomain>(functions[createDomain])("remat");
  return domain;
}

} // namespace

bool itt::isAttached() {
  static const bool result = attach();
  return result;
}

void *itt::getHandle(const char *name) {
  return reinterpret_cast<CreateHandle>(functions[createHandle])(name);
}

void itt::begin(void *handle) {
  if (domain->flags)
    reinterpret_cast<BeginTask>(functions[beginTask])(domain, Id(), Id(),
                                                      handle);
}

void itt::end() {
  if (domain->flags)
    reinterpret_cast<EndTask>(functions[endTask])(domain);
}
