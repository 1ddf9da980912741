//===- PtxEmitter.cpp - functions of launches as PTX ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's conversions to the NVVM dialect, after functions of f32 have
// become the polynomials that the CPU has, or instructions (DeviceMath.h), so
// that a device needs no libdevice for them. Sums and products are not
// contracted, and nothing but such an instruction flushes denormals.
//
//===----------------------------------------------------------------------===//

#include "PtxEmitter.h"
#include "DeviceMath.h"
#include "Toolkit.h"

#include "remat/Codegen/KernelContext.h"
#include "remat/Codegen/MathLowering.h"
#include "remat/Codegen/Optimizer.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/IPO/Internalize.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

//===----------------------------------------------------------------------===//
// To the NVVM dialect
//===----------------------------------------------------------------------===//

/// The instruction that `op` is on a GPU, as an intrinsic of LLVM; empty if it
/// is none.
static StringRef getInstruction(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::AbsFOp>([](auto) { return "llvm.fabs"; })
      .Case<math::CeilOp>([](auto) { return "llvm.ceil"; })
      .Case<math::CopySignOp>([](auto) { return "llvm.copysign"; })
      .Case<math::FloorOp>([](auto) { return "llvm.floor"; })
      .Case<math::FmaOp>([](auto) { return "llvm.fma"; })
      .Case<math::RoundEvenOp>([](auto) { return "llvm.roundeven"; })
      .Case<math::TruncOp>([](auto) { return "llvm.trunc"; })
      .Default([](Operation *) { return StringRef(); });
}

/// The function of integers that `op` is, as an intrinsic of LLVM; empty if it
/// is none.
static StringRef getIntegerInstruction(Operation *op) {
  return llvm::TypeSwitch<Operation *, StringRef>(op)
      .Case<math::AbsIOp>([](auto) { return "llvm.abs"; })
      .Case<math::CountLeadingZerosOp>([](auto) { return "llvm.ctlz"; })
      .Case<math::CountTrailingZerosOp>([](auto) { return "llvm.cttz"; })
      .Case<math::CtPopOp>([](auto) { return "llvm.ctpop"; })
      .Default([](Operation *) { return StringRef(); });
}

/// Keeps the loads of vectors whose elements are truncated: LLVM would load
/// what is left of each element on its own.
static void keepVectorLoads(gpu::GPUModuleOp module) {
  module.walk([](arith::TruncIOp op) {
    auto element = op.getIn().getDefiningOp<vector::ExtractOp>();
    unsigned bits = op.getIn().getType().getIntOrFloatBitWidth();
    if (!element || !element.getSource().getDefiningOp<vector::LoadOp>() ||
        (bits != 16 && bits != 32 && bits != 64))
      return;
    StringRef constraints = bits == 16 ? "=h,h" : bits == 32 ? "=r,r" : "=l,l";
    OpBuilder builder(op);
    Value kept =
        LLVM::InlineAsmOp::create(
            builder, op.getLoc(), TypeRange(op.getIn().getType()),
            ValueRange(op.getIn()), ("mov.b" + Twine(bits) + " $0, $1;").str(),
            constraints,
            /*has_side_effects=*/false, /*is_align_stack=*/false,
            LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
            .getResult(0);
    op.getInMutable().assign(kept);
  });
}

/// Replaces functions of integers, of which upstream has those of some widths.
static void lowerIntegers(gpu::GPUModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    StringRef name = getIntegerInstruction(op);
    if (name.empty())
      return;
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType();
    Type word = type.isIndex() ? rewriter.getI64Type() : type;
    Value number = op->getOperand(0);
    if (type.isIndex())
      number = arith::IndexCastOp::create(rewriter, loc, word, number);
    SmallVector<Value> operands{number};
    // Zero and the least number have results, too.
    if (!isa<math::CtPopOp>(op))
      operands.push_back(LLVM::ConstantOp::create(
          rewriter, loc, rewriter.getI1Type(), rewriter.getBoolAttr(false)));
    Value result = LLVM::CallIntrinsicOp::create(
                       rewriter, loc, word,
                       rewriter.getStringAttr(
                           name + ".i" + Twine(word.getIntOrFloatBitWidth())),
                       operands)
                       ->getResult(0);
    if (type.isIndex())
      result = arith::IndexCastOp::create(rewriter, loc, type, result);
    rewriter.replaceOp(op, result);
  });
}

