//===- remat-opt.cpp - run remat's passes on IR files ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassWatch.h"

#include "common/Interrupts.h"
#include "common/ProgressFlag.h"

#include "remat/AutoDiff/Listing.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Support/InputFiles.h"
#include "remat/Support/OutputFiles.h"
#include "remat/Support/StandardStreams.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
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

static remat::tools::ProgressFlag progress(llvm::cl::getGeneralCategory(),
                                           "a search for a plan");

namespace {
/// The options of the command line, but for the file of remarks, which MLIR
/// writes as it goes, and ends the process if it cannot. It writes to a
/// temporary file instead.
class Config : public mlir::MlirOptMainConfig {
public:
  Config() : MlirOptMainConfig(createFromCLOptions()), remarks(getPath()) {}

  llvm::Error redirectRemarks() {
    if (remarks.empty())
      return llvm::Error::success();
    llvm::SmallString<128> path;
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("remat-remarks", "tmp", path))
      return llvm::createFileError("temporary file for remarks", error);
    remarksOutputFileFlag = std::string(path);
    remover.setFile(path);
    return llvm::Error::success();
  }

  /// Adds the file that was asked for, if one was.
  llvm::Error addRemarks(remat::OutputFiles &files) const {
    if (remarks.empty())
      return llvm::Error::success();
    auto written = llvm::MemoryBuffer::getFile(getPath());
    if (!written)
      return llvm::createFileError(remarks, written.getError());
    return files.add(
        remarks, [&](llvm::raw_ostream &os) { os << (*written)->getBuffer(); });
  }

private:
  std::string getPath() const { return getRemarksOutputFile(); }

  std::string remarks;
  llvm::FileRemover remover;
};
} // namespace

/// What MlirOptMain does with files, except that a file that cannot be written
/// is an error, and all are then as they were before.
static llvm::LogicalResult run(llvm::StringRef input, llvm::StringRef output,
                               mlir::DialectRegistry &registry) {
  Config config;
  if (input == "-" && llvm::sys::Process::StandardInIsUserInput())
    llvm::errs() << "remat-opt: reading standard input, end it by ctrl-d\n";
  auto buffer = remat::readTextFileOrInput(input);
  if (!buffer) {
    llvm::WithColor::error(llvm::errs(), "remat-opt")
        << llvm::toString(buffer.takeError()) << '\n';
    return llvm::failure();
  }
  remat::OutputFiles files;
  auto result = llvm::success();
  auto runTo = [&](llvm::raw_ostream &os) {
    result = mlir::MlirOptMain(os, std::move(*buffer), registry, config);
  };
  llvm::Error error = config.redirectRemarks();
  // What was printed before something failed is of use on a screen.
  if (!error && output == "-")
    runTo(llvm::outs());
  else if (!error)
    error = files.add(output, runTo);
  if (!error)
    error = config.addRemarks(files);
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
  remat::tools::handleInterrupts("remat-opt");
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
  remat::tools::watchSearches(registry, progress.shows());
  auto config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(
        mlir::MlirOptMain(argc, argv, input, output, registry));
  return mlir::asMainReturnCode(run(input, output, registry));
}
