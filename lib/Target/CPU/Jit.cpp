//===- Jit.cpp - compile a step and run it in this process ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/Jit.h"
#include "remat/Target/CPU/LowerToLLVM.h"
#include "remat/Target/CPU/ObjectEmitter.h"
#include "remat/Target/CPU/Passes.h"
#include "remat/Target/CPU/TargetMachine.h"

#include "mlir/Pass/PassManager.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

JitModule::JitModule(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}

JitModule::~JitModule() = default;

llvm::Expected<std::unique_ptr<JitModule>>
JitModule::create(mlir::ModuleOp module, const LoweringOptions &options,
                  const EmitOptions &emission) {
  if (llvm::Error error = checkRunsHere(emission.chip))
    return std::move(error);
  // As a pass, so that the dialects it produces get loaded.
  mlir::PassManager pm(module.getContext());
  pm.addPass(createLowerCPUPass({options.name, options.threads}));
  pm.enableVerifier(false); // kernels were verified where they were formed
  if (failed(pm.run(module)))
    return llvm::createStringError("the step could not be lowered for CPU");
  // The same object code as ahead of time, linked into this process.
  auto objects = emitObjects(module, emission);
  if (!objects)
    return objects.takeError();
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  auto symbols = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      (*jit)->getDataLayout().getGlobalPrefix());
  if (!symbols)
    return symbols.takeError();
  (*jit)->getMainJITDylib().addGenerator(std::move(*symbols));
  for (auto [number, object] : llvm::enumerate(*objects)) {
    auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(
        std::move(object), options.name + "." + std::to_string(number),
        /*RequiresNullTerminator=*/false);
    if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer)))
      return std::move(error);
  }
  auto address = (*jit)->lookup(options.name);
  if (!address)
    return address.takeError();
  std::unique_ptr<JitModule> result(new JitModule(std::move(*jit)));
  result->module = address->toPtr<const remat_module *>();
  return result;
}
