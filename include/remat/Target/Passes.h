//===- Passes.h - the machine that a module is for --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_TARGET_PASSES_H
#define REMAT_TARGET_PASSES_H

#include "mlir/Pass/Pass.h"

namespace remat {

#define GEN_PASS_DECL
#include "remat/Target/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Target/Passes.h.inc"

} // namespace remat

#endif // REMAT_TARGET_PASSES_H
