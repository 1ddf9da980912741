//===- FastMemoryTiling.cpp - the tiling of a group -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A larger tile loads less, and a deeper step has fewer of them that do not
// fill the link. Of each depth, the tiles are tried that could be neither wider
// nor higher.
//
//===----------------------------------------------------------------------===//

#include "FastMemoryGroup.h"
#include "Solution.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <array>
#include <set>

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;
using remat::planning::WorkMeter;

/// Sizes up to a limit: what all is divided into, powers of two, and,
/// if asked for, sixteenths, from the largest.
static SmallVector<int64_t, 32> listSizes(int64_t all, int64_t limit,
                                          bool hasSixteenths = true) {
  SmallVector<int64_t, 32> sizes;
  for (int64_t parts = 1; parts <= 4; ++parts)
    if (int64_t size = divideCeil(all, parts); size <= limit)
      sizes.push_back(size);
  for (int64_t size = 1; size <= limit; size *= 2)
    sizes.push_back(size);
  for (int64_t part = 1; part <= 16 && hasSixteenths; ++part)
    sizes.push_back(divideCeil(limit * part, 16));
  sort(sizes, std::greater<>());
  sizes.erase(llvm::unique(sizes), sizes.end());
  return sizes;
}

namespace {
/// Steps of work for each part of a group whose time is computed.
constexpr uint64_t stepsPerPart = 10;

/// Tiles of a group whose order a schedule says.
constexpr int64_t maxListedTiles = 1 << 20;

class TilingSearch {
public:
  TilingSearch(const Problem &problem, const Rules &rules,
               const GroupModel &model, const GroupModel::Residents &residents,
               WorkMeter &meter)
      : problem(problem), model(model), residents(residents), meter(meter) {
    bool isWide =
        rules.tiles == TileRule::Passes || rules.tiles == TileRule::OnePass;
    bool isDeep = rules.tiles != TileRule::Native;
    const Tensor &shape = model.getShape();
    // A pointwise operation before a product may want more than a result has.
    int64_t width = std::max(shape.width, model.getMinWidth(1));
    int64_t height = std::max(shape.height, model.getMinHeight(1));
    widths = listSizes(shape.width,
                       isWide ? width : std::min(width, problem.nativeWidth));
    heights = listSizes(
        shape.height, isWide ? height : std::min(height, problem.nativeHeight));
    int64_t depth = std::max<int64_t>(model.getMaxDepth(), 1);
    // The deepest step that fits is tried, too.
    depths =
        listSizes(depth, isDeep ? depth : std::min(depth, problem.nativeWidth),
                  /*hasSixteenths=*/false);
  }

  std::optional<Tiling> run() {
    for (int64_t depth : depths)
      tryDepth(depth);
    // Which steps fill the link and the compute units alike is a finer matter.
    if (best && model.hasProducts()) {
      int64_t width = best->granularity.width;
      int64_t height = best->granularity.height;
      for (int64_t depth : listSizes(depths.front(), depths.front()))
        if (model.getMinWidth(depth) <= width &&
            model.getMinHeight(depth) <= height && fits({width, height, depth}))
          tryOrders({width, height, depth});
    }
    return best;
  }

private:
  bool fits(const Granularity &granularity) {
    meter.add(model.countParts());
    return TiledGroup(model, granularity, residents).computeWorkingSet() <=
           problem.capacity;
  }

  /// Tries tiles of which no larger one fits: the narrower, the higher.
  void tryDepth(int64_t depth) {
    size_t height = heights.size();
    while (height > 0 && heights[height - 1] < model.getMinHeight(depth))
      --height;
    for (int64_t width : widths) {
      if (width < model.getMinWidth(depth))
        break;
      size_t before = height;
      while (height > 0 && fits({width, heights[height - 1], depth}))
        --height;
      if (height < before)
        tryTile(width, heights[height], depth);
    }
  }

  /// Tries a tile that fits, and those as large as fit in one direction.
  void tryTile(int64_t width, int64_t height, int64_t depth) {
    const Tensor &shape = model.getShape();
    tryOrders({width, height, depth});
    int64_t wider = findLargest(width, widths.front(), [&](int64_t size) {
      return fits({size, height, depth});
    });
    tryFewer(shape.width, width, wider,
             [&](int64_t size) { tryOrders({size, height, depth}); });
    int64_t higher = findLargest(height, heights.front(), [&](int64_t size) {
      return fits({width, size, depth});
    });
    tryFewer(shape.height, height, higher,
             [&](int64_t size) { tryOrders({width, size, depth}); });
    int64_t deeper = findLargest(depth, depths.front(), [&](int64_t size) {
      return fits({width, height, size});
    });
    if (deeper != depth)
      tryOrders({width, height, deeper});
  }

  /// The largest size up to a limit that fits, as a smaller one does.
  static int64_t findLargest(int64_t fitting, int64_t limit,
                             function_ref<bool(int64_t)> fits) {
    ++limit;
    while (limit - fitting > 1) {
      int64_t middle = fitting + (limit - fitting) / 2;
      (fits(middle) ? fitting : limit) = middle;
    }
    return fitting;
  }

  /// Tries the least size of as few tiles as the larger size has, if those are
  /// fewer.
  static void tryFewer(int64_t all, int64_t size, int64_t larger,
                       function_ref<void(int64_t)> trySize) {
    int64_t tiles = divideCeil(all, larger);
    if (tiles < static_cast<int64_t>(divideCeil(all, size)))
      trySize(divideCeil(all, tiles));
  }

  void tryOrders(const Granularity &granularity) {
    if (!tried
             .insert({granularity.width, granularity.height, granularity.depth})
             .second)
      return;
    TiledGroup group(model, granularity, residents);
    tryOrder(group, granularity, Traversal::Raster);
    // A schedule lists the tiles of other orders.
    if (!model.hasProducts() || group.getTileRows() == 1 ||
        group.getTileColumns() == 1 ||
        group.getTileRows() * group.getTileColumns() > maxListedTiles)
      return;
    tryOrder(group, granularity, Traversal::RowSnake);
    tryOrder(group, granularity, Traversal::ColumnSnake);
  }

  void tryOrder(const TiledGroup &group, const Granularity &granularity,
                Traversal traversal) {
    meter.add(stepsPerPart * model.countParts());
    double latency = group.computeLatency(traversal);
    if (!best || latency < best->latency)
      best = {granularity, traversal, latency};
  }

  const Problem &problem;
  const GroupModel &model;
  const GroupModel::Residents &residents;
  WorkMeter &meter;
  SmallVector<int64_t, 32> widths;
  SmallVector<int64_t, 32> heights;
  SmallVector<int64_t, 32> depths;
  std::set<std::array<int64_t, 3>> tried;
  std::optional<Tiling> best;
};
} // namespace

std::optional<Tiling> fastmemory::findTiling(
    const Problem &problem, const Rules &rules, const GroupModel &model,
    const GroupModel::Residents &residents, WorkMeter &meter) {
  return TilingSearch(problem, rules, model, residents, meter).run();
}
