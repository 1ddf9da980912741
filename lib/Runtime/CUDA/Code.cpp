//===- Code.cpp - functions of a step's device code -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Code.h"

#include <algorithm>
#include <cstring>

using namespace remat;
using namespace remat::cuda;

void Code::unload() {
  for (Module module : modules)
    if (module)
      driver.ModuleUnload(module);
  modules.clear();
}

/// Nothing in the code is trusted but the images themselves.
bool Code::load(const void *deviceCode, uint32_t deviceCapability,
                uint32_t sharedBytes, std::string &error) {
  capability = deviceCapability;
  mostSharedBytes = sharedBytes;
  remat_device_code header;
  std::memcpy(&header, deviceCode, sizeof(header));
  if (header.magic != REMAT_DEVICE_CODE_MAGIC) {
    error = "module's device code is none";
    return false;
  }
  uint64_t sum = remat_table_checksum(deviceCode, header.bytes);
  if (header.checksum != sum) {
    error = "module's device code is damaged: its checksum is " +
            std::to_string(sum) + ", expected " +
            std::to_string(header.checksum);
    return false;
  }
  bytes = static_cast<const char *>(deviceCode);
  uint64_t room = header.bytes - std::min(header.bytes, header.images_offset);
  bool isSound = header.image_count <= room / sizeof(remat_device_image);
  if (isSound && header.image_count > 0) {
    images.resize(header.image_count);
    std::memcpy(images.data(), bytes + header.images_offset,
                images.size() * sizeof(remat_device_image));
  }
  for (const remat_device_image &image : images) {
    isSound &= image.unit < header.unit_count && image.bytes > 0 &&
               image.offset <= header.bytes &&
               image.bytes <= header.bytes - image.offset;
    if (isSound && image.kind == REMAT_IMAGE_PTX)
      isSound = bytes[image.offset + image.bytes - 1] == '\0';
  }
  if (!isSound)
    error = "module's device code has images outside of it";
  modules.assign(isSound ? header.unit_count : 0, nullptr);
  return isSound;
}

/// The cubin for the nearest device of the same major capability, else the
/// newest PTX that the device knows.
const remat_device_image *Code::choose(uint32_t unit) const {
  const remat_device_image *best = nullptr;
  for (const remat_device_image &image : images) {
    if (image.unit != unit || image.capability > capability)
      continue;
    bool isCubin = image.kind == REMAT_IMAGE_CUBIN;
    if (isCubin && image.capability / 10 != capability / 10)
      continue;
    bool isBetter =
        !best || (isCubin && best->kind != REMAT_IMAGE_CUBIN) ||
        (image.kind == best->kind && image.capability > best->capability);
    if (isBetter)
      best = &image;
  }
  return best;
}

static std::string printCapability(uint32_t capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

bool Code::loadUnit(uint32_t unit, std::string &error) {
  if (modules[unit])
    return true;
  const remat_device_image *image = choose(unit);
  if (!image) {
    error = "the step has no code for a device of compute capability " +
            printCapability(capability) + ", only for";
    for (const remat_device_image &other : images)
      if (other.unit == unit)
        error += (other.kind == REMAT_IMAGE_PTX ? " PTX of " : " ") +
                 printCapability(other.capability);
    return false;
  }
  Result result = driver.ModuleLoadData(&modules[unit], bytes + image->offset);
  if (result == 0)
    return true;
  modules[unit] = nullptr;
  error =
      "the driver cannot load the code of a kernel: " + driver.describe(result);
  return false;
}

bool Code::findFunction(const remat_launch &launch, const std::string &name,
                        Module module, Function &function,
                        std::string &error) const {
  if (launch.shared_bytes > mostSharedBytes) {
    error = "kernel '" + name + "' needs " +
            std::to_string(launch.shared_bytes) +
            " bytes of shared memory, the device has " +
            std::to_string(mostSharedBytes);
    return false;
  }
  Result result = driver.ModuleGetFunction(&function, module, name.c_str());
  // More than all devices have without being asked.
  constexpr uint32_t usualSharedBytes = 48 << 10;
  if (result == 0 && launch.shared_bytes > usualSharedBytes)
    result = driver.FuncSetAttribute(function, dynamicSharedBytes,
                                     static_cast<int>(launch.shared_bytes));
  if (result == 0)
    return true;
  error = "kernel '" + name + "' cannot be loaded: " + driver.describe(result);
  return false;
}

bool Code::find(const Table &table, std::vector<Function> &functions,
                std::string &error) {
  functions.assign(table.launches.size(), nullptr);
  for (const remat_device_kernel &kernel : table.kernels) {
    if (kernel.unit >= modules.size()) {
      error = "module's device code has " + std::to_string(modules.size()) +
              " units, the step table uses unit " + std::to_string(kernel.unit);
      return false;
    }
    if (kernel.launch_count > 0 && !loadUnit(kernel.unit, error))
      return false;
    for (uint32_t i = 0; i < kernel.launch_count; ++i) {
      const remat_launch &launch = table.launches[kernel.first_launch + i];
      if (!findFunction(launch, table.string(launch.function),
                        modules[kernel.unit],
                        functions[kernel.first_launch + i], error))
        return false;
    }
  }
  return true;
}
