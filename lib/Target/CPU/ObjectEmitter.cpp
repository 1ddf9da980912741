//===- ObjectEmitter.cpp - compile a step to files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are optimized on all cores, each on its own, so that the code does
// not depend on their number and may come from a cache. In memory each stays an
// object of its own; for a file the optimized kernels are linked to one module
// again, where they get the names back that they had.
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/ObjectEmitter.h"

#include "NarrowFloats.h"

#include "remat/Codegen/ModuleParts.h"
#include "remat/Codegen/Optimizer.h"
#include "remat/Target/CPU/TargetMachine.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

/// The optimized code of one part.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translateAndOptimize(ModuleOp module, llvm::TargetMachine &machine,
                     llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "remat");
  if (!result)
    return llvm::createStringError("translation to LLVM IR failed");
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  bool isWide = hasX86Feature(machine, "avx512f");
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (isWide)
      function.addFnAttr("prefer-vector-width", "512");
  }
  if (llvm::Error error = expandNarrowFloats(*result, machine))
    return std::move(error);
  optimize(*result, machine, /*vectorizes=*/true);
  return result;
}

static llvm::Error emitCode(llvm::Module &code, llvm::TargetMachine &machine,
                            llvm::CodeGenFileType type,
                            llvm::raw_pwrite_stream &output) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, output, nullptr, type))
    return llvm::createStringError("the target cannot emit this kind of file");
  passes.run(code);
  return llvm::Error::success();
}

/// What becomes of the optimized code of one part.
using FinishPart = llvm::Error (*)(llvm::Module &, llvm::TargetMachine &,
                                   llvm::raw_pwrite_stream &);

static llvm::Error writeObject(llvm::Module &code, llvm::TargetMachine &machine,
                               llvm::raw_pwrite_stream &output) {
  return emitCode(code, machine, llvm::CodeGenFileType::ObjectFile, output);
}

static llvm::Error writeBitcode(llvm::Module &code, llvm::TargetMachine &,
                                llvm::raw_pwrite_stream &output) {
  llvm::WriteBitcodeToFile(code, output);
  return llvm::Error::success();
}

static llvm::Expected<ObjectCode>
compilePart(ModuleOp part, llvm::StringRef chip, FinishPart finish) {
  auto machine = createTargetMachine(chip);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translateAndOptimize(part, **machine, context);
  if (!code)
    return code.takeError();
  ObjectCode result;
  llvm::raw_svector_ostream stream(result);
  if (llvm::Error error = finish(**code, **machine, stream))
    return std::move(error);
  return result;
}

/// The name in a cache of a kernel compiled for `machine`. What it is compiled
/// by is a part of it: optimize and its like have a version to be counted up.
static std::string getCacheKey(const ModulePart &part, FinishPart finish,
                               llvm::TargetMachine &machine) {
  constexpr llvm::StringLiteral version = "2/" LLVM_VERSION_STRING;
  std::string text;
  for (llvm::StringRef piece :
       {llvm::StringRef(part.key), llvm::StringRef(version),
        llvm::StringRef(finish == writeObject ? "object" : "bitcode"),
        llvm::StringRef(machine.getTargetTriple().str()),
        machine.getTargetCPU(), machine.getTargetFeatureString()})
    text += (piece + "\n").str();
  return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)),
                     /*LowerCase=*/true);
}

