//===- ConvolutionLoops.h - convolutions as structured ops ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_CONVOLUTIONLOOPS_H
#define REMAT_LIB_CODEGEN_CONVOLUTIONLOOPS_H

namespace mlir {
class Operation;
} // namespace mlir

namespace remat::codegen {

/// Rewrites each `remat.conv` in `root`, which no library carries out, to
/// linalg operations. Sums of f16 and bf16 are kept in f32.
void expandConvolutions(mlir::Operation *root);

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_CONVOLUTIONLOOPS_H
