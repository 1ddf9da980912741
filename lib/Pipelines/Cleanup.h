//===- Cleanup.h - canonical form between passes ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PIPELINES_CLEANUP_H
#define REMAT_PIPELINES_CLEANUP_H

#include "mlir/Pass/PassManager.h"

namespace remat {

/// Adds passes that bring what there is to canonical form, so that those behind
/// see equal things as equal. Leaves the patterns out whose debug names are in
/// `disabled`.
void addCleanup(mlir::OpPassManager &pm,
                llvm::ArrayRef<llvm::StringRef> disabled = {});

} // namespace remat

#endif // REMAT_PIPELINES_CLEANUP_H
