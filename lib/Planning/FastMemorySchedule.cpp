//===- FastMemorySchedule.cpp - checks and measures schedules -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FastMemoryGroup.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
namespace fastmemory = remat::planning::fastmemory;
using namespace remat::planning::fastmemory;

double Schedule::getLatency() const {
  double latency = 0;
  for (const Group &group : groups)
    latency += group.latency;
  return latency;
}

namespace {
/// Runs a schedule.
class Evaluator {
public:
  Evaluator(const Problem &problem, const Rules &rules)
      : problem(problem), rules(rules), isStored(problem.tensors.size()),
        hasRun(problem.ops.size()) {
    for (size_t i = 0; i < problem.tensors.size(); ++i)
      isStored[i] = problem.isInput(static_cast<int>(i));
  }

  Error run(Schedule &schedule) {
    for (auto [i, group] : enumerate(schedule.groups))
      if (Error error = runGroup(group))
        return createStringError("group " + Twine(i) + ": " +
                                 toString(std::move(error)));
    for (size_t i = 0; i < hasRun.size(); ++i)
      if (!hasRun[i])
        return createStringError("operation " + Twine(i) + " is in no group");
    for (size_t i = 0; i < isStored.size(); ++i)
      if (problem.isOutput(static_cast<int>(i)) && !isStored[i])
        return createStringError(
            "tensor " + Twine(i) +
            ", which is an output, is never written: each group that "
            "makes it retains it");
    return Error::success();
  }

private:
  Error runGroup(Group &group) {
    Expected<GroupModel> model = GroupModel::create(problem, rules, group.ops);
    if (!model)
      return model.takeError();
    for (int input : model->getInputs())
      if (!isStored[input] && !is_contained(residents, input))
        return createStringError(
            "tensor " + Twine(input) +
            " is in neither memory: no group before writes it, and the "
            "one before does not retain it");
    std::vector<int> left = group.retained;
    sort(left);
    for (auto [i, tensor] : enumerate(left)) {
      if (!is_contained(model->getResults(), tensor))
        return createStringError(
            "tensor " + Twine(tensor) +
            " is retained, and is no result that leaves the group");
      if (i > 0 && left[i - 1] == tensor)
        return createStringError("tensor " + Twine(tensor) +
                                 " is retained twice");
    }
    if (Error error = model->check(group.granularity))
      return error;
    TiledGroup tiled(*model, group.granularity, {residents, left});
    int64_t elements = tiled.computeWorkingSet();
    if (elements > problem.capacity)
      return createStringError("it needs " + Twine(elements) +
                               " elements of fast memory, which has " +
                               Twine(problem.capacity));
    if (Error error = measure(group, tiled))
      return error;
    for (int op : group.ops)
      hasRun[op] = true;
    for (int result : model->getResults())
      if (!is_contained(left, result))
        isStored[result] = true;
    residents = std::move(left);
    return Error::success();
  }

  static Error measure(Group &group, const TiledGroup &tiled) {
    if (group.order.empty()) {
      group.latency = tiled.computeLatency(Traversal::Raster);
      return Error::success();
    }
    int64_t count = tiled.getTileRows() * tiled.getTileColumns();
    std::vector<bool> isVisited(static_cast<size_t>(count));
    if (static_cast<int64_t>(group.order.size()) != count)
      return createStringError("its order has " + Twine(group.order.size()) +
                               " tiles instead of " + Twine(count));
    for (int64_t tile : group.order) {
      if (tile < 0 || tile >= count)
        return createStringError("its order has tile " + Twine(tile) + " of " +
                                 Twine(count));
      if (isVisited[tile])
        return createStringError("its order has tile " + Twine(tile) +
                                 " twice");
      isVisited[tile] = true;
    }
    group.latency = tiled.computeLatency(group.order);
    return Error::success();
  }

  const Problem &problem;
  const Rules &rules;
  /// Tensors in slow memory.
  std::vector<bool> isStored;
  std::vector<bool> hasRun;
  /// Tensors that the last group has left in fast memory.
  std::vector<int> residents;
};
} // namespace

Error fastmemory::evaluate(const Problem &problem, const Rules &rules,
                           Schedule &schedule) {
  return Evaluator(problem, rules).run(schedule);
}
