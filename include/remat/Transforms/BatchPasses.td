//===- BatchPasses.td - layers and batches -----------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Layers and batches: passes that change how often a function's computation is
// written, and for how much of a batch at a time.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_BATCHPASSES_TD
#define REMAT_TRANSFORMS_BATCHPASSES_TD

include "mlir/Pass/PassBase.td"

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

    The batch is in `arguments`, or by default in all arguments that the function
    is not differentiated with respect to, that give their buffer to no result,
    and that have the same first dimension as the first of them.

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
    first dimension as the first of them: arguments without gradients
    that give their buffer to no result, and that are no vectors of floating
    point, as statistics are. Other data have it where they meet
    what has it. The arguments of `wrt` have gradients, or if there are none, all
    of floating point.

    An operation in which the batch cannot be followed, and an argument that
    has a gradient and would change with the batch, are errors.
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
               "Numbers of the arguments that have gradients">
  ];
}

#endif // REMAT_TRANSFORMS_BATCHPASSES_TD
