//===- Passes.td - clean-up of what exporters produce ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_IMPORT_PASSES_TD
#define REMAT_CONVERSION_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportCallsPass : Pass<"remat-import-calls", "::mlir::ModuleOp"> {
  let summary = "Inline calls, if there are any";
  let description = [{
    Runs upstream's inliner on a module that has calls, or functions that may be
    unused, and leaves others alone.
  }];
}

def ImportCodecsPass : Pass<"remat-import-codecs", "::mlir::ModuleOp"> {
  let summary = "Put codecs of dynamic shape aside";
  let description = [{
    The functions that a `codec` names may be of dynamic shape. These are moved
    into a module of their own, `@remat_codecs`, where passes that need static
    shapes do not see them, until `remat-specialize-codecs` clones them for the
    types of values. Runs after inlining. A codec that names something other
    than functions with bodies of one block, the first of one argument, is an
    error.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ImportComplexPass : Pass<"remat-import-complex"> {
  let summary = "Keep folds away that change values of complex numbers";
  let description = [{
    Upstream folds the logarithm of an exponential to the exponent, so that the
    imaginary part does not wrap, and (a - b) + b to a, so that nothing is
    rounded. A `complex.log` becomes the logarithm of the magnitude and the
    angle. A `complex.sub` becomes a sum with the negative, which is rounded
    alike.
  }];
  let dependentDialects = ["::mlir::complex::ComplexDialect",
                           "::mlir::math::MathDialect"];
}

def ImportControlFlowPass : Pass<"remat-import-control-flow"> {
  let summary = "Replace scf.index_switch and scf.forall";
  let description = [{
    An `scf.index_switch` of at most 1000 cases becomes a chain of `scf.if`, and
    an `scf.forall` on tensors a nest of `scf.for`. Iterations of the latter read
    the shared tensors as they were before the loop, whatever earlier ones have
    inserted.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ImportForeignPass : Pass<"remat-import-foreign", "::mlir::ModuleOp"> {
  let summary = "Lower StableHLO, CHLO and tm_tensor to linalg and scf";
  let description = [{
    Reads operations of StableHLO and CHLO, as JAX writes them, and those of
    torch-mlir's tm_tensor, all in generic form: remat has no definition of these
    dialects and knows what their operations mean by name. A program may mix them
    with linalg and others. Integers that are unsigned become signless, tuples
    the values that they hold, and tokens nothing.

    A `while` whose condition compares a counter with a constant becomes an
    `scf.for`; one of unknown length is an error. `case` and `if` become `scf.if`.
    Arithmetic on integers is what XLA defines where LLVM defines nothing: x / 0,
    shifts by the width or more, numbers that an integer type does not hold.

    Sorting compares all pairs of elements in short runs, which it then merges. A
    scatter that adds becomes `remat.scatter`. In one that overwrites, the last of
    several updates of one element counts. A maximum, minimum or product of
    updates is computed for each element over all updates.

    A transform of Fourier is made of products with short matrices, which have
    derivatives. What JAX calls LAPACK for on the CPU is read by the routine's
    name: potrf, trsm, getrf, geqrf, orgqr, syevd and gesdd. They are loops over
    matrices of up to 512 rows and columns, with a `remat.custom_rule` for the
    derivative of all but geqrf and orgqr, whose loops are differentiated. A full
    basis of singular vectors has the derivative of its loop, too.

    Custom calls can say what StableHLO has no words for:

    | custom call | becomes |
    |---|---|
    | `remat.stop_gradient` | `remat.stop_gradient` of each operand |
    | `remat.row_order` | for pivots of LU factors, which count from 1, the row of the matrix that each row of their product is |
    | `remat.tag`, `remat.checkpoint_name` | `remat.tag` with the `name` and the `policy` that the dictionary `backend_config` has, or with its text as name |
    | `remat.checkpoint` | `remat.checkpoint` around a call of the function in `called_computations`; `policy`, `name`, `early_stop` and `preserve_rng_state` are entries of `backend_config` |
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportTosaPass : Pass<"remat-import-tosa", "::mlir::func::FuncOp"> {
  let summary = "Convert TOSA to linalg, arith and tensor";
  let description = [{
    Runs upstream's conversions on functions with operations of TOSA, and leaves
    others alone.
  }];
}

def ImportEntryPass : Pass<"remat-import-entry", "::mlir::ModuleOp"> {
  let summary = "Keep one function, with one block and static shapes";
  let description = [{
    Runs after inlining. Drops all functions but the entry, which is the one
    named `function`, and globals that nothing reads. Where `function` is
    `main`, a module's only function will do. Refuses what the
    compiler cannot take anywhere: calls that were not inlined, several blocks,
    dynamic shapes, memrefs and globals. What JAX says of donated arguments
    (`tf.aliasing_output`) becomes `remat.donated`. What it only offers
    (`jax.buffer_donor`) is taken by the first result of the argument's type that
    has no buffer yet; a remark names an offer that no result takes.
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "Name of the function to compile">];
}

def CarryRandomStatePass
    : Pass<"remat-carry-random-state", "::mlir::func::FuncOp"> {
  let summary = "Let loops carry the globals that they load and store";
  let description = [{
    An `scf.for` whose iterations load and store an `ml_program.global` of
    ranked tensor type, outside of other regions, carries its value: it is
    loaded in front of the loop and stored behind it. Such a loop has no effect,
    and `remat-keep-loops` can keep it.

    ```mlir
    scf.for %i = %a to %b step %c {
      %s = ml_program.global_load @seed : tensor<i64>
      %t = arith.addi %s, %one : tensor<i64>
      ml_program.global_store @seed = %t : tensor<i64>
    }
    // becomes
    %s0 = ml_program.global_load @seed : tensor<i64>
    %r = scf.for %i = %a to %b step %c iter_args(%s = %s0) -> (tensor<i64>) {
      %t = arith.addi %s, %one : tensor<i64>
      scf.yield %t : tensor<i64>
    }
    ml_program.global_store @seed = %r : tensor<i64>
    ```
  }];
  let statistics = [
    Statistic<"numCarried", "num-carried", "Number of globals that loops carry">
  ];
  let dependentDialects = ["::mlir::ml_program::MLProgramDialect",
                           "::mlir::scf::SCFDialect"];
}

def ImportRandomStatePass
    : Pass<"remat-import-random-state", "::mlir::ModuleOp"> {
  let summary = "Turn random state in mutable globals into arguments and results";
  let description = [{
    A mutable `ml_program.global` that a function reads becomes one more argument
    of the function, the state before the step, and, if the function writes it,
    one more result, the state after. Both have the global's name (`remat.name`);
    `remat.initial_value` on the argument is what the global began with. Globals
    that are not mutable become constants.

    Where a body makes floating-point numbers of integers that depend on nothing
    but such a state and the element's indices, as the generators of exporters
    do, the numbers come from `remat.random`, with the integer that the program
    made of its state as the key. The stream is that of `remat.random`, not the
    exporter's. The bodies of `remat.loop` are looked into, too.

    ```mlir
    ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32>
    // becomes
    func.func @main(%x: tensor<4xf32>,
                    %seed: tensor<i64> {remat.initial_value = dense<0> : tensor<i64>,
                                        remat.name = "seed"})
        -> (tensor<4xf32>, tensor<i64> {remat.name = "seed"})
    ```

    Refuses state that is used in a region, or by a function that others name.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportBuffersPass : Pass<"remat-import-buffers", "::mlir::func::FuncOp"> {
  let summary = "Turn programs on memrefs into ones on tensors";
  let description = [{
    Every write to a memref makes a new tensor value; what is read is the latest.
    Understood are allocations, `memref.load`, `store`, `copy`, `subview` at
    constant places, `expand_shape` and `collapse_shape`, linalg operations, and
    bufferization's `to_tensor`, `to_buffer` and `materialize_in_destination`. A
    memref argument becomes a tensor argument and, if it is written, its contents
    at the end are one more result. Arguments must not overlap. What an `scf.for`
    writes, it carries; what an `scf.if`, `remat.checkpoint` or `remat.scope`
    writes, it yields. Memrefs that loops carry or regions yield are refused.

    A value that is overwritten, but by an operation for what it alone reads of
    it, is marked by a `remat.tag` with the writer's
    location. If the backward computation turns out to need it,
    `remat-check-mutation` reports an error, unless the function has one of two
    attributes, or the pass the option. With `remat.allow_cache_entry_mutation`
    the backward computation reads what the memref contains at the end
    (`remat.overwritten` tells it). With
    `remat.allow_mutation_on_saved_tensors` nothing is marked: the value from
    before the write is kept.

    ```mlir
    linalg.exp ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
    // becomes
    %1 = linalg.exp ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
    ```
  }];
  let options = [
    Option<"allowMutation", "allow-cache-entry-mutation", "bool", "false",
           "Let the backward computation read what was written">,
    Option<"keepOverwritten", "allow-mutation-on-saved-tensors", "bool",
           "false", "Let it read what was there before the write">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportPadsPass : Pass<"remat-import-pads", "::mlir::func::FuncOp"> {
  let summary = "Cut off what is padded by a negative amount";
  let description = [{
    A `tensor.pad` with static, negative amounts becomes a
    `tensor.extract_slice` and a pad with the positive ones. Cutting off more
    than there is is an error.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ImportExtremaPass : Pass<"remat-import-extrema", "::mlir::func::FuncOp"> {
  let summary = "Mark maxima and minima whose place is asked for";
  let description = [{
    A reduction with two results, the maximum or minimum and the index where it
    is first found, gets the unit attribute `remat.first_extremum` if the index
    is used: the derivative belongs to that element. Exporters write the index
    of any maximum, also of one whose derivative is shared by equal elements.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ImportScattersPass : Pass<"remat-import-scatters", "::mlir::func::FuncOp"> {
  let summary = "Recognise loops that write updates at computed places";
  let description = [{
    A loop whose iterations each add a slice of an update to the slice of the
    carried tensor at a computed, checked place becomes a `remat.scatter`. Of
    one whose iterations overwrite that slice, every element of the result is
    that of the last update that goes there, or the one the loop starts from.
    Bounds and step are constants, and updates that the loop passes over are cut
    off. Other loops are left to `remat-import-loops`.
  }];
  let statistics = [
    Statistic<"numRewritten", "loops-rewritten", "Loops that were scatters">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportOrdersPass : Pass<"remat-import-orders", "::mlir::func::FuncOp"> {
  let summary = "Make structured operations of orders";
  let description = [{
    A `remat.order` becomes structured operations. An integer of 64 bits holds
    32 bits of a key and the number of its element, so that no two are equal.
    Keys of more bits, and several keys, take a pass for each 32 bits, from the
    least significant ones on. Runs of at most 256 of these integers are sorted
    by counting for each one how many of its run are less. Pairs of sorted runs
    are then merged: a binary search says for each place of the result how many
    of the elements before it are of the first run (merge path: O. Green,
    R. McColl, D. Bader, GPU Merge Path, ICS 2012). Where only the first
    elements are asked for, runs get no longer than that.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def KeepLoopsPass : Pass<"remat-keep-loops", "::mlir::ModuleOp"> {
  let summary = "Keep long loops as loops";
  let description = [{
    An `scf.for` that would unroll to more operations than `limit` becomes a
    `remat.loop`, and its body a private function; so does one with more than
    its own `remat.unroll_limit`. Other loops are left to
    `remat-import-loops`, and so are those that cannot be kept: that run once,
    that have effects or values of dynamic shape, with a codec, a region that
    runs again as a whole or draws other numbers then, or with policies where a
    region is around the loop. With `policies`, which are about regions where
    there are any, no loop of a module with regions stays.

    Loops whose bounds are known at run time only stay loops, however short they
    are, and so does an `scf.while`; one that counts becomes an `scf.for` first.
    The most iterations that one may run are what the program shows, such as a
    minimum with a constant, and what `remat.max_trip_count` on the loop says,
    or else `max-trip-count`. Where none is known, nothing is sliced or stacked,
    and there is no derivative in reverse.

    Of tensors from outside the body gets

    * one element, if all that it reads of a tensor with an element for each
      iteration is the element of the iteration's number,
    * else all.

    What the body makes is carried to the next iteration, unless each iteration
    does no more with a result than to overwrite the element of its number: then
    it is a stack. Where the first iteration is about the last element, the loop
    is `reverse`. Which element an iteration selects is found out by computing
    the index of each, for loops of up to a million iterations. What
    does not change is not carried, and what no result needs is dropped. A
    counter that is still needed is carried as `tensor<i64>`, other numbers as
    tensors of one element.

    ```mlir
    %r:2 = scf.for %i = %c0 to %c20 step %c1
        iter_args(%h = %h0, %all = %empty) -> (tensor<8xf32>, tensor<20x8xf32>) {
      %x = tensor.extract_slice %xs[%i, 0] [1, 8] [1, 1]
          : tensor<20x8xf32> to tensor<8xf32>
      %n = arith.addf %h, %x : tensor<8xf32>
      %next = tensor.insert_slice %n into %all[%i, 0] [1, 8] [1, 1]
          : tensor<8xf32> into tensor<20x8xf32>
      scf.yield %n, %next : tensor<8xf32>, tensor<20x8xf32>
    }
    // becomes
    %r:2 = remat.loop @main_loop count 20 carried(%h0) invariant() sliced(%xs)
        : (tensor<8xf32>, tensor<20x8xf32>) -> (tensor<8xf32>, tensor<20x8xf32>)

    func.func private @main_loop(%h: tensor<8xf32>, %x: tensor<8xf32>)
        -> (tensor<8xf32>, tensor<8xf32>) {
      %n = arith.addf %h, %x : tensor<8xf32>
      return %n, %n : tensor<8xf32>, tensor<8xf32>
    }
    ```
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "4096",
           "Operations that one loop may unroll to">,
    Option<"maxTripCount", "max-trip-count", "int64_t", "0",
           "The most iterations of a loop whose number of iterations is known "
           "at run time only; 0 for any number">,
    Option<"policies", "policies", "bool", /*default=*/"false",
           "Policies follow: no loop of a module with regions stays">
  ];
  let statistics = [
    Statistic<"numKept", "loops-kept", "Loops that stay loops">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::func::FuncDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportLoopsPass : Pass<"remat-import-loops", "::mlir::func::FuncOp"> {
  let summary = "Unroll loops and compute both branches of choices";
  let description = [{
    An `scf.for` between operations on tensors is unrolled; its bounds must be
    constants, or become constants when loops around it are unrolled. What it
    carries are then values like any other: the planner decides which of them
    the backward computation keeps. Of an `scf.if` both branches are computed,
    and each result is chosen by `arith.select`, unless the condition is known.
    A `remat.custom_rule` around what a branch uses from outside makes the
    derivative 0 where the branch is not taken: its own may be infinite there.
    Shapes that are computed from constants become static; others are errors.
  }];
  let options = [
    Option<"limit", "limit", "int64_t", "4096",
           "Operations that one loop may unroll to">];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::complex::ComplexDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
}

def ImportSlicesPass : Pass<"remat-import-slices", "::mlir::func::FuncOp"> {
  let summary = "Turn slices at computed places into structured operations";
  let description = [{
    A `tensor.extract_slice` whose offsets are not constants becomes a
    `linalg.generic` that reads by `tensor.extract`; a `tensor.insert_slice`
    one that chooses between the two tensors. Offsets are checked by
    `remat.check_index`.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::remat::RematDialect"];
}

def ImportPartSumsPass : Pass<"remat-import-part-sums", "::mlir::func::FuncOp"> {
  let summary = "Put parts that do not overlap side by side";
  let description = [{
    Frameworks differentiate slices one by one: the gradient of each is a tensor
    that is zero elsewhere, and that of the sliced tensor is their sum. In a
    backward computation, a sum of tensors that are zero but for slices which do
    not overlap becomes a `tensor.concat`, if the slices are all of it, one
    behind the other in a dimension, and else one tensor of zeros into which all
    slices are inserted. Slices may have strides. A part that is -0 stays -0,
    where a sum with zero would be 0.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect",
                           "::remat::RematDialect"];
  let statistics = [
    Statistic<"numSums", "num-sums", "Number of sums that are none any more">];
}

def ImportConstantsPass
    : Pass<"remat-import-constants", "::mlir::func::FuncOp"> {
  let summary = "Turn constants in resources into dense constants";
  let description = [{
    Refuses resources without data, or whose size is not that of the type.
  }];
}

def ImportTagsPass : Pass<"remat-import-tags", "::mlir::func::FuncOp"> {
  let summary = "Turn names and policies into remat.tag operations";
  let description = [{
    Two carriers of names and policies are understood:

    * the discardable attributes `remat.name` and `remat.policy`. Every result
      of the operation is tagged, and the attributes are dropped.
    * locations `loc("remat:policy=MUST_SAVE,name=x,phase=backward"(...))`, as
      a PyTorch exporter can attach them. Keys other than `policy`, `name` and
      `phase` are ignored; case does not matter. All operations that one node
      of the exporter was lowered to share a location, so a value is tagged
      where an operation of another location uses it. Layout operations (views,
      transposes, broadcasts), fills and constants are not tagged, and neither
      are values of the backward phase.

    ```mlir
    %0 = linalg.generic ... attrs = {remat.name = "mlp_act"}
    // becomes
    %0 = linalg.generic ...
    %1 = remat.tag %0 {name = "mlp_act"} : tensor<4x8xf32>
    ```

    Two tags that demand different policies of one value, or of views of it, are
    an error.

    Patterns rebuild operations and drop attributes that they do not know, but
    they leave an operation that they do not know alone. Hence tags are
    operations while passes run. Operations of the backward phase get the
    attribute `remat.backward`; the passes that follow give it to what they make
    of such operations.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ImportCleanUpPass : Pass<"remat-import-clean-up", "::mlir::func::FuncOp"> {
  let summary = "Canonicalize and merge equal operations of both phases";
  let description = [{
    What `canonicalize` and `cse` do, for a function of one block. What is made
    of operations with `remat.backward` has it, too. An operation and an equal
    one of the other phase, as exporters transpose a weight for both, become one
    of the phase of the first.
  }];
}

def ImportScalarsPass : Pass<"remat-import-scalars", "::mlir::func::FuncOp"> {
  let summary = "Leave only constants as scalars between operations";
  let description = [{
    Bodies of structured operations may capture scalar constants. All else that
    they need of scalars becomes an operand: a scalar that is computed at
    function level becomes a `linalg.generic` on 0-d tensors, and a body that
    captured it gets an operand with the indexing map `(...) -> ()`. A scalar
    that a region gives, of a checkpoint or a scope, becomes a 0-d tensor. Constant
    tensors with equal elements and fills by a constant, in turn, are read as
    constants inside bodies. Operations of `arith` and `math` on tensors become
    `linalg.generic`.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ImportGathersPass : Pass<"remat-import-gathers", "::mlir::func::FuncOp"> {
  let summary = "Check indices by remat.check_index";
  let description = [{
    Every index of a `tensor.extract` in a body that is not provably in bounds
    is wrapped in `remat.check_index`; a `cf.assert` that states no more than
    these bounds is erased, others are kept. The places that a
    `remat.scatter` adds to are checked likewise. Bounds are proved by interval arithmetic over
    constants, `linalg.index`, clamps and integer operations.

    An indexing map that selects an element outside of its tensor is an error.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ImportConcatsPass : Pass<"remat-import-concats", "::mlir::func::FuncOp"> {
  let summary = "Replace scf.if in bodies";
  let description = [{
    A body that chooses by nested `scf.if` between tensors along one dimension
    is a `tensor.concat`. Any other pure `scf.if` in a body becomes
    `arith.select`; an extract in a branch then reads element 0 in place of an
    index that is out of bounds, because both branches are evaluated. So that a
    derivative which is infinite there does not get out, a branch that is not
    taken computes with zeros.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ImportContractionsPass : Pass<"remat-import-contractions", "::mlir::func::FuncOp"> {
  let summary = "Bring all contractions of tensors to linalg.contract";
  let description = [{
    Named contractions (`linalg.matmul`, `linalg.batch_matmul`, ...) and
    `linalg.generic` with a multiply-add body become `linalg.contract` on a zero
    init; another init is added by an operation of its own. A transpose of an
    operand moves into the operand's indexing map.

    A contraction that `linalg.contract` cannot express stays as it is: one with an
    index map that is not a projected permutation, or a dimension that occurs
    in only one map.
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect"];
}

def ImportConvolutionsPass
    : Pass<"remat-import-convolutions", "::mlir::func::FuncOp"> {
  let summary = "Bring all convolutions to remat.conv";
  let description = [{
    Named convolutions and `linalg.generic` that infers as one become
    `remat.conv forward`. Group and channel multiplier dimensions are merged
    into the feature dimensions by reshapes (and transposes where they are not
    adjacent). Zero padding of the input moves into `padding`; an init that is
    not zero is added by an operation of its own.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def ImportGeneralizePass
    : Pass<"remat-import-generalize", "::mlir::func::FuncOp"> {
  let summary = "Turn named operations into linalg.generic";
  let description = [{
    All named operations of linalg but contractions, fills and pooling become
    `linalg.generic`. `linalg.softmax`, and what else implements upstream's
    `linalg::AggregatedOpInterface`, is decomposed, unless it stays whole by
    `KernelOpInterface`. Inits that an elementwise body reads become inputs.
    Where a map selects a slice or a diagonal of a result, it is computed as a
    tensor of its own and put into the init.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def ImportSizesPass : Pass<"remat-import-sizes"> {
  let summary = "Refuse tensors that are too large";
  let description = [{
    A buffer has at most 2^48 bytes. The first value whose static extents
    multiply to more is an error, also if nothing would store it: what other
    passes compute of extents does not overflow then.
  }];
}

def ImportUnitDimsPass
    : Pass<"remat-import-unit-dims", "::mlir::func::FuncOp"> {
  let summary = "Drop dimensions of size one from structured operations";
  let description = [{
    Removes loops of one iteration and operand dimensions of size one from
    `linalg.generic`, by reshapes around it. Broadcasts from a dimension of
    size one, `(d0, d1) -> (d0, 0)`, become projected permutations.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def ImportVerifyPass : Pass<"remat-import-verify", "::mlir::func::FuncOp"> {
  let summary = "Refuse operations that the compiler does not know";
  let description = [{
    After it, a function consists of `linalg.generic`, `linalg.contract`,
    `linalg.fill` and pooling, of `remat` and `tensor` operations, and of
    constants. Bodies hold scalar operations of `arith`, `math` and `complex`,
    `linalg.index`, `tensor.extract`, `remat.check_index` and `cf.assert`.
    Operations of other dialects may stand in a function if they implement
    `KernelOpInterface`. No value is too large for a buffer.
  }];
}

#endif // REMAT_CONVERSION_IMPORT_PASSES_TD
