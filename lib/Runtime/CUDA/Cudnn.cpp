//===- Cudnn.cpp - cuDNN, if there is one ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cudnn.h"

#include <dlfcn.h>
#include <type_traits>

using namespace remat::cudnn;

namespace {

/// What one attempt to load the library came to.
struct Loaded {
  Library library = {};
  std::string error;

  Loaded();
};

} // namespace

static constexpr const char *libraryName = "libcudnn.so.9";

Loaded::Loaded() {
  // It stays: its kernels are in contexts.
  void *handle = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = dlerror();
    error = std::string("there is no cuDNN on this machine: ") +
            (reason ? reason : libraryName);
    return;
  }
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(handle, symbol));
    if (!function)
      error = std::string("cuDNN has no function '") + symbol + "'";
    return function != nullptr;
  };
#define REMAT_CUDNN_FIND(result, name, parameters)                             \
  if (!find(library.name, "cudnn" #name))                                      \
    return;
  REMAT_CUDNN_FUNCTIONS(REMAT_CUDNN_FIND)
#undef REMAT_CUDNN_FIND
}

const Library *Library::get(std::string &error) {
  static const Loaded loaded;
  if (loaded.error.empty())
    return &loaded.library;
  error = loaded.error;
  return nullptr;
}

std::string Library::describe(Status status) const {
  const char *text = GetErrorString(status);
  return text ? text : "status " + std::to_string(status);
}

std::string remat::cudnn::printVersion(uint32_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Descriptor::Descriptor(const Library &library, Kind kind) : library(library) {
  status = library.BackendCreateDescriptor(static_cast<int>(kind), &object);
  if (status != 0)
    object = nullptr;
}

Descriptor::Descriptor(Descriptor &&other) noexcept
    : library(other.library), object(other.object), status(other.status) {
  other.object = nullptr;
}

Descriptor::~Descriptor() {
  if (object)
    library.BackendDestroyDescriptor(object);
}

void Descriptor::set(int attribute, Type type, int64_t count,
                     const void *elements) {
  if (status == 0)
    status = library.BackendSetAttribute(
        object, attribute, static_cast<int>(type), count, elements);
}

void Descriptor::set(int attribute, const Descriptor &other) {
  if (status == 0)
    status = other.status;
  set(attribute, Type::Descriptor, 1, &other.object);
}

void Descriptor::setText(Attribute attribute, const std::string &text) {
  // With the NUL.
  set(attribute, Type::Char, static_cast<int64_t>(text.size() + 1),
      text.c_str());
}

bool Descriptor::finalize() {
  if (status == 0)
    status = library.BackendFinalize(object);
  return status == 0;
}

int64_t Descriptor::read(Attribute attribute, Type type, int64_t most,
                         void *elements) {
  int64_t count = 0;
  if (status == 0)
    status = library.BackendGetAttribute(object, static_cast<int>(attribute),
                                         static_cast<int>(type), most, &count,
                                         elements);
  return status == 0 ? count : -1;
}
