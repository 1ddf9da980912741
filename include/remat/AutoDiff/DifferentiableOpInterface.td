//===- DifferentiableOpInterface.td - derivative rules -----*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The interface by which an operation says what its derivative is. Operations
// of other dialects get it as external models (registerAutoDiffModels).
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD
#define REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::remat";
  let description = [{
    A derivative rule in two parts, as in Enzyme: which forward values the
    derivative needs, and how to emit the derivative given them. A rule gets
    forward values from `DerivativeContext::primal` and from nowhere else, so
    how a value gets to the backward computation is not its concern. The
    reverse rule is enough: a forward rule follows from it.
  }];
  let methods = [
    InterfaceMethod<[{
      Whether the derivative of every result is zero although operands and
      results are floating-point (rounding, a stopped gradient).
    }], "bool", "blocksDerivative", (ins), "", "return false;">,
    InterfaceMethod<[{
      Whether `result` depends, differentiably, on an active value. Asked only
      if the operation has an active dependency and `blocksDerivative` does not
      hold.
    }], "bool", "resultVaries",
        (ins "::mlir::OpResult":$result,
             "const ::remat::Activity &":$activity), "", "return true;">,
    InterfaceMethod<[{
      The forward values that the derivative of the operation asks for when
      the cotangents of all active results are nonzero. By default the rule
      itself is asked, or the formula of the idiom that ends in the operation:
      it runs into a scratch block that is then thrown away.
    }], "::llvm::SmallVector<::mlir::Value>", "getNeededPrimals",
        (ins "const ::remat::Activity &":$activity), "", [{
      return ::remat::probeNeededPrimals($_op.getOperation(), activity);
    }]>,
    InterfaceMethod<[{
      Adds to the cotangent of every active operand (captured values included)
      what the cotangents of the results contribute to it. A failure has been
      reported at an operation.
    }], "::llvm::LogicalResult", "emitVJP",
        (ins "::remat::ReverseContext &":$context)>,
    InterfaceMethod<[{
      Adds to the tangent of every active result what the tangents of the
      operands (captured values included) contribute to it. The default
      transposes `emitVJP`. A failure has been reported at an operation.
    }], "::llvm::LogicalResult", "emitJVP",
        (ins "::remat::ForwardContext &":$context), "", [{
      return ::remat::emitTransposedVJP($_op.getOperation(), context);
    }]>,
  ];
}

#endif // REMAT_AUTODIFF_DIFFERENTIABLEOPINTERFACE_TD
