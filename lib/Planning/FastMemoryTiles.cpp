//===- FastMemoryTiles.cpp - the steps of a group -------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of one size that follow the one before in the same way take the same
// time, and so do the steps of a tile but a few. So the time of a group is that
// of each kind, times how many there are.
//
//===----------------------------------------------------------------------===//

#include "FastMemoryGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;

/// How many tiles there are of each kind.
class TiledGroup::Census {
public:
  explicit Census(const TiledGroup &group)
      : group(group), lastWidth(group.model.shape.width -
                                (group.columns - 1) * group.granularity.width),
        lastHeight(group.model.shape.height -
                   (group.rows - 1) * group.granularity.height),
        width(std::min(group.granularity.width, group.model.shape.width)),
        height(std::min(group.granularity.height, group.model.shape.height)) {}

  /// Adds tiles of the size of that in a row and a column.
  void add(int64_t row, int64_t column, bool isFirst, bool sameRow,
           bool sameColumn, int64_t count = 1) {
    bool isNarrow = column == group.columns - 1 && lastWidth != width;
    bool isLow = row == group.rows - 1 && lastHeight != height;
    counts[isNarrow | isLow << 1 | sameRow << 2 | sameColumn << 3 |
           isFirst << 4] += count;
  }
  /// Adds a row or a column that is entered at a place.
  void addLine(int64_t line, bool isRow, int64_t entry, bool sameEntry) {
    int64_t length = isRow ? group.columns : group.rows;
    auto addTiles = [&](int64_t place, bool isEntry, int64_t count) {
      bool along = !isEntry, across = isEntry && sameEntry;
      add(isRow ? line : place, isRow ? place : line, isEntry && line == 0,
          isRow ? along : across, isRow ? across : along, count);
    };
    addTiles(entry, true, 1);
    bool isEnd = entry == length - 1;
    addTiles(0, false, length - (isEnd ? 1 : 2));
    if (!isEnd)
      addTiles(length - 1, false, 1);
  }

  template <typename Function>
  void visit(Function &&visitKind) const {
    for (int kind = 0; kind < 32; ++kind)
      if (counts[kind] > 0)
        visitKind(Tile{(kind & 1) ? lastWidth : width,
                       (kind & 2) ? lastHeight : height, (kind & 16) != 0,
                       (kind & 4) != 0, (kind & 8) != 0},
                  counts[kind]);
  }

private:
  const TiledGroup &group;
  int64_t lastWidth;
  int64_t lastHeight;
  int64_t width;
  int64_t height;
  std::array<int64_t, 32> counts = {};
};

/// The part of one dimension of an operation's result that is paid for, in
/// passes of the native granularity.
static double countPasses(int64_t elements, int64_t native, TileRule rule) {
  return rule == TileRule::OnePass
             ? 1
             : static_cast<double>(divideCeil(elements, native));
}

TiledGroup::TiledGroup(const GroupModel &model, const Granularity &granularity,
                       const GroupModel::Residents &residents)
    : model(model), granularity(granularity), residents(residents),
      rows(divideCeil(model.shape.height, granularity.height)),
      columns(divideCeil(model.shape.width, granularity.width)) {
  for (int64_t reduction : model.reductions)
    steps = std::max(steps, countSteps(reduction));
  for (const Slice &slice : model.loads)
    if (!is_contained(residents.found, slice.tensor))
      loads.push_back(simplify(slice));
  for (const GroupModel::Work &work : model.works)
    made.push_back(simplify(work.slice));
  breaks = {0, 1, steps - 1, steps};
  for (int64_t reduction : model.reductions)
    breaks.append({countSteps(reduction) - 1, countSteps(reduction)});
  sort(breaks);
  breaks.erase(llvm::unique(breaks), breaks.end());
}

int64_t TiledGroup::countSteps(int64_t reduction) const {
  return divideCeil(reduction, granularity.depth);
}

/// The same part of the tensor, said without a tile or a step that has all.
TiledGroup::Slice TiledGroup::simplify(Slice slice) const {
  const Tensor &tensor = model.problem->tensors[slice.tensor];
  auto simplifyExtent = [&](Extent &extent, int64_t tile, int64_t all) {
    if (extent == Extent::Tile && tile >= all)
      extent = Extent::All;
    if (extent == Extent::Step && countSteps(slice.reduction) == 1)
      extent = Extent::All;
  };
  simplifyExtent(slice.rows, granularity.height, tensor.height);
  simplifyExtent(slice.columns, granularity.width, tensor.width);
  return slice;
}

