//===- Passes.td - passes that differentiate ---------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_PASSES_TD
#define REMAT_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def DifferentiatePass
    : Pass<"remat-differentiate", "::mlir::ModuleOp"> {
  let summary = "append a derivative to a function";
  let description = [{
    Makes a function return, after its own results, one of

    * `gradient`: the gradient of one result, which has one element, with
      respect to each of the chosen arguments,
    * `reverse`: the vector-Jacobian product with respect to each of the chosen
      arguments, given a cotangent, as an additional argument, for each of the
      chosen results,
    * `forward`: the Jacobian-vector product of each of the chosen results,
      given a tangent, as an additional argument, for each of the chosen
      arguments.

    The operations of the function are left as they are. Those of a reverse
    derivative follow in the same block and carry `remat.backward`; tangents
    follow the operation that they belong to. The pass can be applied again to
    what it made. So `reverse` and then `forward` with respect to the same
    arguments gives, as tangents of the gradients, Hessian-vector products:

    ```
    remat-opt --remat-differentiate='mode=reverse wrt=0' \
              --remat-differentiate='mode=forward wrt=0 results=1'
    ```

    A result that is a derivative which does not exist, as nothing leads from
    the argument to the result, is zeros and carries `remat.absent`. With
    `accumulate`, the arguments behind the cotangents hold what gradients are
    added to; each gives its buffer to the sum (`remat.donated`).

    The function must be one block of operations on tensors of static shapes.
    An operation between the chosen arguments and the result that has no
    derivative rule is an error. `remat-opt --remat-list-rules` prints the
    operations that have one.

    Functions that exporters write out and frameworks differentiate as a whole,
    such as a sigmoid, are recognised (`remat-opt --remat-list-idioms` prints
    them). The option `idioms=false` differentiates their parts instead, which
    gives other values at singular points only. With
    `--remarks-filter=idiom --remark-format=emitRemark` a remark at each
    operation says what it was taken for.
  }];
  let options = [
    Option<"function", "function", "std::string", [{"main"}],
           "name of the function to differentiate; with 'main', a module's "
           "only function will do">,
    Option<"mode", "mode", "::remat::DifferentiateOptions::Mode",
           "::remat::DifferentiateOptions::Gradient",
           "what to append", [{::llvm::cl::values(
             clEnumValN(::remat::DifferentiateOptions::Gradient, "gradient",
                        "the gradient of one result"),
             clEnumValN(::remat::DifferentiateOptions::Reverse, "reverse",
                        "the vector-Jacobian product"),
             clEnumValN(::remat::DifferentiateOptions::Forward, "forward",
                        "the Jacobian-vector product"))}]>,
    ListOption<"wrt", "wrt", "int64_t",
               "arguments to differentiate with respect to (default: all "
               "floating-point arguments)">,
    Option<"result", "result", "int64_t", "-1",
           "result to differentiate (gradient), counted from the end if "
           "negative">,
    ListOption<"results", "results", "int64_t",
               "results to differentiate (reverse, forward; default: all "
               "floating-point results)">,
    ListOption<"tags", "tags", "std::string",
               "names of values (remat.tag) whose gradients follow those of "
               "the arguments (gradient, reverse)">,
    Option<"accumulate", "accumulate", "bool", "false",
           "add each gradient to what is in one more argument, whose buffer "
           "the result has (gradient, reverse)">,
    Option<"markGradients", "mark-gradients", "bool", "false",
           "say of each result that is a gradient which argument it is of, by "
           "'remat.gradient' (gradient, reverse)">,
    Option<"idioms", "idioms", "bool", "true",
           "differentiate functions that exporters write out as a whole">,
  ];
  let statistics = [
    Statistic<"numIdioms", "num-idioms",
              "Number of operations differentiated as the end of an idiom">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::remat::RematDialect",
  ];
}

