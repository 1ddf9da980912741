//===- LoopIndices.cpp - which element an iteration selects ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopIndices.h"

#include "IndexEvaluation.h"

using namespace mlir;
using namespace remat;
using import::IndexEvaluation;
using import::Order;

/// Iterations of a loop whose indices are computed one after the other, where
/// it cannot be shown that they are a line. There are slices of longer loops,
/// too, but it takes seconds to find them.
static constexpr int64_t maxTrips = int64_t(1) << 20;

Order import::LoopIndices::findOrder(OpFoldResult index) {
  auto value = dyn_cast<Value>(index);
  if (!value || !value.getType().isIndex() || bounds.trips == 0)
    return Order::None;
  auto [it, isNew] = orders.try_emplace(value, Order::None);
  if (!isNew)
    return it->second;
  IndexEvaluation evaluation(loop, bounds, value);
  // Which element is the last is known at run time, then.
  bool isForward = true, isBackward = !bounds.isRunTime;
  auto check = [&](int64_t number, int64_t selected) {
    isForward &= selected == number;
    isBackward &= selected == bounds.trips - 1 - number;
    return isForward || isBackward;
  };
  if (std::optional<IndexEvaluation::Line> line = evaluation.proveLine()) {
    if (!check(0, line->first) ||
        (bounds.trips > 1 && !check(1, line->first + line->step)))
      return Order::None;
  } else {
    if (bounds.trips > maxTrips)
      return Order::None;
    for (int64_t number = 0; number < bounds.trips; ++number) {
      auto selected = dyn_cast_or_null<IntegerAttr>(evaluation.next());
      if (!selected || !check(number, selected.getInt()))
        return Order::None;
    }
  }
  return it->second = isForward ? Order::Forward : Order::Backward;
}
