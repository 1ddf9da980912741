//===- HostArguments.h - arguments in host memory ---------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_HOSTARGUMENTS_H
#define REMAT_DIALECT_REMAT_IR_HOSTARGUMENTS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat {

/// On an argument of a function or graph: the caller has it in host memory, and
/// so is the result that it gives its buffer to. Nothing but copies uses it.
constexpr llvm::StringLiteral hostAttrName = "remat.host";

/// On the operation of a kernel: it is one of these copies.
constexpr llvm::StringLiteral transferAttrName = "remat.transfer";

/// Whether the caller has this argument in host memory.
bool isHostArgument(mlir::FunctionOpInterface function, unsigned argument);

/// The copy that a kernel is, between host memory and the step's; null if it is
/// anything else.
mlir::Operation *findTransfer(mlir::FunctionOpInterface kernel);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_HOSTARGUMENTS_H
