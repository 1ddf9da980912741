//===- LowerToGPU.cpp - placed graphs to launches of a GPU ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LowerToGPU.h"
#include "KernelEmitter.h"

#include "remat/Codegen/LibraryCall.h"
#include "remat/Codegen/StepModule.h"
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

using namespace mlir;
using namespace remat;
using namespace remat::codegen;

namespace remat {
#define GEN_PASS_DEF_LOWERCUDAPASS
#include "remat/Target/CUDA/Passes.h.inc"
} // namespace remat

static LogicalResult emitTask(TaskOp task, StringRef name,
                              gpu::GPUModuleOp module, CheckList &checks) {
  auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (!function)
    return task.emitOpError("calls kernel '")
           << task.getKernel() << "', expected a 'func.func'";
  if (matchLibraryCall(function))
    return success();
  FailureOr<BufferizedKernel> kernel = bufferizeKernel(function);
  return failure(
      failed(kernel) ||
      failed(cuda::emitKernel(*kernel, (name + "_" + task.getKernel()).str(),
                              module, checks)));
}

LogicalResult remat::cuda::lowerToGPU(ModuleOp module, StringRef name) {
  FailureOr<GraphOp> graph = findPlacedGraph(module);
  if (failed(graph))
    return failure();
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  auto kernels = gpu::GPUModuleOp::create(builder, module.getLoc(), "kernels");
  OpBuilder inner = OpBuilder::atBlockBegin(kernels.getBody());
  createFailFunction(inner, module.getLoc());
  CheckList checks;
  llvm::StringSet<> known;
  for (TaskOp task : graph->getOps<TaskOp>())
    if (known.insert(task.getKernel()).second &&
        failed(emitTask(task, name, kernels, checks)))
      return failure();
  module.getBodyRegion().takeBody(code->getBodyRegion());
  return success();
}

namespace {

struct LowerCUDA : remat::impl::LowerCUDAPassBase<LowerCUDA> {
  using LowerCUDAPassBase::LowerCUDAPassBase;

  void runOnOperation() override {
    if (failed(remat::cuda::lowerToGPU(getOperation(), name)))
      signalPassFailure();
  }
};

} // namespace
