//===- PartialResults.h - results that are written in part ------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_PARTIALRESULTS_H
#define REMAT_LIB_CONVERSION_IMPORT_PARTIALRESULTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/PatternMatch.h"

namespace remat::import {

/// Replaces `generic`, if its maps select some elements of a result only, by
/// one that writes all of smaller results, which are put into the inits.
/// Returns what computes the elements now; fails, with an error, if they are
/// neither a slice nor a diagonal.
mlir::FailureOr<mlir::linalg::GenericOp>
writeWholeResults(mlir::RewriterBase &rewriter,
                  mlir::linalg::GenericOp generic);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_PARTIALRESULTS_H