def AttachRulesPass
    : Pass<"remat-attach-rules", "::mlir::ModuleOp"> {
  let summary = "put derivative rules of functions into their bodies";
  let description = [{
    A function with the attribute `remat.vjp` or `remat.jvp`, the symbol of its
    rule, gets a `remat.custom_rule` in front of its return that calls the rule,
    and loses the attributes. So the rule holds wherever the function is
    differentiated: where it is called, in `remat.vjp` and `remat.jvp` of it,
    and where it is the function that is compiled. With `remat.fwd`, the body
    becomes a call of the other forward function.

    The rules of `@f`, with inputs x and results y:

    ```
    remat.vjp = @b                  @b(x, y, cotangents of y) -> cotangents of x
    remat.vjp = @b, remat.fwd = @a  @a(x) -> (y, saved)
                                    @b(saved, cotangents of y) -> cotangents of x
    remat.jvp = @j                  @j(x, tangents of x) -> tangents of y
    ```

    where only floating-point and complex values have cotangents and tangents.
    `@a` is free to save what it likes. A rule of another type is an error. Where
    rules call `@f` itself, they call its body.

    `remat-expand-derivatives` and `remat-differentiate` do this for the
    functions that they differentiate.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect", "::remat::RematDialect"];
}

def ExpandDerivativesPass
    : Pass<"remat-expand-derivatives", "::mlir::ModuleOp"> {
  let summary = "replace derivatives that are written in the program";
  let description = [{
    `remat.vjp` and `remat.jvp` are replaced by the function that they name and
    its derivative, from the inside out. The functions must be straight-line
    code once their calls are inlined. Rules of functions are attached first
    (`remat-attach-rules`).

    The pipelines run this on what import made of the functions, with their
    regions lowered: a derivative is the same whether the program is written
    with it or the tools append it.

    The products of a `batch` are computed together: what depends on their
    cotangents or tangents gets a loop and a dimension more. Where an operation
    has no such form (one on scalars, or with regions of tensors), or without
    the option, they are computed one by one.
  }];
  let options = [
    Option<"batch", "batch", "bool", "true",
           "compute the products of a batch together where possible">,
    Option<"innermost", "innermost", "bool", "false",
           "only derivatives of functions that hold none themselves, nor call "
           "functions that do">];
  let dependentDialects = ["::mlir::func::FuncDialect", "::remat::RematDialect",
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect"];
}

def DerivativeFunctionPass
    : Pass<"remat-derivative-function", "::mlir::ModuleOp"> {
  let summary = "make a function that computes a derivative of another";
  let description = [{
    Adds to the module a function that computes, of `function` with respect to
    the arguments `wrt`,

    * `gradient`: the gradient of the result, which has one element,
    * `jacobian`: for each argument, the Jacobian of the result: its shape is
      that of the result followed by that of the argument,
    * `hessian`: for each pair of arguments, the Jacobian of the gradient,
    * `hvp`, `vhp`: the product of the Hessian with a vector (one more argument
      for each of `wrt`), as the tangent of the gradient and as the gradient of
      its product with the vector.

    The new function is named after the old one and the kind, `f.gradient`. Its
    body is made of `remat.vjp` and `remat.jvp`; `remat-expand-derivatives`
    expands them. The rows of a Jacobian share the forward computation.
  }];
  let options = [
    Option<"function", "function", "std::string", [{"main"}],
           "name of the function to differentiate">,
    Option<"kind", "kind", "std::string", [{"gradient"}],
           "gradient, jacobian, hessian, hvp or vhp">,
    ListOption<"wrt", "wrt", "int64_t",
               "arguments to differentiate with respect to (default: all "
               "floating-point arguments)">,
  ];
  let dependentDialects = ["::mlir::func::FuncDialect", "::remat::RematDialect",
    "::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def LowerRulesPass
    : Pass<"remat-lower-rules", "::mlir::func::FuncOp"> {
  let summary = "drop rules and hooks when all derivatives have been taken";
  let description = [{
    Replaces the results of `remat.custom_rule` and `remat.gradient_hook` by the
    operands that they stand for.
  }];
}

def WidenFloatsPass
    : Pass<"remat-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "compute in double precision";
  let description = [{
    Replaces floating-point types narrower than f64 by f64: arguments, results,
    constants and all between. Conversions between floating-point types vanish.
    A derivative can then be compared with finite differences. A bit cast of a
    narrower number is an error.
  }];
}

#endif // REMAT_AUTODIFF_PASSES_TD
