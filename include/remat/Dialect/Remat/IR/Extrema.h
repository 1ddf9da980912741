//===- Extrema.h - maxima that belong to one element ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The derivative of a maximum or minimum over a dimension is shared by the
// elements that equal it. Where a program asks for the place of the extremum,
// too, the derivative belongs to the first of them. The mark says so.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_EXTREMA_H
#define REMAT_DIALECT_REMAT_IR_EXTREMA_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// Unit attribute of a structured operation that reduces by a maximum or
/// minimum: the derivative belongs to the first extremum in the order of the
/// loops.
constexpr llvm::StringLiteral firstExtremumAttrName = "remat.first_extremum";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_EXTREMA_H
