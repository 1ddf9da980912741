//===- Gradients.h - results that are gradients -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_GRADIENTS_H
#define REMAT_DIALECT_REMAT_IR_GRADIENTS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On a result of a function: it is the gradient with respect to the argument
/// of this number (i64).
constexpr llvm::StringLiteral gradientAttrName = "remat.gradient";

/// The same of an argument that no optimizer updates.
constexpr llvm::StringLiteral dataGradientAttrName = "remat.data_gradient";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_GRADIENTS_H
