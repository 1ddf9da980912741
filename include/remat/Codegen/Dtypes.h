//===- Dtypes.h - element types of the runtime ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CODEGEN_DTYPES_H
#define REMAT_CODEGEN_DTYPES_H

#include "remat/Runtime/StepTable.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace remat::codegen {

/// The runtime's number for an element type, or nothing for types that it does
/// not have. An index is a 64-bit integer; complex numbers are of f32 or f64.
std::optional<remat_dtype> getDtype(mlir::Type elementType);

} // namespace remat::codegen

#endif // REMAT_CODEGEN_DTYPES_H
