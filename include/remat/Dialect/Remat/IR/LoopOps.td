//===- LoopOps.td - loops that stay loops ------------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_LOOPOPS_TD
#define REMAT_DIALECT_REMAT_IR_LOOPOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematAttrs.td"

def Remat_LoopOp : Remat_Op<"loop", [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<ConditionallySpeculatable>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "run a function a number of times, one after the other";
  let description = [{
    Runs `body` in `count` iterations, which is `lax.scan` of JAX. The body is a
    function, and from where tasks are formed a `remat.graph`, of

    * what is carried from one iteration to the next: `inits` at first, then the
      body's leading results;
    * `invariants`, the same in all iterations;
    * an element of each of `slices`, tensors with one more dimension in front,
      of `count` elements: iteration i gets element i.

    The results of the operation are what is carried at the end, and then, for
    each further result of the body, those of all iterations, that of iteration
    i as element i. With `reverse`, the last iteration runs first.

    Arguments of the body with `remat.donated` give their buffers to results:
    what is carried is updated in place, and an element of a slice becomes one
    of a stack where it lies.

    How many iterations run may be known at run time only:

    * With `trips`, as many as that says, or none if it says less than 1. `count`
      is the most; more are an error when the loop runs. With `reverse`, the
      first to run is iteration `trips` - 1.
    * With `while`, the loop ends when the body says so. It carries `go on` and
      `number` in front of all else: whether there is another iteration, and how
      many have run, from 0 on. `count` is the most that may run.

    Elements of stacked results whose iterations did not run are zeros. Without
    `count` there is no limit; such a loop has neither slices nor stacked
    results, and no derivative in reverse.

    With `again`, a reverse loop makes for itself what another loop carried at
    the start of each iteration, its states, instead of getting them as slices:
    the function `advance` makes the states of the next iteration from those of
    one, and `slots` checkpoints of all states are kept at a time, by binomial
    checkpointing [Griewank, Walther: Algorithm 799: revolve, ACM TOMS 2000].
    The operands behind `again` are those of a loop of `advance` that stacks
    nothing. The body gets the states between its invariants and the elements of
    its slices. Made by `remat-plan`.

    With `host`, checkpoints are kept in host memory, too, by two levels of
    binomial checkpointing: the iterations are segments of `period`, and the
    states before one of them are what `host_slots` checkpoints in host memory
    hold, at a time and beside those of the first segment. Within a segment, the
    `slots` hold states as above. Which period is best depends on the link and on
    the time of an iteration [Aupy, Herrmann: Periodicity in optimal hierarchical
    checkpointing schemes for adjoint computations, OMS 2017].

    `asserts` says that the body asserts something, which the loop is needed for
    though nobody reads its results.

    `inner_policy` is what a region around the loop asks of what its iterations
    make: how the derivative of the loop gets it. `remat-lower-checkpoints` sets
    it.

    ```mlir
    // A recurrent network: h is carried, the weights are invariant, x is sliced,
    // and the sums of all iterations are stacked.
    %h, %sums = remat.loop @cell count 20 carried(%h0) invariant(%w) sliced(%x)
        : (tensor<8xf32>, tensor<8x8xf32>, tensor<20x8xf32>)
        -> (tensor<8xf32>, tensor<20xf32>)
    // Its derivative with 5 checkpoints of h.
    %dh0, %dw, %dx = remat.loop @cell_reverse count 20 reverse
        carried(%dh, %zero) invariant(%w) sliced(%x, %dsums)
        again @cell_next slots 5 carried(%h0) invariant(%w) sliced(%x) : ...
    // The same with 2 more of them on the host, one in 8 iterations.
    %dh0, %dw, %dx = remat.loop @cell_reverse count 20 reverse
        carried(%dh, %zero) invariant(%w) sliced(%x, %dsums)
        again @cell_next slots 5 carried(%h0) invariant(%w) sliced(%x)
        host 2 period 8 : ...
    // A recurrent network over a prefix of up to 20 elements.
    %h, %sums = remat.loop @cell count 20 trips(%n) carried(%h0) ... :
        (..., tensor<i64>) -> ...
    // Newton's method, until the step is small.
    %go, %n, %x = remat.loop @newton while carried(%first, %zero, %x0) ... :
        (tensor<i1>, tensor<i64>, tensor<8xf32>) -> ...
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$body,
                       DefaultValuedAttr<
                           ConfinedAttr<I64Attr, [IntNonNegative]>, "0">:$count,
                       UnitAttr:$conditional,
                       UnitAttr:$reverse,
                       Variadic<AnyRankedTensor>:$inits,
                       Variadic<AnyRankedTensor>:$invariants,
                       Variadic<AnyRankedTensor>:$slices,
                       OptionalAttr<FlatSymbolRefAttr>:$advance,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$slots,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$host_slots,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntPositive]>>
                           :$period,
                       Variadic<AnyRankedTensor>:$stateInits,
                       Variadic<AnyRankedTensor>:$stateInvariants,
                       Variadic<AnyRankedTensor>:$stateSlices,
                       Optional<AnyRankedTensor>:$trips,
                       UnitAttr:$asserts,
                       OptionalAttr<Remat_PolicyAttr>:$inner_policy);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $body (`count` $count^)? (`trips` `(` $trips^ `)`)?
    (`while` $conditional^)? (`reverse` $reverse^)? `carried` `(` $inits `)`
    `invariant` `(` $invariants `)` `sliced` `(` $slices `)`
    (`again` $advance^ `slots` $slots `carried` `(` $stateInits `)`
     `invariant` `(` $stateInvariants `)` `sliced` `(` $stateSlices `)`)?
    (`host` $host_slots^ `period` $period)?
    attr-dict `:`
    functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let builders = [OpBuilder<(ins "::mlir::TypeRange":$results,
                                 "::llvm::StringRef":$body, "int64_t":$count,
                                 "bool":$reverse, "::mlir::ValueRange":$inits,
                                 "::mlir::ValueRange":$invariants,
                                 "::mlir::ValueRange":$slices,
                                 CArg<"::mlir::Value", "{}">:$trips,
                                 CArg<"bool", "false">:$conditional)>];
  let extraClassDeclaration = [{
    /// What is carried, at the end.
    ::mlir::ResultRange getFinals() {
      return getResults().take_front(getInits().size());
    }
    /// Whether a body of these operations asserts something.
    static bool isAsserting(::mlir::Block &body);
    /// What iterations make beside that, of all of them.
    ::mlir::ResultRange getStacks() {
      return getResults().drop_front(getInits().size());
    }
    /// What `body` gets something of: all operands but `trips`, if there is no
    /// `advance`.
    ::mlir::OperandRange getBodyOperands() {
      return getOperands().take_front(getInits().size() +
                                      getInvariants().size() +
                                      getSlices().size());
    }
    /// Whether how many iterations run is known at run time only.
    bool isCountedAtRunTime() { return getTrips() || getConditional(); }
    /// How many have run: behind `while` what it counts, else `trips`. Null if
    /// it is always `count`.
    ::mlir::Value getExecuted() {
      return getConditional() ? ::mlir::Value(getResult(1)) : getTrips();
    }
  }];
}

def Remat_StackOp : Remat_Op<"stack", [
    Pure,
    RangedTypesMatchWith<"elements are those of the result", "stack",
                         "elements", "getStackElementTypes($_self)">]> {
  let summary = "values of one type as the elements of one more dimension";
  let description = [{
    Element i of the result is operand i. As a slice of a `remat.loop` it costs
    nothing: iteration i reads operand i where that lies, as each layer of a
    model that is a loop reads its own weights. All others read a copy
    (`remat-lower-stacks`).

    ```mlir
    %weights = remat.stack %w0, %w1, %w2 : tensor<3x8x8xf32>
    %h = remat.loop @layer count 3 carried(%x) invariant() sliced(%weights) : ...
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$elements);
  let results = (outs AnyRankedTensor:$stack);
  let assemblyFormat =
      "$elements attr-dict `:` custom<Stack>(type($elements), type($stack))";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Remat_UnstackOp : Remat_Op<"unstack", [
    Pure,
    RangedTypesMatchWith<"elements are those of the operand", "stack",
                         "elements", "getStackElementTypes($_self)">]> {
  let summary = "the elements of the first dimension as values of their own";
  let description = [{
    The reverse of `remat.stack`: result i is element i of the operand. If that
    is a stacked result of a `remat.loop` that nobody else reads, iteration i
    writes result i where that is to lie, as the gradient of its own weights.

    ```mlir
    %dx, %stack = remat.loop @layer_reverse count 3 reverse ... : ...
    %dw:3 = remat.unstack %stack : tensor<3x8x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$stack);
  let results = (outs Variadic<AnyRankedTensor>:$elements);
  let assemblyFormat =
      "$stack attr-dict `:` custom<Stack>(type($elements), type($stack))";
  let hasFolder = 1;
  let hasVerifier = 1;
}

#endif // REMAT_DIALECT_REMAT_IR_LOOPOPS_TD
