//===- KernelOpInterface.td - operations that stay whole ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which an operation of another dialect becomes one task with
// a kernel of its own. External models may implement it for operations that
// cannot be changed.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_INTERFACES_KERNELOPINTERFACE_TD
#define REMAT_INTERFACES_KERNELOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    An operation on tensors of static shape that stays whole from the captured
    program to machine code. It is one task: its results are kept, recomputed
    or offloaded together, fusion leaves it alone, and its kernel does what the
    operation decomposes into.

    An operation that need not stay whole implements upstream's
    `linalg::AggregatedOpInterface` alone. The import pipeline then replaces it
    by its parts, and remat differentiates, fuses and plans the parts.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits, at the insertion point of the builder, what the operation consists
      of, and returns a value for each result. This runs when the kernel of the
      operation is analyzed and again when it is compiled. The parts are
      operations of linalg, tensor and arith on tensors, or operations that
      decompose further. By default they are what
      `linalg::AggregatedOpInterface` gives. A failure need not be reported.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>",
        "decomposeInKernel", (ins "::mlir::OpBuilder &":$builder), "", [{
      return ::remat::decomposeAggregate($_op.getOperation(), builder);
    }]>,
    InterfaceMethod<[{
      What the operation costs, from which its time is estimated. By default
      the arithmetic and the memory traffic of its parts are counted. A measured
      cost of the kernel (`remat-run --profile-costs`) overrides both.
    }], "::std::optional<::remat::OpCost>", "getKernelCost", (ins), "",
        "return ::std::nullopt;">,
    InterfaceMethod<[{
      Scratch bytes to plan for while the operation runs. Where its parts need
      more, because they hand tensors to each other, their need counts.
    }], "int64_t", "getWorkspaceBytes", (ins), "", "return 0;">,
  ];
}

#endif // REMAT_INTERFACES_KERNELOPINTERFACE_TD
