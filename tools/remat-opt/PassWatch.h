//===- PassWatch.h - passes whose searches the user watches -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TOOLS_REMATOPT_PASSWATCH_H
#define REMAT_TOOLS_REMATOPT_PASSWATCH_H

#include "mlir/IR/DialectRegistry.h"

namespace remat::tools {

/// From now on, in contexts of `registry`, Ctrl-C ends a pass's search for a
/// plan with the best one so far, and a second one the tool. With `shows`, says
/// on standard error how far the search is.
void watchSearches(mlir::DialectRegistry &registry, bool shows);

} // namespace remat::tools

#endif // REMAT_TOOLS_REMATOPT_PASSWATCH_H
