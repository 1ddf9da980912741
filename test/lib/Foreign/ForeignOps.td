//===- ForeignOps.td - a dialect of another project --------*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TEST_LIB_FOREIGN_FOREIGNOPS_TD
#define REMAT_TEST_LIB_FOREIGN_FOREIGNOPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Foreign_Dialect : Dialect {
  let name = "foreign";
  let cppNamespace = "::foreign";
  let summary = "Operations that know nothing of remat";
}

class Foreign_Op<string mnemonic>
    : Op<Foreign_Dialect, mnemonic, [Pure, SameOperandsAndResultType]> {
  let results = (outs FloatLike:$result);
  let assemblyFormat = "operands attr-dict `:` type($result)";
}

def Foreign_GaussianOp : Foreign_Op<"gaussian"> {
  let summary = "exp(-x^2)";
  let arguments = (ins FloatLike:$x);
}

def Foreign_HypotOp : Foreign_Op<"hypot"> {
  let summary = "The square root of a^2 + b^2";
  let arguments = (ins FloatLike:$a, FloatLike:$b);
}

def Foreign_LerpOp : Foreign_Op<"lerp"> {
  let summary = "a + c (b - a)";
  let arguments = (ins FloatLike:$a, FloatLike:$b, FloatLike:$c);
}

def Foreign_StepOp : Foreign_Op<"step"> {
  let summary = "1 where x > 0, else 0";
  let arguments = (ins FloatLike:$x);
}

def Foreign_WholeOp : Op<Foreign_Dialect, "whole",
    [AllTypesMatch<["x", "result"]>,
     DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Twice x, in a kernel of its own";
  let description = [{
    What the operation says of itself in remat's interfaces are its attributes,
    so that tests can say all there is to say.
  }];
  let arguments = (ins AnyRankedTensor:$x,
                       OptionalAttr<StrAttr>:$recomputability,
                       OptionalAttr<StrAttr>:$parts,
                       OptionalAttr<I64Attr>:$flops,
                       OptionalAttr<I64Attr>:$workspace);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

#endif // REMAT_TEST_LIB_FOREIGN_FOREIGNOPS_TD
