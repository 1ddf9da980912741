//===- CPUTarget.cpp - the target "cpu" -----------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/CPUTarget.h"

#include "remat/Runtime/LibraryCalls.h"
#include "remat/Target/CPU/Jit.h"
#include "remat/Target/CPU/LowerToLLVM.h"
#include "remat/Target/CPU/ObjectEmitter.h"
#include "remat/Target/CPU/Passes.h"
#include "remat/Target/CPU/TargetMachine.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Target/TargetMachine.h"

#include <algorithm>
#include <thread>

using namespace mlir;
using namespace remat;
using namespace remat::cpu;

namespace {
class CPUTarget : public Target {
public:
  CPUTarget() : Target("cpu") {}
  llvm::Error checkDevice(StringRef device) const override {
    if (device.empty() || device == "cpu")
      return llvm::Error::success();
    return llvm::createStringError(
        "unknown device '" + device +
        "' of target 'cpu', expected cpu; what runs on a GPU, or in its "
        "simulator, is compiled with --target=cuda from the tasks on");
  }

  llvm::Expected<MachineFacts> describeMachine(const EmitOptions &options,
                                               int threads) const override;
  FailureOr<codegen::KernelInfo> analyzeKernel(FunctionOpInterface kernel,
                                               int threads) const override {
    return codegen::analyzeKernel(kernel, threads);
  }
  int64_t countCopiedBytes(const remat_convolution &conv,
                           const LibraryOptions &) const override {
    return std::max<int64_t>(
        remat_convolution_copied_bytes(&conv, /*threads=*/1), 0);
  }
  LayoutCosts getLayoutCosts() const override { return {6, 0.04, 4}; }
  bool hasCheapStems() const override { return true; }
  LogicalResult lower(ModuleOp module,
                      const LoweringOptions &options) const override {
    return lowerToLLVM(module, options);
  }
  void addLowering(OpPassManager &pm,
                   const LoweringOptions &options) const override {
    pm.addPass(
        createLowerCPUPass({options.name, options.threads, options.chip}));
  }
  llvm::Error emit(ModuleOp module, const EmitOptions &options, OutputKind kind,
                   llvm::raw_pwrite_stream &output) const override {
    return kind == OutputKind::Object ? emitObject(module, options, output)
                                      : emitAssembly(module, options, output);
  }
  llvm::Expected<std::unique_ptr<LoadedModule>>
  load(ModuleOp module, const LoweringOptions &lowering,
       const EmitOptions &emission) const override {
    if (llvm::Error error = checkDevice(emission.device))
      return error;
    return JitModule::create(module, lowering, emission);
  }
};
} // namespace

llvm::Expected<MachineFacts>
CPUTarget::describeMachine(const EmitOptions &options, int threads) const {
  auto machine = createTargetMachine(options.chip);
  if (!machine)
    return machine.takeError();
  if (threads == 0)
    threads =
        static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
  return MachineFacts{{"triple", (*machine)->getTargetTriple().str()},
                      {"cpu", (*machine)->getTargetCPU().str()},
                      {"features", llvm::join(getFeatures(**machine), ",")},
                      {"threads", std::to_string(threads)}};
}

std::unique_ptr<Target> remat::cpu::createTarget() {
  return std::make_unique<CPUTarget>();
}
