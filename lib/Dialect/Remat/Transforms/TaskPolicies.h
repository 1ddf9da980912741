//===- TaskPolicies.h - what tags ask of a task -----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TASKPOLICIES_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TASKPOLICIES_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

/// The attribute `policies` of a task made from `op` that makes `results`; null
/// if it has none. Fails, and says why, where two demands conflict.
llvm::FailureOr<mlir::ArrayAttr> collectPolicies(mlir::Operation *op,
                                                 mlir::ValueRange results);

/// The level of the derivative that the policies of `op` are about: that of the
/// first backward operations that read it, of those that tags are about, or
/// what tags say if none does.
struct PolicyLevel {
  unsigned level;
  bool isRead;
};
PolicyLevel findPolicyLevel(mlir::Operation *op);

/// The attribute `names` of a task made from `op` that makes `results`; null if
/// it has none.
mlir::ArrayAttr collectNames(mlir::Operation *op, mlir::ValueRange results);

/// Whether `value` is a result of an operation that is to run again whatever
/// becomes of it. What is in a buffer of the caller never does.
bool isDemanded(mlir::Value value);

/// Whether the task of `root` has to run again for another result, which is
/// hidden and not in `returned`. What is in a buffer of the caller is never
/// made again, so `root` cannot be there.
bool hasHiddenSibling(mlir::Value root,
                      const llvm::DenseSet<mlir::Value> &returned);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_TASKPOLICIES_H