/// Replaces what upstream makes calls of libdevice of, and is an instruction.
static void lowerInstructions(gpu::GPUModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    StringRef name = getInstruction(op);
    if (name.empty())
      return;
    Type type = op->getResult(0).getType();
    if (!type.isF32() && !type.isF64())
      return;
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<LLVM::CallIntrinsicOp>(
        op, type,
        rewriter.getStringAttr(name + (type.isF32() ? ".f32" : ".f64")),
        op->getOperands());
  });
}

/// Replaces functions of upstream's that are others on a GPU: square roots,
/// which are approximations there, are rounded to nearest, and powers with
/// constant exponents are products.
static void lowerIntrinsics(gpu::GPUModuleOp module) {
  IRRewriter rewriter(module.getContext());
  module.walk([&](Operation *op) {
    if (!isa<math::SqrtOp, math::RsqrtOp, math::FPowIOp>(op))
      return;
    rewriter.setInsertionPoint(op);
    Location loc = op->getLoc();
    Type type = op->getResult(0).getType();
    auto call = [&](StringRef name, ValueRange operands) -> Value {
      return LLVM::CallIntrinsicOp::create(
                 rewriter, loc, type, rewriter.getStringAttr(name), operands)
          ->getResult(0);
    };
    if (auto power = dyn_cast<math::FPowIOp>(op)) {
      APInt exponent;
      if (!matchPattern(power.getRhs(), m_ConstantInt(&exponent)))
        return;
      Value number = LLVM::ConstantOp::create(
          rewriter, loc, rewriter.getI32Type(),
          rewriter.getI32IntegerAttr(exponent.getSExtValue()));
      rewriter.replaceOp(
          op, call(type.isF64() ? "llvm.powi.f64.i32" : "llvm.powi.f32.i32",
                   {power.getLhs(), number}));
      return;
    }
    Value root =
        call(type.isF64() ? "llvm.nvvm.sqrt.rn.d" : "llvm.nvvm.sqrt.rn.f",
             op->getOperands());
    if (isa<math::RsqrtOp>(op)) {
      Value one = arith::ConstantOp::create(rewriter, loc,
                                            rewriter.getFloatAttr(type, 1.0));
      root = arith::DivFOp::create(rewriter, loc, one, root);
    }
    rewriter.replaceOp(op, root);
  });
}

LogicalResult remat::cuda::lowerToNVVM(ModuleOp module) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  module.getContext()->loadDialect<NVVM::NVVMDialect>();
  for (auto unit : module.getOps<gpu::GPUModuleOp>()) {
    if (failed(lowerMath(unit, populateDeviceMathPatterns)))
      return failure();
    lowerIntrinsics(unit);
    keepVectorLoads(unit);
    lowerIntegers(unit);
    lowerInstructions(unit);
  }
  PassManager passes(module.getContext());
  OpPassManager &manager = passes.nest<gpu::GPUModuleOp>();
  manager.addPass(createLowerAffinePass());
  manager.addPass(createLoopInvariantCodeMotionPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  ConvertGpuOpsToNVVMOpsOptions options;
  options.indexBitwidth = 64;
  options.useBarePtrCallConv = true;
  manager.addPass(createConvertGpuOpsToNVVMOps(options));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  return passes.run(module);
}

