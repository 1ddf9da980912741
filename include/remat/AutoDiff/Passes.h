//===- Passes.h - passes that differentiate ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_PASSES_H
#define REMAT_AUTODIFF_PASSES_H

#include "mlir/Pass/Pass.h"

#include "remat/AutoDiff/AutoDiff.h"

namespace remat {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "remat/AutoDiff/Passes.h.inc"

} // namespace remat

#endif // REMAT_AUTODIFF_PASSES_H
