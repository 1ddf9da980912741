//===- GraphOps.td - graphs of tasks (L2 to L4) ------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_GRAPHOPS_TD
#define REMAT_DIALECT_REMAT_IR_GRAPHOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematAttrs.td"

def Remat_GraphOp : Remat_Op<"graph", [
    FunctionOpInterface, IsolatedFromAbove, SingleBlock]> {
  let summary = "a training step as a straight line of tasks";
  let description = [{
    A function of tensors with static shapes whose body is one block of
    `remat.task`, `remat.offload`, `remat.reload` and the views
    `tensor.expand_shape` and `tensor.collapse_shape`. Values are buffers: a
    view shares the buffer of its operand, everything else has its own.
    Arguments and returned values live in buffers of the caller; the others
    are what the step's arena holds.

    Once planned, the order of the block is the schedule, `budget` is the
    number of bytes that the arena may have, and `planned_peak` the largest
    total of bytes live in it at one time. A value is live from the task that
    makes it to its last use; while a task runs, its operands, results and
    workspace are live. Sizes are rounded up to 64 bytes. The verifier computes
    the peak anew and compares. Values that `remat-assign-buffers` puts into
    other buffers do not count, which makes the peak smaller: that the budget is
    kept is checked of placed graphs. `save_all_peak` is the peak of the plan
    that recomputes and offloads only what policies demand, with its buffers
    assigned.

    Once placed, `arena_bytes` and `host_arena_bytes` are the sizes of the
    arenas, every value has a slot, and the verifier checks that no two values
    that are live at the same time overlap.

    A step can be run as several calls, one for each `phase` of its tasks: the
    forward computation first, then backward computations that take up what it
    left. What is live from one call to the next lies in the first
    `state_bytes` of the arena, which the caller keeps between the calls; the
    rest is scratch memory of each call. A call begins behind the last task that
    first runs in an earlier one, and offloads that follow it; recomputations
    belong to the call that needs them.

    `level` is that of the derivative whose backward computation is planned as
    such, above 1 where policies are about the derivative of a derivative:
    backward tasks of lower levels are a part of the forward computation then.

    `region_budgets` bounds, for each name that tags gave, what is kept of the
    values with this name for the backward computation: the bytes that are live
    when the last task of the forward computation is done.

    ```mlir
    remat.graph @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = remat.task 0 @exp(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      remat.return %0 : tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
                       TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs,
                       OptionalAttr<I64Attr>:$budget,
                       OptionalAttr<I64Attr>:$host_budget,
                       OptionalAttr<I64Attr>:$save_all_peak,
                       OptionalAttr<I64Attr>:$planned_peak,
                       OptionalAttr<I64Attr>:$arena_bytes,
                       OptionalAttr<I64Attr>:$host_arena_bytes,
                       OptionalAttr<I64Attr>:$state_bytes,
                       OptionalAttr<DictionaryAttr>:$region_budgets,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$level);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name,
                                 "::mlir::FunctionType":$type)>];
  let skipDefaultBuilders = 1;
  let extraClassDeclaration = [{
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() {
      return getFunctionType().getInputs();
    }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() {
      return getFunctionType().getResults();
    }
    bool isPlanned() { return getPlannedPeak().has_value(); }
    unsigned getPlannedLevel() { return getLevel().value_or(1); }
    bool isPlaced() { return getArenaBytes().has_value(); }
  }];
}

def Remat_ReturnOp : Remat_Op<"return", [
    Pure, HasParent<"GraphOp">, ReturnLike, Terminator]> {
  let summary = "return the results of a graph";
  let description = [{
    Every operand has a buffer of its own: it is neither an argument, nor a
    view of one, nor returned twice.
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
  let hasVerifier = 1;
}

def Remat_NamesArrayAttr : TypedArrayAttrBase<StrArrayAttr,
                                              "arrays of names">;

def Remat_TaskOp : Remat_Op<"task", [
    HasParent<"GraphOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a kernel";
  let description = [{
    Runs the function `kernel`, which is private to the module and marked
    `remat.kernel`. Tasks with equal bodies call the same kernel.

    * `id` identifies the task in its graph. A recomputation has the `id` of
      the task that it repeats and `copy` counts from 1. Because neither
      attribute nor effects of a task are known to other passes, no pass
      merges a clone with its original.
    * `backward` marks tasks of a backward computation. `level` is the level of
      its derivative if that contains others, as of `remat.backward`.
    * `phase` is the call of the step in which the task first runs, 0 unless
      forward and backward computation are separate calls.
    * `policies` holds, for each result, a `#remat.policy` or `unit` for none.
      They are about backward tasks of level `policy_level` and above, by default
      of one above the task's own.
    * `names` holds, for each result, the names that tags gave it.
    * `pinned` marks a task that must not be repeated: it has effects or draws
      random numbers.
    * `layers` names the layers of the model that the task belongs to, as far as
      names of parameters and scopes in locations say so. The kernel's name says
      what the task computes.
    * `cost` is the time it takes in nanoseconds, `workspace` the scratch bytes
      it needs while it runs, and `host_workspace` those in host memory, to and
      from which it copies itself.
    * `placement` says where each result lies: a `#remat.slot`; the number of
      the operand in whose place the task writes it; or `unit`, which is
      nowhere yet. Before the graph is placed, these slots are in space `reused`.
    * `workspace_offset` is the workspace's place in the arena, and
      `host_workspace_offset` that of the other one in the host arena.

    A task is written with its number, whether it is a copy, its kernel, its
    operands, and then, each only if there is anything to say, `backward` with a
    level above 1, `phase`, `pinned`, `cost`, `workspace` and `host_workspace`,
    and at last the places of its results and its workspaces. A place is `arena` or `host` with an
    offset, `result` with the number of a result of the graph, `reused` with such
    a number and an offset in that result's buffer, `operand` with the number of an
    operand, or `_` for none. Its bytes are only written where they are not
    those of the type, rounded up to 64.

    ```mlir
    %3 = remat.task 4 copy 1 @matmul(%0, %arg1) cost 3372
        : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %4:2 = remat.task 5 @layernorm_rows(%3) backward cost 120 workspace 256
        at [operand 0, reused 1:49152, workspace 512]
        : (tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
                       Variadic<AnyRankedTensor>:$operands, I64Attr:$id,
                       DefaultValuedAttr<I64Attr, "0">:$copy,
                       UnitAttr:$backward,
                       DefaultValuedAttr<I64Attr, "0">:$phase,
                       UnitAttr:$pinned,
                       OptionalAttr<ArrayAttr>:$policies,
                       OptionalAttr<Remat_NamesArrayAttr>:$names,
                       OptionalAttr<StrArrayAttr>:$layers,
                       DefaultValuedAttr<I64Attr, "0">:$cost,
                       DefaultValuedAttr<I64Attr, "0">:$workspace,
                       DefaultValuedAttr<I64Attr, "0">:$host_workspace,
                       OptionalAttr<ArrayAttr>:$placement,
                       OptionalAttr<I64Attr>:$workspace_offset,
                       OptionalAttr<I64Attr>:$host_workspace_offset,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$level,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$policy_level);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool isClone() { return getCopy() != 0; }
    /// As of `remat.backward`; 0 for a forward task.
    unsigned getBackwardLevel() { return getBackward() ? getLevel().value_or(1) : 0; }
    /// The lowest level of the backward tasks that the policies are about.
    unsigned getPolicyDerivative() {
      return getPolicyLevel().value_or(getBackwardLevel() + 1);
    }
    /// Whether the task belongs to the backward computation that is planned.
    bool isPlannedBackward();
    /// The slot of a result, or null if it has none.
    ::remat::SlotAttr getResultSlot(unsigned result);
    /// The operand in whose buffer the task writes a result, if it does: the
    /// buffer is the operand's and lives on.
    std::optional<unsigned> getInPlaceOperand(unsigned result);
    /// The policy of a result, if it has one.
    std::optional<::remat::Policy> getResultPolicy(unsigned result);
    /// The names of a result, StringAttrs.
    ::llvm::ArrayRef<::mlir::Attribute> getResultNames(unsigned result);
  }];
}

def Remat_OffloadOp : Remat_Op<"offload", [
    HasParent<"GraphOp">, TypesMatchWith<
        "the result is the operand in host memory", "source", "result",
        "HostType::get(::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "copy a value to host memory";
  let description = [{
    ```mlir
    %h = remat.offload %0 : tensor<4x8xf32>
    %h = remat.offload %0 at host 128 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source,
                       OptionalAttr<Remat_SlotAttr>:$placement);
  let results = (outs Remat_HostType:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Remat_ReloadOp : Remat_Op<"reload", [
    HasParent<"GraphOp">, TypesMatchWith<
        "the operand is the result in host memory", "result", "source",
        "HostType::get(::llvm::cast<::mlir::RankedTensorType>($_self))">]> {
  let summary = "copy a value back from host memory";
  let description = [{
    ```mlir
    %1 = remat.reload %h : tensor<4x8xf32>
    %1 = remat.reload %h at arena 64 : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins Remat_HostType:$source,
                       OptionalAttr<Remat_SlotAttr>:$placement);
  let results = (outs AnyRankedTensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Remat_ReleaseOp : Remat_Op<"release", [HasParent<"GraphOp">]> {
  let summary = "give back the memory of a value that was offloaded";
  let description = [{
    ```mlir
    %h = remat.offload %0 : tensor<4x8xf32>
    %1 = remat.task 1 @square(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    remat.release %0 : tensor<4x8xf32>
    ```

    The operand, which was offloaded before, stays in memory up to here, and
    nothing reads it behind this operation. What follows waits for the transfer,
    as its memory may be used again. Without this operation, what follows on the
    last reader waits for it: a release buys time for the transfer with bytes.
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

#endif // REMAT_DIALECT_REMAT_IR_GRAPHOPS_TD
