//===- Passes.td - the machine that a module is for --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_PASSES
#define REMAT_TARGET_PASSES

include "mlir/Pass/PassBase.td"

def SetTargetPass : Pass<"remat-set-target", "::mlir::ModuleOp"> {
  let summary = "Say what machine a module is compiled for";
  let description = [{
    Gives the module the attribute `remat.target` with the facts of a target. A
    module that has facts of that target already keeps them, and so does any
    module if no target is named. A device on which the target's code does not
    run is an error.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"",
           "Name of the target; that of the module if empty">,
    Option<"device", "device", "std::string", "\"\"",
           "What runs the step that is loaded here, by a name that the target "
           "knows; any if empty">,
    Option<"chip", "chip", "std::string", "\"\"",
           "The only machine to make code for; any if empty. Of the target "
           "'cuda', 'sm_90' has more shared memory than others">
  ];
  let dependentDialects = ["::remat::RematDialect"];
}

def PadRowsPass : Pass<"remat-pad-rows", "::mlir::ModuleOp"> {
  let summary = "Let rows of tensors begin at addresses that machines like";
  let description = [{
    A library multiplies matrices several times as fast if their rows begin at
    multiples of 16 bytes, and generated code reads such rows in vectors. Rows
    of 50,257 elements of bf16 do not. This pass gives values of graphs gaps
    behind their rows, if the target of the module wants them: a value gets the
    type of a tensor with longer rows, and kernels read a slice of it, or insert
    what they make into an empty tensor of that type. What is between rows is
    never read. All that counts bytes counts the gaps, since they are in the
    type.

    A value gets gaps if a matmul reads or makes it, or a kernel that works row
    by row; if all its readers are tasks whose kernels can read a slice; and if
    it is neither an argument nor a result of the graph, nor offered in packed
    form. What a task makes has gaps only if what it reads of the same type has
    them, so that the one may be written over the other. A tensor grows by no
    more than a thirty-second of its bytes, and tensors of less than 64 KiB stay
    as they are, as do graphs with a plan. A kernel that a library carries out
    as a matmul still is one.

    ```mlir
    %0 = remat.task 0 @matmul(%a, %b) : (...) -> tensor<1024x513xbf16>
    // becomes
    %0 = remat.task 0 @matmul(%a, %b) : (...) -> tensor<1024x520xbf16>
    ```
  }];
  let statistics = [
    Statistic<"numPadded", "num-padded", "Values with gaps between rows">
  ];
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

#endif // REMAT_TARGET_PASSES
