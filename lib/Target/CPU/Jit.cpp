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
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"

#include <dlfcn.h>

using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

JitModule::JitModule(std::unique_ptr<llvm::orc::LLJIT> jit)
    : jit(std::move(jit)) {}

JitModule::~JitModule() = default;

/// Lets code call what this process has, and what remat's own library needs:
/// libm, for one, if a program loaded the library privately.
static llvm::Error addProcessSymbols(llvm::orc::LLJIT &jit) {
  using llvm::orc::DynamicLibrarySearchGenerator;
  char prefix = jit.getDataLayout().getGlobalPrefix();
  auto process = DynamicLibrarySearchGenerator::GetForCurrentProcess(prefix);
  if (!process)
    return process.takeError();
  jit.getMainJITDylib().addGenerator(std::move(*process));
  static const char here = 0;
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname)
    return llvm::Error::success();
  // Fails where remat is part of the program itself.
  auto library = DynamicLibrarySearchGenerator::Load(info.dli_fname, prefix);
  if (library)
    jit.getMainJITDylib().addGenerator(std::move(*library));
  else
    llvm::consumeError(library.takeError());
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<JitModule>>
JitModule::create(mlir::ModuleOp module, const LoweringOptions &options,
                  const EmitOptions &emission) {
  if (llvm::Error error = checkRunsHere(emission.chip))
    return std::move(error);
  // As a pass, so that the dialects it produces get loaded.
  mlir::PassManager pm(module.getContext());
  pm.addPass(
      createLowerCPUPass({options.name, options.threads, emission.chip}));
  pm.enableVerifier(false); // kernels were verified where they were formed
  if (failed(pm.run(module)))
    return llvm::createStringError("the step could not be lowered for CPU");
  return link(module, options, emission);
}

llvm::Expected<std::unique_ptr<JitModule>>
JitModule::link(mlir::ModuleOp module, const LoweringOptions &options,
                const EmitOptions &emission,
                llvm::ArrayRef<std::pair<llvm::StringRef, void *>> symbols) {
  // The same object code as ahead of time, linked into this process.
  auto objects = emitObjects(module, emission);
  if (!objects)
    return objects.takeError();
  // What is wrong with the code is said here, the lookup only says that it is.
  std::string reported;
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit)
    return jit.takeError();
  (*jit)->getExecutionSession().setErrorReporter([&](llvm::Error error) {
    reported += llvm::toString(std::move(error)) + "; ";
  });
  llvm::orc::SymbolMap given;
  for (auto [name, address] : symbols)
    given[(*jit)->mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  if (llvm::Error error = (*jit)->getMainJITDylib().define(
          llvm::orc::absoluteSymbols(std::move(given))))
    return std::move(error);
  if (llvm::Error error = addProcessSymbols(**jit))
    return std::move(error);
  for (auto [number, object] : llvm::enumerate(*objects)) {
    auto buffer = std::make_unique<llvm::SmallVectorMemoryBuffer>(
        std::move(object), options.name + "." + std::to_string(number),
        /*RequiresNullTerminator=*/false);
    if (llvm::Error error = (*jit)->addObjectFile(std::move(buffer)))
      return std::move(error);
  }
  auto address = (*jit)->lookup(options.name);
  // Later there is nobody to tell.
  (*jit)->getExecutionSession().setErrorReporter(llvm::consumeError);
  if (!address)
    return llvm::createStringError(reported +
                                   llvm::toString(address.takeError()));
  std::unique_ptr<JitModule> result(new JitModule(std::move(*jit)));
  result->module = address->toPtr<const remat_module *>();
  return result;
}
