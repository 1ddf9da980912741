//===- LowerToGPU.cpp - placed graphs to launches of a GPU ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerToGPU.h"
#include "KernelEmitter.h"

#include "remat/Codegen/StepModule.h"
#include "remat/Dialect/Remat/IR/LibraryMasks.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Target/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include "llvm/ADT/StringSet.h"

#include <limits>

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace remat {
#define GEN_PASS_DEF_LOWERCUDAPASS
#include "remat/Target/CUDA/Passes.h.inc"
} // namespace remat

namespace {

class DeviceCompiler : public KernelCompiler {
public:
  explicit DeviceCompiler(bool allowsTf32) : allowsTf32(allowsTf32) {}

  bool isForDevice() const override { return true; }
  LibraryCallRef match(func::FuncOp kernel) const override {
    return cuda::matchDeviceCall(kernel);
  }
  int64_t getWorkspaceBytes(const LibraryCall &call, int) const override {
    return cuda::getDeviceWorkspaceBytes(call);
  }
  uint64_t getTableFlags() const override {
    return allowsTf32 ? REMAT_TABLE_TF32 : 0;
  }
  LogicalResult compile(func::FuncOp kernel, StringRef symbol, ModuleOp code,
                        CheckList &checks, CompiledKernel &result) override;
  LogicalResult finish(ModuleOp code) override {
    // Units have one of their own.
    code.lookupSymbol(failFunctionName)->erase();
    return success();
  }

private:
  std::string getName(func::FuncOp kernel);

  bool allowsTf32;
  /// Names of kernels that have functions.
  llvm::StringSet<> names;
};

} // namespace

/// What the functions of a kernel are called, which has several of them if it
/// writes in place for some tasks.
std::string DeviceCompiler::getName(func::FuncOp kernel) {
  std::string name = kernel.getName().str();
  for (unsigned number = 1; !names.insert(name).second; ++number)
    name = (kernel.getName() + "_place" + Twine(number)).str();
  return name;
}

LogicalResult DeviceCompiler::compile(func::FuncOp kernel, StringRef symbol,
                                      ModuleOp code, CheckList &checks,
                                      CompiledKernel &result) {
  WalkResult masks = kernel.walk([](Operation *op) {
    return op->hasAttr(libraryMaskAttrName) ? WalkResult::interrupt()
                                            : WalkResult::advance();
  });
  if (masks.wasInterrupted())
    return kernel.emitOpError("has a mask of the library ('")
           << libraryMaskAttrName << "'), expected a call of it";
  FailureOr<BufferizedKernel> bufferized =
      bufferizeKernel(kernel, result.inPlace);
  if (failed(bufferized))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  auto unit = gpu::GPUModuleOp::create(builder, kernel.getLoc(), symbol);
  OpBuilder inner = OpBuilder::atBlockBegin(unit.getBody());
  cuda::createFailFunction(inner, kernel.getLoc());
  FailureOr<cuda::EmittedKernel> emitted =
      cuda::emitKernel(*bufferized, getName(kernel), unit, checks);
  if (failed(emitted))
    return failure();
  result.workspaceBytes = emitted->buffers.workspaceBytes;
  for (const cuda::KernelBuffers::Scratch &scratch : emitted->buffers.scratch)
    result.scratch.push_back(scratch.offset);
  for (const cuda::Launch &launch : emitted->launches) {
    if (launch.blocks > std::numeric_limits<int32_t>::max())
      return kernel.emitOpError("needs ")
             << launch.blocks << " blocks, more than a launch can have";
    result.launches.push_back({launch.function, uint32_t(launch.blocks),
                               uint32_t(launch.threads),
                               uint32_t(launch.sharedBytes)});
  }
  return success();
}

LogicalResult remat::cuda::lowerToGPU(ModuleOp module,
                                      const LoweringOptions &options) {
  DeviceCompiler compiler(options.allowsTf32);
  return lowerStep(module, options.name, options.threads, compiler);
}

namespace {

struct LowerCUDA : remat::impl::LowerCUDAPassBase<LowerCUDA> {
  using LowerCUDAPassBase::LowerCUDAPassBase;

  void runOnOperation() override {
    if (failed(remat::cuda::lowerToGPU(getOperation(), {name, threads})))
      signalPassFailure();
  }
};

} // namespace
