//===- FastMemoryBound.cpp - latencies that no schedule is below ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All operations run once, and every input is read and every output written.
// With native tiles, a product whose reduction is longer than a step reads its
// operands again for each row or column of tiles: no slice of a step is that of
// the step before.
//
//===----------------------------------------------------------------------===//

#include "remat/Planning/FastMemory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace fastmemory = remat::planning::fastmemory;
using namespace llvm;
using namespace remat::planning::fastmemory;

static double computeOnce(const Problem &problem, const Rules &rules) {
  double time = 0;
  for (const Op &op : problem.ops) {
    const Tensor &result = problem.tensors[op.outputs.front()];
    double cost = static_cast<double>(op.cost);
    if (rules.tiles != TileRule::OnePass)
      cost *=
          static_cast<double>(divideCeil(result.width, problem.nativeWidth) *
                              divideCeil(result.height, problem.nativeHeight));
    if (op.isProduct && rules.costIsPerNativeDepth)
      cost *= static_cast<double>(problem.getReduction(op)) /
              static_cast<double>(problem.nativeWidth);
    time += cost;
  }
  return time;
}

namespace {
/// Elements that cross the link.
class Traffic {
public:
  Traffic(const Problem &problem, const Rules &rules)
      : problem(problem), rules(rules) {}

  int64_t count() const {
    int64_t elements = 0;
    for (int tensor = 0, end = static_cast<int>(problem.tensors.size());
         tensor < end; ++tensor) {
      int64_t reads = countReads(tensor);
      // What is read was written, but for inputs.
      bool isWritten =
          problem.isOutput(tensor) || (reads > 0 && !problem.isInput(tensor));
      elements += problem.tensors[tensor].size() * (reads + isWritten);
    }
    return elements;
  }

private:
  /// How often all of a tensor is read at least.
  int64_t countReads(int tensor) const {
    bool isInput = problem.isInput(tensor);
    int64_t reads = isInput && !problem.consumers[tensor].empty();
    // It may stay in fast memory.
    if (problem.tensors[tensor].size() <= problem.capacity)
      return reads;
    for (int consumer : problem.consumers[tensor]) {
      const Op &op = problem.ops[consumer];
      if (isLong(op) && (isInput || !canBeMadeWith(tensor)))
        reads = std::max(reads, canBeInner(op) ? 1 : countReads(op, tensor));
    }
    return reads;
  }

  /// How often a product reads an operand, for each tile of its result.
  int64_t countReads(const Op &op, int operand) const {
    const Tensor &result = problem.tensors[op.outputs.front()];
    int64_t reads = 0;
    if (op.inputs[0] == operand)
      reads = divideCeil(result.width, problem.nativeWidth);
    if (op.inputs[1] == operand)
      reads = std::max<int64_t>(
          reads, divideCeil(result.height, problem.nativeHeight));
    return reads;
  }

  /// Whether an operation is a product that takes several steps.
  bool isLong(const Op &op) const {
    return op.isProduct && rules.tiles == TileRule::Native &&
           problem.getReduction(op) > problem.nativeWidth;
  }

  /// Whether the group of a long product that reads a tensor may make it, too.
  /// A pointwise operation would have to in one tile.
  bool canBeMadeWith(int tensor) const {
    return problem.ops[problem.producers[tensor]].isProduct;
  }

  /// Whether a product may make what another one of its group reads, directly
  /// or through pointwise operations that do so in one tile.
  bool canBeInner(const Op &op) const {
    const Tensor &shape = problem.tensors[op.outputs.front()];
    std::vector<int> open = op.outputs;
    std::vector<bool> isSeen(problem.tensors.size());
    while (!open.empty()) {
      int tensor = open.back();
      open.pop_back();
      if (isSeen[tensor])
        continue;
      isSeen[tensor] = true;
      for (int consumer : problem.consumers[tensor]) {
        const Op &reader = problem.ops[consumer];
        if (!reader.isProduct)
          append_range(open, reader.outputs);
        else if (tensor == op.outputs.front() ||
                 (reader.inputs[0] == tensor &&
                  shape.width <= problem.nativeWidth) ||
                 (reader.inputs[1] == tensor &&
                  shape.height <= problem.nativeHeight))
          return true;
      }
    }
    return false;
  }

  const Problem &problem;
  const Rules &rules;
};
} // namespace

double fastmemory::computeLowerBound(const Problem &problem,
                                     const Rules &rules) {
  return std::max(computeOnce(problem, rules),
                  static_cast<double>(Traffic(problem, rules).count()) /
                      static_cast<double>(problem.bandwidth));
}
