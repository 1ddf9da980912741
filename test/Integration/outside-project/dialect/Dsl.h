//===- Dsl.h - a dialect that remat knows nothing of ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef OUTSIDE_DSL_H
#define OUTSIDE_DSL_H

#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Interfaces/KernelOpInterface.h"
#include "remat/Interfaces/RecomputableOpInterface.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dsl {
// Upstream's linalg::AggregatedOpInterface names these without a namespace.
using mlir::FailureOr;
using mlir::OpBuilder;
using mlir::SmallVector;
using mlir::Value;
} // namespace dsl

#include "DslDialect.h.inc"

#define GET_OP_CLASSES
#include "DslOps.h.inc"

namespace dsl {

/// Adds the dialect and what it attaches to its own operations, and to one of
/// upstream's: linalg.softmax, which remat would take apart, stays whole.
void registerDialect(mlir::DialectRegistry &registry);

} // namespace dsl

#endif // OUTSIDE_DSL_H
