//===- Passes.td - optimizations of joint functions --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes from L1 to L1, in the order in which the joint pipeline runs them.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_PASSES
#define REMAT_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"

def LowerRandomPass : Pass<"remat-lower-random", "::mlir::func::FuncOp"> {
  let summary = "Turn random numbers into arithmetic";
  let description = [{
    Every `remat.random` becomes a structured operation in which each element
    computes its word of Philox4x32-10. A `fresh` one puts the number of the
    copy that runs (`remat.copy_number`) into the third word of the counter.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def StopSoftmaxMaxGradientPass : Pass<"remat-stop-softmax-max-gradient", "::mlir::func::FuncOp"> {
  let summary = "Stop the gradients of maxima that a softmax subtracts";
  let description = [{
    `exp(x - m) / sum(exp(x - m))` does not depend on `m`, whatever it is, and
    neither does `x - m - log(sum(exp(x - m)))`. Where all that uses a maximum
    cancels it in this way, its gradient is zero, and `remat.stop_gradient` says
    so before the function is differentiated.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"numDetached", "num-detached", "Number of maxima detached">
  ];
}

def FoldLayersPass : Pass<"remat-fold-layers", "::mlir::ModuleOp"> {
  let summary = "Make loops of equal layers";
  let description = [{
    Looks for operations of a function that is not differentiated yet that
    repeat themselves: layers that are equal but for what they read. An operation
    reads something of its own layer or of the one before, the same as in all
    other layers, or one value for each layer. A chain of layers becomes a
    `remat.loop`, whose derivative is a loop, too: what is planned, and the
    object, are of the size of one layer.

    What each layer has of its own is stacked for the loop by a `remat.stack`,
    which copies nothing: iteration i reads the weights of layer i where they
    are. So are results of all layers that the function returns unstacked.
    Constants of which each layer has another are written to buffers, if they are
    small. Layers begin where they hand the least to each other. What is read
    from two layers before, or behind the chain from some of the layers only,
    makes no chain.

    With `alternative`, the function stays as it is and names a private one of
    this form as its alternative (`remat.alternative`), if there are such layers
    and it has no other alternative.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"alternative", "alternative", "bool", /*default=*/"false",
           "Keep the function, and make an alternative to it">
  ];
  let statistics = [
    Statistic<"numLoops", "num-loops", "Number of loops made">,
    Statistic<"numLayers", "num-layers", "Number of layers in these loops">
  ];
}

def LayerMicrobatchesPass : Pass<"remat-layer-microbatches", "::mlir::ModuleOp"> {
  let summary = "Run a function for several parts of a batch, layer by layer";
  let description = [{
    Cuts a function that is not differentiated yet into layers, and makes each a
    `remat.loop` over `parts` parts of a batch, so that all parts pass a layer
    before the next one begins. Arguments and results are those that
    `remat-microbatches` makes, the means of losses included. The derivative is
    done with the weights of one layer before it comes to those of the layer
    before, so a gradient can be used, by an optimizer, say, and dropped while
    others do not exist yet. For that, what lies between layers is kept for all
    parts, and layers run again in the derivative (`remat.stacks_nothing`).

    Layers begin where little of a part is live. How many there are is a
    compromise between the bytes that lie between them and the gradients and
    intermediate results of a layer. A layer is not cut where it carries
    something from part to part.

    Alternatives that the function has already (`remat.alternative`) get the same
    form. With `alternative`, they and the function stay as they are, and it
    names a private one of this form as a further one, if there are layers.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"parts", "parts", "int64_t", /*default=*/"1", "Number of parts">,
    ListOption<"arguments", "arguments", "int64_t",
               "Numbers of the arguments of which each part has its own">,
    ListOption<"wrt", "wrt", "int64_t",
               "Numbers of the arguments that will be differentiated with "
               "respect to; all of floating point and all complex ones if "
               "empty">,
    Option<"alternative", "alternative", "bool", /*default=*/"false",
           "Keep the function, and make an alternative to it">
  ];
}

def SplitBatchPass : Pass<"remat-split-batch", "::mlir::ModuleOp"> {
  let summary = "Do a batch in parts";
  let description = [{
    All that has rows of the batch is done by a `remat.loop` for some rows at a
    time, up to where rows are added up: by a sum, a product, a maximum or a
    minimum. The rows are followed from the arguments that have them, as one
    dimension of each value. Arguments and results stay what they are. The
    derivative of the loop runs it again (`remat.stacks_nothing`), so that
    activations are there for one part only. Where the function has computed its
    gradients itself, they are in the loop already, and are carried from part to
    part: in f32 if they are narrower, and rounded once behind the loop.

    That needs rows that do not depend on each other. An operation that mixes
    them, as the statistics of a batch normalization do, is an error that names
    it. What single rows need of all of them is made before the first part if it
    depends on nothing but the batch, such as the number of labels that count.
    Random numbers, and whatever else asks for the number of its row, are those
    of the whole batch.

    With `parts = 0`, the function stays as it is, and others that do their batch
    in 2 or more parts are alternatives to it (`remat.alternative`), each to the
    one before. If there are none, a remark says why.

    The batch is in `arguments`, or is found as `remat-microbatches` finds it.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"parts", "parts", "int64_t", /*default=*/"1",
           "Number of parts; 0 for alternatives">,
    ListOption<"arguments", "arguments", "int64_t",
               "Numbers of the arguments that have rows of the batch">,
    ListOption<"wrt", "wrt", "int64_t",
               "Numbers of the arguments that will be differentiated with "
               "respect to; all of floating point and all complex ones if "
               "empty">
  ];
}

def MicrobatchesPass : Pass<"remat-microbatches", "::mlir::ModuleOp"> {
  let summary = "Run a step for several parts of a batch";
  let description = [{
    The function, which computes a loss and its gradients for one part of a
    batch, becomes the body of a `remat.loop` over `parts` parts. Arguments that
    belong to the batch are `parts` times as long in their first dimension, with
    the parts one behind the other. Gradients and results of rank 0 are means
    over the parts, added up in f32 or wider. Results that have the buffer of an
    argument are carried from part to part, as running statistics are. All other
    results are those of all parts: one behind the other in the first dimension
    if that is the part of a batch, else in one dimension more.

    The batch is in `arguments`, or by default in all arguments by which nothing
    is differentiated, that give their buffer to no result, and that have the
    same first dimension as the first of them.

    A loop of layers in the function (`remat-fold-layers`) adds to the sums of a
    layer in the iteration that makes its gradients, so that the gradients of all
    layers do not exist together. Alternatives of the function
    (`remat.alternative`) that do not run for parts already do so, too.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"parts", "parts", "int64_t", /*default=*/"1", "Number of parts">,
    ListOption<"arguments", "arguments", "int64_t",
               "Numbers of the arguments of which each part has its own">
  ];
}

def ResizeBatchPass : Pass<"remat-resize-batch", "::mlir::ModuleOp"> {
  let summary = "Give a function a batch of another size";
  let description = [{
    The function, in the form that the import makes, gets arguments with `size`
    rows in their first dimension, and all that follows from them the sizes that
    it would have if the model had been exported with such a batch. Numbers that
    the function computes with, such as the divisor of a mean, and what is in
    constants stay what they are or lose their meaning: the result is for
    planning, not for running.

    The batch is in `arguments`, or by default in all data that have the same
    first dimension as the first of them: arguments by which nothing is
    differentiated, that give their buffer to no result, and that are no vectors
    of floating point, as statistics are. Other data have it where they meet
    what has it. Differentiated are the arguments of `wrt`, or if there are none
    all of floating point.

    An operation in which the batch cannot be followed, and an argument that is
    differentiated by and would change with the batch, are errors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"size", "size", "int64_t", /*default=*/"1", "Rows of the batch">,
    ListOption<"arguments", "arguments", "int64_t",
               "Numbers of the arguments that have the batch">,
    ListOption<"wrt", "wrt", "int64_t",
               "Numbers of the arguments that are differentiated by">
  ];
}

def NarrowTensorsPass : Pass<"remat-narrow-tensors", "::mlir::ModuleOp"> {
  let summary = "Keep a function's tensors in 16 bits";
  let description = [{
    Tensors of the function, in the form that the import makes, that are wider
    than `type` become tensors of `type`: arguments, results, constants, and
    what is between. It is the step of a model that a framework has converted as
    a whole, as PyTorch's `model.to(torch.bfloat16)` does, parameters and
    gradients included.

    Arithmetic stays as wide as it was: bodies widen what they read and round
    what they write. So do sums: contractions, convolutions and pools add up in
    the wide type, and an operation behind them rounds. What stays wide is small:
    tensors of rank 0, results of reductions with at most an eighth of the
    elements that they read (the maximum and the sum of a softmax, means and
    variances, a loss), and what is computed elementwise from these alone. A
    function returns them narrow unless they have rank 0. A finite constant that
    `type` cannot hold becomes the largest number that it can.

    A function without a wide argument of rank 1 or more is narrow already, and
    stays as it is. Bodies of loops, regions to recompute and scopes are narrowed with the
    function. Complex numbers stay as they are. Derivatives and codecs that are
    functions of the program have types of their own, and other operations that
    make or read floating-point tensors are not known: both are errors.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"type", "type", "::remat::NarrowType",
           /*default=*/"::remat::NarrowType::BF16", "The type of tensors",
           [{::llvm::cl::values(
               clEnumValN(::remat::NarrowType::BF16, "bf16",
                          "8 bits of precision, the range of f32"),
               clEnumValN(::remat::NarrowType::F16, "f16",
                          "11 bits of precision, up to 65504"))}]>
  ];
  let statistics = [
    Statistic<"numNarrowed", "num-narrowed", "Number of tensors narrowed">
  ];
}

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

def ApplyOptimizerPass : Pass<"remat-apply-optimizer", "::mlir::ModuleOp"> {
  let summary = "Update weights by their gradients, in place";
  let description = [{
    A result of the function that carries `remat.gradient = N` is the gradient
    of argument N (`remat-differentiate=mark-gradients`). It is taken from the
    results, and the function returns the updated argument instead, which gives
    its buffer to it (`remat.donated`). The state of the optimizer is in more
    arguments, named after the weights, each of which gives its buffer to a
    result; their `remat.initial_value` is zero. An update stands right behind
    what makes the gradient. Where that is an iteration of a loop, as of layers
    (`remat-fold-layers`), it updates the weight whose gradient it makes: the
    weights and their state become slices of the loop. What needs all gradients
    first, and state in host memory, is updated behind the loop.

    | optimizer | hyperparameters and defaults | state |
    |---|---|---|
    | `sgd` | `lr=1e-3`, `momentum=0`, `dampening=0`, `nesterov=false`, `weight_decay=0` | `momentum_buffer` if there is a momentum |
    | `adam` | `lr=1e-3`, `beta1=0.9`, `beta2=0.999`, `eps=1e-8`, `weight_decay=0` | `exp_avg`, `exp_avg_sq` |
    | `adamw` | the same, `weight_decay=0.01` | the same |
    | `lion` | `lr=1e-4`, `beta1=0.9`, `beta2=0.99`, `weight_decay=0` | `exp_avg` |
    | `adafactor` | `lr=1e-2`, `beta2_decay=-0.8`, `eps1` (that of the weight's type), `eps2=1e-3`, `d=1`, `weight_decay=0` | `row_var` and `col_var`, without the dimension that was averaged; `variance` of vectors and scalars |

    Names, meanings and arithmetic are those of `torch.optim`, and for Lion
    those of its paper (Chen et al., 2023). `lr=argument` makes the learning
    rate an argument of the step, `optimizer.lr`, so that a schedule can set it.
    What depends on the number of the step counts it in `optimizer.step`. State
    and arithmetic are f32 for narrower weights. A weight without a gradient
    (`remat.absent`) stays as it is.

    All optimizers take these as well, in the order in which they are applied:

    * `loss_scale=S`: the loss is multiplied by S before it is differentiated,
      and gradients by 1/S before anything else. The last argument must be the
      cotangent of the loss; it is replaced by S. With `loss_scale=argument` it
      stays and is called `optimizer.loss_scale`.
    * `skip_nonfinite=true`: where an element of a gradient is infinite or NaN,
      the step leaves weights, state and `optimizer.step` as they are. The last
      result, `optimizer.is_finite`, says whether none is.
    * `clip_norm=C`: gradients are scaled so that their common norm is at most
      C.
    * `clip_value=C`: gradients are cut off at C and -C.
    * `masters=true`: weights that are narrower than f32 are kept in f32, too,
      as state `master`, which begins with the weight at the first step. That is
      what is updated, and the weight is what it is rounded to.
    * `offload_state=true`: the state of weights is in host memory
      (`remat.host`).

    `clip_norm` and `skip_nonfinite` need all gradients before the first update.
  }];
  let options = [
    Option<"function", "function", "std::string", [{"main"}],
           "name of the function; with 'main', a module's only function will "
           "do">,
    Option<"optimizer", "optimizer", "std::string", [{"sgd"}],
           "name of the optimizer, then ':' and hyperparameters: "
           "'adamw:lr=1e-3,eps=1e-6'">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def CheckMutationPass : Pass<"remat-check-mutation", "::mlir::func::FuncOp"> {
  let summary = "Refuse or obey writes to what the backward computation reads";
  let description = [{
    Runs after differentiation. An operation of the backward computation that
    reads a value which the program overwrites (`remat-import-buffers`), or a
    view or slice of one, is an error that names the write and the operation that
    saved the value. Where a `remat.overwritten` says so, it reads what was
    written instead. The marks are dropped.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def SpecializeCodecsPass
    : Pass<"remat-specialize-codecs", "::mlir::ModuleOp"> {
  let summary = "Choose a codec for each value that is packed";
  let description = [{
    Of the codecs that a tag lists, the first is chosen that takes the value,
    and the tag has no other afterwards, none at all if the value is kept as it
    is. A pair of functions takes a value if the argument of the first can have
    its type:

    * `tensor<4x8xf32>`: this type,
    * `tensor<?x8xf32>`: all that agree where there are numbers,
    * `tensor<*xf32>`: all shapes,
    * `tensor<?xf32>`: all shapes; the elements of a value of another rank than
      one are passed in row-major order.

    The argument of the second function is what the first returns. It may have
    one more, of the type of the value: a destination, which has no elements
    that mean anything, but the extents that the function cannot know otherwise.

    A function of dynamic shape is cloned for each type that it is used for. In
    the clone, types follow from those of the arguments, by upstream's
    canonicalization and for elementwise operations on tensors. An operation
    whose shape does not follow is an error, and so are functions whose types
    then do not pack and unpack the value.

    A floating-point value that no codec takes is an error. Functions that are
    not used any more are erased.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numSpecialized", "num-specialized", "functions that were cloned">
  ];
}

def PackSavedPass : Pass<"remat-pack-saved", "::mlir::ModuleOp"> {
  let summary = "Keep values packed for the backward computation";
  let description = [{
    Where a value has a tag with a codec and backward operations read it, they
    read instead what the codec unpacks from what it packed: the packed form is
    a forward value that is saved, `unpack` is part of the backward computation.
    The bytes of both are planned like all others.

    * `bf16`: each element rounded to bf16 (relative error 2^-8).
    * `int8`: blocks of 64 consecutive elements, the last one padded with zeros,
      as a byte for each element and the block's largest magnitude over 127 (error at
      most 1/254 of the block's largest magnitude).
    * a pair of functions of exactly these types: calls of these. Others are
      made so by `remat-specialize-codecs`.
    * `#remat.callback`: a `remat.pack` and a `remat.unpack`, numbered in the
      order of the program.
  }];
  let statistics = [
    Statistic<"numPacked", "num-packed", "values that are packed">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def GeneralizeElementwisePass
    : Pass<"remat-generalize-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Turn arithmetic on tensors into linalg.generic";
  let description = [{
    The derivative of an operation that stays whole (`KernelOpInterface`) may be
    written as arithmetic on tensors. It becomes `linalg.generic`, which later
    passes fuse. Functions that have none are left alone.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def NarrowContractionOperandsPass : Pass<"remat-narrow-contraction-operands", "::mlir::func::FuncOp"> {
  let summary = "Give the factors of contractions one element type";
  let description = [{
    Libraries multiply factors of one element type. Differentiating a contraction
    of narrow factors that is added up in f32 leaves contractions of a narrow and a
    wide factor:

    * a factor whose elements are all widened from a narrow type, and the other
      has that type or is such a factor, too, is read before it is widened;
    * else the narrow factor is widened.

    Products of numbers do not change by either.

    Where the target's fact `epilogues` says that the library adds up products of
    narrow factors in f32, what a factor is multiplied with, divided by or
    replaced by zeros by is done to the product first, as far as it does not
    depend on the index that is added up: attention's queries and keys are narrow
    before they are scaled, and its exponentials are divided by their sum behind
    the product with the values. Results then differ by rounding errors.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"
  ];
}

def ScatterToOneHotPass
    : Pass<"remat-scatter-to-one-hot", "::mlir::func::FuncOp"> {
  let summary = "Write scatters of one element per row elementwise";
  let description = [{
    A `remat.scatter` into zeros whose points differ in all dimensions of the
    result but one, and have a computed index there, becomes a `linalg.generic`
    that compares that index with the element's: the gradient of a cross
    entropy, for instance. It can then be fused.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten", "Number of scatters rewritten">
  ];
}

def ScatterIntoSumsPass
    : Pass<"remat-scatter-into-sums", "::mlir::func::FuncOp"> {
  let summary = "Add what is scattered to the other terms of a sum";
  let description = [{
    A `remat.scatter` that only an elementwise sum reads, in f32, f64 or
    integers, starts from the other terms of the sum: no tensor of zeros is made
    and added. The gradient of an embedding whose table is a factor of the logits,
    too, is one buffer so. What a caller adds up in the buffer of an argument is
    left alone: that is rounded once.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten", "Number of sums that disappeared">
  ];
}

def SinkIntoGathersPass : Pass<"remat-sink-into-gathers", "::mlir::func::FuncOp"> {
  let summary = "Compute only the elements that are picked";
  let description = [{
    An elementwise `linalg.generic` that nothing but `tensor.extract` in bodies
    of others reads, at fewer points than it has, is computed there.

    Where others read it, too, it is computed once more there, if the points are
    few and their indices do not depend on it: the logarithm of a probability
    that a cross entropy picks, beside the gradient that reads all of them. So
    the others may be one kernel with it, and nothing of it is in memory. What
    it reads can be picked before that (`remat-pick-early`).
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of operations fused">
  ];
}

def RecomputeCheapPass
    : Pass<"remat-recompute-cheap", "::mlir::func::FuncOp"> {
  let summary = "Make elementwise values again instead of keeping them";
  let description = [{
    For a joint function, before fusion. A forward value that the backward
    computation reads, and that is elementwise in values which it has anyway, is
    cloned to where it is first needed there; the original then lives no longer
    than the forward computation needs it. That a normalized tensor or the
    result of an activation is not kept is thus settled before any budget binds.

    The same holds for slices and pads, for batches of short contractions that
    are larger than their factors, such as attention's scores, and for a first
    convolution: one of arguments, larger than them, with short sums. Where the
    target is "cuda", it is kept, since so few channels leave most of a tensor
    core idle. An operation of another dialect is made again if it says that it
    is `Cheap` (`RecomputableOpInterface`). What the backward computation would
    read without all this is counted in the function's attribute
    `remat.read_bytes`.

    Values with a tag or a policy are left to the planner. A chain of such
    values is cut after `max-depth` of them, casts not counted: making it anew
    all at once would take as much memory as keeping it. One that begins with a
    batch of contractions may be twice as long: one kernel makes all of it.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"maxDepth", "max-depth", "unsigned", /*default=*/"4",
           "Longest chain of values that are made from each other">
  ];
  let statistics = [
    Statistic<"numCloned", "num-cloned", "Number of operations cloned">
  ];
}

def ChooseLayoutsPass
    : Pass<"remat-choose-layouts", "::mlir::func::FuncOp"> {
  let summary = "Keep what convolutions read and write channels-last";
  let description = [{
    Libraries convolve tensors that are channels-last where they are; others are
    copied to another layout, each time, for each convolution. Values that
    convolutions read or write, and those that elementwise operations,
    reductions, pooling, pads, slices and reshapes relate to them dimension by
    dimension, form sets. A set becomes channels-last as a whole if less is
    copied then: of convolutions' inputs and outputs, what the library copies
    on its way; and, `weight` times, every value that comes from, or goes to, an
    argument, a result, or an operation that needs it as it is, so that it is
    transposed.

    A set stays where little would be gained: where the time of the copies that
    are saved, at the bandwidth of the target, is less than `min-gain` of the
    time of the set's convolutions at the target's peak. Estimates of this kind
    are not better than that.

    What a convolution reads of the function's arguments stays, and so do filters
    and their gradients.

    The target says what is copied, and what the two numbers are: 6 and 0.05 on
    a CPU, whose library is asked, 1 and 0 on CUDA devices. There, cuDNN
    multiplies f16, bf16 and, with `tf32`, f32 on tensor cores, which read
    tensors that are channels-last: others are copied. Where `convolutions` are
    generated code or there is no cuDNN, and for other types, nothing is copied
    in any layout, and all stays.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"];
  let options = [
    Option<"weight", "weight", "int64_t", /*default=*/"-1",
           "Bytes that the library copies in the time of one that is "
           "transposed; negative: as the target says">,
    Option<"minGain", "min-gain", "double", /*default=*/"-1",
           "Part of the convolutions' time that is saved, at least; negative: "
           "as the target says">,
    Option<"askLibrary", "ask-library", "bool", /*default=*/"true",
           "Ask the library what it copies; else, what is not channels-last">,
    Option<"convolutions", "convolutions", "::remat::ConvolutionChoice",
           "::remat::ConvolutionChoice::Generated",
           "Who carries out convolutions on CUDA devices", [{::llvm::cl::values(
             clEnumValN(::remat::ConvolutionChoice::Auto, "auto",
                        "what is estimated to be faster"),
             clEnumValN(::remat::ConvolutionChoice::Generated, "generated",
                        "generated code"),
             clEnumValN(::remat::ConvolutionChoice::Cudnn, "cudnn",
                        "cuDNN where it can"))}]>,
    Option<"tf32", "tf32", "bool", /*default=*/"false",
           "Whether products of f32 may be multiplied as TF32">,
    Option<"device", "device", "std::string", /*default=*/"",
           "What runs the code, as in `remat-choose-implementations`">
  ];
  let statistics = [
    Statistic<"numValues", "num-values", "Number of values permuted">
  ];
}

def FuseElementwisePass
    : Pass<"remat-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Fuse elementwise operations into their consumers";
  let description = [{
    A `linalg.generic` with only parallel loops is fused into the
    `linalg.generic` that consumes it, which may be a reduction, if

    * the consumer is its only user and does not evaluate it more than once for
      each of its points, or
    * it only moves data or casts it (then with any number of users), or
    * it is a few additions, products and comparisons, and its users together
      read no more when each computes it than they read and it writes now, or
    * its consumer does nothing but compare it, as the gradient of a ReLU does,
      and the same then holds for that consumer, or
    * by the speeds of the target, its users take much less time to compute it
      than to read it, and read it without more memory, or
    * it reads no tensor and is small, as a mask made from indices is.

    Reshapes between the two are moved out of the way. Contractions, convolutions,
    pooling, `remat.tag` and regions are barriers. What is fused into a
    `remat.backward` operation becomes part of it; a backward operation is not
    fused into a forward one. Constants and fills become scalars in bodies,
    equal operands are merged, and unused operands and results are dropped.

    A cast to fewer bytes of what nothing else reads stays by itself where
    several operations read it: it is then what is kept. With `keep-narrow`, it
    does wherever it is read, as differentiation may add readers. A cast to more
    bytes that several operations read is part of each of them, and not of what
    makes the narrow tensor.
  }];
  // The facts of a target that no attribute names.
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"keepNarrow", "keep-narrow", "bool", /*default=*/"false",
           "Leave casts to fewer bytes by themselves">
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of producers fused">];
}

def OfferAbsorptionPass : Pass<"remat-offer-absorption", "::mlir::ModuleOp"> {
  let summary = "Offer tasks to make what they read themselves";
  let description = [{
    Where the kernel of a task is one elementwise operation, and so is that of a
    task whose result it reads, both are fused to another kernel, by the rules
    of `remat-fuse-elementwise`. The reader has it in `remat.absorptions`, and
    the plan decides whether the task calls it: the value need not be there
    then, but what it is made of. A reader is offered all sets of up to three
    such values, of which some may be read by others of them.

    Left out are values that must be saved or offloaded, small ones, tasks that
    run once, and what reads an argument that a result is written over. Readers
    that add up are left out because the order of their sums belongs to their
    kernel: all others give the same bits. A value is rounded to its type in the
    fused body, too.
  }];
  let statistics = [
    Statistic<"numOffered", "num-offered", "Number of sets offered">];
}

def FuseSiblingReductionsPass : Pass<"remat-fuse-sibling-reductions", "::mlir::func::FuncOp"> {
  let summary = "Reduce the same tensors in one operation";
  let description = [{
    Reductions with equal loops that read a large tensor in the same way, and
    none of which needs another's result, become one `linalg.generic` with
    several results, where the first of them stands. Only small values are made
    earlier for it. Factors that all terms of a sum have are multiplied with the
    sum, so that it need not wait for them, and sums of equal terms are one.
    Reductions along rows stay as they are; task formation
    joins those with what is around them. Operations of the forward and of the
    backward computation are not merged.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect"
  ];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Number of reductions merged">];
}

def SliceRowsPass : Pass<"remat-slice-rows", "::mlir::ModuleOp"> {
  let summary = "Do wide contractions and what reads them a slice at a time";
  let description = [{
    For a joint function, before tasks are formed. A contraction of at least 4 MiB
    that is larger than its factors, and that nothing reads but row by row or to
    reduce it over all of its rows, is done in slices of 256 rows or somewhat
    more, with what reads it and what is made of it as long as that is as wide.
    Then none of it is ever in memory as a whole: a language model's logits, for
    instance, and their gradient. Reductions continue from slice to slice; what
    is left row by row, such as the gradient of the contraction's rows, is
    concatenated.

    If backward operations are among them, all of this becomes backward, with
    the forward operations that depend on it, such as the loss. Nothing is
    sliced if these are not small; if something wide is read in another way, has
    a tag or a policy, or is returned; or if more would be copied than is saved.
    Slices depend on shapes only. A sum over the rows that is only added to
    something begins with that.

    With `rows`, slices have about as many rows. Fewer rows take fewer bytes, and
    more time: each slice reads all of the other factor, and adds to all of a sum
    over the rows. What is wide enough is smaller by as much, and it need not be
    larger than its factors. With `alternatives`, copies of the function, of its
    alternatives and of the bodies of their loops that have smaller slices become
    alternatives, too (`remat.alternative`), if they have more slices.

    With `hidden`, so do copies in which hidden layers are sliced, too: wide
    contractions whose readers are forward and backward operations far apart.
    Forward readers are done for each slice where they stand, and backward
    readers where they stand, with what is wide and made there. Slices are the
    same in both, and each is a value of its own, so a plan keeps some and makes
    others again. More of them may be copied: half of all that is wide.

    With `apart`, the backward computation is a call of its own, which a loss
    cannot become a part of. Then hidden layers alone are sliced.
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"rows", "rows", "int64_t", /*default=*/"0",
           "Rows of a slice; 0 for those that the target asks for">,
    Option<"alternatives", "alternatives", "bool", /*default=*/"false",
           "Whether to make alternatives that have smaller slices">,
    Option<"hidden", "hidden", "bool", /*default=*/"false",
           "Whether to make alternatives in which hidden layers are sliced, too">,
    Option<"apart", "apart", "bool", /*default=*/"false",
           "Whether the backward computation is a call of its own">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numSliced", "num-sliced", "Number of contractions sliced">
  ];
}

def PickEarlyPass : Pass<"remat-pick-early", "::mlir::func::FuncOp"> {
  let summary = "Pick elements before what is made of the whole";
  let description = [{
    For a joint function, before tasks are formed. A `linalg.generic` that picks
    few elements of a large tensor by `tensor.extract`, and also reads what
    another operation makes of that tensor, keeps the tensor until both are
    done. So the elements are picked by an operation of their own, right behind
    the tensor and the indices. The other operation may then write over the
    tensor: the gradient of a cross entropy lies where the logits were.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numPicked", "num-picked", "Number of operations split">
  ];
}

#endif // REMAT_TRANSFORMS_PASSES
