//===- ReductionOrder.h - which reductions may be reordered -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_REDUCTIONORDER_H
#define REMAT_UTILS_REDUCTIONORDER_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// The operation in the body of a structured operation that makes the new value
/// of output `number` from the old one, the argument `old`, and a value that
/// does not depend on it, if such operations may be done in any order; null
/// otherwise.
mlir::Operation *findCombiner(mlir::Block &body, mlir::BlockArgument old,
                              unsigned number);

/// What changes nothing when a combiner combines it; none if there is nothing.
/// Of sums it is -0.0: 0.0 changes -0.0.
std::optional<mlir::TypedAttr> getNeutralElement(mlir::Operation *combiner);

/// Whether the results of `op` depend on the order in which its reduction loops
/// are nested, as the place of a maximum does where several elements are equal.
bool hasOrderedReductions(mlir::linalg::LinalgOp op);

/// Lets the loops in `order` that are reductions follow each other as their
/// numbers do; all others stay in their places.
void keepReductionOrder(llvm::MutableArrayRef<unsigned> order,
                        llvm::function_ref<bool(unsigned)> isReduction);

} // namespace remat

#endif // REMAT_UTILS_REDUCTIONORDER_H
