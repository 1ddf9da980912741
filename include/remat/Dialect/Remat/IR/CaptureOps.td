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

    `policy` replaces `must_recompute` as what is asked of the inner values;
    `name` is given to them all, as by `remat.tag`, so that they can be limited
    together (`region-budget` of `remat-plan`).
    Recomputation stops as soon as all needed values exist, unless
    `early_stop = false`: then a region of which anything is recomputed is
    recomputed whole, also what nothing reads any more. The option `early-stop`
    of `remat-lower-checkpoints` overrides this for all regions.

    A recomputed `remat.random` draws the same numbers. With
    `preserve_rng_state = false` it draws others, as PyTorch does when it does
    not restore the generator; a remark says so.

    ```mlir
    %y = remat.checkpoint {
      %h = linalg.generic ... ins(%x : tensor<4x8xf32>) ...
      %o = linalg.generic ... ins(%h : tensor<4x8xf32>) ...
      remat.yield %o : tensor<4x8xf32>
    } : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<Remat_PolicyAttr>:$policy,
                       DefaultValuedAttr<BoolAttr, "true">:$early_stop,
                       DefaultValuedAttr<BoolAttr, "true">:$preserve_rng_state,
                       OptionalAttr<StrAttr>:$name);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict-with-keyword $body (`:` type($results)^)?
  }];
  let hasRegionVerifier = 1;
}

def Remat_ScopeOp : Remat_Op<"scope", [
    RecursiveMemoryEffects, RecursivelySpeculatable,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "how values of a region are saved";
  let description = [{
    Says what becomes of the values that the region makes or reads between their
    forward and backward use; the innermost scope holds.

    * `codec`: they are kept packed, and unpacked where the backward
      computation reads them. This is `saved_tensors_hooks` of PyTorch. Of a
      value from outside, arguments included, it is what the operations inside
      save that is packed. A codec is one of
      * `"bf16"` or `"int8"` (a byte for each element and a scale for each block
        of 64), for floating-point numbers,
      * `[@pack, @unpack]`, two functions, which take the values of the type of
        the argument of `@pack`; one of dynamic shape is for all such shapes
        (see `remat-specialize-codecs`),
      * `#remat.callback`, functions of the program that runs the step,
      * `"none"`, which keeps any value as it is,
      * an array of these, of which the first counts that takes the value.

      A floating-point value that a codec does not take is an error. Other
      values are then kept as they are.
    * `offload`: they are kept in host memory (`save_on_cpu`), except arguments,
      which are in buffers of the caller.
    * `forbid`: a codec or offload inside is an error with this message
      (`disable_saved_tensors_hooks`), whether a scope, a tag or a policy asks
      for it, also in what is called or differentiated there.

    ```mlir
    %y = remat.scope attributes {codec = "bf16"} {
      %h = math.exp %x : tensor<4x8xf32>
      remat.yield %h : tensor<4x8xf32>
    } : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins OptionalAttr<AnyAttr>:$codec, UnitAttr:$offload,
                       OptionalAttr<StrAttr>:$forbid);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict-with-keyword $body (`:` type($results)^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Remat_YieldOp : Remat_Op<"yield", [
    Pure, ReturnLike, Terminator,
    ParentOneOf<["CheckpointOp", "ScatterOp", "ScopeOp", "CustomRuleOp",
                 "GradientHookOp"]>]> {
  let summary = "end a region of the dialect";
  let description = [{
    Yields the results of a `remat.checkpoint` or `remat.scope`, the indices
    and the update of a `remat.scatter`, or the derivatives of a
    `remat.custom_rule` or `remat.gradient_hook`.
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ /* no values */ }]>];
}

def Remat_LocationAttr
    : Attr<CPred<"::llvm::isa<::mlir::LocationAttr>($_self)">, "location"> {
  let storageType = "::mlir::LocationAttr";
  let returnType = "::mlir::LocationAttr";
  let convertFromStorage = "$_self";
}

def Remat_TagOp : Remat_Op<"tag", [Pure, SameOperandsAndResultType]> {
  let summary = "name a value, or ask something of it";
  let description = [{
    Gives one value a name, a policy, a codec (see `remat.scope`), or several of
    these; the result is the operand. This is `checkpoint_name` of JAX.

    With `for_readers`, the codec is about what the readers of the result save
    of it, and not about the value. `remat-lower-checkpoints` sets it where a
    scope reads a value from outside, and asks nothing more for those readers;
    `remat-pack-saved` reads it.

    `whole_region` is the number of a region with `early_stop = false` that the
    value belongs to. `remat-lower-checkpoints` sets it,
    `remat-demand-regions` reads and erases it.

    With `of_region`, the policy is that of a region, and about what the region
    reads of the value: an equal value outside of it, which clean-up makes one
    with the value, is none of it. `remat-lower-checkpoints` sets it,
    `remat-separate-tags` reads it.

    `level` is that of the derivative whose backward computation the policy or
    codec is about: operations with `remat.backward` of this level or a higher
    one. By default that is the next derivative, whose level is one above that of
    the operation that makes the value. `remat-lower-checkpoints` sets it where a
    region contains a derivative, which is a part of the forward computation of
    the one that is meant.

    Two attributes are marks of memory that is written. `remat-import-buffers`
    sets them, and `remat-check-mutation` erases the tags that have one.

    * `overwritten`: the location of an operation that overwrites the value. It
      is an error if the backward computation reads the result.
    * `keep_apart`: the value is not fused with what reads it, since derivatives
      are to read what is in its memory in the end.

    ```mlir
    %1 = remat.tag %0 {name = "mlp_act"} : tensor<4x8xf32>
    %2 = remat.tag %0 {policy = #remat.policy<must_cpu_offload>} : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, OptionalAttr<StrAttr>:$name,
                       OptionalAttr<Remat_PolicyAttr>:$policy,
                       OptionalAttr<AnyAttr>:$codec, UnitAttr:$for_readers,
                       OptionalAttr<Remat_LocationAttr>:$overwritten,
                       UnitAttr:$keep_apart,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>
                           :$whole_region,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$level,
                       UnitAttr:$of_region);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the tag is a mark of memory that is written.
    bool isMutationMark() { return getOverwrittenAttr() || getKeepApart(); }
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$input,
                                 "::mlir::StringAttr":$name,
                                 "::remat::PolicyAttr":$policy), [{
    build($_builder, $_state, input.getType(), input, name, policy,
          /*codec=*/{}, /*for_readers=*/{}, /*overwritten=*/{},
          /*keep_apart=*/{}, /*whole_region=*/{}, /*level=*/{},
          /*of_region=*/{});
  }]>];
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

def Remat_OverwrittenOp : Remat_Op<"overwritten", [
    MemoryEffects<[MemWrite]>, SameTypeOperands]> {
  let summary = "a value whose memory contains another in the end";
  let description = [{
    The forward computation has overwritten the memory of `before`, which
    contains `after` when the backward computation begins. That is what
    backward operations read that would read `before`, with
    `remat.allow_cache_entry_mutation`. Made by `remat-import-buffers`, gone
    after `remat-check-mutation`.

    `buffer` is a number that a function's operations about the same memory
    share: what a loop leaves there, the next operation of the same number goes
    on with.

    ```mlir
    remat.overwritten %0 by %1 in buffer 0 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$before, AnyRankedTensor:$after,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$buffer);
  let assemblyFormat = [{
    $before `by` $after `in` `buffer` $buffer attr-dict `:` type($before)
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_CAPTUREOPS_TD
