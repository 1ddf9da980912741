//===- LayerCuts.cpp - where a function is cut into layers ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Few layers have much to keep at a time, many have much between them. For each
// bound on what a layer keeps, the cuts that leave the least between layers are
// a shortest path, and the best of a number of bounds is taken.
//
//===----------------------------------------------------------------------===//

#include "LayerCuts.h"

#include "remat/Utils/Saturating.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace llvm;
using namespace remat;

namespace {
struct LayerCutsTuning {
  /// Bounds on the bytes of a layer that are tried.
  static constexpr size_t maxBounds = 64;
  /// Places to cut at that are looked at, the narrowest ones.
  static constexpr size_t maxBorders = 160;
};

class CutSearch {
public:
  explicit CutSearch(const LayerBytes &bytes) : bytes(bytes) {
    findBorders();
    measureLayers();
  }
  SmallVector<unsigned> run() const;

private:
  void findBorders();
  void measureLayers();
  /// What the layer between two borders keeps at a time.
  int64_t &layer(size_t from, size_t to) {
    return layers[from * borders.size() + to];
  }
  int64_t getLayer(size_t from, size_t to) const {
    return layers[from * borders.size() + to];
  }
  /// What lies at a border, for all parts.
  int64_t getBetween(size_t border) const {
    unsigned op = borders[border];
    return op == 0 || op == bytes.ops.size()
               ? 0
               : multiplyCounts(*bytes.ops[op].crossing, bytes.parts);
  }
  int64_t findPath(int64_t bound, SmallVectorImpl<size_t> &path) const;

  const LayerBytes &bytes;
  /// Operations before which a layer may begin; the first one and the end.
  std::vector<unsigned> borders;
  std::vector<int64_t> layers;
};
} // namespace

/// The first of neighbours with the same bytes, where those on both sides have
/// more.
void CutSearch::findBorders() {
  unsigned end = bytes.ops.size();
  auto at = [&](unsigned op) {
    return op == end ? INT64_MAX : bytes.ops[op].crossing.value_or(INT64_MAX);
  };
  std::vector<unsigned> narrow;
  for (unsigned op = 1, next = 1; op < end; op = next) {
    while (next < end && at(next) == at(op))
      ++next;
    if (at(next) > at(op) && (op == 1 || at(op - 1) > at(op)))
      narrow.push_back(op);
  }
  stable_sort(narrow, [&](unsigned a, unsigned b) { return at(a) < at(b); });
  narrow.resize(std::min(narrow.size(), LayerCutsTuning::maxBorders));
  sort(narrow);
  borders.push_back(0);
  append_range(borders, narrow);
  borders.push_back(end);
}

void CutSearch::measureLayers() {
  layers.resize(borders.size() * borders.size());
  for (size_t from = 0; from + 1 < borders.size(); ++from) {
    SmallBitVector seen(bytes.gradients.size());
    int64_t sum = 0;
    for (size_t to = from + 1; to < borders.size(); ++to) {
      for (unsigned op = borders[to - 1]; op < borders[to]; ++op) {
        sum = addCounts(sum, bytes.ops[op].made);
        for (unsigned weight : bytes.ops[op].weights)
          if (!seen.test(weight)) {
            seen.set(weight);
            sum = addCounts(sum, bytes.gradients[weight]);
          }
      }
      // Backward, there are cotangents of what lies on both sides.
      layer(from, to) =
          addCounts(sum, addCounts(getBetween(from), getBetween(to)));
    }
  }
}

/// The borders between layers that keep at most `bound` bytes each, with the
/// least bytes between them, which are returned; INT64_MAX if there are none.
int64_t CutSearch::findPath(int64_t bound,
                            SmallVectorImpl<size_t> &path) const {
  size_t last = borders.size() - 1;
  std::vector<int64_t> least(borders.size(), INT64_MAX);
  std::vector<size_t> before(borders.size(), 0);
  least[0] = 0;
  for (size_t to = 1; to <= last; ++to)
    for (size_t from = 0; from < to; ++from) {
      if ((from == 0 && to == last) || least[from] == INT64_MAX ||
          getLayer(from, to) > bound)
        continue;
      int64_t sum = addCounts(least[from], getBetween(to));
      if (sum < least[to]) {
        least[to] = sum;
        before[to] = from;
      }
    }
  path.clear();
  if (least[last] != INT64_MAX)
    for (size_t at = before[last]; at != 0; at = before[at])
      path.push_back(at);
  std::reverse(path.begin(), path.end());
  return least[last];
}

SmallVector<unsigned> CutSearch::run() const {
  std::vector<int64_t> bounds;
  for (size_t from = 0; from + 1 < borders.size(); ++from)
    for (size_t to = from + 1; to < borders.size(); ++to)
      bounds.push_back(getLayer(from, to));
  sort(bounds);
  bounds.erase(llvm::unique(bounds), bounds.end());
  size_t count = std::min(bounds.size(), LayerCutsTuning::maxBounds);
  SmallVector<size_t> path, best;
  int64_t least = INT64_MAX;
  for (size_t i = 1; i <= count; ++i) {
    int64_t bound = bounds[bounds.size() * i / count - 1];
    int64_t between = findPath(bound, path);
    if (between == INT64_MAX || addCounts(between, bound) >= least)
      continue;
    least = addCounts(between, bound);
    best = path;
  }
  return map_to_vector(best, [&](size_t border) { return borders[border]; });
}

SmallVector<unsigned> remat::chooseLayerCuts(const LayerBytes &bytes) {
  if (bytes.ops.empty())
    return {};
  return CutSearch(bytes).run();
}
