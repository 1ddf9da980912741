//===- remat-opt.cpp - run remat's passes on IR files ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "remat/Conversion/CPU/LowerToLLVM.h"
#include "remat/Conversion/CPU/Passes.h"
#include "remat/Conversion/Import/Passes.h"
#include "remat/Cost/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<remat::RematDialect>();
  remat::cpu::registerLoweringInterfaces(registry);
  mlir::registerAllPasses();
  remat::registerRematCPUPasses();
  remat::registerRematCostPasses();
  remat::registerRematImportPasses();
  remat::registerRematTransformsPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "remat optimizer driver\n", registry));
}
