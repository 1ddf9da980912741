//===- remat-test-opt.cpp - remat-opt with the passes of tests ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "Foreign.h"
#include "TestPasses.h"
#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/Passes.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  registry.insert<remat::RematDialect>();
  remat::registerAutoDiffModels(registry);
  foreign::registerForeignDialect(registry);
  foreign::registerForeignRules(registry);
  mlir::registerAllPasses();
  remat::registerRematAutoDiffPasses();
  remat::registerRematImportPasses();
  remat::test::registerTestExpandPass();
  remat::test::registerTestNeededPrimalsPass();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "remat test driver\n", registry));
}
