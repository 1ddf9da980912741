//===- ComputeOps.td - computations upstream has no op for -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_COMPUTEOPS_TD
#define REMAT_DIALECT_REMAT_IR_COMPUTEOPS_TD

include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematAttrs.td"
include "remat/Interfaces/KernelOpInterface.td"
include "remat/Interfaces/RecomputableOpInterface.td"

def Remat_CheckIndexOp : Remat_Op<"check_index", [Pure, TypesMatchWith<
    "the result is an index", "index", "result", "$_self">]> {
  let summary = "an index that is known to be in bounds";
  let description = [{
    The result is `index` if `0 <= index < bound`. Otherwise the step ends with
    an error that names the operation and both numbers, and the result is 0,
    so that nothing is read or written out of bounds. The operation counts as
    pure: an index that is never used need not be checked.

    ```mlir
    %j = remat.check_index %i, %c256 : index
    ```
  }];
  let arguments = (ins Index:$index, Index:$bound);
  let results = (outs Index:$result);
  let assemblyFormat = "$index `,` $bound attr-dict `:` type($index)";
  let hasFolder = 1;
}

def Remat_TensorOrMemRef
    : AnyTypeOf<[AnyRankedTensor, AnyMemRef], "a ranked tensor or memref",
                "::mlir::ShapedType">;

def Remat_ScatterOp : Remat_Op<"scatter", [
    DestinationStyleOpInterface,
    RecursiveMemoryEffects, SingleBlock]> {
  let summary = "add updates to the elements that computed indices select, or "
                "keep the greatest of them";
  let description = [{
    Visits the points of an iteration space of `sizes`. At each, the body
    receives the element of every input that its indexing map selects, and
    yields one index for every dimension of `init` and the value to add to the
    element there:

        result = init;  result[i(p)] += v(p)  for all points p

    As for structured operations of linalg, a dimension of an input that a map
    selects by one loop has the size of that loop, and no point selects an
    element outside of an input. The indices that the body yields may be any:
    import wraps those that are not provably in bounds in `remat.check_index`.
    An update of floats may be wider than the elements of `init`. Then `init` is
    widened, and the sums are rounded once in the end.

    This is the adjoint of a structured operation that reads through
    `tensor.extract`, or through an indexing map that is not a projected
    permutation. `linalg.index` is not available in the body; its leading
    arguments are the coordinates of the point. Points that select the same
    element are added in the lexicographic order of the iteration space. As
    linalg operations do, it takes tensors, or memrefs once bufferized.

    With `maximum`, an element becomes the greatest of itself and its updates
    as signed integers, which it has to be of, instead of their sum. It has no
    derivative, as integers have none. The last of several updates of one place
    is the one with the greatest number.

    ```mlir
    %t = remat.scatter {indexing_maps = [affine_map<(d0, d1) -> (d0)>,
                                         affine_map<(d0, d1) -> (d0, d1)>],
                        sizes = array<i64: 32, 64>}
        ins(%ids, %g : tensor<32xi64>, tensor<32x64xf32>)
        outs(%zero : tensor<256x64xf32>) {
    ^bb0(%p0: index, %p1: index, %id: i64, %v: f32):
      %row = arith.index_cast %id : i64 to index
      remat.yield %row, %p1, %v : index, index, f32
    } -> tensor<256x64xf32>
    ```
  }];
  let arguments = (ins Variadic<Remat_TensorOrMemRef>:$inputs,
                       Remat_TensorOrMemRef:$init,
                       AffineMapArrayAttr:$indexing_maps,
                       DenseI64ArrayAttr:$sizes,
                       UnitAttr:$maximum);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $init `:` type($init) `)` $body (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return getInitMutable();
    }
    unsigned getNumLoops() { return getSizes().size(); }
    ::llvm::SmallVector<::mlir::AffineMap> getIndexingMapsArray();
    /// What an element becomes by an update, both of the update's type.
    ::mlir::Value combine(::mlir::OpBuilder &builder, ::mlir::Value element,
                          ::mlir::Value update);
    /// The body's arguments for the coordinates of the point.
    ::mlir::Block::BlockArgListType getPointArguments() {
      return getBody().front().getArguments().take_front(getNumLoops());
    }
    /// The body's arguments for the elements of the inputs.
    ::mlir::Block::BlockArgListType getElementArguments() {
      return getBody().front().getArguments().drop_front(getNumLoops());
    }
  }];
}

