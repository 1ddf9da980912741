//===- EntryFunction.h - the function that a module is about ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_ENTRYFUNCTION_H
#define REMAT_UTILS_ENTRYFUNCTION_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat {

/// The function of `module` called `name`. If there is none and `name` is
/// `main`, as it is by default, the only function that there is, or the only
/// one that is not private. Null if neither exists.
mlir::FunctionOpInterface findEntry(mlir::ModuleOp module,
                                    llvm::StringRef name);

/// Reports that there is none, and which functions there are. Fails always.
llvm::LogicalResult reportNoEntry(mlir::ModuleOp module, llvm::StringRef name);

} // namespace remat

#endif // REMAT_UTILS_ENTRYFUNCTION_H
