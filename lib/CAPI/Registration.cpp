//===- Registration.cpp - remat in a program with MLIR --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat-c/Registration.h"

#include "State.h"

#include "remat/Pipelines/Pipelines.h"

#include "mlir/CAPI/IR.h"

using namespace remat::capi;

void rematRegisterDialects(MlirDialectRegistry registry) {
  if (!mlirDialectRegistryIsNull(registry))
    remat::registerRematDialects(*unwrap(registry));
}

RematContext rematContextCreateWithDialects(MlirDialectRegistry registry) {
  if (mlirDialectRegistryIsNull(registry))
    return {nullptr};
  mlir::DialectRegistry all;
  remat::registerRematDialects(all);
  unwrap(registry)->appendTo(all);
  return {new ContextRef(std::make_shared<ContextState>(all))};
}

void rematRegisterPasses(void) {
  [[maybe_unused]] static bool once = (remat::registerRematPasses(), true);
}
