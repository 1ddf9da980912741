//===- Passes.h - clean-up of what exporters produce ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Graphs of PyTorch, JAX, ONNX and TOSA arrive as linalg on tensors, each
// with habits of its own. These passes bring them to one form, which
// `remat-import-verify` describes and checks.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_IMPORT_PASSES_H
#define REMAT_CONVERSION_IMPORT_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat {

#define GEN_PASS_DECL
#include "remat/Conversion/Import/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "remat/Conversion/Import/Passes.h.inc"

} // namespace remat

#endif // REMAT_CONVERSION_IMPORT_PASSES_H
