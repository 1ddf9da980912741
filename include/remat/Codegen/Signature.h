//===- Signature.h - what steps take and give -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_SIGNATURE_H
#define REMAT_CODEGEN_SIGNATURE_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat::codegen {

/// An error for the first argument or result of a type that the runtime does
/// not have.
mlir::LogicalResult checkSignature(GraphOp graph);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_SIGNATURE_H
