//===- remat-opt.cpp - run remat's passes on IR files ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Pipelines/Pipelines.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"

#include "remat/AutoDiff/Listing.h"

static llvm::cl::opt<bool> listRules(
    "remat-list-rules",
    llvm::cl::desc("Print the operations that have a derivative rule"));
static llvm::cl::opt<bool> listIdioms(
    "remat-list-idioms",
    llvm::cl::desc("Print the functions that are differentiated as a whole"));
static llvm::cl::opt<bool> listOptions(
    "remat-list-options",
    llvm::cl::desc("Print what is known of the options of a step, as JSON"));

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  remat::registerRematDialects(registry);
  mlir::registerAllPasses();
  remat::registerRematPasses();
  auto [input, output] = mlir::registerAndParseCLIOptions(
      argc, argv, "remat optimizer driver\n", registry);
  if (listRules)
    remat::listDerivativeRules(registry, llvm::outs());
  if (listIdioms)
    remat::listIdioms(llvm::outs());
  if (listOptions)
    llvm::outs() << llvm::formatv(
        "{0:2}\n", llvm::json::Value(remat::describeStepOptions()));
  if (listRules || listIdioms || listOptions)
    return EXIT_SUCCESS;
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, input, output, registry));
}
