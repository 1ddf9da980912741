//===- MathLowering.h - functions of floats as arithmetic -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_MATHLOWERING_H
#define REMAT_CODEGEN_MATHLOWERING_H

#include "mlir/IR/Operation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Support/LLVM.h"

namespace remat::codegen {

/// Rewrites what targets have in common, in all functions of a module: complex
/// arithmetic as pairs, functions of floats narrower than f32 by way of f32,
/// those of f32 as polynomials that can be vectorized (error about 1e-7
/// relative). Functions of f64 stay as they are. What is rounded to a narrower
/// type is rounded wherever it is read. `populate` adds what a target has
/// better.
mlir::LogicalResult lowerMath(
    mlir::Operation *module,
    llvm::function_ref<void(mlir::RewritePatternSet &)> populate = nullptr);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_MATHLOWERING_H
