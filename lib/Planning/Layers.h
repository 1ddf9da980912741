//===- Layers.h - parts of a graph that repeat ------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Networks are stacks of equal layers, and their joint graphs of forward and
// backward ops are too: once upwards, once downwards. What is decided for one
// layer can be decided for all.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_LAYERS_H
#define REMAT_LIB_PLANNING_LAYERS_H

#include "Graph.h"

namespace remat::planning {

/// Equal layers of a graph. A role is an op's place in its layer.
struct Layering {
  static constexpr uint32_t none = ~uint32_t(0);

  uint32_t count = 0;
  /// For each role its op in each layer.
  std::vector<std::vector<OpId>> ops;
  /// Of each op; `none` for what is in no layer.
  std::vector<uint32_t> layerOf, roleOf;
};

/// Finds layers that cover as many ops as it can; a heuristic. Colour
/// refinement tells which ops look alike from up to two edges away. A run of
/// ops whose colours repeat with a period is a sequence of layers. Where there
/// are several runs, such as those of the two phases, the edges between them
/// tell which layers belong together. Takes about n log n. Without at least
/// `LayersTuning::leastLayers` there are none: the count is 0.
Layering findLayers(const Graph &graph);

/// The problem with only `keep` of its layers, half of them from either end,
/// and the part of the budget that is theirs.
struct ReducedProblem {
  Problem problem;
  /// Of each op of the reduced problem, its op in the whole one.
  std::vector<OpId> original;
  /// Of each op of the whole problem; `noOp` if it was left out.
  std::vector<OpId> reduced;
  /// The layers that are kept, in order.
  std::vector<uint32_t> layers;
};

/// Leaves all but `keep` layers out. Returns nothing if the left-out layers are
/// not wired like their neighbours or hold no bytes at the peak, or if there
/// are no more than `keep`.
std::optional<ReducedProblem>
leaveLayersOut(const Graph &graph, const Layering &layering, uint32_t keep);

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_LAYERS_H
