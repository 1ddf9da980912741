//===- Passes.td - from checkpoint regions to placed graphs -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD
#define REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerCheckpointsPass : Pass<"remat-lower-checkpoints"> {
  let summary = "Turn checkpoint regions into policies on the values they hide";
  let description = [{
    Inlines every `remat.checkpoint`. The values inside that have no policy of
    their own and are not yielded are tagged with the region's policy,
    `must_recompute` unless it has another. Nested regions are inlined from the
    inside out, so the innermost region's policy holds. What a region yields is
    an ordinary value afterwards.

    Tags are operations, which patterns leave alone; attributes would be lost
    when later passes rebuild operations. Because a tag also keeps its operand
    from being fused away, elementwise fusion runs before.

    With `early_stop = false`, a result that the region yields is recomputed
    like an inner value, and the tags have the number of the region, by which
    `remat-demand-regions` finds what belongs to it. With `preserve_rng_state = false`, its random numbers
    are marked `fresh`.

    Every `remat.scope` is inlined as well: what it asks for becomes a tag on
    each of its values that has none yet, so the innermost scope holds. In one
    with `forbid`, a scope, tag or policy that packs or offloads is an error,
    also in the functions that are called or differentiated there.

    Regions around calls hide what the called functions compute once these are
    inlined, so this runs after import.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"differentiated", "differentiated", "bool", /*default=*/"false",
           "Only in functions of which the program takes derivatives itself "
           "(remat.vjp, remat.jvp), and in what these call, and of these in "
           "those that hold no derivative themselves">,
    Option<"earlyStop", "early-stop", "std::string", /*default=*/"",
           "true or false: the same for all regions, whatever their attribute "
           "'early_stop'; empty: what that says">
  ];
}

