//===- FuseElementwise.h - elementwise operations as one --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TRANSFORMS_FUSEELEMENTWISE_H
#define REMAT_TRANSFORMS_FUSEELEMENTWISE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Fuses elementwise operations of `function` into what consumes them, as the
/// pass `remat-fuse-elementwise` does. With `keepNarrow`, casts to fewer bytes
/// stay by themselves. Returns how many operations are gone.
unsigned fuseElementwise(mlir::func::FuncOp function, bool keepNarrow = false);

} // namespace remat

#endif // REMAT_TRANSFORMS_FUSEELEMENTWISE_H
