//===- GeluForms.h - whether scalars are a GELU or its gradient -*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_UTILS_GELUFORMS_H
#define REMAT_LIB_UTILS_GELUFORMS_H

#include "mlir/IR/Value.h"

namespace remat {

/// Whether `value` is the GELU of `input` in its form with tanh, however that
/// is written.
bool isGelu(mlir::Value value, mlir::Value input);

/// Whether `value` is `gradient` times the derivative of that GELU at `input`.
bool isGeluGradient(mlir::Value value, mlir::Value input, mlir::Value gradient);

} // namespace remat

#endif // REMAT_LIB_UTILS_GELUFORMS_H