def DemandRegionsPass
    : Pass<"remat-demand-regions", "::mlir::func::FuncOp"> {
  let summary = "Recompute regions without early stop as a whole";
  let description = [{
    A plan makes again what something reads. Of a region with
    `early_stop = false`, of which the backward computation reads a hidden
    value, it is to make everything: each hidden value that no other hidden
    operation of the region reads gets a `remat.demand` right before the first
    backward operation that reads any of them. All other values of the region
    are made again for these.

    Operations with a policy of their own, constants and views are not demanded.
    A program that takes several derivatives makes a region again once.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numDemands", "num-demands", "values that are demanded">
  ];
}

def ApplyPoliciesPass
    : Pass<"remat-apply-policies", "::mlir::ModuleOp"> {
  let summary = "Say which values are saved by name, kind or operation";
  let description = [{
    Tags values with policies, in the regions of `remat.checkpoint` if there
    are any, else in the whole function. What has a policy keeps it. What the
    options do not make saveable is recomputed: in a region that is what the
    region asks for, in a function it is tagged so.

    `policy` is one of JAX's:

    * `everything_saveable`, `nothing_saveable`
    * `dots_saveable`, `dots_with_no_batch_dims_saveable`: the results of
      contractions
    * `offload_dot_with_no_batch_dims`: these go to host memory
    * `save_only_these_names`, `save_any_names_but_these`: of the named values,
      those in `names`, or those not in it
    * `save_anything_except_these_names`: all but the values in `names`
    * `save_and_offload_only_these_names`: `names` are saved, `offload-names` go
      to host memory; no name may be in both

    `save-ops`, `recompute-ops` and `offload-ops` are names of operations whose
    results get the policy in addition. An operation in two of these lists is an
    error, and so is one that is not among those that the policies are about, or
    a name that none of their values has. Names are those of `remat.tag` and
    `remat.name`; those in locations are not seen before `remat-import-tags`.

    A predicate of any kind can be written as a transform-dialect matcher that
    annotates operations with `remat.policy`. The options `policy`,
    `policy-names`, `policy-offload-names`, `save-ops`, `recompute-ops` and
    `offload-ops` of a step are the same, see docs/options.md.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"policy", "policy", "std::string", /*default=*/"\"\"",
           "One of the policies above; none if empty">,
    ListOption<"names", "names", "std::string", "Names of values">,
    ListOption<"offloadNames", "offload-names", "std::string",
               "Names of values that go to host memory">,
    ListOption<"saveOps", "save-ops", "std::string",
               "Operations whose results are saved">,
    ListOption<"recomputeOps", "recompute-ops", "std::string",
               "Operations whose results are recomputed">,
    ListOption<"offloadOps", "offload-ops", "std::string",
               "Operations whose results go to host memory">,
  ];
}

def CheckpointSequentialPass
    : Pass<"remat-checkpoint-sequential", "::mlir::ModuleOp"> {
  let summary = "Cut a chain into checkpointed segments";
  let description = [{
    Cuts the body of the function `function` (`main`) into `segments` parts of
    equally many links and puts all but the last into a `remat.checkpoint` each,
    as `torch.utils.checkpoint.checkpoint_sequential` does; the last gets what
    does not divide. Functions that it calls stay as they are.

    `links` says where a link ends: at each `call`; at each `op` but constants
    and empty tensors; at each value with a name (`tag`), that is a `remat.tag`
    or an operation with `remat.name`, or at those of one name (`tag:NAME`). By
    default (`auto`) it is calls if there are any, else operations.

    `early-stop`, `preserve-rng-state`, `policy` and `name` become attributes of
    the regions. The options of a step that begin with `checkpoint-` are the
    same, see docs/options.md.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def SeparateTagsPass : Pass<"remat-separate-tags", "::mlir::func::FuncOp"> {
  let summary = "Compute a value twice of which two policies are demanded";
  let description = [{
    A program may compute the same twice, and demand by MUST policies that one
    of the two is saved and the other recomputed. Equal values become one before
    this pass, which then has both tags. The first tag keeps the value. For each
    other policy the operation is repeated, and the tags that demand this policy
    are about what the repetition computes.

    An operation inside of a `remat.checkpoint` may equal one outside, which the
    backward computation reads as well. The policy of the region is about its own
    readers: these read a repetition of the operation in the backward computation,
    and the value itself has no policy then.

    No pass that makes one value of equal ones may run between this one and
    `remat-form-tasks`.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numRepeated", "operations-repeated", "Operations repeated">
  ];
}

def RoundProductsPass
    : Pass<"remat-round-products", "::mlir::func::FuncOp"> {
  let summary = "Let a library round what is read rounded only";
  let description = [{
    A library that multiplies factors of f16 or bf16 adds up in f32, and rounds
    what it writes, where the target's fact `biases` says that it can add a bias
    before. A program often has the product in f32, and rounds it where it is
    read: so do derivatives, and so does torch-mlir. Where all readers round the
    product to the type of the factors, this pass makes it a product of that
    type, of half as many bytes. Where all readers round the sum of the product
    and one bias along its last dimension, the rounded sum becomes an operation
    of its own, which task formation puts into the kernel of the product. A bias
    in f32 that all readers round, as under autocast, is rounded on its own. No
    bit changes. A sum of a convolution and a bias along its features is treated
    so, too, but for targets that make `epilogues`: they carry convolutions out
    by plans, which have no biases.

    Other programs round the product, add a bias, and round the sum. With
    `only-sums`, only the sum is rounded there, as the library does. These bits
    are others, nearer to those without any rounding.

    The form of a product is that of `isLibraryProduct`
    (include/remat/Utils/Epilogues.h). Readers are linalg.generic that do nothing
    else with the product. A product with a policy stays as it is.
  }];
  let options = [
    Option<"onlySums", "only-sums", "bool", "false",
           "Do not round a product that a bias is added to before the sum is "
           "rounded">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numProducts", "num-products",
              "Products that are rounded where they are made now">
  ];
}

def RoundFactorsPass
    : Pass<"remat-round-factors", "::mlir::func::FuncOp"> {
  let summary = "Round scores before they are multiplied with 16 bits";
  let description = [{
    Attention of f16 and bf16 often has its scores in f32: so does PyTorch's
    decomposition, and so do derivatives. The product of such scores, or of
    their gradients, with values or keys of 16 bits multiplies f32 with 16 bits,
    for which a tensor core needs two or three products of 16 bits. This pass
    rounds the factor in f32 to the type of the other one first, as the kernels
    of FlashAttention (Dao, 2023) and cuDNN do. Bits change: each term may err
    by 2^-9 of itself (2^-12 for f16), and sums of them are rounded to the same
    type behind the product.

    That is where the target's fact `epilogues` says that a library makes
    products, of a contraction with a batch dimension whose result is f32, if
    all that is made of the result is rounded to 16 bits, and if an elementwise
    operation of the same block makes the factor. A product with a policy stays
    as it is.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numProducts", "num-products",
              "Products of which a factor is rounded">
  ];
}

def RoundScattersPass
    : Pass<"remat-round-scatters", "::mlir::func::FuncOp"> {
  let summary = "Let a scatter round what is read rounded only";
  let description = [{
    The gradient of a table of f16 or bf16 is a scatter in f32 that is rounded
    in the end. Where all that reads the scatter rounds it, and the scatter
    starts from zeros, this pass makes it a scatter whose result has the type
    that is rounded to, while its sums stay in f32: the kernel makes the sums of
    a few rows at a time, rounds them, and never has the table in f32. A reader
    may do more with what it rounds: the gradient of a table that is multiplied
    with, too, is the sum of both. No bit changes.

    That is where one dimension of the result is computed and the others are
    those of the points, and where looking at all points for each block of rows
    takes no longer than writing the sums, by the target's facts
    (include/remat/Utils/ScatterRows.h). It is also where few windows can reach
    an element, on a target that makes its sum from these alone, as a GPU makes
    the gradient of max pooling. A scatter or a rounding with a policy stays as
    it is, and so does a scatter with a tag.

    What is made for a scatter alone, and widened in the end, is in memory as it
    was before, and the scatter widens it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def FormEpiloguesPass
    : Pass<"remat-form-epilogues", "::mlir::func::FuncOp"> {
  let summary = "Let what reads a product read what the library makes of it";
  let description = [{
    A library can add a bias to a product and apply an activation to the sum
    before it writes it, where the target's fact `epilogues` says so. Task
    formation makes one kernel of a product and the operation that does this if
    nothing else reads the product. The derivative often does: it adds the bias
    again and goes on from there. This pass lets it read something else:

    * the sum, where that is the result of the operation;
    * for a ReLU, its result, if all that is asked of the sum is whether it is
      positive, or its ReLU;
    * for a GELU, the sum, which becomes a second result of the operation.

    No bit changes, as readers go on from the very sum that they would have
    made. A product whose readers ask for anything else stays as it is, and so
    does one with a policy. The form of a product and of the operation is that
    of `matchEpilogue` (include/remat/Utils/Epilogues.h): a product in f32
    without batches, perhaps a bias along the last dimension, then ReLU, GELU in
    its form with tanh, or nothing; then a rounding to f16 or bf16 if factors
    and bias have that type. A sum that is to be read elsewhere must not be
    rounded.

    The gradient of a ReLU is a product that is set to 0 where the ReLU is. A
    library does this in the same call, by a mask of a bit for each element,
    which the product below the ReLU writes beside it. The mask is 1/32 of the
    bytes, and spares reading the result, and reading and writing the product.
    It is an operation behind the ReLU then, which task formation makes one
    kernel with that. Of a nan, the gradient may be 0 or not. This needs rows
    of a multiple of 128 elements.

    The gradient of a bias is the sum of what the gradient of the weight has as
    a factor, and a library makes both in one call, as it does with the product
    that the gradient of a GELU is made of, that gradient, and its sum. Such a
    sum is put behind the other operation, where task formation makes one kernel
    of them. No sum changes but for the order of its terms, which is the
    library's.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numEpilogues", "num-epilogues",
              "Products whose readers read something else now">,
    Statistic<"numMasks", "num-masks",
              "Gradients of ReLUs that read a mask now">,
    Statistic<"numSums", "num-sums",
              "Gradients of biases that are made beside something else">
  ];
}

def FormTasksPass : Pass<"remat-form-tasks", "::mlir::ModuleOp"> {
  let summary = "Cut a joint function into tasks that call kernels";
  let description = [{
    Replaces the function by a `remat.graph` of the same name (L1 to L2).

    * Every operation on tensors becomes a task of its own; which operations
      are one kernel was decided by fusion before this pass.
    * Constants, fills, empty tensors and scalars are not values of the graph:
      each kernel that needs them makes its own.
    * `tensor.expand_shape` and `tensor.collapse_shape` become views.
    * `remat.tag` and `remat.stop_gradient` disappear; a tag's policy becomes
      the policy of the task's result. Two different MUST policies on one value
      are an error: `remat-separate-tags` leaves them only on values that must
      not be computed twice.
    * An operation that says by `RecomputableOpInterface` that it must not run
      twice becomes a `pinned` task, and one whose results are to be kept gives
      them the policy MUST_SAVE.
    * A result that is an argument, a constant, a view of another result or
      returned twice is copied by a task.
    * A result that has the buffer of an argument (`remat.donated`) is written
      behind all tasks that read the argument. It is copied by a task where its
      own cannot write it in place while it reads the argument, and where
      another task reads both.
    * Tasks copy an argument in host memory (`remat.host`) into the arena, a task
      before the first that reads it, and what is returned in its buffer there.

    Tasks whose kernels are structurally equal share one function.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::linalg::LinalgDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function to cut; with 'main', a module's only function will "
           "do">
  ];
  let statistics = [
    Statistic<"numTasks", "num-tasks", "Number of tasks formed">,
    Statistic<"numKernels", "num-kernels", "Number of distinct kernels">
  ];
}

def KeepRepeatedPass : Pass<"remat-keep-repeated", "::mlir::ModuleOp"> {
  let summary = "Keep what kernels of the forward computation made";
  let description = [{
    `remat-recompute-cheap` lets the backward computation make values again. Of
    its clones, those that a matmul or a convolution reads are not fused, and
    run the same kernel on the same operands as a forward task. This pass removes
    them: their readers read what the forward task made, which is kept until
    then. Whether it is made again is for the plan to say, as with any other
    value: without a budget, nothing is.

    Tasks with a policy, with effects, or with random numbers stay. What a
    kernel makes again beside other things stays, too: it costs no pass over
    memory.

    With `alternative`, a graph stays as it is, and names a private one of this
    form as its last alternative (`remat.alternative`), if anything changes.
  }];
  let options = [
    Option<"alternative", "alternative", "bool", /*default=*/"false",
           "Keep each graph, and make an alternative to it">
  ];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numKept", "num-kept", "Number of tasks that were removed">
  ];
}

def OrderTasksPass : Pass<"remat-order-tasks", "::mlir::ModuleOp"> {
  let summary = "Put the tasks of a graph in an order that holds less";
  let description = [{
    Tasks are formed in the order of the operations. A task whose result is
    smaller than the operands that it reads last moves to where these are there
    and have no other reader left, unless more were live there than anywhere on
    the way. Then a task whose result waits moves to its first reader, if less
    is live at the most on the way. What a task writes over an operand, such as
    a sum that it adds to, is no more memory, and does not wait. Backward tasks
    stay behind forward ones. An
    order is kept only if the peak of the graph, with buffers assigned as
    `remat-assign-buffers` would, is not larger. Workspaces do not count.

    Tasks are numbered in the new order.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numMoved", "num-moved", "Number of tasks with another number">
  ];
}

def SeparateBackwardPass
    : Pass<"remat-separate-backward", "::mlir::ModuleOp"> {
  let summary = "Let forward and backward computation be separate calls";
  let description = [{
    Gives every task of a `remat.graph` (L2) the `phase` in which it runs and
    sorts the tasks by it: 0 for the forward computation, 1 for the backward
    computation. What the second call needs of the first is in the arena's first
    `state_bytes`, and counts as everything else does.

    Several backward computations over one forward computation are several
    calls, told apart by the argument attribute `remat.phase`: a task runs in no
    call before that which is given its arguments, and a backward task in the
    first call that needs it. The calls are made in this order. What one has
    recomputed is part of the state if a later one needs it, so that calls share
    recomputations.

    ```mlir
    remat.graph @main(%x: tensor<8xf32>,
                      %g: tensor<8xf32> {remat.phase = 1},
                      %h: tensor<8xf32> {remat.phase = 2})
    ```

    Where a derivative contains others, the backward computations of these are a
    part of its forward computation. `derivatives` is the number of derivatives,
    from the outermost on, whose backward computations are other calls.
  }];
  let options = [
    Option<"derivatives", "derivatives", "unsigned", "1",
           "How many levels of backward tasks are other calls">];
  let dependentDialects = ["::remat::RematDialect"];
}

def PlanPass : Pass<"remat-plan", "::mlir::ModuleOp"> {
  let summary = "Decide what to save, recompute and offload under a budget";
  let description = [{
    Hands every `remat.graph` of the module to a planner and rewrites it into
    the schedule that the planner returns (L2 to L3). The plan is verified
    before it is applied, and the graph's verifier checks the outcome again.

    The budget bounds the arena, which is known when buffers are assigned and
    placed. Each plan is therefore tried out: an arena can be larger than what
    is live in it, as packing leaves gaps, and smaller, as
    `remat-assign-buffers` finds room outside of it. A plan whose arena exceeds
    the budget is replaced by one with a smaller peak. What was tried out is not
    recorded: `remat-assign-buffers` and `remat-place` come to the same.

    What writes a result over an argument (`remat.donated`) waits until the last
    task has read it, repetitions included; that is counted, too.

    `planned_peak` becomes the peak of the schedule with each value in a buffer
    of its own, `save_all_peak` that of the arena for the plan that recomputes
    and offloads only what policies demand.

    An infeasible budget is an error that says the smallest feasible one, where
    it binds and what is resident there.

    The options are those that docs/options.md lists for the stage `plan`.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numRecomputed", "num-recomputed", "Number of clones">,
    Statistic<"numOffloaded", "num-offloaded", "Number of offloaded values">,
    Statistic<"plannedPeak", "planned-peak", "Bytes live at the peak">
  ];
}

def SeparateCopiesPass : Pass<"remat-separate-copies", "::mlir::ModuleOp"> {
  let summary = "Give copies that draw fresh random numbers their own kernels";
  let description = [{
    A clone whose kernel reads the number of the copy that runs
    (`remat.copy_number`, for `preserve_rng_state = false`) calls a variant of
    the kernel instead, in which this number is a constant. All other clones
    call the kernel of their original.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let statistics = [
    Statistic<"numSeparated", "num-separated",
              "Number of clones with a kernel of their own">
  ];
}

def OfferPackingPass : Pass<"remat-offer-packing", "::mlir::ModuleOp"> {
  let summary = "Let the planner keep values in packed form";
  let description = [{
    Offers the planner a smaller form of values that the forward computation
    makes and the backward computation reads (still L2). Two tasks stand at the
    end of the graph for each such value, one that packs and one that unpacks
    it. Nothing reads them: `remat-plan` takes them out and puts in what its plan
    uses, next to recomputation and offloading. Without a plan that packs, the
    step is what it was.

    Of several codecs, each value is offered in its smallest form, or, with
    `max-gradient-error`, in one by which all offers together stay within this
    bound. The forms with scales take values whose number of elements is a
    multiple of 64.

    Offered are values in f32 of at least 1 KiB that the step does not
    return and of which no policy says where they stay. What is unpacked is not
    quite the value, so nothing is offered that would change the results of the
    forward computation or on which a decision hangs: what a forward task behind
    the first backward task needs, and what is compared with anything but 0 and
    infinities or rounded to an integer, with all that it is made of.
  }];
  let options = [
    ListOption<"codecs", "codecs", "std::string",
               "The packed forms to choose from: 'bf16', 'int8', 'fp8', "
               "'int4'">,
    Option<"maxGradientError", "max-gradient-error", "double", "0",
           "What packing may add to the relative error of a gradient, or 0 "
           "for no bound">,
    Option<"gradientErrors", "gradient-errors", "std::string", "\"\"",
           "With a bound, the file of measured errors, see GradientErrors.h">
  ];
  let statistics = [
    Statistic<"numOffered", "num-offered", "Number of values that may be packed">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::remat::RematDialect"
  ];
}

def AssignBuffersPass : Pass<"remat-assign-buffers", "::mlir::ModuleOp"> {
  let summary = "Let values of a planned graph share buffers";
  let description = [{
    Decides which results of tasks take nothing of the arena (still L3). A task
    may write a result in the place of an operand that nothing reads later, if
    its kernel reads each element for the last time before it writes there; so
    it writes a result in the place of the argument that gives its buffer. And
    the caller brings a buffer for each result of the step, most of them for
    gradients that are written late: until then they hold what the forward
    computation saved. The values that occupy most bytes for the longest time go
    first, each to the buffer that is taken back soonest after its last use.

    `planned_peak` becomes the peak of what is left in the arena. A graph with
    transfers stays as it is. What was decided before is decided anew.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def PlaceBodiesPass : Pass<"remat-place-bodies", "::mlir::ModuleOp"> {
  let summary = "Plan and place the bodies of loops";
  let description = [{
    Plans the graphs that loops run, without a budget, gives their values
    addresses, and says of each task that runs a loop what it costs and which
    scratch bytes it needs: the body's arena, and a buffer for each value that
    the loop carries and the body does not update in place. Costs of the other
    tasks are known already.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def PlacePass : Pass<"remat-place", "::mlir::ModuleOp"> {
  let summary = "Give every value of a planned graph an address";
  let description = [{
    Packs the live ranges of a planned graph into one arena and one host arena
    (L3 to L4). Values that are returned go to the caller's result buffers.
    Fails if the arena would exceed the graph's budget.

    Copies of arguments in host memory begin earlier before that, and what goes
    back there lives longer, by the time of the copy, as far as the planned peak
    and the arena stay what they were.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Size of the arena">
  ];
}

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD
