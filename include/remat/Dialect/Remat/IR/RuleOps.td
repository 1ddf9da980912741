//===- RuleOps.td - derivatives in the program (L0) --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_RULEOPS_TD
#define REMAT_DIALECT_REMAT_IR_RULEOPS_TD

include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/Dialect/Remat/IR/RematDialect.td"

class Remat_DerivativeOp<string mnemonic, string seeds>
    : Remat_Op<mnemonic, [Pure, AttrSizedOperandSegments,
                          DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let arguments = (ins FlatSymbolRefAttr:$callee,
                       Variadic<AnyType>:$inputs, Variadic<AnyType>:$seeds,
                       OptionalAttr<DenseI64ArrayAttr>:$wrt,
                       OptionalAttr<DenseI64ArrayAttr>:$of,
                       OptionalAttr<ConfinedAttr<I64Attr, [IntNonNegative]>>:$batch);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $inputs `)` `}] # seeds # [{` `(` $seeds `)` attr-dict `:`
    functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    /// The numbers of the callee's arguments to differentiate with respect to,
    /// and of its results to differentiate: those given, or all
    /// floating-point ones.
    ::llvm::SmallVector<int64_t> getWrtNumbers(::mlir::FunctionOpInterface);
    ::llvm::SmallVector<int64_t> getOfNumbers(::mlir::FunctionOpInterface);
  }];
}

def Remat_VJPOp : Remat_DerivativeOp<"vjp", "cotangents"> {
  let summary = "a function and its vector-Jacobian product";
  let description = [{
    Calls a function and differentiates it in reverse: the results are those of
    the function and then, for each of the arguments `wrt`, the sum over the
    results `of` of cotangent times Jacobian. Without `wrt` or `of`, all
    floating-point arguments or results are meant. The function may contain
    such operations itself: derivatives of any order are written by
    composition. `remat-expand-derivatives` replaces the operation by what it
    stands for.

    With `batch`, all cotangents have a leading dimension of that size more, and
    so have the products: as many products are computed together. The function
    is computed once.

    ```mlir
    // The function and its gradient with respect to its first argument.
    %y, %dx = remat.vjp @f(%x, %w) cotangents(%u) {wrt = array<i64: 0>}
        : (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
        -> (tensor<f32>, tensor<4xf32>)
    ```
  }];
}

def Remat_JVPOp : Remat_DerivativeOp<"jvp", "tangents"> {
  let summary = "a function and its Jacobian-vector product";
  let description = [{
    Calls a function and differentiates it forwards: the results are those of
    the function and then, for each of the results `of`, the sum over the
    arguments `wrt` of Jacobian times tangent. `batch` is
    a leading dimension of the tangents. See `remat.vjp`.

    ```mlir
    %y, %dy = remat.jvp @f(%x) tangents(%t)
        : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<f32>)
    ```
  }];
}

def Remat_CustomRuleOp : Remat_Op<"custom_rule", [
    RecursiveMemoryEffects, AttrSizedOperandSegments,
    InferTypeOpAdaptor]> {
  let summary = "a derivative given by the program";
  let description = [{
    The results are `values`. For differentiation they are a function of
    `inputs` whose derivative the regions compute, however the values came
    about: no derivative goes through what computes them. This is
    `autograd.Function` of PyTorch and `custom_vjp` and `custom_jvp` of JAX.

    The region `vjp` has one argument for each differentiable value, its
    cotangent, and yields one cotangent for each differentiable input. The
    region `jvp` has one argument for each differentiable input, its tangent,
    and yields a tangent for each differentiable value. Either may be missing:
    without `jvp`, forward mode transposes `vjp`; without `vjp`, reverse mode is
    an error. The regions may use what the forward computation made, and are
    themselves differentiated in derivatives of higher order.

    ```mlir
    %y = remat.custom_rule inputs(%x : tensor<4xf32>) values(%v : tensor<4xf32>)
    vjp {
    ^bb0(%g: tensor<4xf32>):
      %d = arith.mulf %g, %saved : tensor<4xf32>
      remat.yield %d : tensor<4xf32>
    }
    ```

    A function with the attribute `remat.vjp` (or `remat.jvp`), the symbol of
    its rule, gets such an operation in its body, see `remat-attach-rules`.
  }];
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyType>:$values);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region AnyRegion:$vjp, AnyRegion:$jvp);
  let assemblyFormat = [{
    `inputs` `(` ($inputs^ `:` type($inputs))? `)`
    `values` `(` ($values^ `:` type($values))? `)` attr-dict
    (`vjp` $vjp^)? (`jvp` $jvp^)?
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Remat_GradientHookOp : Remat_Op<"gradient_hook", [
    RecursiveMemoryEffects, InferTypeOpAdaptor]> {
  let summary = "a function of gradients, on their way back";
  let description = [{
    The results are the operands. In reverse mode the gradients of all results,
    once they are complete, go through the region, which yields what goes on to
    the operands. With one operand this is `register_hook` of PyTorch, with
    several `register_multi_grad_hook`; on an argument that is used through the
    result only, it sees the whole gradient of this step. Tangents pass
    unchanged.

    With `accumulated` the hook sees the gradient of its one operand, an
    argument or a tagged value that is differentiated with respect to, when all
    has been added to it: every use in this step and, where gradients are
    accumulated, what earlier steps left
    (`register_post_accumulate_grad_hook`). What it yields is what the step
    returns. Of several hooks on one argument the last runs first.

    ```mlir
    %w1 = remat.gradient_hook(%w : tensor<4xf32>) {
    ^bb0(%g: tensor<4xf32>):
      %clipped = math.clampf %g to [%low, %high] : tensor<4xf32>
      remat.yield %clipped : tensor<4xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values,
                   UnitAttr:$accumulated);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $values `:` type($values) `)` (`accumulated` $accumulated^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

#endif // REMAT_DIALECT_REMAT_IR_RULEOPS_TD
