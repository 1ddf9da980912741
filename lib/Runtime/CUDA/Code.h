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

  /// Checks the device code for a device of `deviceCapability` (90 is 9.0)
  /// whose blocks have at most `sharedBytes` of shared memory. False with a
  /// message on failure, as below.
  bool load(const void *deviceCode, uint32_t deviceCapability,
            uint32_t sharedBytes, std::string &error);

  /// Finds the functions of all launches of a table, and loads the images of
  /// the units that they are in.
  bool find(const Table &table, std::vector<Function> &functions,
            std::string &error);

  /// In the context in which it was loaded.
  void unload();

private:
  const remat_device_image *choose(uint32_t unit) const;
  bool loadUnit(uint32_t unit, std::string &error);
  bool findFunction(const remat_launch &launch, const std::string &name,
                    Module module, Function &function,
                    std::string &error) const;

  const Driver &driver;
  uint32_t capability = 0, mostSharedBytes = 0;
  const char *bytes = nullptr;
  std::vector<remat_device_image> images;
  /// Of each unit; null if nothing is launched of it.
  std::vector<Module> modules;
};

} // namespace remat::cuda

#endif // REMAT_LIB_RUNTIME_CUDA_CODE_H
