//===- remat-compile.cpp - placed steps to object files -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiles a placed graph (L4) to an object file, and writes the C header that
// goes with it. The object needs libremat_runtime and libm, nothing of MLIR.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/LowerToLLVM.h"
#include "remat/Conversion/CPU/ObjectEmitter.h"
#include "remat/Dialect/Remat/IR/Remat.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace llvm;
using namespace remat;

static cl::opt<std::string> inputFile(cl::Positional, cl::init("-"),
                                      cl::desc("<input file>"));
static cl::opt<std::string> outputFile("o", cl::init("-"),
                                       cl::desc("Output file"));
static cl::opt<std::string> headerFile("header", cl::init(""),
                                       cl::desc("Write a C header here"));
static cl::opt<std::string>
    moduleName("name", cl::init("remat_step"),
               cl::desc("Symbol of the remat_module, a C identifier"));
static cl::opt<int> threads("num-threads", cl::init(0),
                            cl::desc("Threads to size workspaces for"));
static cl::opt<std::string>
    targetCpu("mcpu", cl::init(""),
              cl::desc("CPU to compile for; the host's if "
                       "empty"));
static cl::opt<bool> assembly("S", cl::desc("Write assembly"));

static int fail(const Twine &message) {
  errs() << "remat-compile: " << message << "\n";
  return 1;
}

static bool isIdentifier(StringRef name) {
  return !name.empty() && !isDigit(name[0]) &&
         all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

/// Calls `write` on the file at `path`, which is kept if it succeeds.
static bool writeFile(StringRef path,
                      function_ref<bool(raw_pwrite_stream &)> write) {
  std::string message;
  std::unique_ptr<ToolOutputFile> file = mlir::openOutputFile(path, &message);
  if (!file) {
    fail(message);
    return false;
  }
  // Standard output cannot seek, which object files need.
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  if (!write(stream))
    return false;
  file->os() << stream.str();
  file->keep();
  return true;
}

int main(int argc, char **argv) {
  InitLLVM init(argc, argv);
  cl::ParseCommandLineOptions(argc, argv, "remat step compiler\n");
  if (!isIdentifier(moduleName))
    return fail("'" + moduleName + "' is no C identifier");
  if (threads < 0)
    return fail("'--num-threads' must not be negative, got " + Twine(threads));

  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<RematDialect>();
  cpu::registerLoweringInterfaces(registry);
  mlir::MLIRContext context(registry);

  std::string message;
  auto buffer = mlir::openInputFile(inputFile, &message);
  if (!buffer)
    return fail(message);
  SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  mlir::SourceMgrDiagnosticHandler handler(sources, &context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return 1;
  if (!headerFile.empty() && !writeFile(headerFile, [&](auto &stream) {
        return succeeded(cpu::emitHeader(*module, moduleName, stream));
      }))
    return 1;
  if (failed(cpu::lowerToLLVM(*module, {moduleName, threads})))
    return 1;
  cpu::TargetOptions target{targetCpu};
  bool ok = writeFile(outputFile, [&](raw_pwrite_stream &stream) {
    Error error = assembly ? cpu::emitAssembly(*module, target, stream)
                           : cpu::emitObject(*module, target, stream);
    if (!error)
      return true;
    fail(toString(std::move(error)));
    return false;
  });
  return ok ? 0 : 1;
}
