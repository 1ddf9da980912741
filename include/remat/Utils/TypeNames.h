//===- TypeNames.h - types in what people read ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_TYPENAMES_H
#define REMAT_UTILS_TYPENAMES_H

#include "mlir/IR/BuiltinTypes.h"

#include <string>

namespace remat {

/// "f32[16,8]", as JAX writes it.
std::string describeType(mlir::RankedTensorType type);

} // namespace remat

#endif // REMAT_UTILS_TYPENAMES_H
