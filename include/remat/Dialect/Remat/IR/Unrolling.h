//===- Unrolling.h - which loops stay loops ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_UNROLLING_H
#define REMAT_DIALECT_REMAT_IR_UNROLLING_H

#include "llvm/ADT/StringRef.h"

namespace remat {

/// On an `scf.for`: the loop stays one if it would unroll to more operations,
/// also where the limit of `remat-keep-loops` is higher.
constexpr llvm::StringLiteral unrollLimitAttrName = "remat.unroll_limit";

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_UNROLLING_H
