//===- RecomputableOpInterface.h - may it run again? ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_H
#define REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_H

#include "mlir/IR/OpDefinition.h"

namespace remat {

/// See RecomputableOpInterface::getRecomputability.
enum class Recomputability { Cheap, Repeatable, Saved, Random, Effects };

} // namespace remat

#include "remat/Interfaces/RecomputableOpInterface.h.inc"

namespace remat {

/// What `op` says of itself; `Repeatable` if it says nothing.
Recomputability getRecomputability(mlir::Operation *op);

/// Whether `op` must not run a second time in a step.
bool runsOnce(mlir::Operation *op);

} // namespace remat

#endif // REMAT_INTERFACES_RECOMPUTABLEOPINTERFACE_H
