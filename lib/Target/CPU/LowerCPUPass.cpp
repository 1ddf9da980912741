//===- LowerCPUPass.cpp - the pass remat-lower-cpu ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Target/CPU/LowerToLLVM.h"
#include "remat/Target/CPU/Passes.h"

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

namespace remat {
#define GEN_PASS_DEF_LOWERCPUPASS
#include "remat/Target/CPU/Passes.h.inc"
} // namespace remat

namespace {

struct LowerCPU : remat::impl::LowerCPUPassBase<LowerCPU> {
  using LowerCPUPassBase::LowerCPUPassBase;

  void runOnOperation() override {
    remat::LoweringOptions options;
    options.name = name;
    options.threads = threads;
    options.chip = chip;
    if (failed(remat::cpu::lowerToLLVM(getOperation(), options)))
      signalPassFailure();
  }
};

} // namespace
