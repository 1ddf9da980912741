//===- FilterGradients.h - gradients that are written forward ---*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FILTERGRADIENTS_H
#define REMAT_LIB_CONVERSION_IMPORT_FILTERGRADIENTS_H

#include "remat/Dialect/Remat/IR/Remat.h"

namespace remat::import {

/// Makes a `filter_grad` of a forward convolution that is one.
void recognizeFilterGradient(mlir::RewriterBase &rewriter, ConvOp op);

} // namespace remat::import

#endif // REMAT_LIB_CONVERSION_IMPORT_FILTERGRADIENTS_H
