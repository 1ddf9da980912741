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
  let summary = "append the backward computation to a function";
  let description = [{
    Makes a function return, after its own results, the gradient of one of
    them with respect to each of the chosen arguments. The forward operations
    are left as they are; the backward operations follow in the same block and
    carry `remat.backward`.

    The function must be one block of operations on tensors of static shapes.
    An operation between the chosen arguments and the result that has no
    derivative rule is an error.
  }];
  let options = [
    Option<"function", "function", "std::string", [{"main"}],
           "name of the function to differentiate">,
    ListOption<"wrt", "wrt", "int64_t",
               "arguments to differentiate with respect to (default: all "
               "floating-point arguments)">,
    Option<"result", "result", "int64_t", "-1",
           "result to differentiate, counted from the end if negative">,
    Option<"cotangents", "cotangents", "bool", "false",
           "differentiate all floating-point results and take the cotangent "
           "of each as an additional argument">,
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::complex::ComplexDialect",
    "::mlir::linalg::LinalgDialect",
    "::mlir::math::MathDialect", "::mlir::tensor::TensorDialect",
    "::remat::RematDialect",
  ];
}

#endif // REMAT_AUTODIFF_PASSES_TD
