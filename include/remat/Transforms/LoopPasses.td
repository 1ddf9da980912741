//===- LoopPasses.td - loops that stay loops ---------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loops that stay loops: what they carry and stack.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_LOOPPASSES_TD
#define REMAT_TRANSFORMS_LOOPPASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyLoopsPass : Pass<"remat-simplify-loops", "::mlir::ModuleOp"> {
  let summary = "Drop what loops carry, read and stack for nobody";
  let description = [{
    A `remat.loop` loses the results that nothing uses, what it carries for these
    alone, and the operands that its body does not read; its body loses what is
    only for them. What is carried unchanged becomes an invariant. Of a body that
    several loops run, each that is simplified has a copy. A loop that asserts
    something stays, whoever reads it; a body that no loop runs any more does
    not.
  }];
  let statistics = [
    Statistic<"numSimplified", "num-simplified", "Number of loops simplified">
  ];
}

def LowerStacksPass : Pass<"remat-lower-stacks", "::mlir::func::FuncOp"> {
  let summary = "Write stacks that are no parts of loops";
  let description = [{
    A `remat.stack` costs nothing as a slice of a `remat.loop`, and a
    `remat.unstack` as the only reader of what one stacks. Whatever else reads a
    stack gets a concatenation, and other elements become slices.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numWritten", "num-written", "Number of stacks that are written">
  ];
}

def FuseLoopsPass : Pass<"remat-fuse-loops", "::mlir::ModuleOp"> {
  let summary = "Let derivatives that run loops again give what these give";
  let description = [{
    A `remat.loop` with `remat.stacks_nothing` that carries nothing disappears
    where a later loop of the backward computation reads all that it reads, in
    the same order, and does not depend on it: that one makes what the first one
    makes in any case, to compute the derivative, and stacks it, too. What reads
    it moves behind the later loop and is backward. So the last layer of
    `remat-layer-microbatches` runs once.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of loops that disappeared">
  ];
}

#endif // REMAT_TRANSFORMS_LOOPPASSES_TD
