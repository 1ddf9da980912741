//===- StepPasses.td - what makes a step -------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a training step has besides derivatives: random numbers, element types,
// optimizers, buffers that are written, and the forms of saved values.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_STEPPASSES_TD
#define REMAT_TRANSFORMS_STEPPASSES_TD

include "mlir/Pass/PassBase.td"

def MarkKeysPass : Pass<"remat-mark-keys", "::mlir::ModuleOp"> {
  let summary = "Mark the arguments that are keys of random numbers";
  let description = [{
    An argument that a `remat.random` has as its key, in the body of a loop,
    too, gets the attribute `remat.key`. `remat-microbatches` and
    `remat-layer-microbatches` give each part of a batch a key of its own, so
    that no two parts draw the same numbers. What is computed from an argument
    is not marked.
  }];
}

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

#endif // REMAT_TRANSFORMS_STEPPASSES_TD
