//===- LayersPlan.cpp - few layers solved for all -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan of a problem with a few of the layers says of each of its repeats
// where it stands: before the first run of which op, how many layers away. Each
// layer of the whole problem does what its representative does.
//
//===----------------------------------------------------------------------===//

#include "Layers.h"
#include "LocalSearch.h"
#include "SearchTuning.h"

#include <cmath>

using namespace llvm;

namespace remat::planning {

namespace {
/// Turns a plan of the reduced problem into one of the whole.
class Broadcast {
public:
  Broadcast(const Graph &graph, const Layering &layering,
            const ReducedProblem &reduced, const Plan &plan);

  /// `representative` is the layer of the reduced problem that each layer
  /// follows.
  Plan spread(ArrayRef<uint32_t> representative) const;

private:
  OpId layerOp(OpId repeat, uint32_t layer, uint32_t representative) const;

  const Graph &graph;
  const Layering &layering;
  const ReducedProblem &reduced;
  /// Of each op of the reduced problem, what runs again right before its first
  /// run.
  std::vector<SmallVector<OpId, 2>> before;
};
} // namespace

Broadcast::Broadcast(const Graph &graph, const Layering &layering,
                     const ReducedProblem &reduced, const Plan &plan)
    : graph(graph), layering(layering), reduced(reduced),
      before(reduced.original.size()) {
  std::vector<bool> ran(reduced.original.size(), false);
  SmallVector<OpId, 8> pending;
  for (const Action &action : plan.actions) {
    if (action.kind != ActionKind::Run)
      continue;
    if (ran[action.id]) {
      pending.push_back(action.id);
      continue;
    }
    ran[action.id] = true;
    before[action.id].assign(pending.begin(), pending.end());
    pending.clear();
  }
}

/// What runs again in `layer` where its representative runs `repeat`; `noOp`
/// if there is no such layer.
OpId Broadcast::layerOp(OpId repeat, uint32_t layer,
                        uint32_t representative) const {
  OpId op = reduced.original[repeat];
  if (layering.roleOf[op] == Layering::none)
    return op;
  auto kept = llvm::lower_bound(reduced.layers, layering.layerOf[op]);
  int64_t away = (kept - reduced.layers.begin()) - int64_t(representative);
  int64_t wanted = int64_t(layer) + away;
  if (wanted < 0 || wanted >= layering.count)
    return noOp;
  return layering.ops[layering.roleOf[op]][wanted];
}

Plan Broadcast::spread(ArrayRef<uint32_t> representative) const {
  Plan plan;
  std::vector<bool> ran(graph.numOps(), false);
  for (OpId op = 0; op < graph.numOps(); ++op) {
    uint32_t layer = layering.layerOf[op];
    OpId model = reduced.reduced[op];
    uint32_t like = 0;
    if (layer != Layering::none) {
      like = representative[layer];
      OpId same = layering.ops[layering.roleOf[op]][reduced.layers[like]];
      model = reduced.reduced[same];
    }
    for (OpId repeat : before[model]) {
      OpId again = layer == Layering::none ? reduced.original[repeat]
                                           : layerOp(repeat, layer, like);
      if (again != noOp && ran[again] && !graph.runsOnce(again))
        plan.run(again);
    }
    plan.run(op);
    ran[op] = true;
  }
  return plan;
}

/// Options for the reduced problem.
static SolverOptions partOf(const SolverOptions &options) {
  SolverOptions part = options;
  part.effort *= LayersTuning::searchShare;
  if (part.timeLimitSeconds)
    *part.timeLimitSeconds *= LayersTuning::searchShare;
  part.onProgress = nullptr;
  part.start = nullptr;
  return part;
}

Expected<Solution> planLayers(const Problem &problem,
                              const SolverOptions &options) {
  Stopwatch watch;
  Graph graph(problem);
  LocalSearch search(graph, options, watch, problem.baseCost());
  auto inapplicable = [](const char *why) {
    return createStringError(inconvertibleErrorCode(),
                             Twine("planner 'layers' needs equal layers, ") +
                                 why);
  };
  if (!graph.recomputesOnly())
    return inapplicable("and recomputation as the only way to save memory");
  Layering layering = findLayers(graph);
  if (layering.count < LayersTuning::leastLayers)
    return inapplicable("and the graph has none");
  size_t perLayer = layering.ops.size();
  uint32_t keep =
      std::clamp<size_t>(LayersTuning::wantedOps / perLayer,
                         LayersTuning::fewestKept, LayersTuning::mostKept);
  keep = std::min(keep, layering.count / 2 + 3);
  std::optional<ReducedProblem> reduced = leaveLayersOut(graph, layering, keep);
  if (!reduced)
    return inapplicable("enough of them that hold memory");
  Expected<Solution> few = planSearch(reduced->problem, partOf(options));
  if (!few)
    return few.takeError();

  Broadcast broadcast(graph, layering, *reduced, few->plan);
  // In the order of the representatives, and over and over again.
  std::vector<uint32_t> scaled(layering.count), cyclic(layering.count);
  uint32_t front = (keep + 1) / 2, skipped = layering.count - keep;
  for (uint32_t layer = 0; layer < layering.count; ++layer) {
    scaled[layer] = uint32_t(uint64_t(layer) * keep / layering.count);
    cyclic[layer] = layer < front              ? layer
                    : layer >= front + skipped ? layer - skipped
                                               : 1 + (layer - 1) % (keep - 2);
  }
  for (const std::vector<uint32_t> &representative : {scaled, cyclic})
    search.adapt(broadcast.spread(representative));
  return search.takeSolution("layers");
}

} // namespace remat::planning
