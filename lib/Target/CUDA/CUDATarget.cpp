//===- CUDATarget.cpp - the target "cuda" ---------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CUDA/CUDATarget.h"

#include "CodeEmitter.h"
#include "KernelEmitter.h"
#include "LibraryPlans.h"
#include "LowerToGPU.h"
#include "SharedMemory.h"
#include "Simulator.h"
#include "SimulatorLowering.h"
#include "WarpOps.h"

#include "remat/Codegen/Library/Convolution.h"
#include "remat/Runtime/CudnnPlanner.h"
#include "remat/Runtime/LibraryCalls.h"
#include "remat/Runtime/Runtime.h"
#include "remat/Target/CPU/Jit.h"
#include "remat/Target/CPU/ObjectEmitter.h"
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

/// Whether kernels run in the simulator.
static bool isSimulator(StringRef device) {
  return device == "sim" || device == "sim-reverse";
}

/// Whether cuDNN is to be asked for plans. The simulator has no libraries.
static bool mayHavePlans(const LibraryOptions &options) {
  return options.convolutions != ConvolutionChoice::Generated &&
         (options.convolutions != ConvolutionChoice::Auto ||
          !isSimulator(options.device));
}

/// Of the code of a kernel, whatever else may carry it out.
static FailureOr<int64_t> getGeneratedWorkspaceBytes(func::FuncOp kernel) {
  FailureOr<codegen::BufferizedKernel> bufferized =
      codegen::bufferizeKernel(kernel);
  if (failed(bufferized))
    return failure();
  return getWorkspaceBytes(*bufferized);
}

namespace {
class CUDATarget : public Target {
public:
  CUDATarget() : Target("cuda") {}
  llvm::Error checkDevice(StringRef device) const override {
    if (device.empty() || device == "cuda" || isSimulator(device))
      return llvm::Error::success();
    return llvm::createStringError(
        "unknown device '" + device +
        "' of target 'cuda', expected one of: cuda, sim, sim-reverse");
  }

  TargetAttr getFacts(MLIRContext *context, StringRef chip) const override;
  llvm::Expected<MachineFacts> describeMachine(const EmitOptions &options,
                                               int threads) const override;

  FailureOr<codegen::KernelInfo> analyzeKernel(FunctionOpInterface kernel,
                                               int threads) const override {
    loadDialects(kernel->getContext());
    auto function = dyn_cast<func::FuncOp>(kernel.getOperation());
    if (!function || function.isExternal())
      return codegen::analyzeKernel(kernel, threads);
    if (codegen::LibraryCallRef call = matchDeviceCall(function)) {
      FailureOr<codegen::KernelInfo> info =
          codegen::analyzeKernel(kernel, threads);
      if (succeeded(info) && call->getSymbol().empty())
        info->workspaceBytes = getDeviceWorkspaceBytes(*call);
      if (failed(info) || !codegen::isEither(kernel))
        return info;
      FailureOr<int64_t> workspace = getGeneratedWorkspaceBytes(function);
      if (failed(workspace))
        return failure();
      info->workspaceBytes = std::max(info->workspaceBytes, *workspace);
      return info;
    }
    FailureOr<codegen::KernelInfo> info =
        codegen::analyzeGeneratedKernel(kernel);
    if (failed(info))
      return failure();
    // What a library carries out on other machines.
    if (codegen::LibraryCallRef call = codegen::describeLibraryCall(kernel);
        call && call->getConvolution()) {
      info->flops = call->countFlops();
      info->contractionFlops = 0;
      info->loopSpeed = codegen::generatedConvolutionSpeed;
    } else if (call && codegen::matchLibraryCall(kernel)) {
      const remat_matmul *matmul = call->getMatmul();
      info->contractionFlops = call->countFlops();
      if (matmul && remat_dtype_bytes(matmul->a_dtype) == 2)
        info->narrowFlops = info->contractionFlops;
      info->flops = 0;
    }
    FailureOr<int64_t> workspace = getGeneratedWorkspaceBytes(function);
    if (failed(workspace))
      return failure();
    info->workspaceBytes = std::max(info->workspaceBytes, *workspace);
    return info;
  }
  LogicalResult makeLibraryPlans(ModuleOp module,
                                 const LibraryOptions &options) const override {
    return mayHavePlans(options) ? makeConvolutionPlans(module, options)
                                 : success();
  }
  bool wantsAlignedRows() const override { return true; }
  int64_t countCopiedBytes(const remat_convolution &conv,
                           const LibraryOptions &options) const override {
    std::string error;
    return mayHavePlans(options) && canPlanConvolutions(error)
               ? countRearrangedBytes(conv, options.allowsTf32)
               : 0;
  }
  int64_t getChannelMultiple(const remat_convolution &conv,
                             const LibraryOptions &options) const override {
    // Of 16 bits: on an H200, that of ResNet-50 and the gradient of its filter
    // took 1.74 and 0.93 ms with 8 channels, and 2.12 and 1.49 ms with 3.
    std::string error;
    return mayHavePlans(options) && canPlanConvolutions(error) &&
                   usesTensorCores(conv, options.allowsTf32)
               ? 8
               : 1;
  }
  // Both are at the bandwidth of the memory, and tensor cores are fast.
  LayoutCosts getLayoutCosts() const override { return {1, 0, 1}; }
  // Few channels leave most of a tensor core idle: that of ResNet-50 takes ten
  // times what it takes to write and to read its result.
  bool hasCheapStems() const override { return false; }
  LogicalResult lower(ModuleOp module,
                      const LoweringOptions &options) const override {
    loadDialects(module.getContext());
    return lowerToGPU(module, options);
  }
  void addLowering(OpPassManager &pm,
                   const LoweringOptions &options) const override {
    pm.addPass(createLowerCUDAPass({options.name, options.threads}));
  }
  llvm::Error emit(ModuleOp module, const EmitOptions &options, OutputKind kind,
                   llvm::raw_pwrite_stream &output) const override;
  llvm::Expected<std::unique_ptr<LoadedModule>>
  load(ModuleOp module, const LoweringOptions &lowering,
       const EmitOptions &emission) const override;
};
} // namespace

