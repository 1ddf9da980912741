//===- CUDATarget.cpp - the target "cuda" ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CUDA/CUDATarget.h"

#include "KernelEmitter.h"
#include "LowerToGPU.h"
#include "PtxEmitter.h"
#include "Simulator.h"
#include "SimulatorLowering.h"
#include "WarpOps.h"

#include "remat/Target/CPU/Jit.h"
#include "remat/Target/CUDA/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static void loadDialects(MLIRContext *context) {
  context->loadDialect<
      affine::AffineDialect, arith::ArithDialect,
      bufferization::BufferizationDialect, complex::ComplexDialect,
      cf::ControlFlowDialect, func::FuncDialect, gpu::GPUDialect,
      linalg::LinalgDialect, LLVM::LLVMDialect, math::MathDialect,
      memref::MemRefDialect, scf::SCFDialect, tensor::TensorDialect,
      vector::VectorDialect>();
  loadWarpDialects(context);
}

namespace {
class CUDATarget : public Target {
public:
  CUDATarget() : Target("cuda") {}

  TargetAttr getFacts(MLIRContext *context) const override;

  FailureOr<codegen::KernelInfo> analyzeKernel(FunctionOpInterface kernel,
                                               int threads) const override {
    loadDialects(kernel->getContext());
    FailureOr<codegen::KernelInfo> info =
        codegen::analyzeKernel(kernel, threads);
    if (failed(info) || info->call)
      return info;
    FailureOr<codegen::BufferizedKernel> bufferized =
        codegen::bufferizeKernel(cast<func::FuncOp>(kernel.getOperation()));
    if (failed(bufferized))
      return failure();
    FailureOr<int64_t> workspace = getWorkspaceBytes(*bufferized);
    if (failed(workspace))
      return failure();
    info->workspaceBytes = std::max(info->workspaceBytes, *workspace);
    return info;
  }
  int64_t countCopiedBytes(const remat_convolution &conv) const override {
    return 0;
  }
  LogicalResult lower(ModuleOp module,
                      const LoweringOptions &options) const override {
    loadDialects(module.getContext());
    return lowerToGPU(module, options.name);
  }
  void addLowering(OpPassManager &pm,
                   const LoweringOptions &options) const override {
    pm.addPass(createLowerCUDAPass({options.name}));
  }
  llvm::Error emit(ModuleOp module, const EmitOptions &options, OutputKind kind,
                   llvm::raw_pwrite_stream &output) const override;
  llvm::Expected<std::unique_ptr<LoadedModule>>
  load(ModuleOp module, const LoweringOptions &lowering,
       const EmitOptions &emission) const override;
};
} // namespace

/// An H100 or H200: 132 multiprocessors with 227 KiB of shared memory each.
/// Rows may be longer than what finds room there.
TargetAttr CUDATarget::getFacts(MLIRContext *context) const {
  return TargetAttr::get(
      context, getName(), /*alignment=*/256, /*row_bytes=*/8 << 20,
      /*block_bytes=*/96 << 10, /*block_rows=*/64, /*min_block_rows=*/8,
      /*sum_length=*/16 << 10, /*channel_bytes=*/8 << 20,
      /*slice_bytes=*/int64_t(1) << 30, /*slice_rows=*/4096,
      /*min_slice_rows=*/2048, /*in_place=*/true, /*threads=*/1,
      /*contraction_flops=*/int64_t(50'000'000'000'000),
      /*loop_flops=*/int64_t(30'000'000'000'000),
      /*bandwidth=*/int64_t(4'000'000'000'000), /*launch_ns=*/3000,
      /*link_bandwidth=*/int64_t(50'000'000'000), /*duplex_link=*/true);
}

llvm::Error CUDATarget::emit(ModuleOp module, const EmitOptions &options,
                             OutputKind kind,
                             llvm::raw_pwrite_stream &output) const {
  if (kind != OutputKind::Assembly)
    return llvm::createStringError("objects with code for CUDA devices cannot "
                                   "be written yet; PTX can (--emit=asm)");
  StringRef chip = options.chip.empty() ? "sm_90" : StringRef(options.chip);
  if (chip != "sm_80" && chip != "sm_90")
    return llvm::createStringError("unknown device '" + chip +
                                   "', expected one of: sm_80, sm_90");
  auto kernels = module.getOps<gpu::GPUModuleOp>();
  if (kernels.empty())
    return llvm::createStringError("expected a 'gpu.module' of launches");
  llvm::Expected<std::string> ptx =
      emitPtx(*kernels.begin(), chip, findLibdevice());
  if (!ptx)
    return ptx.takeError();
  output << *ptx;
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<LoadedModule>>
CUDATarget::load(ModuleOp module, const LoweringOptions &lowering,
                 const EmitOptions &emission) const {
  if (emission.device != "sim" && emission.device != "sim-reverse")
    return llvm::createStringError(
        "unknown device '" + emission.device +
        "' of target 'cuda', expected one of: sim, sim-reverse");
  loadDialects(module.getContext());
  if (failed(lowerForSimulator(module, lowering,
                               emission.device == "sim-reverse")))
    return llvm::createStringError("the step could not be lowered for CUDA");
  std::pair<llvm::StringRef, void *> symbols[] = {
      {"remat_simulate_launch",
       reinterpret_cast<void *>(&remat_simulate_launch)},
      {"remat_simulate_barrier",
       reinterpret_cast<void *>(&remat_simulate_barrier)},
      {"remat_simulate_shuffle",
       reinterpret_cast<void *>(&remat_simulate_shuffle)},
      {"remat_simulate_tensor_core",
       reinterpret_cast<void *>(&remat_simulate_tensor_core)},
      {"remat_simulate_sum", reinterpret_cast<void *>(&remat_simulate_sum)}};
  return cpu::JitModule::link(module, lowering, emission, symbols);
}

std::unique_ptr<Target> remat::cuda::createTarget() {
  return std::make_unique<CUDATarget>();
}
