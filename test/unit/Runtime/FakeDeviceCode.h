//===- FakeDeviceCode.h - code for a stand-in for a GPU ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_UNIT_RUNTIME_FAKEDEVICECODE_H
#define REMAT_TEST_UNIT_RUNTIME_FAKEDEVICECODE_H

#include "remat/Runtime/DeviceCode.h"
#include "remat/Runtime/StepTable.h"

#include <cstring>
#include <string>
#include <vector>

namespace remat {

struct Image {
  uint32_t unit;
  remat_image_kind kind;
  uint32_t capability;
  std::string contents;
};

/// Device code with these images, which are only names to the stand-in.
inline std::string makeDeviceCode(const std::vector<Image> &images,
                                  uint32_t units = 1) {
  std::string bytes(sizeof(remat_device_code) +
                        images.size() * sizeof(remat_device_image),
                    '\0');
  std::vector<remat_device_image> records;
  for (const Image &image : images) {
    records.push_back({image.unit, image.kind, image.capability, 0,
                       bytes.size(), image.contents.size() + 1});
    bytes.append(image.contents.c_str(), image.contents.size() + 1);
  }
  remat_device_code header = {};
  header.magic = REMAT_DEVICE_CODE_MAGIC;
  header.unit_count = units;
  header.image_count = static_cast<uint32_t>(images.size());
  header.bytes = bytes.size();
  header.images_offset = sizeof(header);
  std::memcpy(&bytes[0], &header, sizeof(header));
  if (!records.empty())
    std::memcpy(&bytes[sizeof(header)], records.data(),
                records.size() * sizeof(remat_device_image));
  header.checksum = remat_table_checksum(bytes.data(), bytes.size());
  std::memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

inline std::string makeDeviceCode() {
  return makeDeviceCode({{0, REMAT_IMAGE_CUBIN, 80, "cubin 8.0"},
                         {0, REMAT_IMAGE_CUBIN, 90, "cubin 9.0"},
                         {0, REMAT_IMAGE_PTX, 90, "PTX 9.0"}});
}

} // namespace remat

#endif // REMAT_TEST_UNIT_RUNTIME_FAKEDEVICECODE_H
