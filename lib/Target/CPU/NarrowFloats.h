//===- NarrowFloats.h - f16 and bf16 on every CPU ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TARGET_CPU_NARROWFLOATS_H
#define REMAT_LIB_TARGET_CPU_NARROWFLOATS_H

#include "llvm/Support/Error.h"

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace remat::cpu {

/// Replaces all that computes in half or bfloat by operations on float, double
/// and integers, with the same bits for every CPU. What only moves such values
/// stays, and so do conversions between half and float where `machine` has
/// instructions for them. Fails at an operation that it does not know.
llvm::Error expandNarrowFloats(llvm::Module &module,
                               const llvm::TargetMachine &machine);

} // namespace remat::cpu

#endif // REMAT_LIB_TARGET_CPU_NARROWFLOATS_H
