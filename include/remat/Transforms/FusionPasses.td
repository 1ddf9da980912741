//===- FusionPasses.td - fusion and layouts ----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed together, in which layout, and how much of it at a time.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_FUSIONPASSES_TD
#define REMAT_TRANSFORMS_FUSIONPASSES_TD

include "mlir/Pass/PassBase.td"

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
    time of the set's convolutions at the target's peak and of the copies of
    their filters, which libraries make in either case. Estimates of this kind
    are not better than that. On a CPU, elements of f16 and bf16 count as four
    bytes in all of this, as libraries copy them one by one.

    What a convolution reads of the function's arguments stays, and so do filters
    and their gradients. So does what a contraction reads, but for dot products,
    as in the gradient of a group norm.

    The target says what is copied, and what the two numbers are: 6 and 0.04 on
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

def WidenChannelsPass
    : Pass<"remat-widen-channels", "::mlir::func::FuncOp"> {
  let summary = "Give convolutions of few channels those of tensor cores";
  let description = [{
    Tensor cores multiply some channels at a time, 8 on CUDA devices, and are
    idle for most of the time where an image has 3. Where the target's library
    carries a convolution out on them, its input gets as many channels as a
    multiple of that has, by zeros. It is rearranged once for the convolution and
    the gradient of its filter.

    A filter whose extent in a dimension is a multiple of the step is made of
    blocks of as many positions as the step has, if `max-channels` are not
    exceeded. Each position of a block is a channel then, and the step is 1. No
    zeros are multiplied but with zeros, so infinities and NaN stay where they
    are. With `spreads-nan`, other filters have blocks as well: their last
    block is filled up with zeros, and an infinity or NaN in the image makes a
    NaN of results whose windows end as many positions before it as the filter
    was filled up by.

    Sums have the same terms, in another order. Convolutions with groups or
    dilations stay as they are.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"];
  let options = [
    Option<"maxChannels", "max-channels", "int64_t", /*default=*/"32",
           "The most channels that blocks may have">,
    Option<"spreadsNaN", "spreads-nan", "bool", /*default=*/"false",
           "Whether zeros may be multiplied with elements beside a window">,
    Option<"multiple", "multiple", "int64_t", /*default=*/"0",
           "The channels that are multiplied at a time; 0: ask the target">,
    Option<"convolutions", "convolutions", "::remat::ConvolutionChoice",
           "::remat::ConvolutionChoice::Generated",
           "As in `remat-choose-layouts`", [{::llvm::cl::values(
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
    Statistic<"numWidened", "num-widened", "Number of convolutions rewritten">
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

def FuseReadersPass : Pass<"remat-fuse-readers", "::mlir::ModuleOp"> {
  let summary = "Make what elementwise operations share in one of them all";
  let description = [{
    What is left between elementwise operations after `remat-fuse-elementwise` is
    used more than once and takes time to make: the error function of a GELU, of
    which the backward computation makes the activation, for the gradient of a
    weight, and the gradient of its input. If nothing reads such a value but
    elementwise operations, in the same loops and in the same phase, they become
    one `linalg.generic` with several results that makes it once, and it is
    nowhere in memory.

    That stands where the first of them did, if the operands of all are there
    and the results that are made earlier have no more bytes than the value and
    what nothing else uses from then on. Else it stands where the last of them
    did, if nothing needs the other results before and their operands are kept
    until then anyway. Values with a tag or a policy stay, and so does all where
    the target's library makes epilogues of contractions: a reader may be one.

    Under a small budget, one result after the other may take less memory. With
    `alternative`, the function stays as it is but for results that are at most
    1/256 of its largest tensor, and an alternative to it has all others fused.
  }];
  let dependentDialects = [
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::remat::RematDialect"
  ];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function; with 'main', a module's only function will do">,
    Option<"alternative", "alternative", "bool", /*default=*/"false",
           "Whether large results are fused in an alternative alone">
  ];
  let statistics = [
    Statistic<"numFused", "num-fused", "Number of values that are shared">];
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

#endif // REMAT_TRANSFORMS_FUSIONPASSES_TD
