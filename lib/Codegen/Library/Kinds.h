//===- Kinds.h - the library calls that remat knows -------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_LIBRARY_KINDS_H
#define REMAT_LIB_CODEGEN_LIBRARY_KINDS_H

#include "remat/Codegen/LibraryCall.h"

namespace remat::codegen {

/// A contraction of two arguments with one batch of at most three dimensions
/// and one dimension each for rows, columns and sum (dimensions that are
/// contiguous in all operands count as one), which may be added to a third, or
/// have an epilogue.
LibraryCallRef matchMatmul(mlir::FunctionOpInterface kernel);

/// A remat.conv of two arguments.
LibraryCallRef matchConvolution(mlir::FunctionOpInterface kernel);

/// A remat.pack or remat.unpack of an argument.
LibraryCallRef matchCodec(mlir::FunctionOpInterface kernel);

/// A copy of an argument between host memory and the step's.
LibraryCallRef matchTransfer(mlir::FunctionOpInterface kernel);

/// A remat.loop of arguments.
LibraryCallRef matchLoop(mlir::FunctionOpInterface kernel);

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_LIBRARY_KINDS_H
