//===- remat-test-opt.cpp - remat-opt with the passes of tests ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "Foreign.h"
#include "TestPasses.h"
#include "remat/Pipelines/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  remat::registerRematDialects(registry);
  foreign::registerForeignDialect(registry);
  foreign::registerForeignRules(registry);
  foreign::registerForeignKernels(registry);
  mlir::registerAllPasses();
  remat::registerRematPasses();
  remat::test::registerTestExpandPass();
  remat::test::registerTestNeededPrimalsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "remat test driver\n", registry));
}
