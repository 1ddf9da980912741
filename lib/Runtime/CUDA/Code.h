//===- Code.h - functions of a step's device code ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_RUNTIME_CUDA_CODE_H
#define REMAT_LIB_RUNTIME_CUDA_CODE_H

#include "Driver.h"
#include "Table.h"

#include "remat/Runtime/DeviceCode.h"

namespace remat::cuda {

/// The images of a step in the current context.
class Code {
public:
  explicit Code(const Driver &driver) : driver(driver) {}
  Code(const Code &) = delete;

  /// Checks the device code, loads an image of each unit that suits
  /// `capability` (90 is 9.0), and finds the functions of all launches. False
  /// with a message on failure.
  bool load(const void *deviceCode, const Table &table, uint32_t capability,
            uint32_t mostSharedBytes, std::string &error);

  /// In the context in which it was loaded.
  void unload();

  /// Of each launch of the table.
  std::vector<Function> functions;

private:
  bool readImages(const void *deviceCode, std::string &error);
  const remat_device_image *choose(uint32_t unit, uint32_t capability) const;
  bool loadUnit(uint32_t unit, uint32_t capability, std::string &error);
  bool findFunction(const Table &table, uint32_t unit, uint32_t launch,
                    uint32_t mostSharedBytes, std::string &error);

  const Driver &driver;
  const char *bytes = nullptr;
  std::vector<remat_device_image> images;
  /// Of each unit; null if nothing is launched of it.
  std::vector<Module> modules;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CODE_H