bool TiledGroup::isActive(const Slice &slice, int64_t step) const {
  switch (slice.time) {
  case Time::EachStep:
    return step < countSteps(slice.reduction);
  case Time::First:
    // Held for all steps of the tile.
    return true;
  case Time::Last:
    return step == steps - 1;
  }
  llvm_unreachable("unknown time");
}

bool TiledGroup::isActive(const GroupModel::Work &work, int64_t step) const {
  return work.slice.time == Time::First ? step == 0
                                        : isActive(work.slice, step);
}

int64_t TiledGroup::countElements(const Slice &slice, const Tile &tile,
                                  int64_t step) const {
  const Tensor &tensor = model.problem->tensors[slice.tensor];
  auto count = [&](Extent extent, int64_t ofTile, int64_t all) {
    switch (extent) {
    case Extent::Tile:
      return ofTile;
    case Extent::Step:
      return std::min(granularity.depth, all - step * granularity.depth);
    case Extent::All:
      return all;
    }
    llvm_unreachable("unknown extent");
  };
  return count(slice.rows, tile.height, tensor.height) *
         count(slice.columns, tile.width, tensor.width);
}

bool TiledGroup::isCovered(size_t index, int64_t step) const {
  const Slice &slice = loads[index];
  bool isAll = slice.rows == Extent::All && slice.columns == Extent::All;
  for (auto [otherIndex, other] : enumerate(loads)) {
    if (otherIndex == index || other.tensor != slice.tensor ||
        !isActive(other, step))
      continue;
    bool isSame = other.rows == slice.rows && other.columns == slice.columns;
    bool isOtherAll = other.rows == Extent::All && other.columns == Extent::All;
    if ((isSame && otherIndex < index) || (isOtherAll && !isAll))
      return true;
  }
  return false;
}

/// Whether an operation runs on the tile of the group's results.
template <typename Slice, typename Extent>
static bool isOfTile(const Slice &slice, Extent tile) {
  return slice.rows == tile && slice.columns == tile;
}

bool TiledGroup::isRepeated(size_t index, int64_t step) const {
  const GroupModel::Work &work = model.works[index];
  if (isOfTile(work.slice, Extent::Tile))
    return false;
  for (size_t i = 0; i < index; ++i) {
    const GroupModel::Work &other = model.works[i];
    if (other.op == work.op && !isOfTile(other.slice, Extent::Tile) &&
        made[i].rows == made[index].rows &&
        made[i].columns == made[index].columns &&
        other.slice.time == work.slice.time && isActive(other, step))
      return true;
  }
  return false;
}

bool TiledGroup::isReused(const Slice &slice, const Tile &tile,
                          int64_t step) const {
  if (step == 0 && tile.isFirst)
    return false;
  int64_t before = step == 0 ? steps - 1 : step - 1;
  bool isOtherTile = step == 0;
  return any_of(loads, [&](const Slice &other) {
    if (other.tensor != slice.tensor || !isActive(other, before))
      return false;
    if (other.rows == Extent::All && other.columns == Extent::All)
      return true;
    if (other.rows != slice.rows || other.columns != slice.columns)
      return false;
    if (slice.rows == Extent::Step || slice.columns == Extent::Step)
      return false;
    return !isOtherTile || ((slice.rows != Extent::Tile || tile.sameRow) &&
                            (slice.columns != Extent::Tile || tile.sameColumn));
  });
}

int64_t TiledGroup::computeWorkingSet() const {
  const Problem &problem = *model.problem;
  Tile tile;
  tile.width = std::min(granularity.width, model.shape.width);
  tile.height = std::min(granularity.height, model.shape.height);
  int64_t elements = 0;
  for (int tensor : residents.found)
    elements += problem.tensors[tensor].size();
  for (int result : model.results)
    elements += is_contained(residents.left, result)
                    ? problem.tensors[result].size()
                    : tile.width * tile.height;
  for (int64_t reduction : model.accumulators)
    if (countSteps(reduction) > 1)
      elements += tile.width * tile.height;
  // Loads of different steps of a tile are counted together, as the contest's
  // organizers do, but for parts of one reduction.
  for (size_t i = 0; i < loads.size(); ++i) {
    int64_t step = loads[i].time == Time::Last ? steps - 1 : 0;
    if (!isCovered(i, step))
      elements += countElements(loads[i], tile, 0);
  }
  return elements;
}

