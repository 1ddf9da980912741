//===- DeviceMemory.cpp - memory of a GPU for a step's tensors ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceMemory.h"

#include <algorithm>
#include <dlfcn.h>
#include <type_traits>

bool DeviceMemory::check(int result, const char *what, std::string &error) {
  if (result == 0)
    return true;
  const char *name = nullptr;
  if (getErrorName(result, &name) != 0 || !name)
    name = "unknown error";
  error = std::string(what) + " failed: " + name;
  return false;
}

bool DeviceMemory::open(std::string &error) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    error =
        std::string("there is no CUDA driver on this machine: ") + dlerror();
    return false;
  }
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function)
      error = std::string("the CUDA driver has no function '") + symbol + "'";
    return function != nullptr;
  };
  int (*initialize)(unsigned) = nullptr;
  int (*getDevice)(int *, int) = nullptr;
  int (*retain)(void **, int) = nullptr;
  int (*push)(void *) = nullptr;
  if (!find(getErrorName, "cuGetErrorName") || !find(initialize, "cuInit") ||
      !find(getDevice, "cuDeviceGet") ||
      !find(retain, "cuDevicePrimaryCtxRetain") ||
      !find(push, "cuCtxPushCurrent_v2") || !find(memAlloc, "cuMemAlloc_v2") ||
      !find(memCopy, "cuMemcpy"))
    return false;
  int device = 0;
  void *context = nullptr;
  return check(initialize(0), "initializing the driver", error) &&
         check(getDevice(&device, 0), "asking for the device", error) &&
         check(retain(&context, device), "making a context", error) &&
         check(push(context), "entering the context", error);
}

void *DeviceMemory::allocate(size_t bytes, std::string &error) {
  Address address = 0;
  if (!check(memAlloc(&address, std::max<size_t>(bytes, 1)),
             "allocating memory of the device", error))
    return nullptr;
  // Addresses are integers to the driver.
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void *>(address);
}

bool DeviceMemory::copy(void *to, const void *from, size_t bytes,
                        std::string &error) {
  return bytes == 0 || check(memCopy(reinterpret_cast<Address>(to),
                                     reinterpret_cast<Address>(from), bytes),
                             "copying a tensor", error);
}
