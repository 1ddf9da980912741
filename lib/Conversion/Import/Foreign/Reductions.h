//===- Reductions.h - reductions with any body ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_CONVERSION_IMPORT_FOREIGN_REDUCTIONS_H
#define REMAT_LIB_CONVERSION_IMPORT_FOREIGN_REDUCTIONS_H

#include "Lowering.h"

namespace remat::foreign {

/// The inputs of a reduction and, as scalars, what it begins with, with
/// elements of the types that it is computed in, which are those of its
/// results.
llvm::LogicalResult readReduced(mlir::Operation *op, Lowering &lowering,
                                llvm::SmallVectorImpl<mlir::Value> &inputs,
                                llvm::SmallVectorImpl<mlir::Value> &starts);

/// A structured operation whose body is `region`: its first arguments are the
/// elements of `inits`, the others those of as many inputs. With `isMasked`,
/// the next input says which elements there are. Further inputs have no part in
/// it but their sizes.
llvm::FailureOr<mlir::linalg::GenericOp>
createReduction(mlir::Operation *op, Lowering &lowering, mlir::Region &region,
                mlir::ValueRange inputs, mlir::ValueRange inits,
                llvm::ArrayRef<mlir::AffineMap> maps, unsigned parallelLoops,
                unsigned reductionLoops, bool isMasked = false);

} // namespace remat::foreign

#endif // REMAT_LIB_CONVERSION_IMPORT_FOREIGN_REDUCTIONS_H
