//===- Tags.h - names, policies and phases on import ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_TAGS_H
#define REMAT_LIB_CONVERSION_IMPORT_TAGS_H

#include "mlir/IR/Operation.h"

namespace remat::import {

/// Whether something is asked of the results of `op`, by a tag or by what
/// becomes one.
bool mayHavePolicy(mlir::Operation *op);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_TAGS_H
