//===- DeviceMemory.cpp - memory of a device for tensors ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory that belongs to no step, in the primary context of the device, as that
// of other libraries. Each piece of it holds the context.
//
//===----------------------------------------------------------------------===//

#include "Driver.h"
#include "LastError.h"

#include "remat/Runtime/Runtime.h"

#include <algorithm>

using namespace remat::cuda;

namespace {

/// The primary context of a device as the current one of this thread.
class PrimaryContext {
public:
  explicit PrimaryContext(int number) {
    std::string &error = remat::lastError();
    driver = Driver::get(error);
    if (!driver)
      return;
    status = REMAT_DEVICE_ERROR;
    if (!driver->check(driver->DeviceGet(&device, number),
                       "asking for the device", error) ||
        !driver->check(driver->DevicePrimaryCtxRetain(&context, device),
                       "making a context", error))
      return;
    isHeld = true;
    if (driver->check(driver->CtxPushCurrent(context), "entering the context",
                      error))
      status = REMAT_OK;
  }
  ~PrimaryContext() {
    Context popped;
    if (status == REMAT_OK)
      driver->CtxPopCurrent(&popped);
    if (isHeld)
      driver->DevicePrimaryCtxRelease(device);
  }
  PrimaryContext(const PrimaryContext &) = delete;
  PrimaryContext &operator=(const PrimaryContext &) = delete;

  /// Leaves a hold on the context behind, or gives one up.
  void keep() { isHeld = false; }
  void giveUp() const { driver->DevicePrimaryCtxRelease(device); }

  const Driver *driver = nullptr;
  remat_status status = REMAT_NO_DEVICE;

private:
  DeviceNumber device = 0;
  Context context = nullptr;
  bool isHeld = false;
};

} // namespace

remat_status remat_cuda_allocate(int device, uint64_t bytes, void **memory) {
  return remat::guard([&]() -> remat_status {
    std::string &error = remat::lastError();
    if (!memory) {
      error = "memory is NULL";
      return REMAT_INVALID_ARGUMENT;
    }
    *memory = nullptr;
    PrimaryContext context(device);
    if (context.status != REMAT_OK)
      return context.status;
    DevicePointer address = 0;
    Result result =
        context.driver->MemAlloc(&address, std::max<uint64_t>(bytes, 1));
    if (!context.driver->check(result, "allocating memory of the device",
                               error)) {
      error = std::to_string(bytes) + " bytes: " + error;
      return REMAT_OUT_OF_MEMORY;
    }
    context.keep();
    // Addresses are integers to the driver.
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    *memory = reinterpret_cast<void *>(address);
    return REMAT_OK;
  });
}

remat_status remat_cuda_free(int device, void *memory) {
  return remat::guard([&]() -> remat_status {
    if (!memory)
      return REMAT_OK;
    PrimaryContext context(device);
    if (context.status != REMAT_OK)
      return context.status;
    if (!context.driver->check(context.driver->MemFree(toDevice(memory)),
                               "freeing memory of the device",
                               remat::lastError()))
      return REMAT_DEVICE_ERROR;
    context.giveUp();
    return REMAT_OK;
  });
}

remat_status remat_cuda_copy(int device, void *to, const void *from,
                             uint64_t bytes, void *stream) {
  return remat::guard([&]() -> remat_status {
    std::string &error = remat::lastError();
    if (bytes == 0)
      return REMAT_OK;
    if (!to || !from) {
      error = to ? "from is NULL" : "to is NULL";
      return REMAT_INVALID_ARGUMENT;
    }
    PrimaryContext context(device);
    if (context.status != REMAT_OK)
      return context.status;
    const Driver &driver = *context.driver;
    auto *work = static_cast<Stream>(stream);
    return driver.check(
               driver.MemcpyAsync(toDevice(to), toDevice(from), bytes, work),
               "copying", error) &&
                   driver.check(driver.StreamSynchronize(work), "copying",
                                error)
               ? REMAT_OK
               : REMAT_DEVICE_ERROR;
  });
}
