//===- Ranges.cpp - names of entries in a profiler's timeline -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Ranges.h"

#include "Profilers.h"

using namespace remat;

Ranges::Ranges(const Table &table) {
  if (!nvtx::isAttached() && !itt::isAttached())
    return;
  for (const remat_entry &entry : table.entries) {
    std::string name = table.string(entry.name);
    if (name.empty())
      name = entry.kind == REMAT_ENTRY_COPY ? "copy" : "entry";
    if (entry.flags & REMAT_ENTRY_UPDATE)
      name += ", update";
    else if (entry.flags & REMAT_ENTRY_BACKWARD)
      name += ", backward";
    if (entry.forward_index >= 0)
      name += ", seq = " + std::to_string(entry.forward_index);
    if (entry.copy != 0)
      name += ", copy = " + std::to_string(entry.copy);
    void *handle = itt::isAttached() ? itt::getHandle(name.c_str()) : nullptr;
    names.push_back({std::move(name), handle});
  }
}

void Ranges::Scope::begin(const Name &name) {
  if (nvtx::isAttached())
    nvtx::push(name.text.c_str());
  if (itt::isAttached())
    itt::begin(name.handle);
}

void Ranges::Scope::end() {
  if (itt::isAttached())
    itt::end();
  if (nvtx::isAttached())
    nvtx::pop();
}
