//===- KeptStacks.h - loops that stack what policies keep -------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_KEPTSTACKS_H
#define REMAT_DIALECT_REMAT_IR_KEPTSTACKS_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On a `remat.loop` in the body of another: it stacks what policies keep of
/// it, and runs again in the derivative of that body for the rest.
inline constexpr llvm::StringLiteral stacksKeptAttrName = "remat.stacks_kept";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_KEPTSTACKS_H
