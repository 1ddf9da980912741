//===- Passes.td - what tasks cost -------------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_PASSES
#define REMAT_COST_PASSES

include "mlir/Pass/PassBase.td"

def ChooseImplementationsPass
    : Pass<"remat-choose-implementations", "::mlir::ModuleOp"> {
  let summary = "Choose between library calls and generated code";
  let description = [{
    Gives every kernel that may be a call of a library as well as generated code
    the attribute `remat.implementation` that says which:
    `#remat.implementation<library>` or `#remat.implementation<generated>`. All
    tasks that call the kernel, clones included, then give the same bits.

    Measured costs, in a file of `remat-run --profile-costs`, decide where they
    know both; a file of another machine is refused. Elsewhere contractions with a vector and tiny ones are generated:
    a library takes microseconds before it begins, and packs factors that are
    read once only. Kernels that have the attribute keep it.

    With `convolutions=cudnn`, cuDNN makes execution plans of the kernels that
    are convolutions, for the devices that the target `cuda` knows, or the one
    that is called `mcpu`. A kernel gets them as `remat.plans`: which algorithms
    there are, and their workspace, which is planned with. Convolutions that it
    has no plan for stay generated code.

    With `convolution-plans=smallest`, a plan is the one with the least
    workspace of the first 16 that cuDNN proposes. With
    `convolution-plans=budget`, step graphs get an alternative with such plans
    (`remat.second_plans`), where they have no more than half of the workspace
    of the fastest, for `remat-plan` to choose from. They are estimated to take
    1.25 times as long.

    With `convolutions=auto`, the same plans are made if there is a cuDNN; else
    a remark says why not. Plans are those that are estimated to be faster than
    generated code, and a convolution that has some becomes
    `#remat.implementation<either>`: it takes a plan where one can be taken when
    the step is loaded, and code is generated for it, too. The estimate has the
    speeds of `#remat.target`, of contractions for the library and a sixtieth of
    that of loops for generated code, which has no tensor cores. What a plan has
    in its workspace, copies in another layout for the most part, is written and
    read once. The simulator has no libraries, so that nothing is planned for it.
  }];
  let options = [
    Option<"threads", "threads", "int", "0",
           "Threads that the step runs on; 0: all cores">,
    Option<"costs", "costs", "std::string", "\"\"",
           "File of measured costs">,
    Option<"chip", "mcpu", "std::string", "\"\"",
           "Processor that the costs must be of; empty for the host's">,
    Option<"device", "device", "std::string", "\"\"",
           "Device that the costs must be of; empty for the target's">,
    Option<"others", "others", "bool", "false",
           "Give each kernel the implementation that it would not have, to "
           "measure it">,
    Option<"convolutions", "convolutions", "::remat::ConvolutionChoice",
           "::remat::ConvolutionChoice::Generated",
           "Who carries out convolutions on CUDA devices", [{::llvm::cl::values(
             clEnumValN(::remat::ConvolutionChoice::Auto, "auto",
                        "what is estimated to be faster"),
             clEnumValN(::remat::ConvolutionChoice::Generated, "generated",
                        "generated code"),
             clEnumValN(::remat::ConvolutionChoice::Cudnn, "cudnn",
                        "cuDNN where it can"))}]>,
    Option<"convolutionPlans", "convolution-plans", "::remat::ConvolutionPlans",
           "::remat::ConvolutionPlans::Fastest",
           "Which plans of cuDNN there are", [{::llvm::cl::values(
             clEnumValN(::remat::ConvolutionPlans::Fastest, "fastest",
                        "the fastest"),
             clEnumValN(::remat::ConvolutionPlans::Smallest, "smallest",
                        "those with the least workspace"),
             clEnumValN(::remat::ConvolutionPlans::Budget, "budget",
                        "either, as is better under the budget"))}]>,
    Option<"tf32", "tf32", "bool", "false",
           "Let its plans multiply f32 with 10 bits of mantissa">,
  ];
  let dependentDialects = ["::remat::RematDialect"];
}

def AnnotateCostsPass : Pass<"remat-annotate-costs", "::mlir::ModuleOp"> {
  let summary = "Estimate the time and workspace of every task";
  let description = [{
    Sets `cost` and `workspace` of every `remat.task`. The cost is a roofline in
    nanoseconds,

        max(flops / peak, bytes / bandwidth) + overhead

    where bytes are those of operands and results, and a transcendental
    function counts as 20 flops. Contractions and convolutions have peaks of their
    own: those of a library and those in the midst of a generated kernel, with
    factors of 16 bits and with wider ones. The workspace is what code generation of the target needs, in bytes.
    Peaks, bandwidth and overhead are facts of the target, `#remat.target`.

    Costs that were measured, in a file of `remat-run --profile-costs`, take the
    place of estimates. The file says what machine it is of, and another one
    than code is made for is an error. If it says how fast copies to and from
    the host are, the slower of both becomes the `link_bandwidth` of
    `#remat.target`. An operation of another dialect may say itself what
    arithmetic, traffic and workspace to count (`KernelOpInterface`).

    S. Williams, A. Waterman, D. Patterson: Roofline: an insightful visual
    performance model for multicore architectures. CACM 52(4), 2009.
  }];
  let options = [
    Option<"threads", "threads", "int", "0",
           "Threads that the step runs on; 0: all cores">,
    Option<"costs", "costs", "std::string", "\"\"",
           "File of measured costs">,
    Option<"chip", "mcpu", "std::string", "\"\"",
           "Processor that the costs must be of; empty for the host's">,
    Option<"device", "device", "std::string", "\"\"",
           "Device that the costs must be of; empty for the target's">,
    Option<"tf32", "tf32", "bool", "false",
           "Count on f32 being multiplied with 10 bits of mantissa">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect",
    "::mlir::bufferization::BufferizationDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"
  ];
}

#endif // REMAT_COST_PASSES
