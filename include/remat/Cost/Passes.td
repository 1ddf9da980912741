//===- Passes.td - what tasks cost -------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_PASSES
#define REMAT_COST_PASSES

include "mlir/Pass/PassBase.td"

def AnnotateCostsPass : Pass<"remat-annotate-costs", "::mlir::ModuleOp"> {
  let summary = "Estimate the time and workspace of every task";
  let description = [{
    Sets `cost` and `workspace` of every `remat.task`. The cost is a roofline in
    nanoseconds,

        max(flops / peak, bytes / bandwidth) + overhead

    where bytes are those of operands and results, and a transcendental
    function counts as 20 flops. Products and convolutions have a peak of their
    own. The workspace is what CPU code generation needs, in bytes.

    Costs that were measured, in a file of `remat-run --profile-costs`, take the
    place of estimates. A product that was measured both as a call of the
    library and as generated code gets the attribute `remat.form`, with the
    faster of the two, on its kernel. Without it, products with a vector and
    tiny ones are generated.

    S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual
    performance model for multicore architectures. CACM 52(4), 2009.
  }];
  let options = [
    Option<"threads", "threads", "int", "0",
           "Threads that the step runs on; 0: all cores">,
    Option<"productGflops", "product-gflops", "double", "300.0",
           "Peak of products and convolutions on two threads, in GFLOP/s">,
    Option<"loopGflops", "loop-gflops", "double", "60.0",
           "Peak of generated loops on two threads, in GFLOP/s">,
    Option<"bandwidth", "bandwidth", "double", "25.0",
           "Memory bandwidth on two threads, in GB/s">,
    Option<"overhead", "overhead", "int64_t", "2000",
           "Nanoseconds that every task takes at least">,
    Option<"costs", "costs", "std::string", "\"\"",
           "File of measured costs">,
    Option<"otherForms", "other-forms", "bool", "false",
           "Carry each product out in the form in which it would not be, to "
           "measure it">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect"
  ];
}

#endif // REMAT_COST_PASSES
