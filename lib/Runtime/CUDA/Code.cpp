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
bool Code::readImages(const void *deviceCode, std::string &error) {
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
const remat_device_image *Code::choose(uint32_t unit,
                                       uint32_t capability) const {
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

bool Code::loadUnit(uint32_t unit, uint32_t capability, std::string &error) {
  if (modules[unit])
    return true;
  const remat_device_image *image = choose(unit, capability);
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

bool Code::findFunction(const Table &table, uint32_t unit, uint32_t launch,
                        uint32_t mostSharedBytes, std::string &error) {
  const remat_launch &record = table.launches[launch];
  std::string name = table.string(record.function);
  if (record.shared_bytes > mostSharedBytes) {
    error = "kernel '" + name + "' needs " +
            std::to_string(record.shared_bytes) +
            " bytes of shared memory, the device has " +
            std::to_string(mostSharedBytes);
    return false;
  }
  Function &function = functions[launch];
  Result result =
      driver.ModuleGetFunction(&function, modules[unit], name.c_str());
  // More than all devices have without being asked.
  constexpr uint32_t usualSharedBytes = 48 << 10;
  if (result == 0 && record.shared_bytes > usualSharedBytes)
    result = driver.FuncSetAttribute(function, dynamicSharedBytes,
                                     static_cast<int>(record.shared_bytes));
  if (result == 0)
    return true;
  error = "kernel '" + name + "' cannot be loaded: " + driver.describe(result);
  return false;
}

bool Code::load(const void *deviceCode, const Table &table, uint32_t capability,
                uint32_t mostSharedBytes, std::string &error) {
  if (!readImages(deviceCode, error))
    return false;
  functions.resize(table.launches.size());
  for (const remat_device_kernel &kernel : table.kernels) {
    if (kernel.unit >= modules.size()) {
      error = "module's device code has " + std::to_string(modules.size()) +
              " units, the step table uses unit " + std::to_string(kernel.unit);
      return false;
    }
    if (kernel.launch_count > 0 && !loadUnit(kernel.unit, capability, error))
      return false;
    for (uint32_t i = 0; i < kernel.launch_count; ++i)
      if (!findFunction(table, kernel.unit, kernel.first_launch + i,
                        mostSharedBytes, error))
        return false;
  }
  return true;
}
