//===- KernelNames.h - what kernels and tasks are called --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELNAMES_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELNAMES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

#include <string>

namespace remat {

/// Says in a few words, joined by underscores, what `ops` compute one after the
/// other: "matmul", "sum_rsqrt_mul", "softmax". A name is for readers: others
/// may bear it, too, and nothing is decided by it.
std::string describeComputation(llvm::ArrayRef<mlir::Operation *> ops);

/// The layers of the model that a task belongs to which is made of `ops` and
/// reads `operands`, as far as their names are known: from the names of
/// parameters (`remat.name` on arguments), of which the layer is all but the
/// last component ("h.0.fc" of "h.0.fc.weight"); and from scopes in locations
/// ("main/block0/mlp" of "main/block0/mlp/dot"). Null if none is known.
mlir::ArrayAttr findLayers(mlir::Builder &builder,
                           llvm::ArrayRef<mlir::Operation *> ops,
                           llvm::ArrayRef<mlir::Value> operands);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_KERNELNAMES_H
