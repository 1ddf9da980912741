//===- remat-opt.cpp - run remat's passes on IR files ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/AutoDiff/Listing.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Support/OutputFiles.h"
#include "remat/Support/StandardStreams.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"

static llvm::cl::opt<bool> listRules(
    "remat-list-rules",
    llvm::cl::desc("Print the operations that have a derivative rule"));
static llvm::cl::opt<bool> listIdioms(
    "remat-list-idioms",
    llvm::cl::desc("Print the functions that are differentiated as a whole"));
static llvm::cl::opt<bool> listOptions(
    "remat-list-options",
    llvm::cl::desc("Print what is known of the options of a step, as JSON"));

/// What MlirOptMain does with files, except that a file that cannot be written
/// is an error, and is then as it was before.
static llvm::LogicalResult run(llvm::StringRef input, llvm::StringRef output,
                               mlir::DialectRegistry &registry) {
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "remat-opt: reading standard input, end it by ctrl-d\n";
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> buffer =
      mlir::openInputFile(input, &message);
  if (!buffer) {
    llvm::errs() << message << '\n';
    return llvm::failure();
  }
  // What was printed before something failed is of use on a screen.
  if (output == "-")
    return mlir::MlirOptMain(llvm::outs(), std::move(buffer), registry, config);
  remat::OutputFiles files;
  auto result = llvm::success();
  llvm::Error error = files.add(output, [&](llvm::raw_ostream &os) {
    result = mlir::MlirOptMain(os, std::move(buffer), registry, config);
  });
  if (!error && llvm::succeeded(result))
    error = files.commit();
  if (!error)
    return result;
  llvm::WithColor::error(llvm::errs(), "remat-opt")
      << llvm::toString(std::move(error)) << '\n';
  return llvm::failure();
}

int main(int argc, char **argv) {
  remat::guardStandardStreams("remat-opt");
  llvm::InitLLVM initLLVM(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  remat::OutputFiles::handleSignals();
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
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return mlir::asMainReturnCode(run(input, output, registry));
}
