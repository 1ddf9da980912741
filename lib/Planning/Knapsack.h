//===- Knapsack.h - all undominated subsets ---------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The 0-1 knapsack for all capacities at once.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_KNAPSACK_H
#define REMAT_LIB_PLANNING_KNAPSACK_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <vector>

namespace remat::planning {

class KnapsackFrontier {
public:
  struct Item {
    int64_t bytes, gain;
  };
  struct Point {
    int64_t bytes, gain;
  };

  /// At most `mostPoints` (at least 2) subsets are kept after each item.
  KnapsackFrontier(llvm::ArrayRef<Item> items, size_t mostPoints);

  /// The undominated subsets: no other subset gains as much with fewer bytes,
  /// or more with as many. Bytes and gains ascend. Never empty.
  llvm::ArrayRef<Point> points() const { return lists.back(); }
  /// The items of a point.
  std::vector<bool> chosen(size_t index) const;
  /// Whether nothing was left out for want of space.
  bool exact() const { return exactly; }

private:
  std::vector<Item> items;
  /// The undominated subsets of the first k items.
  std::vector<std::vector<Point>> lists;
  bool exactly = true;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_KNAPSACK_H
