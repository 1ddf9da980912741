//===- SecondPlans.h - plans with less workspace ----------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CUDA_SECONDPLANS_H
#define REMAT_LIB_TARGET_CUDA_SECONDPLANS_H

#include "remat/Codegen/Library/Convolution.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"

namespace remat::cuda {

/// The plans of kernels, by their names, that need less workspace than those
/// that they have.
using SecondPlans =
    llvm::MapVector<llvm::StringRef, llvm::SmallVector<codegen::DevicePlan>>;

/// Gives each step graph one more alternative, which calls copies of kernels
/// that have these plans. Graphs that call none of the kernels get none, and
/// bodies of loops keep theirs.
void addGraphsWithSecondPlans(mlir::ModuleOp module, const SecondPlans &plans);

} // namespace remat::cuda

#endif // REMAT_LIB_TARGET_CUDA_SECONDPLANS_H
