//===- RecomputableOpInterface.td - may it run again? ------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which an operation says whether a plan may run it again.
// External models may implement it for operations that cannot be changed.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_TD
#define REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def RecomputableOpInterface : OpInterface<"RecomputableOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    Whether an operation may run again in place of keeping its results. One
    without this interface is `Repeatable` if it has no memory effects, and
    cannot be a task if it has.
  }];
  let methods = [
    InterfaceMethod<[{
      * `Cheap`: it may run again, in about the time of reading its operands. If
        the backward computation has the operands anyway, the operation is made
        again there under every budget, and its result is not kept.
      * `Repeatable`: it may run again, and gives the same bits then. The plan
        decides.
      * `Saved`: its results are kept for the backward computation
        (`MUST_SAVE`), unless the program gives them a policy.
      * `Random`: it draws random numbers that another run would not repeat.
      * `Effects`: it has effects that a step must have once.

      An operation that is `Random` or `Effects` runs once, whatever a policy or
      a budget asks, and may have memory effects. A policy that asks for
      recomputation is dropped with a warning.
    }], "::remat::Recomputability", "getRecomputability">,
  ];
}

#endif // REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_TD
