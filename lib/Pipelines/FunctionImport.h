//===- FunctionImport.h - import of one function ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H
#define REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H

#include "mlir/Pass/PassManager.h"

namespace remat {

/// Adds to `func`, which is nested on functions, the passes of the import
/// pipeline that bring a function without calls to its canonical form.
void buildFunctionImport(mlir::OpPassManager &func);

} // namespace remat

#endif // REMAT_LIB_PIPELINES_FUNCTIONIMPORT_H
