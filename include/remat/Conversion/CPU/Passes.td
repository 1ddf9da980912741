//===- Passes.td - code generation for CPU -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_CPU_PASSES
#define REMAT_CONVERSION_CPU_PASSES

include "mlir/Pass/PassBase.td"

def RematChooseLayouts
    : Pass<"remat-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "Keep what convolutions read and write channels-last";
  let description = [{
    Libraries convolve tensors that are channels-last where they are; others are
    copied to another layout, each time, for each convolution. Values that
    convolutions read or write, and those that elementwise operations,
    reductions, pooling, pads, slices and reshapes relate to them dimension by
    dimension, form sets. A set becomes channels-last as a whole if less is
    copied then: of convolutions' inputs and outputs, what the library copies
    on its way; and, `weight` times, every value that comes from, or goes to, an
    argument, a result, or an operation that needs it as it is, so that it is
    transposed.

    Another layout is another kernel of the library, which rounds otherwise, and
    what frameworks compute in plain layouts can no longer be compared bit by
    bit. So a set stays if its convolutions do more than `max-flops` operations
    for each byte that is saved: the copies are then a small part of the time.

    What a convolution reads of the function's arguments stays, and so do filters
    and their gradients.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"];
  let options = [
    Option<"weight", "weight", "int64_t", /*default=*/"6",
           "Bytes that the library copies in the time of one that is transposed">,
    Option<"maxFlops", "max-flops", "int64_t", /*default=*/"100",
           "Floating-point operations for each byte that is saved, at the most; "
           "0 for any number">,
    Option<"askLibrary", "ask-library", "bool", /*default=*/"true",
           "Ask the library what it copies; else, what is not channels-last">
  ];
  let statistics = [
    Statistic<"numValues", "num-values", "Number of values permuted">
  ];
}

def RematLowerCPU : Pass<"remat-lower-cpu", "::mlir::ModuleOp"> {
  let summary = "Lower a placed graph to functions and a table for CPU";
  let description = [{
    Replaces one placed `remat.graph` and the kernels that it calls by a module
    of the LLVM dialect that defines one `remat_module`: a function for each
    distinct kernel and the step table. Kernels that are one product or one
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