/// Compiles the parts of a module on the threads of its context.
static llvm::Expected<std::vector<ObjectCode>>
compileParts(ArrayRef<ModulePart> parts, const EmitOptions &options,
             FinishPart finish) {
  MLIRContext *context = parts.front().code.get().getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  // Also tells whether the target is known, before there are threads.
  auto machine = createTargetMachine(options.chip);
  if (!machine)
    return machine.takeError();
  std::vector<ObjectCode> results(parts.size());
  std::vector<std::string> errors(parts.size());
  parallelFor(context, 0, parts.size(), [&](size_t number) {
    const ModulePart &part = parts[number];
    auto compile = [&] {
      return compilePart(*part.code, options.chip, finish);
    };
    auto code =
        options.cache && !part.key.empty()
            ? options.cache->get(getCacheKey(part, finish, **machine), compile)
            : compile();
    if (code)
      results[number] = std::move(*code);
    else
      errors[number] = llvm::toString(code.takeError());
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return llvm::createStringError(error);
  if (options.cache)
    if (std::string text = options.cache->takeWarning(); !text.empty())
      emitWarning(UnknownLoc::get(context)) << text;
  return results;
}

llvm::Expected<std::vector<ObjectCode>>
remat::cpu::emitObjects(ModuleOp module, const EmitOptions &options) {
  return compileParts(splitModule(module), options, writeObject);
}

/// The code of one part with the names of the module.
static llvm::Expected<std::unique_ptr<llvm::Module>>
readPart(const ModulePart &part, const ObjectCode &bitcode,
         llvm::LLVMContext &context) {
  auto code = llvm::parseBitcodeFile(
      llvm::MemoryBufferRef(StringRef(bitcode.data(), bitcode.size()), "part"),
      context);
  if (!code)
    return code.takeError();
  for (const auto &[name, original] : part.names)
    if (llvm::GlobalValue *symbol = (*code)->getNamedValue(name))
      symbol->setName(original);
  return std::move(*code);
}

/// Says in the `remat_module` of the step, the one variable that others see,
/// what its functions may need of a CPU. A step for a device has none.
static void setCpuFeatures(llvm::Module &code,
                           const llvm::TargetMachine &machine) {
  constexpr unsigned kernelCount = 4; // the field of that name
  for (llvm::GlobalVariable &variable : code.globals()) {
    if (variable.isDeclaration() || !variable.hasExternalLinkage())
      continue;
    auto *module =
        llvm::dyn_cast<llvm::ConstantStruct>(variable.getInitializer());
    if (!module || module->getOperand(kernelCount)->isNullValue())
      continue;
    llvm::SmallVector<llvm::Constant *> fields;
    for (llvm::Use &field : module->operands())
      fields.push_back(llvm::cast<llvm::Constant>(field));
    std::string names = llvm::join(getCodeFeatures(machine), ",");
    auto *text = llvm::ConstantDataArray::getString(code.getContext(), names);
    fields.back() =
        new llvm::GlobalVariable(code, text->getType(), /*isConstant=*/true,
                                 llvm::GlobalValue::PrivateLinkage, text,
                                 variable.getName() + "_cpu_features");
    variable.setInitializer(
        llvm::ConstantStruct::get(module->getType(), fields));
  }
}

static llvm::Error emitFile(ModuleOp module, const EmitOptions &options,
                            llvm::CodeGenFileType type,
                            llvm::raw_pwrite_stream &output) {
  std::vector<ModulePart> parts = splitModule(module);
  auto codes = compileParts(parts, options, writeBitcode);
  if (!codes)
    return codes.takeError();
  auto machine = createTargetMachine(options.chip);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::Module whole("remat", context);
  whole.setTargetTriple((*machine)->getTargetTriple());
  whole.setDataLayout((*machine)->createDataLayout());
  llvm::Linker linker(whole);
  for (auto [part, bitcode] : llvm::zip_equal(parts, *codes)) {
    auto code = readPart(part, bitcode, context);
    if (!code)
      return code.takeError();
    if (linker.linkInModule(std::move(*code)))
      return llvm::createStringError("parts of the step do not link");
  }
  setCpuFeatures(whole, **machine);
  return emitCode(whole, **machine, type, output);
}

llvm::Error remat::cpu::emitObject(ModuleOp module, const EmitOptions &options,
                                   llvm::raw_pwrite_stream &output) {
  return emitFile(module, options, llvm::CodeGenFileType::ObjectFile, output);
}

llvm::Error remat::cpu::emitAssembly(ModuleOp module,
                                     const EmitOptions &options,
                                     llvm::raw_pwrite_stream &output) {
  return emitFile(module, options, llvm::CodeGenFileType::AssemblyFile, output);
}
