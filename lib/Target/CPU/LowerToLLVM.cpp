//===- LowerToLLVM.cpp - a placed graph as a module of code ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/LowerToLLVM.h"

#include "KernelEmitter.h"

#include "remat/Codegen/StepModule.h"
#include "remat/Target/CPU/ScalarLowering.h"
#include "remat/Target/CPU/TargetMachine.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

/// The function of a kernel is made around its loops.
struct KernelFunction {
  std::string symbol, loops;
  EmittedKernel kernel;
};

class CPUKernelCompiler : public KernelCompiler {
public:
  explicit CPUKernelCompiler(const TileShape &tile) : tile(tile) {}

  LogicalResult compile(func::FuncOp kernel, StringRef symbol, ModuleOp code,
                        CheckList &checks, CompiledKernel &result) override;
  LogicalResult finish(ModuleOp code) override;

private:
  void createFunction(ModuleOp code, const KernelFunction &function);

  TileShape tile;
  std::vector<KernelFunction> functions;
};

} // namespace

LogicalResult CPUKernelCompiler::compile(func::FuncOp kernel, StringRef symbol,
                                         ModuleOp code, CheckList &checks,
                                         CompiledKernel &result) {
  FailureOr<BufferizedKernel> bufferized =
      bufferizeKernel(kernel, result.inPlace);
  if (failed(bufferized))
    return failure();
  std::string loops = (symbol + "_loops").str();
  FailureOr<EmittedKernel> emitted =
      emitKernel(*bufferized, loops, code, checks, tile);
  if (failed(emitted))
    return failure();
  result.workspaceBytes = emitted->workspaceBytes;
  result.extent = emitted->extent;
  result.grain = emitted->grain;
  functions.push_back({symbol.str(), loops, std::move(*emitted)});
  return success();
}

/// A remat_kernel_fn that unpacks the pointers of a kernel's loops, so that
/// those can be declared not to alias.
void CPUKernelCompiler::createFunction(ModuleOp code,
                                       const KernelFunction &entry) {
  auto loops = code.lookupSymbol<LLVM::LLVMFuncOp>(entry.loops);
  OpBuilder builder = OpBuilder::atBlockEnd(code.getBody());
  Location loc = loops.getLoc();
  LLVM::LLVMFuncOp function = createKernelFunction(builder, loc, entry.symbol);
  Value buffers = function.getArgument(0);
  unsigned numWorkspaces = entry.kernel.workspace.size();
  unsigned numBuffers = loops.getNumArguments() - 3 - numWorkspaces;
  SmallVector<Value> operands;
  for (unsigned i = 0; i < numBuffers; ++i)
    operands.push_back(loadPointer(builder, loc, buffers, i));
  if (numWorkspaces != 0) {
    Value workspace = loadPointer(builder, loc, buffers, numBuffers);
    for (const WorkspaceBuffer &buffer : entry.kernel.workspace)
      operands.push_back(offsetPointer(builder, loc, workspace, buffer.offset));
  }
  llvm::append_range(operands, function.getArguments().drop_front());
  LLVM::CallOp::create(builder, loc, loops, operands);
  LLVM::ReturnOp::create(builder, loc, ValueRange());
  loops.setLinkage(LLVM::Linkage::Internal);
  loops.setNoInline(true);
}

LogicalResult CPUKernelCompiler::finish(ModuleOp code) {
  if (failed(lowerScalars(code)))
    return failure();
  for (const KernelFunction &function : functions)
    createFunction(code, function);
  return success();
}

LogicalResult remat::cpu::lowerToLLVM(ModuleOp module,
                                      const LoweringOptions &options) {
  // Within a pass these are loaded already, by its list of dialects.
  module.getContext()
      ->loadDialect<affine::AffineDialect, arith::ArithDialect,
                    bufferization::BufferizationDialect,
                    complex::ComplexDialect, cf::ControlFlowDialect,
                    func::FuncDialect, linalg::LinalgDialect, LLVM::LLVMDialect,
                    math::MathDialect, memref::MemRefDialect, scf::SCFDialect,
                    tensor::TensorDialect, vector::VectorDialect>();
  auto machine = createTargetMachine(options.chip);
  if (!machine)
    return module.emitError(llvm::toString(machine.takeError()));
  CPUKernelCompiler compiler(getTileShape(**machine));
  return lowerStep(module, options.name, options.threads, compiler);
}
