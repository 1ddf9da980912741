//===- Passes.td - passes that differentiate ---------------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_PASSES_TD
#define REMAT_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def RematDifferentiatePass
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

    The function must be one block of operations on tensors of static shapes.
    An operation between the chosen arguments and the result that has no
    derivative rule is an error.
  }];
  let options = [
    Option<"function", "function", "std::string", [{"main"}],
           "name of the function to differentiate">,
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
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::remat::RematDialect",
  ];
}

def RematWidenFloatsPass
    : Pass<"remat-widen-floats", "::mlir::func::FuncOp"> {
  let summary = "compute in double precision";
  let description = [{
    Replaces floating-point types narrower than f64 by f64: arguments, results,
    constants and all between. Conversions between floating-point types vanish.
    A derivative can then be compared with finite differences. A bit cast and
    a complex constant are errors.
  }];
}

#endif // REMAT_AUTODIFF_PASSES_TD
