//===- LayerCuts.h - where a function is cut into layers --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_TRANSFORMS_LAYERCUTS_H
#define REMAT_LIB_TRANSFORMS_LAYERCUTS_H

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace remat {

/// What is known of operations in a row that each part of a batch runs.
struct LayerBytes {
  struct Op {
    /// What it makes for one part.
    int64_t made = 0;
    /// What earlier operations make for one part and this or later ones read;
    /// unset where no layer may begin.
    std::optional<int64_t> crossing;
    /// Numbers of the weights that it reads.
    llvm::SmallVector<unsigned> weights;
  };
  std::vector<Op> ops;
  /// The bytes of the gradient of each weight.
  std::vector<int64_t> gradients;
  int64_t parts = 1;
};

/// The first operations of the second and all later layers, such that all parts
/// can pass layer after layer in few bytes: those of what lies between layers,
/// for all parts, and what a layer needs at a time, which are its gradients and
/// what one part makes in it. Empty if there is nowhere to cut.
llvm::SmallVector<unsigned> chooseLayerCuts(const LayerBytes &bytes);

} // namespace remat

#endif // REMAT_LIB_TRANSFORMS_LAYERCUTS_H
