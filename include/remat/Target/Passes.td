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
    module that has facts of that target already keeps them.
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "Name of the target">
  ];
  let dependentDialects = ["::remat::RematDialect"];
}

#endif // REMAT_TARGET_PASSES
