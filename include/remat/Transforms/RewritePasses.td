//===- RewritePasses.td - single operations ----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that become cheaper ones with the same results.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_REWRITEPASSES_TD
#define REMAT_TRANSFORMS_REWRITEPASSES_TD

include "mlir/Pass/PassBase.td"

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

    Where a factor has 16 bits or is made of such, or where the target's fact
    `epilogues` is set, what a factor is multiplied with, divided by or replaced
    by zeros by is done to the product first, as far as it does not depend on the
    index that is added up: attention's queries and keys are narrow before they
    are scaled, and its exponentials are divided by their sum behind the product
    with the values. Results then differ by rounding errors.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"
  ];
}

def TransposeFactorsPass : Pass<"remat-transpose-factors", "::mlir::func::FuncOp"> {
  let summary = "Put dimensions that a contraction sums over next to each other";
  let description = [{
    A library multiplies matrices: what a contraction sums over has to be one
    dimension, or several that follow each other in memory, in both factors in
    the same order. In gradients of weights it often is not, where the forward
    pass reads a transposed tensor in place, as the output of attention's heads
    is. The loops that would be generated for it take many times as long as the
    library.

    Here a contraction that sums over several dimensions reads a transposed copy
    of a factor where that makes one dimension of them; of two factors with
    different orders, the smaller one is copied. Batches of contractions, which
    kernels that work row by row have, and small contractions stay as they are.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numTransposed", "num-transposed", "Number of factors transposed">
  ];
}

def MergeContractionsPass : Pass<"remat-merge-contractions", "::mlir::func::FuncOp"> {
  let summary = "Sum contractions up in one of them";
  let description = [{
    For a joint function, before fusion. Contractions of one form that are added
    up, at least four, become one contraction of their concatenated factors, if
    these are small beside the result: the gradient of weights that each step of
    an unrolled recurrent network reads.

    The concatenated factors, and the values that they are made of where nothing
    else keeps those, may have as many bytes as two results: additions are fused,
    so that several results are there at a time. Parts of a batch
    (`remat-split-batch`, `remat-microbatches`) stay as they are.

    The sum has the same terms in another order, and of narrow types is rounded
    once.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::remat::RematDialect"];
  let statistics = [
    Statistic<"numMerged", "num-merged", "Number of sums rewritten">
  ];
}

def SplitElementwisePass : Pass<"remat-split-elementwise", "::mlir::func::FuncOp"> {
  let summary = "Make the parts of elementwise values apart";
  let description = [{
    For a joint function, before fusion, where slices are read where they lie and
    parts of concatenations are made there (`strides` of the target).

    Where all that reads an elementwise `linalg.generic` are slices without
    common elements, each becomes an operation of its own, which reads slices of
    what the whole was made of: the bias and the transpose of a projection, of
    which queries, keys and values are parts. A sum or an activation that the
    target's library may do with its product (`epilogues`, `biases`) stays whole,
    and so does what reads several tensors of its size: each part would have a
    slice of each.

    Where a `linalg.generic` transposes a concatenation that nothing else reads,
    each part is transposed, and the results are concatenated: the gradient of
    such a projection.

    ```mlir
    // Parts of a transposed tensor are transposed parts.
    %t = linalg.generic ... ins(%p : tensor<4x197x3x64xf32>) outs(%e : tensor<3x4x197x64xf32>)
    %q = tensor.extract_slice %t[0, 0, 0, 0] [1, 4, 197, 64] [1, 1, 1, 1] ...
    ```

    Parts of less than 16 KiB, and more than 16 of them, stay as they are, as do
    values with a tag or a policy.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::remat::RematDialect"];
  let statistics = [
    Statistic<"numSplit", "num-split", "Number of operations that were split">
  ];
}

def CompareRowMaximaPass : Pass<"remat-compare-row-maxima", "::mlir::func::FuncOp"> {
  let summary = "Ask maxima whether all of a row is minus infinity";
  let description = [{
    A conjunction over comparisons of all elements of a row with minus infinity,
    as PyTorch's attention has it for rows in which everything is masked, becomes
    a comparison of the row's maximum (`arith.maximumf`), where that is there: of
    the same tensor over the same dimensions, starting from minus infinity. Both
    are false if an element is NaN.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten", "Number of conjunctions rewritten">
  ];
}

def ReassociateRowSumsPass : Pass<"remat-reassociate-row-sums", "::mlir::func::FuncOp"> {
  let summary = "Add up products of matrices in the shorter order";
  let description = [{
    The gradient of a softmax needs the sums of the rows of `P * dP`. In
    attention, `dP` is the product of `dO` and the transposed `V`, and the forward
    computation has `O`, the product of `P` and `V`. Then the sums are those of
    the rows of `dO * O`, which are as long as a head is wide and not as a sequence
    is long. They read nothing of `P` and `dP`, so that attention that is done in
    tiles need not make these twice.

    `P` may be any product of tensors, divided, negated, or replaced by zeros where
    a condition says so, and the terms of the sum may have more such factors if
    these are the same for all of its terms: the softmax may be differentiated in
    any way, and there may be a dropout. Between all of them may be views,
    transpositions, broadcasts and conversions to wider types. The results of both
    products and the sum have the same type, and the product with `V` comes before
    the sum. Only the order differs in which terms are added up.

    This is done for targets that have the fact `epilogues`. On others, a row of
    scores and its gradient are in a cache when they are made, and their sum costs
    next to nothing. The pipelines have this pass with
    `--attention-rounding=factors`.

    Where all that reads `O` rounds it to 16 bits, nothing is done, as `O` would
    have to be kept in twice as many bytes. With `uses-rounded-results`, the
    rounded `O` is read, and other roundings on the way are left out of account,
    such as that of `P` before it is multiplied.
  }];
  let options = [
    Option<"usesRoundedResults", "uses-rounded-results", "bool", /*default=*/"false",
           "Read results that are rounded for all other readers, too">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
    "::mlir::tensor::TensorDialect", "::remat::RematDialect"
  ];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten", "Number of sums rewritten">
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

    The sum of a row that is zero but for one element, or of its product with a
    number, as that gradient has behind a softmax, becomes that element or
    product, plus zero times the number, which may be infinite or NaN: the row
    is not read for it. No bit changes.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::linalg::LinalgDialect"];
  let statistics = [
    Statistic<"numRewritten", "num-rewritten", "Number of scatters rewritten">,
    Statistic<"numSums", "num-sums", "Number of sums of such rows">
  ];
}

def ScatterIntoSumsPass
    : Pass<"remat-scatter-into-sums", "::mlir::func::FuncOp"> {
  let summary = "Add what is scattered to the other terms of a sum";
  let description = [{
    A `remat.scatter` that only an elementwise sum reads, in f32, f64 or
    integers, starts from the other terms of the sum, however many these are: no
    tensor of zeros is made and added. The gradient of an embedding that is looked
    up several times, and whose table is a factor of the logits, too, is one
    buffer so. What a caller adds up in the buffer of an argument is left alone:
    that is rounded once.
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

#endif // REMAT_TRANSFORMS_REWRITEPASSES_TD
