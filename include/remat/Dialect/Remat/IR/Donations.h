//===- Donations.h - arguments that give their buffers away -----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An argument with the attribute `remat.donated` and the result that it names
// have one buffer, which the caller gives for both: weights that are updated,
// gradients that are added to, state that goes on. The argument can be read
// until the result is written.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_IR_DONATIONS_H
#define REMAT_DIALECT_REMAT_IR_DONATIONS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace remat {

/// The number of the result that has the buffer of argument `argument`, if one
/// has.
std::optional<int64_t> getDonatedResult(mlir::FunctionOpInterface function,
                                        unsigned argument);

/// For each result, the argument that gives it its buffer, or null. What is not
/// valid is left out.
llvm::SmallVector<mlir::BlockArgument>
getDonors(mlir::FunctionOpInterface function);

/// What makes the result that takes the buffer of `value` over, if that is an
/// argument of a function that is donated. Null if it keeps its buffer.
mlir::Operation *findTaker(mlir::Value value);

/// Reports arguments that are donated to a result that there is not, that has
/// another type, or that has a buffer already.
llvm::LogicalResult verifyDonations(mlir::FunctionOpInterface function);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_IR_DONATIONS_H