/// An H100 or H200: 132 multiprocessors. Shared memory is what any device has,
/// if code is for others, too. Rows may be longer than what finds room there.
/// Speeds are those that large products and copies were measured to have.
TargetAttr CUDATarget::getFacts(MLIRContext *context, StringRef chip) const {
  int64_t blockBytes = chip == "sm_90" ? blockBytesOfHopper : blockBytesOfAll;
  return TargetAttr::get(
      context, getName(), /*alignment=*/256, /*row_bytes=*/8 << 20, blockBytes,
      /*block_rows=*/64, /*min_block_rows=*/8,
      /*sum_length=*/16 << 10, /*channel_bytes=*/8 << 20,
      /*slice_bytes=*/128 << 20, /*slice_rows=*/4096,
      /*min_slice_rows=*/512, /*in_place=*/true, /*biases=*/true,
      /*epilogues=*/true,
      /*strides=*/true, /*shared_strides=*/true, /*row_stages=*/true,
      /*windows=*/true,
      /*threads=*/0,
      /*contraction_flops=*/int64_t(50'000'000'000'000),
      /*narrow_contraction_flops=*/int64_t(550'000'000'000'000),
      /*tile_flops=*/int64_t(15'000'000'000'000),
      /*narrow_tile_flops=*/int64_t(250'000'000'000'000),
      /*loop_flops=*/int64_t(30'000'000'000'000),
      /*bandwidth=*/int64_t(4'000'000'000'000), /*launch_ns=*/3000,
      /*link_bandwidth=*/int64_t(50'000'000'000), /*duplex_link=*/true);
}

/// A device's compute capability, such as "9.0", from ten times the number.
static std::string printCapability(unsigned capability) {
  return std::to_string(capability / 10) + "." +
         std::to_string(capability % 10);
}

/// The device that is there, unless code is made for a chip of another
/// generation; then only the chip is known.
llvm::Expected<MachineFacts>
CUDATarget::describeMachine(const EmitOptions &options, int threads) const {
  MachineFacts facts;
  if (isSimulator(options.device)) {
    facts["device"] = "simulator";
    return facts;
  }
  unsigned chip = 0, capability = 0;
  StringRef(options.chip).ltrim("sm_").getAsInteger(10, chip);
  char name[256];
  bool isHere = remat_cuda_capability(&capability) == REMAT_OK &&
                remat_cuda_device_name(name, sizeof(name)) == REMAT_OK;
  if (isHere && (chip == 0 || chip / 10 == capability / 10)) {
    facts["device"] = name;
    facts["capability"] = printCapability(capability);
  } else if (chip != 0) {
    facts["capability"] = printCapability(chip);
  }
  return facts;
}

/// Gives the variable for the code of the device its value, and drops what it
/// was made from.
static void defineDeviceCode(ModuleOp module, StringRef code) {
  for (auto unit :
       llvm::make_early_inc_range(module.getOps<gpu::GPUModuleOp>()))
    unit.erase();
  Builder builder(module.getContext());
  for (auto global : module.getOps<LLVM::GlobalOp>()) {
    if (global.getValueAttr() || global.getInitializerBlock())
      continue;
    global.setGlobalTypeAttr(TypeAttr::get(
        LLVM::LLVMArrayType::get(builder.getI8Type(), code.size())));
    global.setValueAttr(builder.getStringAttr(code));
    global.setLinkage(LLVM::Linkage::Internal);
  }
}

llvm::Error CUDATarget::emit(ModuleOp module, const EmitOptions &options,
                             OutputKind kind,
                             llvm::raw_pwrite_stream &output) const {
  llvm::Expected<std::string> code = kind == OutputKind::Assembly
                                         ? emitAllPtx(module, options)
                                         : emitDeviceCode(module, options);
  if (!code)
    return code.takeError();
  if (kind == OutputKind::Assembly) {
    output << *code;
    return llvm::Error::success();
  }
  defineDeviceCode(module, *code);
  return cpu::emitObject(module, EmitOptions(), output);
}

/// Code for the device that is there; its step table and the image of its code
/// are data of this process.
static llvm::Expected<std::unique_ptr<LoadedModule>>
loadOnDevice(ModuleOp module, const LoweringOptions &lowering,
             const EmitOptions &emission) {
  uint32_t capability = 0;
  if (remat_cuda_capability(&capability) != REMAT_OK)
    return llvm::createStringError(std::errc::no_such_device,
                                   remat_last_error());
  loadDialects(module.getContext());
  if (failed(lowerToGPU(module, lowering)))
    return llvm::createStringError("the step could not be lowered for CUDA");
  EmitOptions forDevice = emission;
  if (forDevice.chip.empty() && capability / 10 == 8)
    forDevice.chip = "sm_80";
  if (forDevice.chip.empty() && capability / 10 == 9)
    forDevice.chip = "sm_90";
  llvm::Expected<std::string> code = emitDeviceCode(module, forDevice);
  if (!code)
    return code.takeError();
  defineDeviceCode(module, *code);
  return cpu::JitModule::link(module, lowering, EmitOptions());
}

llvm::Expected<std::unique_ptr<LoadedModule>>
CUDATarget::load(ModuleOp module, const LoweringOptions &lowering,
                 const EmitOptions &emission) const {
  if (emission.device.empty() || emission.device == "cuda")
    return loadOnDevice(module, lowering, emission);
  if (llvm::Error error = checkDevice(emission.device))
    return error;
  auto chips = findChips(emission.chip);
  if (!chips)
    return chips.takeError();
  EmitOptions forHost = emission;
  forHost.chip.clear();
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
      {"remat_simulate_sum", reinterpret_cast<void *>(&remat_simulate_sum)},
      {"remat_simulate_matrix_load",
       reinterpret_cast<void *>(&remat_simulate_matrix_load)},
      {"remat_simulate_word", reinterpret_cast<void *>(&remat_simulate_word)},
      {"remat_simulate_copy", reinterpret_cast<void *>(&remat_simulate_copy)},
      {"remat_simulate_copy_group",
       reinterpret_cast<void *>(&remat_simulate_copy_group)},
      {"remat_simulate_copy_wait",
       reinterpret_cast<void *>(&remat_simulate_copy_wait)}};
  return cpu::JitModule::link(module, lowering, forHost, symbols);
}

std::unique_ptr<Target> remat::cuda::createTarget() {
  return std::make_unique<CUDATarget>();
}
