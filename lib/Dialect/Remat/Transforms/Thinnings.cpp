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

#include <cmath>
#include <limits>

using namespace mlir;
using namespace remat;

/// Bytes of result `number` of the forward loop.
static int64_t getStackBytes(const LoopPair &pair, unsigned number) {
  TaskOp task = pair.forward;
  return getBufferBytes(task.getResult(number));
}

namespace {
/// A stack that may be dropped.
struct Candidate {
  unsigned result;
  /// What all that is made again costs then, and how much more it is, for the
  /// bytes of the stack; none if the iterations cannot do without it.
  int64_t cost = 0;
  double rate = std::numeric_limits<double>::infinity();
  /// Whether that is so with all that has been dropped by now.
  bool isCurrent = false;
};

/// Drops stacks, the cheapest for its bytes first.
class Thinner {
public:
  explicit Thinner(const LoopPair &pair) : pair(pair) {
    DenseSet<unsigned> seen;
    for (const LoopPair::Stack &stack : pair.stacks)
      if (seen.insert(stack.result).second) {
        kept.push_back({stack.result});
        bytes += getStackBytes(pair, stack.result);
      }
  }

  SmallVector<SmallVector<unsigned>> run();

private:
  void rate(size_t number);
  std::optional<size_t> findBest();
  SmallVector<unsigned> getResults() const {
    return llvm::map_to_vector(
        kept, [](const Candidate &stack) { return stack.result; });
  }

  const LoopPair &pair;
  SmallVector<Candidate> kept;
  int64_t bytes = 0, cost = 0;
};
} // namespace

/// Finds out what it costs to make the stack `number` again.
void Thinner::rate(size_t number) {
  SmallVector<unsigned> fewer = getResults();
  fewer.erase(fewer.begin() + number);
  Candidate &stack = kept[number];
  stack = {stack.result};
  stack.isCurrent = true;
  NeededParts needed(pair, fewer);
  if (!needed.states.empty() || !needed.isEnough())
    return;
  stack.cost = needed.getCost();
  stack.rate = double(stack.cost - cost) /
               double(std::max<int64_t>(getStackBytes(pair, stack.result), 1));
}

/// Of many stacks, only those are rated anew that were the best: what is
/// dropped rarely makes others cheaper.
std::optional<size_t> Thinner::findBest() {
  while (!kept.empty()) {
    auto best = llvm::min_element(
        kept, [](const auto &a, const auto &b) { return a.rate < b.rate; });
    if (std::isinf(best->rate))
      return std::nullopt;
    if (best->isCurrent)
      return best - kept.begin();
    rate(best - kept.begin());
  }
  return std::nullopt;
}

SmallVector<SmallVector<unsigned>> Thinner::run() {
  SmallVector<SmallVector<unsigned>> thinnings;
  int64_t last = bytes;
  bool isNew = true;
  while (true) {
    if (isNew || kept.size() <= LoopTuning::mostRatedStacks)
      for (size_t number = 0; number < kept.size(); ++number)
        rate(number);
    std::optional<size_t> best = findBest();
    if (!best)
      break;
    bytes -= getStackBytes(pair, kept[*best].result);
    cost = kept[*best].cost;
    kept.erase(kept.begin() + *best);
    for (Candidate &stack : kept)
      stack.isCurrent = false;
    // Each is a graph to plan.
    isNew = bytes <= last - last / LoopTuning::leastThinning;
    if (isNew) {
      thinnings.push_back(getResults());
      last = bytes;
    }
  }
  // The fewest are there in any case.
  if (bytes < last)
    thinnings.push_back(getResults());
  return thinnings;
}

SmallVector<SmallVector<unsigned>> remat::findThinnings(const LoopPair &pair) {
  return Thinner(pair).run();
}