def Remat_OrderOp : Remat_Op<"order", [Pure]> {
  let summary = "the order of elements by integer keys";
  let description = [{
    The numbers, from 0 on, that the elements along `dimension` have, in
    ascending order of their keys. Keys are compared as signed integers, later
    ones where all earlier ones are equal; elements of equal keys keep the order
    that they have. All keys have one shape. The result has it, too, or fewer
    elements along the dimension, which are the first ones of the order.

    What is to be sorted is then read in this order, from where its derivatives
    come. Numbers of floating point have keys: their bits, of which all but the
    sign are inverted if it is set.

    `remat-import-orders` makes structured operations of it.

    ```mlir
    // The two least of each row.
    %order = remat.order %keys along 1 : tensor<8x100xi32> -> tensor<8x2xi64>
    ```
  }];
  let arguments = (ins Variadic<RankedTensorOf<[AnySignlessInteger]>>:$keys,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$dimension);
  let results = (outs RankedTensorOf<[I64]>:$order);
  let assemblyFormat = [{
    $keys `along` $dimension attr-dict `:` type($keys) `->` type($order)
  }];
  let hasVerifier = 1;
}

def Remat_RandomOp : Remat_Op<"random", [Pure]> {
  let summary = "random numbers, a function of key and offset";
  let description = [{
    Numbers of the counter-based generator Philox4x32-10 (Salmon et al. 2011).
    Element `i` of the result, in row-major order, is word `i mod 4` of the
    block whose counter is `offset + i div 4` (128 bits, the offset in the low
    64) under the 64-bit `key`. So the numbers depend on nothing else: a
    recomputed operation, and one on another device, draws the same bits, and
    the state of a generator is a pair of numbers that a program passes on.

    Elements of type i32 are the words. Floating-point elements are uniform in
    [0, 1): the leading bits of the word, as many as the type has digits, as a
    fraction.

    ```mlir
    %u = remat.random %key, %offset : (tensor<i64>, tensor<i64>)
        -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$key, 0DTensorOf<[I64]>:$offset,
                       UnitAttr:$fresh);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $key `,` $offset attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Remat_CopyNumberOp : Remat_Op<"copy_number", [Pure]> {
  let summary = "which run of a recomputed task this is";
  let description = [{
    In the body of a kernel: 0 where a task runs for the first time, and the
    number of the clone where it runs again. This is how random numbers differ
    in a region with `preserve_rng_state = false`.

    ```mlir
    %n = remat.copy_number : i32
    ```
  }];
  let arguments = (ins);
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Remat_ConvOp : Remat_Op<"conv", [Pure]> {
  let summary = "a convolution or one of its two gradients";
  let description = [{
    A convolution is one trilinear form in an input x, a filter w and an
    output y,

        F(x, w, y) = sum x[n, g*I + i, o*stride + k*dilation - pad_lo]
                         * w[g*O + f, i, k] * y[n, g*O + f, o]

    (`I` input and `O` output features of each of `groups` groups, `o` and `k`
    spatial positions), and each kind is the derivative of F by the factor that
    is missing from its operands:

    * `forward`: operands x and w, result y,
    * `input_grad`: operands y and w, result x,
    * `filter_grad`: operands x and y, result w.

    So the derivative of each kind is again of these kinds. The layouts give,
    for the logical dimensions (batch, feature, spatial...) of input and
    output and (output feature, input feature of the group, spatial...) of the
    filter, the dimension of the tensor.

    ```mlir
    // NCHW, stride 2, 3 x 3 filter, padding 1.
    %y = remat.conv forward(%x, %w) {strides = array<i64: 2, 2>,
        dilations = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>,
        groups = 1 : i64, input_layout = array<i64: 0, 1, 2, 3>,
        filter_layout = array<i64: 0, 1, 2, 3>,
        output_layout = array<i64: 0, 1, 2, 3>}
        : (tensor<8x3x16x16xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32>
    ```

    `padding` holds a low and a high amount for every spatial dimension.
  }];
  let arguments = (ins Remat_ConvKindAttr:$kind, AnyRankedTensor:$lhs,
                       AnyRankedTensor:$rhs, DenseI64ArrayAttr:$strides,
                       DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$padding,
                       I64Attr:$groups, DenseI64ArrayAttr:$input_layout,
                       DenseI64ArrayAttr:$filter_layout,
                       DenseI64ArrayAttr:$output_layout);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $kind `(` $lhs `,` $rhs `)` attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getSpatialRank() { return getStrides().size(); }
    /// The types of the three factors, whichever of them is the result.
    ::mlir::RankedTensorType getInputType();
    ::mlir::RankedTensorType getFilterType();
    ::mlir::RankedTensorType getOutputType();
  }];
}

def Remat_DemandOp : Remat_Op<"demand", [
    MemoryEffects<[MemWrite]>,
    DeclareOpInterfaceMethods<KernelOpInterface, ["decomposeInKernel"]>,
    DeclareOpInterfaceMethods<RecomputableOpInterface>]> {
  let summary = "ask for a value that nothing else may need";
  let description = [{
    Does nothing with `value`, but is an operation that reads it. In the
    backward computation it so makes the planner recompute what a region with
    `early_stop = false` hides. It stands behind the operations that make
    `after`. The result has no elements. Made by `remat-demand-regions`.

    ```mlir
    %0 = remat.demand %y after %g {remat.backward}
        : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<0xi8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value,
                       Variadic<AnyRankedTensor>:$after);
  let results = (outs 1DTensorOf<[I8]>:$done);
  let assemblyFormat = [{
    $value (`after` $after^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

class Remat_CallbackOp<string mnemonic>
    : Remat_Op<mnemonic, [
          Pure, DeclareOpInterfaceMethods<RecomputableOpInterface>]> {
  let hasVerifier = 1;
}

def Remat_PackOp : Remat_CallbackOp<"pack"> {
  let summary = "pack a value by a callback";
  let description = [{
    What the function `pack` of the codec called `codec` makes of `value`, which
    the program that runs the step gives to the runtime (`remat_codec` in
    `remat/Runtime/Runtime.h`). The bytes of the result are what the step keeps;
    there may be none, if the callback keeps the value itself. `id` is the
    number of the saved value in the step. It runs once. Made by
    `remat-pack-saved` of `#remat.callback`.

    ```mlir
    %p = remat.pack %x by "file" id 3 : tensor<4x8xf32> -> tensor<8xi8>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$value, StrAttr:$codec,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$id);
  let results = (outs 1DTensorOf<[I8]>:$packed);
  let assemblyFormat = [{
    $value `by` $codec `id` $id attr-dict `:` type($value) `->` type($packed)
  }];
}

def Remat_UnpackOp : Remat_CallbackOp<"unpack"> {
  let summary = "bring a value back that a callback has packed";
  let description = [{
    What `remat.pack` with the same `codec` and `id` was given, by the function
    `unpack` of the codec. It may run several times.

    ```mlir
    %x = remat.unpack %p by "file" id 3 : tensor<8xi8> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins 1DTensorOf<[I8]>:$packed, StrAttr:$codec,
                       ConfinedAttr<I64Attr, [IntNonNegative]>:$id);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = [{
    $packed `by` $codec `id` $id attr-dict `:` type($packed) `->` type($value)
  }];
}

#endif // REMAT_DIALECT_REMAT_IR_COMPUTEOPS_TD
