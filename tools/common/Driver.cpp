//===- Driver.cpp - what the compiling tools share ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "common/Driver.h"
#include "common/Interrupts.h"

#include "remat/Codegen/Dtypes.h"
#include "remat/Conversion/Import/ForeignDialects.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Pipelines/Pipelines.h"
#include "remat/Support/InputFiles.h"
#include "remat/Support/StandardStreams.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"

#include <chrono>

using namespace llvm;
using namespace remat;
using namespace remat::tools;

double tools::now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

//===----------------------------------------------------------------------===//
// The command line
//===----------------------------------------------------------------------===//

/// The flags that --help lists, in alphabetical order.
static std::string listFlags(const cl::OptionCategory &category) {
  std::vector<std::string> names;
  for (const auto &entry : cl::getRegisteredOptions()) {
    const cl::Option *option = entry.second;
    if (option->getOptionHiddenFlag() == cl::NotHidden &&
        is_contained(option->Categories, &category))
      names.push_back((option->ArgStr.size() == 1 ? "-" : "--") +
                      option->ArgStr.str());
  }
  sort(names);
  return join(names, ", ");
}

/// Whether a value of `option` names a file or a folder. What may be empty says
/// so.
static bool wantsPath(const cl::Option &option) {
  return is_contained({"file", "dir"}, option.ValueStr) &&
         !option.HelpStr.contains("if empty");
}

/// An empty path is that of a variable which is not set. It would be as if the
/// flag was not given.
static Error refuseEmptyPaths(ArrayRef<const char *> args) {
  const auto &known = cl::getRegisteredOptions();
  while (!args.empty()) {
    StringRef flag = args.front();
    args = args.drop_front();
    if (flag == "--")
      break;
    auto [name, value] = flag.ltrim('-').split('=');
    auto option = known.find(name);
    if (option == known.end() || !flag.starts_with("-") ||
        !wantsPath(*option->second))
      continue;
    bool isApart = !flag.contains('=');
    if (isApart && args.empty())
      break;
    if (isApart) {
      value = args.front();
      args = args.drop_front();
    }
    if (value.empty())
      return makeError("'" + flag.rtrim('=') +
                       "' is empty, expected the path of a " +
                       (option->second->ValueStr == "dir" ? "folder" : "file") +
                       "; leave it out if there is none");
  }
  return Error::success();
}

/// Prints the error; returns the exit status that it stands for.
static int reportError(StringRef tool, Error error) {
  int status = 0;
  handleAllErrors(std::move(error), [&](const ErrorInfoBase &info) {
    WithColor::error(errs(), tool) << info.message() << '\n';
    status = info.isA<planning::InfeasibleBudgetError>() ? 3 : 1;
  });
  return status;
}

int tools::runMain(int argc, char **argv, StringLiteral tool,
                   StringRef overview,
                   function_ref<cl::OptionCategory &()> getCategory,
                   function_ref<Error()> run) {
  guardStandardStreams(tool);
  InitLLVM initLLVM(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  handleInterrupts(tool);
  cl::ResetCommandLineParser();
  cl::OptionCategory &category = getCategory();
  cl::HideUnrelatedOptions(category);
  std::string message;
  raw_string_ostream os(message);
  if (!cl::ParseCommandLineOptions(argc, argv, overview, &os)) {
    errs() << message;
    if (StringRef(message).contains("Unknown command line argument"))
      errs() << tool << ": known are " << listFlags(category) << '\n';
    return 1;
  }
  if (Error error = refuseEmptyPaths(ArrayRef(argv, argc).drop_front()))
    return reportError(tool, std::move(error));
  return reportError(tool, run());
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

static mlir::DialectRegistry makeRegistry() {
  mlir::DialectRegistry registry;
  registerRematDialects(registry);
  return registry;
}

ModelReader::ModelReader()
    : context(makeRegistry()), diagnostics(sources, &context) {
  context.printOpOnDiagnostic(false);
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>> ModelReader::read(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = readTextFileOrInput(path);
  if (!buffer)
    return buffer.takeError();
  return read(std::move(*buffer));
}

Expected<mlir::OwningOpRef<mlir::ModuleOp>>
ModelReader::read(std::unique_ptr<MemoryBuffer> buffer) {
  std::string path = buffer->getBufferIdentifier().str();
  sources.AddNewSourceBuffer(std::move(buffer), SMLoc());
  UnknownDialectHandler unknown(&context);
  auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, &context);
  if (!module)
    return makeError("could not read " + path +
                     ", expected MLIR as text or bytecode");
  if (failed(importSignatures(*module)))
    return makeError("could not compile " + path);
  return std::move(module);
}

std::vector<Tensor> tools::getInitialState(mlir::FunctionOpInterface entry) {
  std::vector<Tensor> state;
  for (unsigned number = 0; number < entry.getNumArguments(); ++number) {
    auto value = entry.getArgAttrOfType<mlir::DenseIntOrFPElementsAttr>(
        number, RematDialect::initialValueAttrName);
    std::optional<remat_dtype> dtype =
        value ? codegen::getDtype(value.getElementType()) : std::nullopt;
    if (!dtype)
      continue;
    Tensor &tensor = state.emplace_back(*dtype, value.getType().getShape());
    char *data = static_cast<char *>(tensor.getData());
    size_t size = getElementSize(*dtype);
    auto store = [&](const APInt &bits) {
      std::memcpy(data, bits.getRawData(), size);
      data += size;
    };
    if (isa<mlir::FloatType>(value.getElementType()))
      for (const APFloat &element : value.getValues<APFloat>())
        store(element.bitcastToAPInt());
    else
      for (const APInt &element : value.getValues<APInt>())
        store(element);
  }
  return state;
}

Error tools::makeError(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}
