//===- Driver.cpp - the CUDA driver, if there is one ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "LastError.h"

#include "remat/Runtime/Runtime.h"

#include <algorithm>
#include <dlfcn.h>

using namespace remat::cuda;

namespace {

/// What one attempt to load the driver came to.
struct Loaded {
  Driver driver = {};
  std::string error;

  Loaded();

private:
  bool findFunctions(void *library);
};

} // namespace

static constexpr const char *libraryName = "libcuda.so.1";

bool Loaded::findFunctions(void *library) {
  // By their symbols, whose parameters never change.
  auto find = [&](auto &function, const char *symbol) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, symbol));
    if (!function)
      error = std::string("the CUDA driver, ") + libraryName +
              ", has no function '" + symbol +
              "': it is too old, expected one of CUDA 12.0 or later";
    return function != nullptr;
  };
#define REMAT_CUDA_FIND(name, suffix, parameters)                              \
  if (!find(driver.name, "cu" #name suffix))                                   \
    return false;
  REMAT_CUDA_FUNCTIONS(REMAT_CUDA_FIND)
#undef REMAT_CUDA_FIND
  return true;
}

Loaded::Loaded() {
  void *library = dlopen(libraryName, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    error = std::string("there is no CUDA driver on this machine: ") +
            (reason ? reason : libraryName);
    return;
  }
  if (!findFunctions(library))
    return;
  if (Result result = driver.Init(0))
    error = "the CUDA driver cannot be initialized: " + driver.describe(result);
}

const Driver *Driver::get(std::string &error) {
  static const Loaded loaded;
  if (loaded.error.empty())
    return &loaded.driver;
  error = loaded.error;
  return nullptr;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (GetErrorName(result, &name) != 0 || !name)
    return "error " + std::to_string(result);
  std::string description = name;
  if (GetErrorString(result, &text) == 0 && text)
    description += std::string(" (") + text + ")";
  return description;
}

bool Driver::check(Result result, const char *what, std::string &error) const {
  if (result == 0)
    return true;
  error = std::string(what) + " failed: " + describe(result);
  return false;
}

/// The device that this thread has asked for, or -1.
static thread_local int chosenDevice = -1;

/// Whether the driver has the device of this number.
static bool hasDevice(const Driver &driver, int number, std::string &error) {
  int count = 0;
  if (!driver.check(driver.DeviceGetCount(&count), "counting devices", error))
    return false;
  if (number < count)
    return true;
  error = count == 0
              ? "the CUDA driver knows no device"
              : "the CUDA driver has no device " + std::to_string(number) +
                    ", only those from 0 to " + std::to_string(count - 1);
  return false;
}

bool Driver::findDevice(DeviceNumber &device, uint32_t &capability,
                        std::string &error) const {
  Context given = nullptr;
  int major = 0, minor = 0;
  bool takesContext =
      chosenDevice < 0 && CtxGetCurrent(&given) == 0 && given != nullptr;
  int number = std::max(chosenDevice, 0);
  if (!takesContext && !hasDevice(*this, number, error))
    return false;
  if (!check(takesContext ? CtxGetDevice(&device) : DeviceGet(&device, number),
             "asking for the device", error) ||
      !check(DeviceGetAttribute(&major, capabilityMajor, device),
             "asking for the compute capability", error) ||
      !check(DeviceGetAttribute(&minor, capabilityMinor, device),
             "asking for the compute capability", error))
    return false;
  capability = static_cast<uint32_t>(major * 10 + minor);
  return true;
}

/// The device of this thread, for functions that return a status.
static const Driver *findDevice(DeviceNumber &device, uint32_t &capability,
                                std::string &error) {
  const Driver *driver = Driver::get(error);
  return driver && driver->findDevice(device, capability, error) ? driver
                                                                 : nullptr;
}

remat_status remat_cuda_use_device(int device) {
  return remat::guard([&]() -> remat_status {
    std::string &error = remat::lastError();
    if (device >= 0) {
      const Driver *driver = Driver::get(error);
      if (!driver || !hasDevice(*driver, device, error))
        return REMAT_NO_DEVICE;
    }
    chosenDevice = std::max(device, -1);
    return REMAT_OK;
  });
}

remat_status remat_cuda_capability(uint32_t *capability) {
  return remat::guard([&]() -> remat_status {
    std::string &error = remat::lastError();
    if (!capability) {
      error = "capability is NULL";
      return REMAT_INVALID_ARGUMENT;
    }
    DeviceNumber device = 0;
    return findDevice(device, *capability, error) ? REMAT_OK : REMAT_NO_DEVICE;
  });
}

remat_status remat_cuda_device_name(char *name, size_t bytes) {
  return remat::guard([&]() -> remat_status {
    std::string &error = remat::lastError();
    if (!name || bytes == 0) {
      error = name ? "there is no room for a name" : "name is NULL";
      return REMAT_INVALID_ARGUMENT;
    }
    DeviceNumber device = 0;
    uint32_t capability = 0;
    const Driver *driver = findDevice(device, capability, error);
    if (!driver)
      return REMAT_NO_DEVICE;
    // The driver's own names are shorter.
    int room = static_cast<int>(std::min<size_t>(bytes, 256));
    if (!driver->check(driver->DeviceGetName(name, room, device),
                       "asking for the device's name", error))
      return REMAT_DEVICE_ERROR;
    name[room - 1] = '\0';
    return REMAT_OK;
  });
}
