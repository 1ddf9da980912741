//===- Listing.h - what can be differentiated -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_AUTODIFF_LISTING_H
#define REMAT_AUTODIFF_LISTING_H

#include "mlir/IR/DialectRegistry.h"

#include "llvm/Support/raw_ostream.h"

namespace remat {

/// Prints the operations of the dialects in `registry` that have a derivative
/// rule, one a line, sorted.
void listDerivativeRules(const mlir::DialectRegistry &registry,
                         llvm::raw_ostream &os);

/// Prints the functions that are differentiated as a whole, one a line: a name
/// and, behind a colon, what frameworks call it and how it is written out.
void listIdioms(llvm::raw_ostream &os);

} // namespace remat

#endif // REMAT_AUTODIFF_LISTING_H
