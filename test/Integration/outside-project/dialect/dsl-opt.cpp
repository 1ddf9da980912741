//===- dsl-opt.cpp - remat's passes on another dialect --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dsl.h"

#include "remat/Pipelines/Pipelines.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  remat::registerRematDialects(registry);
  dsl::registerDialect(registry);
  remat::registerRematPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "a tool outside\n", registry));
}
