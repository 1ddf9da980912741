//===- FoldTransposesIntoContractions.h - factors where they are ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOLDTRANSPOSESINTOCONTRACTIONS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOLDTRANSPOSESINTOCONTRACTIONS_H

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat::import {

/// Whether `linalg.contract` takes these maps: its dimensions are reduced and
/// read by both inputs, or written and read by one.
bool areContractMaps(llvm::ArrayRef<mlir::AffineMap> maps);

/// Lets `op` read what transposes and broadcasts of its factors read, also
/// where a repeated factor has its dimensions joined: loops are split then. It
/// writes the transpose of its result where only that is read and a library
/// can.
void foldTransposesIntoContraction(mlir::RewriterBase &rewriter,
                                   mlir::linalg::ContractOp op);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_FOLDTRANSPOSESINTOCONTRACTIONS_H
