//===- ObjectEmitter.cpp - compile a step to files ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/CPU/ObjectEmitter.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
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
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
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

llvm::Expected<std::unique_ptr<llvm::Module>>
remat::cpu::translateAndOptimize(ModuleOp module, llvm::TargetMachine &machine,
                                 llvm::LLVMContext &context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
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

static llvm::Error emitFile(ModuleOp module, const TargetOptions &target,
                            llvm::CodeGenFileType type,
                            llvm::raw_pwrite_stream &output) {
  auto machine = createTargetMachine(target, /*forJit=*/false);
  if (!machine)
    return machine.takeError();
  llvm::LLVMContext context;
  auto code = translateAndOptimize(module, **machine, context);
  if (!code)
    return code.takeError();
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, output, nullptr, type))
    return makeError("the target cannot emit this kind of file");
  passes.run(**code);
  return llvm::Error::success();
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
