//===- FastMemory.h - tiled graphs through a fast memory --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The problem of the MLSys 2026 contest on memory-constrained graph scheduling
// (PROBLEM.md of github.com/yarongmu-google/MLSys): matrix products and
// pointwise operations on matrices larger than a fast memory. A schedule runs
// groups of operations one after the other, each in tiles of one granularity.
// Values inside of a group are never stored; what a group reads and writes
// crosses a link to slow memory, except for results that it leaves in fast
// memory for the next group. An operation may run in several groups.
//
// The time of a group is the sum over its steps of max(compute, transfers). A
// step is one tile at one part of the reduction:
//
// * Tiles of w x h elements cover the results of a group, which all have the
//   same shape. Products whose results are these, or reach them through
//   pointwise operations, take k of their reduction in a step; their
//   accumulators stay in fast memory until the last step of a tile, in which
//   the pointwise operations behind them run.
// * A product that makes an operand of another one makes the slice that a step
//   reads, over all of its own reduction. A pointwise operation runs on whole
//   tiles only: it makes the left operand of a product if w is at least the
//   reduction of that, the right one if h is, once for each tile of the group.
// * A product costs what it says for a tile of the native granularity and all
//   of its reduction, and the share of that for a part of the reduction. A
//   smaller tile costs the same. What is made for a tile is made again for the
//   next one.
// * A slice that the step before had, too, is not loaded again.
// * The slices of a step, accumulators, the tiles of results, and whatever is
//   left or found in fast memory fit there together.
//
// Where the contest's organizers allow two readings, this is the one whose
// schedules are valid, and no slower, under the other.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_FASTMEMORY_H
#define REMAT_PLANNING_FASTMEMORY_H

#include "remat/Planning/Algorithms.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <cstdint>
#include <vector>

namespace remat::planning::fastmemory {

/// A matrix of `height` rows and `width` columns.
struct Tensor {
  int64_t width = 0;
  int64_t height = 0;

  int64_t size() const { return width * height; }
};

/// An operation of the graph: a product or a pointwise one.
struct Op {
  /// A product of two operands with one result; else pointwise, on operands and
  /// results of one shape.
  bool isProduct = false;
  /// Indices of tensors.
  std::vector<int> inputs;
  std::vector<int> outputs;
  /// Time of a tile of the native granularity.
  int64_t cost = 0;
};

/// A tile of a result, and the part of reductions that a step takes.
struct Granularity {
  int64_t width = 1;
  int64_t height = 1;
  int64_t depth = 1;
};

/// A graph, and the machine that runs it.
struct Problem {
  std::vector<Tensor> tensors;
  std::vector<Op> ops;
  /// Elements that the fast memory holds.
  int64_t capacity = 0;
  /// Elements per unit of time between the memories, in both directions.
  int64_t bandwidth = 1;
  int64_t nativeWidth = 1;
  int64_t nativeHeight = 1;

  /// The operation that makes each tensor, -1 for inputs.
  std::vector<int> producers;
  /// The operations that read each tensor.
  std::vector<std::vector<int>> consumers;

  bool isInput(int tensor) const {
    return producers[static_cast<size_t>(tensor)] < 0;
  }
  /// Whether nothing reads the result of an operation.
  bool isOutput(int tensor) const {
    return !isInput(tensor) && consumers[static_cast<size_t>(tensor)].empty();
  }
  /// The length of a product's reduction.
  int64_t getReduction(const Op &op) const {
    return tensors[static_cast<size_t>(op.inputs.front())].width;
  }
};

/// Which tiles and depths there are besides those up to the native ones.
enum class TileRule {
  /// None: the contest's rules as it closed.
  Native,
  /// Any depth, up to the reduction: what the organizers said at first, and
  /// what several entries take.
  AnyDepth,
  /// Larger tiles, too, at the cost of a pass for each native tile: the rules
  /// as the contest began.
  Passes,
  /// Larger tiles at the cost of a native one. Some published figures are of
  /// this.
  OnePass
};

/// Which reading of the contest's rules applies.
struct Rules {
  TileRule tiles = TileRule::Native;
  /// Whether a product's cost is that of the native depth, not that of all of
  /// its reduction. The organizers' statements say the latter more often; the
  /// first-placed entry took the former.
  bool costIsPerNativeDepth = false;
};

/// A group of operations that is run in tiles.
struct Group {
  /// Indices of operations, in an order in which they can run.
  std::vector<int> ops;
  Granularity granularity;
  /// Results that stay in fast memory until the end of the next group, and are
  /// not written.
  std::vector<int> retained;
  /// The order of the tiles, which are counted row by row; empty for that.
  std::vector<int64_t> order;
  /// Time.
  double latency = 0;
};

/// Groups in the order in which they run. An operation may be in several.
struct Schedule {
  std::vector<Group> groups;

  /// The sum of the latencies of the groups, which `evaluate` sets.
  double getLatency() const;
};

/// Reads a problem in the contest's format, and checks it.
llvm::Expected<Problem> parseProblem(llvm::StringRef text);
/// Whether a text is a JSON object that is meant to be one.
bool isProblem(llvm::StringRef text);
/// Reads a schedule in the contest's format.
llvm::Expected<Schedule> parseSchedule(llvm::StringRef text);
/// Writes a schedule in the contest's format.
llvm::json::Value toJson(const Schedule &schedule);

/// Checks a schedule, and sets the latencies of its groups. Fails with what is
/// wrong in which group: an unknown, missing or unconnected operation, an
/// operand that is in neither memory, a granularity that is not allowed or does
/// not fit, an order that is none.
llvm::Error evaluate(const Problem &problem, const Rules &rules,
                     Schedule &schedule);

/// A latency that no schedule is below: that of all operations once, or of what
/// crosses the link. All inputs are read, and all outputs written. With native
/// tiles, what does not fit into fast memory is read for each row or column of
/// tiles by a product whose reduction takes several steps.
double computeLowerBound(const Problem &problem, const Rules &rules);

/// What the search comes to.
struct Found {
  Schedule schedule;
  /// A proven bound on the latency of all schedules.
  double lowerBound = 0;
  /// Seconds after which the schedule was found, and at which all ended.
  double secondsToBest = 0;
  double seconds = 0;
  /// Whether the clock or the caller ended the search.
  bool isCutShort = false;
};

/// Searches for a schedule: a group for each operation, then the merge that
/// gains most, then simulated annealing that merges and splits groups, and
/// moves operations and repeats them in others. Retained results and
/// granularities are chosen for each group. It is done by stricter rules
/// before, if there are any, so that more tiles are never worse. It ends when
/// the effort or the time limit is over, at the gap that is asked for, or when
/// it is interrupted; more effort is never worse. The threads of the options
/// are not used. Fails if an operation alone does not fit into fast memory.
llvm::Expected<Found> findSchedule(const Problem &problem, const Rules &rules,
                                   const SolverOptions &options = {});

} // namespace remat::planning::fastmemory

#endif // REMAT_PLANNING_FASTMEMORY_H
