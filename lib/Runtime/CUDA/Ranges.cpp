//===- Ranges.cpp - names of entries in a profiler's timeline -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The few parts of NVTX's interface between programs and profilers that are
// needed are declared here, with its numbers.
//
//===----------------------------------------------------------------------===//

#include "Ranges.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace remat;
using namespace remat::cuda;

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

bool isAttached() {
  static const bool result = attach();
  return result;
}

} // namespace

Ranges::Ranges(const Table &table) {
  if (!isAttached())
    return;
  for (const remat_entry &entry : table.entries) {
    std::string name = table.string(entry.name);
    if (name.empty())
      name = entry.kind == REMAT_ENTRY_COPY ? "copy" : "entry";
    if (entry.forward_index >= 0)
      name += ", seq = " + std::to_string(entry.forward_index);
    if (entry.copy != 0)
      name += ", copy = " + std::to_string(entry.copy);
    names.push_back(std::move(name));
  }
}

Ranges::Scope::Scope(const Ranges &ranges, uint32_t entry)
    : isOpen(ranges.areShown()) {
  if (isOpen)
    reinterpret_cast<PushFunction>(functions[coreModule][rangePush])(
        ranges.names[entry].c_str());
}

Ranges::Scope::~Scope() {
  if (isOpen)
    reinterpret_cast<PopFunction>(functions[coreModule][rangePop])();
}
