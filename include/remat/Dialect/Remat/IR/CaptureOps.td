//===- CaptureOps.td - what the user asks for (L0) ---------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_CAPTUREOPS_TD
#define REMAT_DIALECT_REMAT_IR_CAPTUREOPS_TD

include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematAttrs.td"

def Remat_CheckpointOp : Remat_Op<"checkpoint", [
    RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "compute a region whose inner values are not kept";
  let description = [{
    What the region computes is yielded as its results. Of the values inside,
    none is kept for the backward computation: those that it needs are
    recomputed from the values that the region reads, as
    `torch.utils.checkpoint.checkpoint` and `jax.checkpoint` do. The yielded
    values themselves are ordinary values. Regions nest; operations with a
    policy of their own keep it (selective checkpointing).

    `policy` replaces `must_recompute` as what is asked of the inner values.
    Recomputation stops as soon as all needed values exist, unless
    `early_stop = false`: then a region of which anything is recomputed is
    recomputed whole.

    ```mlir
    %y = remat.checkpoint {
      %h = linalg.generic ... ins(%x : tensor<4x8xf32>) ...
      %o = linalg.generic ... ins(%h : tensor<4x8xf32>) ...
      remat.yield %o : tensor<4x8xf32>
    } : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<Remat_PolicyAttr>:$policy,
                       DefaultValuedAttr<BoolAttr, "true">:$early_stop);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict-with-keyword $body (`:` type($results)^)?
  }];
  let hasRegionVerifier = 1;
}

def Remat_YieldOp : Remat_Op<"yield", [
    Pure, ReturnLike, Terminator,
    ParentOneOf<["CheckpointOp", "ScatterOp"]>]> {
  let summary = "end a region of the dialect";
  let description = [{
    Yields the results of a `remat.checkpoint`, or the indices and the update
    of a `remat.scatter`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}

def Remat_TagOp : Remat_Op<"tag", [Pure, SameOperandsAndResultType]> {
  let summary = "name a value, or ask something of it";
  let description = [{
    Gives one value a name, a policy, or both; the result is the operand. This
    is `checkpoint_name` of JAX.

    ```mlir
    %1 = remat.tag %0 {name = "mlp_act"} : tensor<4x8xf32>
    %2 = remat.tag %0 {policy = #remat.policy<must_cpu_offload>} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<Remat_PolicyAttr>:$policy);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Remat_StopGradientOp
    : Remat_Op<"stop_gradient", [Pure, SameOperandsAndResultType]> {
  let summary = "pass a value on but no gradient back";
  let description = [{
    The result is the operand; its derivative is zero. This is `detach` of
    PyTorch and `stop_gradient` of JAX.

    ```mlir
    %1 = remat.stop_gradient %0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

#endif // REMAT_DIALECT_REMAT_IR_CAPTUREOPS_TD
