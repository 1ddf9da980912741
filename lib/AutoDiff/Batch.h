//===- Batch.h - one computation for many values ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the body of a function into another one where some of its arguments have
// a leading dimension more. What depends on them gets that dimension, too, by
// one more parallel loop; the rest is computed once.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_AUTODIFF_BATCH_H
#define REMAT_LIB_AUTODIFF_BATCH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Inlines `function` where `builder` stands. The arguments from number
/// `firstBatched` on have a leading dimension of `size` elements. Of the
/// results, those from `firstBatchedResult` on are returned with that
/// dimension; the others must not depend on these arguments. Fails, without a
/// diagnostic and with nothing made, if some operation cannot be batched.
llvm::FailureOr<llvm::SmallVector<mlir::Value>>
inlineBatched(mlir::OpBuilder &builder, mlir::func::FuncOp function,
              mlir::ValueRange arguments, unsigned firstBatched,
              unsigned firstBatchedResult, int64_t size);

} // namespace remat

#endif // REMAT_LIB_AUTODIFF_BATCH_H
