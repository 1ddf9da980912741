//===- ScatterWindows.h - scatters to places in windows ---------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a maximum over windows adds at
//
//     stride * index of the window + place in the window,
//
// and places are few. So the windows that contain an element follow from its
// coordinates, and its sum may be made at once, from these windows alone.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_UTILS_SCATTERWINDOWS_H
#define REMAT_UTILS_SCATTERWINDOWS_H

#include "mlir/IR/Operation.h"

#include <optional>

namespace remat {

class ScatterOp;

/// Coordinates that are `stride` times the index of a loop and a number of
/// `low` or more, by which an element is in reach of `count` indices.
struct ScatterWindow {
  unsigned loop = 0;
  int64_t stride = 1, low = 0, count = 1;
  /// That number is `offset` and `scale` times `digit`, if that is not null,
  /// which is below `digits`. It is one of the digits of the number of a place
  /// in a window, and counts `unit` there.
  mlir::Value digit;
  int64_t scale = 1, offset = 0, digits = 1, unit = 1;
  /// Coordinates that others are moved to so that they are in bounds.
  llvm::SmallVector<int64_t, 2> limits;

  bool isIndex() const { return stride == 1 && low == 0 && count == 1; }
};

/// The windows of a scatter.
struct ScatterWindows {
  /// By loop: which of its points can reach an element, where that is not all,
  /// and the dimension of the result that says so, or -1.
  llvm::SmallVector<std::optional<ScatterWindow>> windows;
  llvm::SmallVector<int> dims;
};

/// The windows of a scatter on tensors or memrefs if few points can reach an
/// element, so that its sum is made faster by looking at each of them.
std::optional<ScatterWindows> findScatterWindows(ScatterOp op);

/// Whether each sum of a scatter can be rounded as soon as it is made: in
/// blocks of rows, or from the windows of an element, on a target that looks
/// for them.
bool canRoundSums(ScatterOp op);

} // namespace remat

#endif // REMAT_UTILS_SCATTERWINDOWS_H
