//===- Chain.cpp - problems that are chains -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Recognizes chains and counts what their sweep keeps resident.
//
//===----------------------------------------------------------------------===//

#include "Chain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace remat::planning {

namespace {
class Finder {
public:
  Finder(const Graph &graph, StringRef solver)
      : graph(graph), problem(graph.problem), solver(solver) {}

  Expected<Chain> find() {
    uint32_t longest = longestForward();
    OpId misfit = longest < graph.numOps() ? longest : noOp;
    // A short chain at the head of something else is not what is looked for.
    uint32_t shortest = graph.numOps() / 4;
    // The loss looks like a forward op, and so do sweep ops that read only
    // what comes before them; so the longest prefix may be too long.
    for (uint32_t count = longest; count + 1 > shortest; --count) {
      OpId bad = noOp;
      if (assign(count, bad))
        return finish();
      if (misfit == noOp || bad > misfit)
        misfit = bad;
      if (count == 0)
        break;
    }
    return createStringError(
        inconvertibleErrorCode(),
        "planner '" + solver + "' takes chains only: op '" +
            problem.ops[misfit].name +
            "' does not continue it, as it reads more than its predecessor or "
            "than the two values of its level, or is an output");
  }

private:
  /// The result that others read; `noValue` if that is not exactly one.
  ValueId mainResult(OpId op) const {
    ValueId main = noValue;
    for (ValueId result : graph.results(op)) {
      if (graph.readers(result).empty() && !graph.isOutput(result))
        continue;
      if (main != noValue)
        return noValue;
      main = result;
    }
    return main;
  }

  uint32_t longestForward() {
    levelOf.assign(graph.numValues(), 0);
    ValueId previous = noValue;
    OpId op = 0;
    for (; op < graph.numOps(); ++op) {
      ValueId main = mainResult(op);
      SmallVector<ValueId, 4> reads;
      for (ValueId operand : graph.operands(op))
        if (!graph.isArgument(operand))
          reads.push_back(operand);
      bool follows =
          op == 0 ? reads.empty() : reads.size() == 1 && reads[0] == previous;
      bool stays = main != noValue && graph.isOutput(main) && graph.bytes(main);
      if (main == noValue || !follows || stays)
        break;
      levelOf[main] = op + 1;
      previous = main;
    }
    return op;
  }

  /// The highest and lowest forward value that `op` reads; 0 if none.
  std::pair<uint32_t, uint32_t> span(OpId op, uint32_t count) const {
    uint32_t high = 0, low = ~uint32_t(0);
    for (ValueId operand : graph.operands(op)) {
      if (graph.isArgument(operand) || graph.producer(operand) >= count)
        continue;
      high = std::max(high, levelOf[operand]);
      low = std::min(low, levelOf[operand]);
    }
    return {high, high ? low : 0};
  }

  /// Gives each op from `count` on the highest level that it fits; but an op
  /// that could as well open the next level does, so that values die early.
  bool assign(uint32_t count, OpId &bad) {
    chain = Chain();
    chain.levels.resize(count + 2);
    std::vector<uint32_t> laterHigh(graph.numOps() + 1, 0);
    for (OpId op = graph.numOps(); op-- > count;)
      laterHigh[op] = std::max(laterHigh[op + 1], span(op, count).first);
    uint32_t level = count + 1;
    for (OpId op = count; op < graph.numOps(); ++op) {
      auto [high, low] = span(op, count);
      const Chain::Level &now = chain.levels[level];
      if (high > level || (high && high > low + 1)) {
        bad = op;
        return false;
      }
      if (high == 0) {
        if (!now.sweep.empty() && level > 1 && laterHigh[op] < level)
          --level;
      } else if (high > low) {
        level = high;
      } else if (high + 1 <= level &&
                 !(high + 1 == level && now.readsPrevious)) {
        level = high + 1;
      } else {
        level = high;
      }
      Chain::Level &mine = chain.levels[level];
      mine.sweep.push_back(op);
      mine.readsOwn |= high == level;
      mine.readsPrevious |= high && low + 1 == level;
    }
    return true;
  }

  Expected<Chain> finish() {
    uint32_t count = chain.numForward();
    for (ValueId value = 0; value < graph.numValues(); ++value) {
      if (graph.isArgument(value))
        chain.argumentBytes += graph.bytes(value);
      if (problem.values[value].viewOf == noValue &&
          graph.mustLeaveForward(value))
        return createStringError(
            inconvertibleErrorCode(),
            "planner '" + solver + "' cannot handle value '" +
                problem.values[value].name + "', which is " +
                stringify(graph.policy(value)));
    }
    for (uint32_t k = 1; k <= count; ++k) {
      Chain::Level &level = chain.levels[k];
      level.op = k - 1;
      level.cost = problem.ops[level.op].cost;
      level.scratch = problem.ops[level.op].workspace;
      level.again = !graph.runsOnce(level.op);
      level.value = mainResult(level.op);
      level.bytes = graph.bytes(level.value);
      for (ValueId result : graph.results(level.op)) {
        if (result != level.value)
          level.scratch += graph.bytes(result);
      }
    }
    // Every forward op runs, whether the loss reads the last one or not.
    chain.levels[count + 1].readsPrevious = true;
    countSweep(count);
    return std::move(chain);
  }

  void countSweep(uint32_t count) {
    // What the sweep's own values occupy: they are never recomputed.
    std::vector<int64_t> change(graph.numOps() + 1, 0);
    for (OpId op = count; op < graph.numOps(); ++op)
      for (ValueId result : graph.results(op)) {
        ArrayRef<OpId> readers = graph.readers(result);
        OpId last = readers.empty() ? op : readers.back();
        if (graph.isOutput(result))
          last = graph.numOps() - 1;
        change[op] += graph.bytes(result);
        change[last + 1] -= graph.bytes(result);
      }
    int64_t resident = 0;
    OpId next = count;
    for (uint32_t k = count + 1; k > 0; --k) {
      Chain::Level &level = chain.levels[k];
      level.before = resident + change[next];
      // Sweep values made by the group's first op are not there before it.
      if (next < graph.numOps())
        for (ValueId result : graph.results(next))
          level.before -= graph.bytes(result);
      OpId lastOwn = noOp;
      for (OpId op : level.sweep)
        if (is_contained(graph.operands(op), level.value))
          lastOwn = op;
      for (OpId op : level.sweep) {
        resident += change[op];
        int64_t own = lastOwn != noOp && op <= lastOwn ? level.bytes : 0;
        level.peak =
            std::max(level.peak, resident + own + problem.ops[op].workspace);
        next = op + 1;
      }
    }
  }

  const Graph &graph;
  const Problem &problem;
  StringRef solver;
  Chain chain;
  /// 1 .. n for the values of the longest prefix.
  std::vector<uint32_t> levelOf;
};
} // namespace

Expected<Chain> findChain(const Graph &graph, StringRef solver) {
  return Finder(graph, solver).find();
}

} // namespace remat::planning
