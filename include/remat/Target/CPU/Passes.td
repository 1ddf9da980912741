//===- Passes.td - code generation for CPU -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_CPU_PASSES
#define REMAT_CONVERSION_CPU_PASSES

include "mlir/Pass/PassBase.td"

def LowerCPUPass : Pass<"remat-lower-cpu", "::mlir::ModuleOp"> {
  let summary = "Lower a placed graph to functions and a table for CPU";
  let description = [{
    Replaces one placed `remat.graph` and the kernels that it calls by a module
    of the LLVM dialect that defines one `remat_module`: a function for each
    distinct kernel, and for each way in which its results are written over
    operands, and the step table. Kernels that are one contraction or one
    convolution become library calls of the table.

    Kernels allocate nothing: what they need beside operands and results is in
    the task's workspace. Elementwise results are rounded as if each were
    stored, and sums have one order, whatever the number of threads.
  }];
  let options = [
    Option<"name", "name", "std::string", "\"remat_step\"",
           "Symbol of the remat_module">,
    Option<"threads", "threads", "int", "0",
           "Threads to size workspaces for; 0: all cores">,
    Option<"chip", "mcpu", "std::string", "\"\"",
           "CPU that loops are cut for, the host's if empty">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::complex::ComplexDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect"
  ];
}

#endif // REMAT_CONVERSION_CPU_PASSES
