//===- ForeignDialects.h - dialects that exporters leave over ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of some dialects there is no definition here: StableHLO and CHLO, in which
// JAX writes programs, and tm_tensor, which torch-mlir leaves between
// operations of linalg. Their operations are read in generic form, as ones of
// any name, and `remat-import-foreign` knows what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_CONVERSION_IMPORT_FOREIGNDIALECTS_H
#define REMAT_CONVERSION_IMPORT_FOREIGNDIALECTS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Operation.h"

namespace remat {

/// Lets files hold operations, attributes and types of the dialects of
/// exporters.
void registerForeignDialects(mlir::DialectRegistry &registry);

/// What to do about operations of a dialect that remat does not read; empty if
/// it reads them, or never heard of the dialect.
llvm::StringRef getForeignAdvice(llvm::StringRef dialect);

/// Whether `remat-import-foreign` has work: `root` holds operations of foreign
/// dialects, or integers that are unsigned.
bool hasForeign(mlir::Operation *root);

/// While it exists, an operation of a dialect that is not registered is
/// reported by what to export instead.
class UnknownDialectHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit UnknownDialectHandler(mlir::MLIRContext *context);
};

} // namespace remat

#endif // REMAT_CONVERSION_IMPORT_FOREIGNDIALECTS_H
