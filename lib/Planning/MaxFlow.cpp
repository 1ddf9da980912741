//===- MaxFlow.cpp - minimum cuts -----------------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Levels by breadth-first search, then a blocking flow by depth-first search
// with an explicit path, until the sink cannot be reached.
//
//===----------------------------------------------------------------------===//

#include "MaxFlow.h"

#include <algorithm>

namespace remat::planning {

uint32_t MaxFlow::addEdge(uint32_t from, uint32_t to, int64_t capacity) {
  arcBegin.clear();
  tails.push_back(from);
  heads.push_back(to);
  capacities.push_back(capacity);
  return uint32_t(tails.size() - 1);
}

/// Groups the arcs by their tails, once.
void MaxFlow::index() {
  if (!arcBegin.empty())
    return;
  arcBegin.assign(numNodes + 1, 0);
  for (size_t edge = 0; edge < tails.size(); ++edge) {
    ++arcBegin[tails[edge] + 1];
    ++arcBegin[heads[edge] + 1];
  }
  for (uint32_t node = 0; node < numNodes; ++node)
    arcBegin[node + 1] += arcBegin[node];
  std::vector<uint32_t> slot(arcBegin.begin(), arcBegin.end() - 1);
  arcHead.resize(2 * tails.size());
  arcReverse.resize(2 * tails.size());
  arcOfEdge.resize(tails.size());
  for (size_t edge = 0; edge < tails.size(); ++edge) {
    uint32_t arc = slot[tails[edge]]++, reverse = slot[heads[edge]]++;
    arcOfEdge[edge] = arc;
    arcHead[arc] = heads[edge];
    arcHead[reverse] = tails[edge];
    arcReverse[arc] = reverse;
    arcReverse[reverse] = arc;
  }
}

bool MaxFlow::findLevels(uint32_t source, uint32_t sink) {
  level.assign(numNodes, unreached);
  queue.clear();
  queue.push_back(source);
  level[source] = 0;
  for (size_t at = 0; at < queue.size(); ++at) {
    uint32_t node = queue[at];
    for (uint32_t arc = arcBegin[node]; arc < arcBegin[node + 1]; ++arc) {
      uint32_t head = arcHead[arc];
      if (residual[arc] == 0 || level[head] != unreached)
        continue;
      level[head] = level[node] + 1;
      queue.push_back(head);
    }
    edgesSeen += arcBegin[node + 1] - arcBegin[node];
  }
  return level[sink] != unreached;
}

int64_t MaxFlow::blockingFlow(uint32_t source, uint32_t sink,
                              uint64_t workLimit) {
  int64_t total = 0;
  next.assign(arcBegin.begin(), arcBegin.end() - 1);
  path.clear();
  uint32_t node = source;
  while (edgesSeen < workLimit) {
    if (node == sink) {
      int64_t flow = unlimited;
      for (uint32_t arc : path)
        flow = std::min(flow, residual[arc]);
      total += flow;
      // Go on from the first arc that is full now.
      size_t keep = path.size();
      for (size_t i = path.size(); i-- > 0;) {
        residual[path[i]] -= flow;
        residual[arcReverse[path[i]]] += flow;
        if (residual[path[i]] == 0)
          keep = i;
      }
      edgesSeen += path.size();
      node = arcHead[arcReverse[path[keep]]];
      path.resize(keep);
      continue;
    }
    uint32_t &arc = next[node];
    uint32_t end = arcBegin[node + 1];
    while (arc < end &&
           (residual[arc] == 0 || level[arcHead[arc]] != level[node] + 1)) {
      ++arc;
      ++edgesSeen;
    }
    if (arc < end) {
      path.push_back(arc);
      node = arcHead[arc];
      ++edgesSeen;
      continue;
    }
    if (path.empty())
      break;
    // A dead end: no path leads through it any more.
    node = arcHead[arcReverse[path.back()]];
    path.pop_back();
    ++next[node];
    ++edgesSeen;
  }
  return total;
}

int64_t MaxFlow::solve(uint32_t source, uint32_t sink, uint64_t workLimit) {
  index();
  residual.assign(arcHead.size(), 0);
  for (size_t edge = 0; edge < tails.size(); ++edge)
    residual[arcOfEdge[edge]] = capacities[edge];
  edgesSeen = 0;
  isComplete = false;
  int64_t total = 0;
  while (edgesSeen < workLimit) {
    if (!findLevels(source, sink)) {
      isComplete = true;
      break;
    }
    total += blockingFlow(source, sink, workLimit);
  }
  return total;
}

} // namespace remat::planning