//===----------------------------------------------------------------------===//
// To PTX
//===----------------------------------------------------------------------===//

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createMachine(StringRef chip) {
  static bool isRegistered = [] {
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)isRegistered;
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return llvm::createStringError("no code generation for CUDA devices: " +
                                   message);
  llvm::TargetOptions options;
  // Results must not depend on which operations share a kernel.
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  // The oldest PTX that knows the device.
  StringRef features = chip == "sm_80" ? "+ptx70" : "+ptx80";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, features, options, std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

static bool isFromLibdevice(const llvm::Function &function) {
  return function.isDeclaration() && function.getName().starts_with("__nv_");
}

/// Links what the code calls of libdevice.
static llvm::Error linkLibdevice(llvm::Module &code, StringRef path) {
  auto missing = llvm::find_if(code, isFromLibdevice);
  if (missing == code.end())
    return llvm::Error::success();
  if (path.empty())
    return llvm::createStringError(
        "the function '" + missing->getName() +
        "' is in libdevice, and there is no CUDA toolkit; "
        "name one by --cuda-toolkit or by the environment "
        "variable CUDA_HOME");
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> library =
      llvm::parseIRFile(path, diagnostic, code.getContext());
  if (!library)
    return llvm::createStringError("libdevice cannot be read from '" + path +
                                   "': " + diagnostic.getMessage());
  library->setTargetTriple(code.getTargetTriple());
  library->setDataLayout(code.getDataLayout());
  // What is linked is not to be seen outside, or it would all stay.
  llvm::StringSet<> known;
  for (llvm::Function &function : code)
    known.insert(function.getName());
  if (llvm::Linker::linkModules(
          code, std::move(library), llvm::Linker::Flags::LinkOnlyNeeded,
          [&](llvm::Module &module, const llvm::StringSet<> &linked) {
            llvm::internalizeModule(module, [&](const llvm::GlobalValue &v) {
              return !linked.contains(v.getName());
            });
          }))
    return llvm::createStringError("libdevice does not link");
  // Denormals stay as they are.
  code.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
  return llvm::Error::success();
}

/// Leaves registers to the launches that have loops: what they keep from one
/// round to the next is what an assembler spills, so that a multiprocessor has
/// room for more blocks.
static void limitBlocksOfLoops(llvm::Module &code) {
  for (llvm::Function &function : code) {
    unsigned threads = 0;
    if (function.isDeclaration() || function.hasFnAttribute("nvvm.minctasm") ||
        function.getFnAttribute("nvvm.maxntid")
            .getValueAsString()
            .consumeInteger(10, threads) ||
        threads == 0)
      continue;
    llvm::DominatorTree dominators(function);
    if (!llvm::LoopInfo(dominators).empty())
      function.addFnAttr("nvvm.minctasm",
                         std::to_string(std::max(roomyThreads / threads, 1u)));
  }
}

llvm::Expected<std::string> remat::cuda::emitPtx(gpu::GPUModuleOp module,
                                                 StringRef chip,
                                                 StringRef libdevice,
                                                 bool limitsBlocks) {
  auto machine = createMachine(chip);
  if (!machine)
    return machine.takeError();
  // What loads are aligned to is taken from it while they are translated: 64
  // bits would else be loaded as two halves.
  module->setAttr(
      LLVM::LLVMDialect::getDataLayoutAttrName(),
      StringAttr::get(
          module.getContext(),
          (*machine)->createDataLayout().getStringRepresentation()));
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(module, context, "kernels");
  if (!code)
    return llvm::createStringError("translation to LLVM IR failed");
  code->setTargetTriple((*machine)->getTargetTriple());
  code->setDataLayout((*machine)->createDataLayout());
  if (llvm::Error error = linkLibdevice(*code, libdevice))
    return std::move(error);
  optimize(*code, **machine, /*vectorizes=*/false);
  if (limitsBlocks)
    limitBlocksOfLoops(*code);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  llvm::legacy::PassManager passes;
  if ((*machine)->addPassesToEmitFile(passes, stream, nullptr,
                                      llvm::CodeGenFileType::AssemblyFile))
    return llvm::createStringError("the target cannot emit PTX");
  passes.run(*code);
  return text.str().str();
}
