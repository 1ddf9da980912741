//===- outside-opt.cpp - remat's passes in another project's tool ---------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  remat::registerRematDialects(registry);
  remat::registerRematPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "a tool outside\n", registry));
}
