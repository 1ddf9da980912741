//===- FastMemoryGroup.h - the time of a group of operations ----*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_FASTMEMORYGROUP_H
#define REMAT_LIB_PLANNING_FASTMEMORYGROUP_H

#include "remat/Planning/FastMemory.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace remat::planning {
class WorkMeter;
} // namespace remat::planning

namespace remat::planning::fastmemory {

/// The order in which tiles are taken.
enum class Traversal {
  /// Row by row, from left to right.
  Raster,
  /// Row by row, each beginning where the one before has ended.
  RowSnake,
  /// The same, column by column.
  ColumnSnake
};

/// What a group reads, computes and writes in each of its steps, for any
/// granularity.
class GroupModel {
public:
  /// Fails if the operations cannot be one group.
  static llvm::Expected<GroupModel>
  create(const Problem &problem, const Rules &rules, llvm::ArrayRef<int> ops);

  /// Tensors that the group reads and does not make, in ascending order.
  llvm::ArrayRef<int> getInputs() const { return inputs; }
  /// Tensors that it makes and does not read, in ascending order.
  llvm::ArrayRef<int> getResults() const { return results; }
  /// The shape of all results.
  const Tensor &getShape() const { return shape; }
  /// The smallest reduction of its products, 0 without any.
  int64_t getMaxDepth() const { return maxDepth; }
  bool hasProducts() const { return maxDepth > 0; }
  /// Slices that are loaded, and operations.
  size_t countParts() const { return loads.size() + works.size(); }
  /// The smallest tile that its pointwise operations before products allow at a
  /// depth.
  int64_t getMinWidth(int64_t depth) const {
    return depth < longest ? minWidth : 1;
  }
  int64_t getMinHeight(int64_t depth) const {
    return depth < longest ? minHeight : 1;
  }

  /// Tensors in fast memory, in ascending order.
  struct Residents {
    /// Left by the group before, whether read here or not.
    llvm::ArrayRef<int> found;
    /// Results that are left for the next group.
    llvm::ArrayRef<int> left;
  };

  /// Fails if a granularity is not allowed, whatever the capacity.
  llvm::Error check(const Granularity &granularity) const;

private:
  friend class TiledGroup;

  /// The part of one dimension of a tensor that is concerned.
  enum class Extent {
    /// That of the tile, in its rows or columns.
    Tile,
    /// That of the step, in a reduction.
    Step,
    All
  };
  enum class Time { EachStep, First, Last };
  /// A part of a tensor that is needed at some steps of each tile.
  struct Slice {
    int tensor;
    Extent rows;
    Extent columns;
    Time time;
    /// The length of the reduction whose steps these are.
    int64_t reduction;

    bool operator==(const Slice &other) const;
  };
  /// What is computed on a slice of a result.
  struct Work {
    int op;
    Slice slice;
  };
  GroupModel(const Problem &problem, const Rules &rules)
      : problem(&problem), rules(rules) {}

  llvm::Error build(llvm::ArrayRef<int> ops);
  llvm::Error checkShapes() const;
  bool isConnected(llvm::ArrayRef<int> ops) const;
  /// Adds all that making a slice takes.
  void require(Slice slice);

  const Problem *problem;
  Rules rules;
  std::vector<int> inputs;
  std::vector<int> results;
  Tensor shape;
  int64_t maxDepth = 0;
  /// The longest reduction.
  int64_t longest = 0;
  /// What, with several steps, a pointwise operation before a product asks of
  /// the tile.
  int64_t minWidth = 1;
  int64_t minHeight = 1;
  std::vector<Slice> loads;
  std::vector<Work> works;
  /// Lengths of the reductions that end in no result of the group.
  std::vector<int64_t> accumulators;
  /// Lengths of the reductions that are done in steps.
  std::vector<int64_t> reductions;
  /// For building: whether each operation is in the group.
  std::vector<bool> isMember;
};

/// A group with a granularity that is allowed.
class TiledGroup {
public:
  TiledGroup(const GroupModel &model, const Granularity &granularity,
             const GroupModel::Residents &residents);

  int64_t getTileRows() const { return rows; }
  int64_t getTileColumns() const { return columns; }
  /// Elements of fast memory in use.
  int64_t computeWorkingSet() const;
  /// Time.
  double computeLatency(Traversal traversal) const;
  /// The same with any order of all tiles, which are counted row by row.
  double computeLatency(llvm::ArrayRef<int64_t> order) const;

private:
  using Extent = GroupModel::Extent;
  using Time = GroupModel::Time;
  using Slice = GroupModel::Slice;

  /// A tile's size, and how it follows the one before.
  struct Tile {
    int64_t width = 0;
    int64_t height = 0;
    bool isFirst = false;
    bool sameRow = false;
    bool sameColumn = false;
  };
  /// How many tiles there are of each kind.
  class Census;

  Slice simplify(Slice slice) const;
  int64_t countSteps(int64_t reduction) const;
  bool isActive(const Slice &slice, int64_t step) const;
  bool isActive(const GroupModel::Work &work, int64_t step) const;
  int64_t countElements(const Slice &slice, const Tile &tile,
                        int64_t step) const;
  /// Whether a slice is there with others that are there in the same step.
  bool isCovered(size_t slice, int64_t step) const;
  /// Whether an operation makes the same for others in the same step.
  bool isRepeated(size_t work, int64_t step) const;
  bool isReused(const Slice &slice, const Tile &tile, int64_t step) const;
  double computeWork(const Tile &tile, int64_t step) const;
  double computeStep(const Tile &tile, int64_t step) const;
  double computeTile(const Tile &tile) const;
  double sum(const Census &census) const;

  const GroupModel &model;
  Granularity granularity;
  GroupModel::Residents residents;
  int64_t rows;
  int64_t columns;
  int64_t steps = 1;
  /// What is not in fast memory anyway.
  llvm::SmallVector<Slice, 8> loads;
  /// What is computed, in the order of the model's works.
  llvm::SmallVector<Slice, 8> made;
  /// Steps between which nothing changes, the last one behind the end.
  llvm::SmallVector<int64_t, 8> breaks;
};

/// A granularity, an order and their time.
struct Tiling {
  Granularity granularity;
  Traversal traversal = Traversal::Raster;
  double latency = 0;
};

/// The fastest tiling of a group that was found among tiles that divide it and
/// powers of two; none if nothing fits. `meter` is told of the work.
std::optional<Tiling> findTiling(const Problem &problem, const Rules &rules,
                                 const GroupModel &model,
                                 const GroupModel::Residents &residents,
                                 WorkMeter &meter);

/// All tiles of a traversal.
std::vector<int64_t> listTiles(Traversal traversal, int64_t rows,
                               int64_t columns);

} // namespace remat::planning::fastmemory

#endif // REMAT_LIB_PLANNING_FASTMEMORYGROUP_H
