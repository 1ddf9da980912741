//===- Passes.h - code generation for CUDA devices --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_CUDA_PASSES_H
#define REMAT_TARGET_CUDA_PASSES_H

#include "mlir/Pass/Pass.h"

namespace remat {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "remat/Target/CUDA/Passes.h.inc"

} // namespace remat

#endif // REMAT_TARGET_CUDA_PASSES_H
