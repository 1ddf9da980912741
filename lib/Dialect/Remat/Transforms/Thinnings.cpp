//===- Thinnings.cpp - which stacks of a pair stay ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Between all stacks and checkpoints, which make the whole loop run again, are
// some of the stacks: what is large and fast to make again of the others is
// dropped first, as in a plan without loops.
//
//===----------------------------------------------------------------------===//

#include "PairParts.h"
#include "Tuning.h"

using namespace mlir;
using namespace remat;

/// Bytes of result `number` of the forward loop.
static int64_t getStackBytes(const LoopPair &pair, unsigned number) {
  TaskOp task = pair.forward;
  return getBufferBytes(task.getResult(number));
}

SmallVector<SmallVector<unsigned>> remat::findThinnings(const LoopPair &pair) {
  SmallVector<SmallVector<unsigned>> thinnings;
  SmallVector<unsigned> kept;
  int64_t bytes = 0;
  for (const LoopPair::Stack &stack : pair.stacks)
    if (!llvm::is_contained(kept, stack.result)) {
      kept.push_back(stack.result);
      bytes += getStackBytes(pair, stack.result);
    }
  int64_t cost = 0, last = bytes;
  while (!kept.empty()) {
    // What it costs to make each one again, for its bytes.
    std::optional<unsigned> best;
    double bestRate = 0;
    int64_t bestCost = 0;
    for (unsigned i = 0; i < kept.size(); ++i) {
      SmallVector<unsigned> fewer = kept;
      fewer.erase(fewer.begin() + i);
      NeededParts needed(pair, fewer);
      if (!needed.states.empty() || !needed.isEnough())
        continue;
      double rate = double(needed.getCost() - cost) /
                    double(std::max<int64_t>(getStackBytes(pair, kept[i]), 1));
      if (best && rate >= bestRate)
        continue;
      best = i;
      bestRate = rate;
      bestCost = needed.getCost();
    }
    if (!best)
      break;
    bytes -= getStackBytes(pair, kept[*best]);
    cost = bestCost;
    kept.erase(kept.begin() + *best);
    // Each is a graph to plan.
    if (bytes <= last - last / LoopTuning::leastThinning) {
      thinnings.push_back(kept);
      last = bytes;
    }
  }
  // The fewest are there in any case.
  if (bytes < last)
    thinnings.push_back(kept);
  return thinnings;
}
