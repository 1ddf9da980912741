//===- MaxFlow.h - minimum cuts ---------------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Maximum flow by blocking flows [Dinic 1970], on integers. The network is
// built once; its capacities may be changed between solutions.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_MAXFLOW_H
#define REMAT_LIB_PLANNING_MAXFLOW_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace remat::planning {

class MaxFlow {
public:
  /// More than any flow: the flow out of the source has to stay below it.
  static constexpr int64_t unlimited = int64_t(1) << 62;

  uint32_t addNode() { return numNodes++; }
  /// Returns the edge's id.
  uint32_t addEdge(uint32_t from, uint32_t to, int64_t capacity = 0);
  void setCapacity(uint32_t edge, int64_t capacity) {
    capacities[edge] = capacity;
  }

  size_t numArcs() const { return 2 * tails.size(); }

  /// The largest flow from `source` to `sink`. When about `workLimit` edges
  /// have been looked at, the flow that was found so far. No cut is smaller
  /// than the result, in both cases.
  int64_t solve(uint32_t source, uint32_t sink, uint64_t workLimit);
  /// Whether the last solution is a maximum.
  bool complete() const { return isComplete; }
  /// Edges looked at by the last solution.
  uint64_t work() const { return edgesSeen; }
  /// Whether a node is on the source's side of the smallest cut; of several
  /// such cuts, of the one closest to the source. Valid if `complete`.
  bool onSourceSide(uint32_t node) const { return level[node] != unreached; }

private:
  static constexpr uint32_t unreached = ~uint32_t(0);

  void index();
  bool findLevels(uint32_t source, uint32_t sink);
  int64_t blockingFlow(uint32_t source, uint32_t sink, uint64_t workLimit);

  uint32_t numNodes = 0;
  std::vector<uint32_t> tails, heads;
  std::vector<int64_t> capacities;

  /// Arcs grouped by tail: edge e is an arc, and so is its reverse.
  std::vector<uint32_t> arcBegin, arcHead, arcReverse, arcOfEdge;
  std::vector<int64_t> residual;
  std::vector<uint32_t> level, next, queue, path;
  uint64_t edgesSeen = 0;
  bool isComplete = false;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_MAXFLOW_H
