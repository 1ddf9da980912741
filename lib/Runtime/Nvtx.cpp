//===- Nvtx.cpp - a profiler that knows NVTX ------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library is given the addresses of function pointers, and sets those that
// it wants to be called. The few parts of this interface that are needed are
// declared here, with its numbers.
//
//===----------------------------------------------------------------------===//

#include "Profilers.h"

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>

using namespace remat;

namespace {

using Function = void (*)();
using PushFunction = int (*)(const char *);
using PopFunction = int (*)();

/// Modules of functions, of which the first has the ranges, and the most
/// functions that one has.
enum : int { coreModule = 1, moduleCount = 7 };
enum : int { rangePush = 9, rangePop = 11, functionCount = 17 };
constexpr unsigned functionsOf[moduleCount] = {0, 16, 9, 15, 7, 16, 7};

/// What a profiler sets, by module and function, and the addresses that it is
/// given.
Function functions[moduleCount][functionCount];
Function *addresses[moduleCount][functionCount];

int getFunctions(int module, Function ***table, unsigned *count) {
  if (module <= 0 || module >= moduleCount)
    return 0;
  if (table)
    *table = addresses[module];
  if (count)
    *count = functionsOf[module];
  return 1;
}

void setVersion(uint32_t) {}

const struct {
  size_t bytes;
  int (*getFunctions)(int, Function ***, unsigned *);
} callbackTable = {sizeof(callbackTable), getFunctions};

const struct {
  size_t bytes;
  uint32_t version, reserved;
  void (*setVersion)(uint32_t);
} versionTable = {sizeof(versionTable), 3, 0, setVersion};

const void *getTable(uint32_t number) {
  enum : uint32_t { callbacks = 1, version = 3 };
  return number == callbacks ? static_cast<const void *>(&callbackTable)
         : number == version ? static_cast<const void *>(&versionTable)
                             : nullptr;
}

/// Lets the profiler set the functions. It stays loaded.
bool attach() {
  const char *path = std::getenv("NVTX_INJECTION64_PATH");
  void *library = path ? dlopen(path, RTLD_LAZY) : nullptr;
  if (!library)
    return false;
  using Initialize = int (*)(const void *(*)(uint32_t));
  auto initialize =
      reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  for (int module = 1; module < moduleCount; ++module)
    for (unsigned i = 1; i < functionsOf[module]; ++i)
      addresses[module][i] = &functions[module][i];
  return initialize && initialize(getTable) != 0 &&
         functions[coreModule][rangePush] && functions[coreModule][rangePop];
}

} // namespace

bool nvtx::isAttached() {
  static const bool result = attach();
  return result;
}

void nvtx::push(const char *name) {
  reinterpret_cast<PushFunction>(functions[coreModule][rangePush])(name);
}

void nvtx::pop() {
  reinterpret_cast<PopFunction>(functions[coreModule][rangePop])();
}
