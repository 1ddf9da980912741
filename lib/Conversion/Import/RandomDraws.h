//===- RandomDraws.h - exporters' generators of random numbers --*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_RANDOMDRAWS_H
#define REMAT_LIB_CONVERSION_IMPORT_RANDOMDRAWS_H

#include "mlir/IR/Value.h"

namespace remat::import {

/// Replaces numbers that bodies make of `state`, an integer tensor, and their
/// indices alone by those of remat.random.
void importDraws(mlir::BlockArgument state);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_RANDOMDRAWS_H