double TiledGroup::computeWork(const Tile &tile, int64_t step) const {
  const Problem &problem = *model.problem;
  TileRule rule = model.rules.tiles;
  double time = 0;
  for (auto [i, work] : enumerate(model.works)) {
    if (!isActive(work, step) || isRepeated(i, step))
      continue;
    const Op &op = problem.ops[work.op];
    const Tensor &tensor = problem.tensors[work.slice.tensor];
    double share = work.slice.time == Time::EachStep
                       ? static_cast<double>(std::min(
                             granularity.depth,
                             work.slice.reduction - step * granularity.depth)) /
                             static_cast<double>(work.slice.reduction)
                       : 1;
    bool isTile =
        work.slice.rows == Extent::Tile && work.slice.columns == Extent::Tile;
    bool isPart =
        work.slice.rows == Extent::Step || work.slice.columns == Extent::Step;
    double passes =
        countPasses(work.slice.rows == Extent::Tile ? tile.height
                                                    : tensor.height,
                    problem.nativeHeight, rule) *
        countPasses(work.slice.columns == Extent::Tile ? tile.width
                                                       : tensor.width,
                    problem.nativeWidth, rule);
    double cost = static_cast<double>(op.cost) * passes;
    if (isTile || isPart)
      cost *= share;
    if (op.isProduct && model.rules.costIsPerNativeDepth)
      cost *= static_cast<double>(problem.getReduction(op)) /
              static_cast<double>(problem.nativeWidth);
    time += cost;
  }
  return time;
}

double TiledGroup::computeStep(const Tile &tile, int64_t step) const {
  int64_t elements = 0;
  for (size_t i = 0; i < loads.size(); ++i)
    if (isActive(loads[i], step) && !isCovered(i, step) &&
        !isReused(loads[i], tile, step))
      elements += countElements(loads[i], tile, step);
  if (step == steps - 1)
    for (int result : model.results)
      if (!is_contained(residents.left, result))
        elements += tile.width * tile.height;
  return std::max(computeWork(tile, step),
                  static_cast<double>(elements) /
                      static_cast<double>(model.problem->bandwidth));
}

double TiledGroup::computeTile(const Tile &tile) const {
  double time = 0;
  for (size_t i = 0; i + 1 < breaks.size(); ++i)
    time += static_cast<double>(breaks[i + 1] - breaks[i]) *
            computeStep(tile, breaks[i]);
  return time;
}

double TiledGroup::sum(const Census &census) const {
  double time = 0;
  census.visit([&](const Tile &tile, int64_t count) {
    time += static_cast<double>(count) * computeTile(tile);
  });
  return time;
}

double TiledGroup::computeLatency(Traversal traversal) const {
  Census census(*this);
  bool isRow = traversal != Traversal::ColumnSnake;
  int64_t length = isRow ? columns : rows;
  for (int64_t line = 0, end = isRow ? rows : columns; line < end; ++line) {
    bool isBack = traversal != Traversal::Raster && line % 2 == 1;
    census.addLine(line, isRow, isBack ? length - 1 : 0,
                   line > 0 && (traversal != Traversal::Raster || length == 1));
  }
  return sum(census);
}

double TiledGroup::computeLatency(ArrayRef<int64_t> order) const {
  Census census(*this);
  for (auto [i, tile] : enumerate(order)) {
    int64_t row = tile / columns, column = tile % columns;
    bool isFirst = i == 0;
    census.add(row, column, isFirst, !isFirst && order[i - 1] / columns == row,
               !isFirst && order[i - 1] % columns == column);
  }
  return sum(census);
}

std::vector<int64_t> fastmemory::listTiles(Traversal traversal, int64_t rows,
                                           int64_t columns) {
  std::vector<int64_t> order;
  bool isRow = traversal != Traversal::ColumnSnake;
  int64_t length = isRow ? columns : rows;
  for (int64_t line = 0, end = isRow ? rows : columns; line < end; ++line)
    for (int64_t i = 0; i < length; ++i) {
      bool isBack = traversal != Traversal::Raster && line % 2 == 1;
      int64_t place = isBack ? length - 1 - i : i;
      order.push_back(isRow ? line * columns + place : place * columns + line);
    }
  return order;
}
