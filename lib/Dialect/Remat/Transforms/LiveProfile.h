//===- LiveProfile.h - bytes over time --------------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LIVEPROFILE_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LIVEPROFILE_H

#include "llvm/Support/MathExtras.h"

#include <cstdint>
#include <vector>

namespace remat {

/// How many bytes are live at each of a number of points in time. Everything
/// takes time that is logarithmic in that number: a segment tree whose nodes
/// have what was added to all of their points, and the maximum of these.
class LiveProfile {
public:
  explicit LiveProfile(unsigned numPoints)
      : width(llvm::PowerOf2Ceil(numPoints)), nodes(2 * width) {}

  /// Adds to the points `begin` to `end`, without the latter.
  void add(unsigned begin, unsigned end, int64_t bytes) {
    if (begin < end && bytes != 0)
      add(1, 0, width, begin, end, bytes);
  }

  /// The most bytes at the points `begin` to `end`, without the latter; 0 if
  /// there are none.
  int64_t getMax(unsigned begin, unsigned end) const {
    return begin < end ? getMax(1, 0, width, begin, end) : 0;
  }

  int64_t get(unsigned point) const { return getMax(point, point + 1); }

private:
  struct Node {
    int64_t added = 0, max = 0;
  };

  /// `node` is that of the points `from` to `to`.
  void add(unsigned node, unsigned from, unsigned to, unsigned begin,
           unsigned end, int64_t bytes) {
    if (begin <= from && to <= end) {
      nodes[node].added += bytes;
      nodes[node].max += bytes;
      return;
    }
    unsigned middle = from + (to - from) / 2;
    if (begin < middle)
      add(2 * node, from, middle, begin, end, bytes);
    if (middle < end)
      add(2 * node + 1, middle, to, begin, end, bytes);
    nodes[node].max = nodes[node].added +
                      std::max(nodes[2 * node].max, nodes[2 * node + 1].max);
  }

  int64_t getMax(unsigned node, unsigned from, unsigned to, unsigned begin,
                 unsigned end) const {
    if (begin <= from && to <= end)
      return nodes[node].max;
    unsigned middle = from + (to - from) / 2;
    if (end <= middle)
      return nodes[node].added + getMax(2 * node, from, middle, begin, end);
    if (middle <= begin)
      return nodes[node].added + getMax(2 * node + 1, middle, to, begin, end);
    return nodes[node].added +
           std::max(getMax(2 * node, from, middle, begin, end),
                    getMax(2 * node + 1, middle, to, begin, end));
  }

  unsigned width;
  std::vector<Node> nodes;
};

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_LIVEPROFILE_H
