//===- Passes.td - code generation for CUDA devices --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_PASSES
#define REMAT_TARGET_CUDA_PASSES

include "mlir/Pass/PassBase.td"

def LowerCUDAPass : Pass<"remat-lower-cuda", "::mlir::ModuleOp"> {
  let summary = "Lower the kernels of a placed graph to launches of a GPU";
  let description = [{
    Replaces one placed `remat.graph` and the kernels that it calls by one
    `gpu.module` for each kernel with the functions of its launches, and by a
    `remat_module` in the LLVM dialect whose step table says what is launched
    when. The code of the device, to which the `remat_module` points, is added
    when it is emitted. A kernel is one launch or
    several, one after the other: elementwise operations have 16 bytes for each
    thread, transposes go through squares in shared memory, a block takes a row
    or a tile of rows and columns, sums have an order that shapes alone decide,
    and no atomic operation adds floats. Contractions and convolutions that a
    library carries out have no function.
  }];
  let options = [
    Option<"name", "name", "std::string", "\"remat_step\"",
           "Symbol of the remat_module">,
    Option<"threads", "threads", "int", "0",
           "Threads to size workspaces for; 0: all cores">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::complex::ComplexDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect",
    "::mlir::vector::VectorDialect", "::mlir::affine::AffineDialect",
    "::mlir::NVVM::NVVMDialect"
  ];
}

#endif // REMAT_TARGET_CUDA_PASSES
