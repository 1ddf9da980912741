//===- RematDialect.td - the remat dialect -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
#define REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD

include "mlir/IR/OpBase.td"

def Remat_Dialect : Dialect {
  let name = "remat";
  let cppNamespace = "::remat";
  let summary = "Training steps whose memory is decided before they run";
  let description = [{
    The dialect describes a training step at five levels:

    * **L0 capture**: `func.func` on tensors. `remat.checkpoint`, `remat.tag`
      and the discardable attributes below say what the user wants kept,
      recomputed or offloaded.
    * **L1 joint**: forward and backward computation in one block. Operations
      of the backward computation carry the attribute `remat.backward`.
    * **L2 tasks**: a `remat.graph` of `remat.task`s, straight-line, with
      static shapes. A task calls a *kernel*, a private function on tensors
      that is marked `remat.kernel`.
    * **L3 planned**: the order of the graph is the schedule. Recomputations
      are clones of tasks, transfers are `remat.offload` and `remat.reload`. A
      value dies at its last use.
    * **L4 placed**: every value has a slot in the arena, in the host arena or
      in a result buffer.

    ### Discardable attributes

    Other operations carry these attributes of the dialect. The dialect's
    verifier checks their types and refuses other names that begin with
    `remat.`. An attribute is on an operation unless the second column says
    where else it may be. Operations of this dialect refuse, besides, any
    attribute that is neither their own nor has the name of a dialect in front.

    | attribute | on | type | meaning | written by | read by |
    |---|---|---|---|---|---|
    | `remat.policy` | also function arguments | `#remat.policy` | what is asked of all results of the operation; of an argument nothing, as it is in a buffer of the caller | user | `remat-import-tags`, `remat-lower-checkpoints`, `remat-form-tasks`; fusion leaves the operation alone |
    | `remat.name` | also arguments and results of functions | string | a name for the results of an operation, as `checkpoint_name` in JAX; a name for an argument or a result of the step | user, manifests, `remat-import-random-state`, `remat-import-buffers`, `remat-differentiate` | `remat-import-tags`, `remat-differentiate`, `remat-form-tasks`; headers and reports |
    | `remat.backward` | | unit, or i64 from 2 to 255 | the operation is part of the backward computation. The number is the level of its derivative, where that contains others: it is one above the highest level in what is differentiated | user, `remat-import-tags`, `remat-differentiate`; passes that rewrite such operations keep it | fusion, `remat-recompute-cheap`, `remat-check-mutation`, `remat-form-tasks` |
    | `remat.kernel` | functions | unit | the function is the body of tasks | `remat-form-tasks` | the verifier of `remat.task`, costs, code generation |
    | `remat.implementation` | kernels | `#remat.implementation` | how a kernel that may be a library call as well as generated code is carried out | user, `remat-choose-implementations` | costs, code generation |
    | `remat.plans` | kernels | array of dictionaries | execution plans that a library has made of the kernel, each for one device: `device` and `plan`, strings, `version`, that of the library, and `workspace`, bytes, integers; `second`, a unit, where it was chosen for its workspace, and there is a faster one | `remat-choose-implementations` | costs, code generation |
    | `remat.rows` | | `array<i64>` | on each structured operation of a row-fused kernel: the loops, in order, that walk the rows | `remat-form-tasks` | `remat-assign-buffers`, costs, code generation |
    | `remat.library_mask` | | unit | on what makes or reads the mask of a ReLU: the library alone knows the order of its bits | `remat-form-epilogues` | code generation |
    | `remat.block` | | positive integer | beside `remat.rows` where the kernel holds a contraction: rows of a tile | `remat-form-tasks` | the same |
    | `remat.factor` | | unit | beside `remat.rows`, whose loops walk runs of rows here: the operation makes a factor of contractions, the same for all rows of a run | `remat-form-tasks` | the same |
    | `remat.inits` | | array of numbers and units | on a structured operation on buffers: for every init the constant that it is filled with, or unit if the contents of the buffer count | preparation of kernels, on copies | code generation |
    | `remat.first_extremum` | | unit | on a structured operation that reduces by a maximum or minimum: the derivative belongs to the first of equal elements | user, `remat-import-extrema` | `remat-differentiate` |
    | `remat.max_trip_count` | `scf.for`, `scf.while` | positive integer | the most iterations that the loop may run, where their number is known at run time only | user | `remat-keep-loops` |
    | `remat.unroll_limit` | `scf.for` | positive integer | the loop stays one if it would unroll to more operations than this, where the limit of the pass is higher | user; factorizations of matrices have it | `remat-keep-loops` |
    | `remat.target` | modules, functions, graphs | `#remat.target` | the machine that is compiled for | user, `remat-set-target` | all that sizes or speeds of the machine matter to |
    | `remat.packs`, `remat.unpacks` | tasks | string | the task makes the packed form of its operand, or brings back what that task has packed: the codec | `remat-offer-packing` | `remat-plan`, the verifier of graphs, code generation, reports |
    | `remat.gradient_error` | tasks | f64 | beside `remat.packs`, where errors of gradients are bounded: what packing this value may add to the relative error of a gradient | `remat-offer-packing` | reports |
    | `remat.absorptions` | tasks | array of dictionaries | kernels that the task can call instead of its own, which make themselves what other tasks make for it: `kernel`, a symbol; `tasks`, the numbers of those tasks; `operands`, pairs of a task and an operand of it, one for each argument of the kernel; `cost` and `workspace` as of a task | `remat-offer-absorption`, `remat-annotate-costs` | `remat-plan`, which removes it |
    | `remat.absorbed` | tasks | array<i64> | the task calls such a kernel: the numbers of the tasks that it absorbs | `remat-plan` | the verifier of graphs |
    | `remat.read_bytes` | functions, graphs | i64, not negative | bytes that the backward computation would read of forward values if nothing were made again | `remat-recompute-cheap`, `remat-form-tasks` | reports |
    | `remat.alternative` | functions, graphs | symbol | another function or graph that does the same and may be planned instead | `remat-layer-microbatches`, `remat-split-batch`, `remat-slice-rows`, `remat-fuse-readers`, `remat-form-tasks`, `remat-keep-repeated` | passes up to `remat-plan`, which leaves one of them |
    | `remat.microbatch_order` | functions, graphs | string | in which order parts of a batch run: `parts` or `layers` | `remat-microbatches`, `remat-layer-microbatches`, `remat-form-tasks` | reports |
    | `remat.batch_parts` | functions, graphs | positive integer | in how many parts the function does its batch | `remat-split-batch`, `remat-form-tasks` | reports |
    | `remat.second_plans` | graphs | unit | this alternative to a graph has `remat.plans` with less workspace | `remat-choose-implementations` | `remat-plan` |
    | `remat.keeps_repeated` | graphs | unit | this alternative to a graph keeps what kernels of that graph run again for | `remat-keep-repeated` | `remat-plan`, reports |
    | `remat.fused_readers` | functions, graphs | unit | this alternative makes large values that elementwise operations share in one kernel with all of these | `remat-fuse-readers` | `remat-plan`, reports |
    | `remat.slice_rows` | functions, graphs | positive integer | how many rows slices of wide values have, where these are other than those that the target asks for | `remat-slice-rows`, `remat-form-tasks` | reports |
    | `remat.slices_hidden` | functions, graphs | unit | hidden layers are done in slices of rows, too | `remat-slice-rows`, `remat-form-tasks` | reports |
    | `remat.folded_layers` | functions, graphs | positive integer | how many layers are iterations of loops | `remat-fold-layers`, `remat-form-tasks` | planning, reports |
    | `remat.stacks_nothing` | | unit | on a `remat.loop`: its derivative makes what it reads of an iteration again, and the loop stacks nothing for it but what it carries | `remat-layer-microbatches`, `remat-split-batch` | `remat-differentiate` |
    | `remat.stacks_kept` | | unit | on a `remat.loop` in the body of another: it stacks what policies keep of it, and runs again in the derivative of that body for the rest | `remat-differentiate` | `remat-differentiate` |
    | `remat.phase` | function arguments only | integer, not negative | the first call of a step in several calls that is given the argument | user | `remat-separate-backward`, the verifier of `remat.graph` |
    | `remat.donated` | function arguments only | integer, not negative | the number of the result that has the argument's buffer: the caller gives both in the same place, and what the argument held is gone when the result is written. JAX's `tf.aliasing_output` is read as this, and its `jax.buffer_donor` as the first result of the argument's type that has no buffer yet | user, `remat-import-entry`, `remat-differentiate`, `remat-apply-optimizer` | `remat-form-tasks`, `remat-plan`, `remat-assign-buffers`, the verifier of `remat.graph`; code generation, headers and reports |
    | `remat.host` | function arguments only | unit | the caller has the argument in host memory, and so the result that it gives its buffer to; only copies use it | user, `remat-apply-optimizer` | `remat-form-tasks`; code generation, headers and reports |
    | `remat.key` | function arguments only | unit | draws of random numbers have the argument as their key; each part of a batch has another | user, `remat-mark-keys` | `remat-microbatches`, `remat-layer-microbatches` |
    | `remat.transfer` | | unit | on the operation of a kernel: it copies from or to an argument in host memory | `remat-form-tasks` | `remat-assign-buffers`, `remat-place`, costs, code generation |
    | `remat.absent` | function results only | unit | the derivative that would be the result does not exist, since no differentiable path leads there; the result is zeros, or what it is added to | `remat-differentiate` | code generation, headers and reports |
    | `remat.gradient` | function results only | integer, not negative | the result is the gradient with respect to the argument of this number | user, `remat-differentiate` with `mark-gradients` | `remat-apply-optimizer`, `remat-microbatches`, `remat-layer-microbatches` |
    | `remat.data_gradient` | function results only | integer, not negative | the same of an argument that no optimizer updates, such as data | user | `remat-microbatches`, `remat-layer-microbatches` |
    | `remat.initial_value` | function arguments only | dense elements | the value that a global began with that has become the argument, or that an optimizer's state begins with | `remat-import-random-state`, `remat-apply-optimizer` | `remat-run` |
    | `remat.allow_cache_entry_mutation` | functions | unit | memrefs may be written between the use that a derivative saves them for and the derivative, which then sees what was written | user | `remat-import-buffers` |
    | `remat.allow_mutation_on_saved_tensors` | functions | unit | the same, and it sees what was there at first | user | `remat-import-buffers` |
    | `remat.vjp`, `remat.jvp` | functions | symbol | the function that computes the derivative of this one | user | `remat-attach-rules` |
    | `remat.fwd` | functions | symbol | with `remat.vjp`: the function to call instead, which also returns what the derivative needs | user | `remat-attach-rules` |
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    // The dialect's page says what they are.
    static constexpr llvm::StringLiteral policyAttrName = "remat.policy";
    static constexpr llvm::StringLiteral nameAttrName = "remat.name";
    static constexpr llvm::StringLiteral backwardAttrName = "remat.backward";
    static constexpr llvm::StringLiteral readBytesAttrName = "remat.read_bytes";
    static constexpr llvm::StringLiteral alternativeAttrName =
        "remat.alternative";
    static constexpr llvm::StringLiteral microbatchOrderAttrName =
        "remat.microbatch_order";
    static constexpr llvm::StringLiteral stacksNothingAttrName =
        "remat.stacks_nothing";
    static constexpr llvm::StringLiteral kernelAttrName = "remat.kernel";
    static constexpr llvm::StringLiteral phaseAttrName = "remat.phase";
    static constexpr llvm::StringLiteral donatedAttrName = "remat.donated";
    static constexpr llvm::StringLiteral absentAttrName = "remat.absent";
    static constexpr llvm::StringLiteral allowMutationAttrName =
        "remat.allow_cache_entry_mutation";
    static constexpr llvm::StringLiteral allowSavedMutationAttrName =
        "remat.allow_mutation_on_saved_tensors";
    static constexpr llvm::StringLiteral vjpAttrName = "remat.vjp";
    static constexpr llvm::StringLiteral jvpAttrName = "remat.jvp";
    static constexpr llvm::StringLiteral fwdAttrName = "remat.fwd";
    static constexpr llvm::StringLiteral implementationAttrName =
        "remat.implementation";
    static constexpr llvm::StringLiteral plansAttrName = "remat.plans";
    static constexpr llvm::StringLiteral initsAttrName = "remat.inits";
    static constexpr llvm::StringLiteral initialValueAttrName =
        "remat.initial_value";
    static constexpr llvm::StringLiteral maxTripCountAttrName =
        "remat.max_trip_count";
  }];
}

/// Attributes without a dialect's name are the operation's own, or misspelled.
def Remat_OnlyKnownAttributes : NativeOpTrait<"OnlyKnownAttributes"> {
  let cppNamespace = "::remat";
}

class Remat_Op<string mnemonic, list<Trait> traits = []>
    : Op<Remat_Dialect, mnemonic, traits # [Remat_OnlyKnownAttributes]>;

#endif // REMAT_DIALECT_REMAT_IR_REMATDIALECT_TD
