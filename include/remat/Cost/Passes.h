//===- Passes.h - what tasks cost -------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_COST_PASSES_H
#define REMAT_COST_PASSES_H

#include "remat/Target/ConvolutionChoice.h"

#include "mlir/Pass/Pass.h"

namespace remat {

#define GEN_PASS_DECL
#include "remat/Cost/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Cost/Passes.h.inc"

} // namespace remat

#endif // REMAT_COST_PASSES_H
