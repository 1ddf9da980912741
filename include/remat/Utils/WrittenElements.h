//===- WrittenElements.h - what a structured op writes ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The maps of linalg operations need not select all elements of a result. What
// they leave out is that of the init.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_WRITTENELEMENTS_H
#define REMAT_UTILS_WRITTENELEMENTS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace remat {

/// The coordinate of elements in a dimension: `stride` times a loop, if there
/// is one, plus `offset`.
struct Coordinate {
  std::optional<unsigned> loop;
  int64_t stride = 0, offset = 0;
};

/// The coordinates that `map` selects; nothing if one depends on several loops
/// or is no multiple.
std::optional<llvm::SmallVector<Coordinate>>
getCoordinates(mlir::AffineMap map);

/// Whether `op`, if its shape is static, writes all elements of the result of
/// `init`. Where a coordinate depends on several loops, it is taken to do so if
/// it has as many points, or reduces: then all elements begin with the init's.
bool writesAllElements(mlir::linalg::LinalgOp op, mlir::OpOperand *init);

} // namespace remat

#endif // REMAT_UTILS_WRITTENELEMENTS_H
