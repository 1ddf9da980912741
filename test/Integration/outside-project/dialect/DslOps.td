//===- DslOps.td - a dialect that remat knows nothing of ---*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One operation for each way in which a dialect can come to terms with remat.
//
//===----------------------------------------------------------------------===//

#ifndef OUTSIDE_DSLOPS_TD
#define OUTSIDE_DSLOPS_TD

include "mlir/Dialect/Linalg/IR/LinalgInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "remat/AutoDiff/DifferentiableOpInterface.td"
include "remat/Interfaces/KernelOpInterface.td"
include "remat/Interfaces/RecomputableOpInterface.td"

def Dsl_Dialect : Dialect {
  let name = "dsl";
  let cppNamespace = "::dsl";
}

class Dsl_Op<string mnemonic, list<Trait> traits> :
    Op<Dsl_Dialect, mnemonic, traits>;

def Dsl_ScaledAddOp : Dsl_Op<"scaled_add", [
    Pure, AllTypesMatch<["x", "y", "result"]>,
    DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>]> {
  let summary = "alpha * x + y";
  let description = [{
    Says only what it consists of. The import pipeline replaces it by its parts,
    which are differentiated and fused as any.
  }];
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$y,
                       F64Attr:$alpha);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x `,` $y `by` $alpha attr-dict `:` type($result)";
}

def Dsl_GeluOp : Dsl_Op<"gelu", [
    Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<KernelOpInterface,
                              ["decomposeInKernel", "getKernelCost"]>,
    DeclareOpInterfaceMethods<RecomputableOpInterface>]> {
  let summary = "x * Phi(x), by tanh";
  let description = [{
    Stays whole: one task with a kernel of its own. Cheap to make again, so its
    result is not kept where its operand is. The derivative is a formula, as an
    external model.
  }];
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x)";
}

def Dsl_NormalizeOp : Dsl_Op<"normalize", [
    Pure, AllTypesMatch<["x", "result"]>,
    DeclareOpInterfaceMethods<AggregatedOpInterface, ["decomposeOperation"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["emitVJP"]>,
    DeclareOpInterfaceMethods<KernelOpInterface, ["getWorkspaceBytes"]>]> {
  let summary = "divide each row by its root mean square";
  let description = [{
    Stays whole, with two results and a workspace. Its derivative needs both
    results and not the operand.
  }];
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$rms);
  let assemblyFormat = "$x attr-dict `:` type($x) `,` type($rms)";
}

def Dsl_DropoutOp : Dsl_Op<"dropout", [
    MemoryEffects<[MemRead, MemWrite]>,
    AllTypesMatch<["x", "result", "mask"]>,
    DeclareOpInterfaceMethods<DifferentiableOpInterface, ["emitVJP"]>,
    DeclareOpInterfaceMethods<KernelOpInterface, ["decomposeInKernel"]>,
    DeclareOpInterfaceMethods<RecomputableOpInterface>]> {
  let summary = "zero about half of the elements and double the others";
  let description = [{
    Draws random numbers, which its effects say to all passes, so it runs once.
  }];
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$seed);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$mask);
  let assemblyFormat = "$x `seed` $seed attr-dict `:` type($x)";
}

#endif // OUTSIDE_DSLOPS_TD
