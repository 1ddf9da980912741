//===- ObjectEmitter.cpp - compile a step to files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels are optimized on all cores, in parts of a fixed split, so that the
// code does not depend on their number. In memory each part stays an object of
// its own; for a file the optimized parts are linked to one module again.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/ObjectEmitter.h"

#include "ModuleParts.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace remat;
using namespace remat::cpu;

static llvm::Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
remat::cpu::createTargetMachine(const TargetOptions &target, bool forJit) {
  // Once: parts are compiled on several threads.
  static bool isRegistered = !llvm::InitializeNativeTarget() &&
                             !llvm::InitializeNativeTargetAsmPrinter();
  if (!isRegistered)
    return makeError("no code generation for this machine");
  llvm::Triple triple(llvm::sys::getProcessTriple());
  std::string message;
  const llvm::Target *found =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!found)
    return makeError("no code generation for '" + triple.str() +
                     "': " + message);
  std::string cpu = target.cpu, features;
  if (cpu.empty() || cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    // Sorted, so that equal hosts give equal code.
    std::map<std::string, bool> sorted;
    for (auto &feature : llvm::sys::getHostCPUFeatures())
      sorted[feature.first().str()] = feature.second;
    for (auto &[name, isOn] : sorted)
      features +=
          (features.empty() ? "" : ",") + std::string(isOn ? "+" : "-") + name;
  }
  llvm::TargetOptions options;
  // Results must not depend on which operations share a kernel.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple, cpu, features, options, llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive, forJit));
  if (!machine)
    return makeError("no target machine for '" + triple.str() + "'");
  if (!machine->getMCSubtargetInfo()->isCPUStringValid(cpu))
    return makeError("unknown CPU '" + cpu + "'");
  return machine;
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

/// The optimized code of one part.
static llvm::Expected<std::unique_ptr<llvm::Module>>
translateAndOptimize(ModuleOp module, llvm::TargetMachine &machine,
                     llvm::LLVMContext &context) {
  std::unique_ptr<llvm::Module> result =
      translateModuleToLLVMIR(module, context, "remat");
  if (!result)
    return makeError("translation to LLVM IR failed");
  result->setTargetTriple(machine.getTargetTriple());
  result->setDataLayout(machine.createDataLayout());
  bool isWide = machine.getMCSubtargetInfo()->checkFeatures("+avx512f");
  for (llvm::Function &function : *result) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    if (!machine.getTargetFeatureString().empty())
      function.addFnAttr("target-features", machine.getTargetFeatureString());
    if (isWide)
      function.addFnAttr("prefer-vector-width", "512");
  }
  optimize(*result, machine);
  return result;
}

static llvm::Error emitCode(llvm::Module &code, llvm::TargetMachine &machine,
                            llvm::CodeGenFileType type,
                            llvm::raw_pwrite_stream &output) {
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, output, nullptr, type))
    return makeError("the target cannot emit this kind of file");
  passes.run(code);
  return llvm::Error::success();
}

/// What becomes of the optimized code of one part.
using FinishPart = llvm::function_ref<llvm::Error(
    llvm::Module &, llvm::TargetMachine &, llvm::raw_pwrite_stream &)>;

/// Compiles the parts of `module` on the threads of its context.
static llvm::Expected<std::vector<ObjectCode>>
compileParts(ModuleOp module, const TargetOptions &target, FinishPart finish) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  // Also tells whether the target is known, before there are threads.
  auto machine = createTargetMachine(target, /*forJit=*/false);
  if (!machine)
    return machine.takeError();
  SmallVector<OwningOpRef<ModuleOp>> parts = splitModule(module);
  std::vector<ObjectCode> results(parts.size());
  std::vector<std::string> errors(parts.size());
  auto compile = [&](size_t number) -> llvm::Error {
    auto mine = createTargetMachine(target, /*forJit=*/false);
    if (!mine)
      return mine.takeError();
    llvm::LLVMContext llvmContext;
    auto code = translateAndOptimize(*parts[number], **mine, llvmContext);
    if (!code)
      return code.takeError();
    llvm::raw_svector_ostream stream(results[number]);
    return finish(**code, **mine, stream);
  };
  parallelFor(context, 0, parts.size(), [&](size_t number) {
    if (llvm::Error error = compile(number))
      errors[number] = llvm::toString(std::move(error));
  });
  for (const std::string &error : errors)
    if (!error.empty())
      return makeError(error);
  return results;
}

llvm::Expected<std::vector<ObjectCode>>
remat::cpu::emitObjects(ModuleOp module, const TargetOptions &target) {
  return compileParts(module, target,
                      [](llvm::Module &code, llvm::TargetMachine &machine,
                         llvm::raw_pwrite_stream &output) {
                        return emitCode(code, machine,
                                        llvm::CodeGenFileType::ObjectFile,
                                        output);
                      });
}

static llvm::Error emitFile(ModuleOp module, const TargetOptions &target,
                            llvm::CodeGenFileType type,
                            llvm::raw_pwrite_stream &output) {
  auto parts = compileParts(module, target,
                            [](llvm::Module &code, llvm::TargetMachine &,
                               llvm::raw_pwrite_stream &stream) {
                              llvm::WriteBitcodeToFile(code, stream);
                              return llvm::Error::success();
                            });
  if (!parts)
    return parts.takeError();
  auto machine = createTargetMachine(target, /*forJit=*/false);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  llvm::Module whole("remat", context);
  whole.setTargetTriple((*machine)->getTargetTriple());
  whole.setDataLayout((*machine)->createDataLayout());
  llvm::Linker linker(whole);
  for (const ObjectCode &part : *parts) {
    auto code = llvm::parseBitcodeFile(
        llvm::MemoryBufferRef(StringRef(part.data(), part.size()), "part"),
        context);
    if (!code)
      return code.takeError();
    if (linker.linkInModule(std::move(*code)))
      return makeError("parts of the step do not link");
  }
  return emitCode(whole, **machine, type, output);
}

llvm::Error remat::cpu::emitObject(ModuleOp module, const TargetOptions &target,
                                   llvm::raw_pwrite_stream &output) {
  return emitFile(module, target, llvm::CodeGenFileType::ObjectFile, output);
}

llvm::Error remat::cpu::emitAssembly(ModuleOp module,
                                     const TargetOptions &target,
                                     llvm::raw_pwrite_stream &output) {
  return emitFile(module, target, llvm::CodeGenFileType::AssemblyFile, output);
}
