//===- Passes.td - passes that run other passes ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_PASSES
#define REMAT_PIPELINES_PASSES

include "mlir/Pass/PassBase.td"

def RunTransformScriptPass
    : Pass<"remat-run-transform-script", "::mlir::ModuleOp"> {
  let summary = "Run the transform script of the module and that of a file";
  let description = [{
    A script is what the module, or the file, has of the transform dialect; its
    entry is `transform.named_sequence @__transform_main`. The module's own runs
    first. Pipelines begin with this pass, so that scripts see the program as it
    was written. No script is left in the module.
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "File of a script">,
  ];
}

def ExpandWrittenDerivativesPass
    : Pass<"remat-expand-written-derivatives", "::mlir::ModuleOp"> {
  let summary = "Expand remat.vjp and remat.jvp, if there are any";
  let description = [{
    Derivatives that the program is written with are taken of what import made
    of the functions, as those are that options ask for: regions hide the same
    values then, and the plan is the same. Runs

    * `remat-stop-softmax-max-gradient` on the functions that are
      differentiated,
    * `remat-lower-checkpoints=differentiated=true` and
      `remat-expand-derivatives=innermost=true` on the module, once for each
      derivative inside of another: a region around a derivative is about what
      that is expanded to,
    * a cleanup (`canonicalize`, `cse`) on the module,

    and erases those of the functions that nothing uses any more but `function`,
    the entry. Does nothing in programs without such operations, which are most.
  }];
  let options = [
    Option<"function", "function", "std::string", "\"main\"",
           "Function that stays">,
    Option<"earlyStop", "early-stop", "std::string", "\"\"",
           "As of remat-lower-checkpoints">,
  ];
}

def LowerDerivativeOpsPass
    : Pass<"remat-lower-derivative-ops", "::mlir::ModuleOp"> {
  let summary = "Lower what differentiation leaves, if there is anything";
  let description = [{
    Some operations are there for differentiation only: tags with a codec, with
    readers, for whole regions or with marks of mutation, `remat.custom_rule` and
    `remat.gradient_hook`. Where the module has any of them, runs

    * `remat-check-mutation` and `remat-lower-rules` on every function,
    * `remat-specialize-codecs` on the module, and the import of functions on
      those that it makes,
    * `remat-pack-saved`, `remat-demand-regions` and a cleanup (`canonicalize`,
      `cse`) on the module.

    Each of these would find out for itself that it has nothing to do, but for
    the cleanup, which takes longer than the others together and is for what
    they make. Hence it is one pass that looks once.
  }];
}

#endif // REMAT_PIPELINES_PASSES
