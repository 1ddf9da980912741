//===- ConstantWeights.h - weights that are no arguments --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_CONSTANTWEIGHTS_H
#define REMAT_AUTODIFF_CONSTANTWEIGHTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace remat {

/// Warns if it seems that weights of a model are constants of `function`, which
/// is to be differentiated with respect to all of its arguments.
void warnOfConstantWeights(mlir::func::FuncOp function);

} // namespace remat

#endif // REMAT_AUTODIFF_CONSTANTWEIGHTS_H
