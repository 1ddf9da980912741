//===- WidenScatters.h - scatters whose sums are kept in full ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CODEGEN_WIDENSCATTERS_H
#define REMAT_LIB_CODEGEN_WIDENSCATTERS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat::codegen {

/// Takes scatters apart whose sums are wider than their result, into a scatter
/// of the type of the sums and a rounding, unless the target makes them in
/// blocks of rows.
void widenScatters(mlir::func::FuncOp kernel);

} // namespace remat::codegen

#endif // REMAT_LIB_CODEGEN_WIDENSCATTERS_H
