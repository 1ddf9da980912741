//===- NestPlan.cpp - how the points of a nest are divided ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Saturating.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// The bytes that one instruction loads.
static constexpr int64_t vectorBytes = 16;
/// The most neighbouring points of a thread.
static constexpr int64_t maxWidth = 8;
/// Sums of at most so many terms are left to one thread.
static constexpr int64_t maxSerialTerms = 32;
/// Threads that keep a GPU busy: about a hundred multiprocessors with a quarter
/// of the threads they hold. A constant, as the order of sums depends on it.
static constexpr int64_t wantedThreads = 1 << 16;
/// A block should have at least so many terms of a sum that blocks share.
static constexpr int64_t minSplitTerms = 2048;
static constexpr int64_t maxSplits = 256;
/// Results of a block that have a lane each next to each other.
static constexpr int64_t columns = 32;

int64_t NestPlan::splitTerms() const {
  // Whole groups of neighbouring terms.
  return llvm::alignTo(llvm::divideCeil(terms, splits), lanes * width);
}

bool remat::cuda::isVectorAccess(const Access &access, unsigned loop,
                                 int64_t width) {
  if (width == 1 || !access.root || access.nonlinear || access.base ||
      access.coefficients[loop] != 1 || access.offset % width != 0)
    return false;
  for (auto [other, coefficient] : llvm::enumerate(access.coefficients))
    if (other != loop && coefficient % width != 0)
      return false;
  return true;
}

/// Chooses neighbouring points along `loop`.
static void chooseVector(const LoopNest &nest, unsigned loop, NestPlan &plan) {
  const Loop &info = nest.loops[loop];
  if (info.begin || info.end)
    return;
  int64_t width = maxWidth;
  for (const Access &access :
       llvm::concat<const Access>(nest.inputs, nest.outputs)) {
    if (isa<ComplexType>(access.elementType))
      return;
    if (access.root && access.coefficients[loop] == 1)
      width = std::min(width, vectorBytes / getElementBytes(getStorageType(
                                                access.elementType)));
  }
  while (info.size % width != 0)
    width /= 2;
  bool any = false;
  for (const Access &access :
       llvm::concat<const Access>(nest.inputs, nest.outputs))
    any |= isVectorAccess(access, loop, width);
  if (!any)
    return;
  plan.vectorLoop = loop;
  plan.width = width;
}

static NestPlan planNest(const LoopNest &nest, int64_t threads,
                         int64_t wanted) {
  NestPlan plan;
  if (nest.isEmpty() || nest.sequential) {
    plan.kind = nest.isEmpty() ? NestPlan::Empty : NestPlan::Serial;
    return plan;
  }
  SmallVector<Accumulator> accumulators = findAccumulators(nest);
  int last = -1;
  bool reduces = false;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    if (loop.isOpen())
      continue;
    (loop.isReduction ? plan.terms : plan.results) =
        multiplyCounts(loop.isReduction ? plan.terms : plan.results, loop.size);
    reduces |= loop.isReduction;
    last = number;
  }
  if (!reduces) {
    if (last >= 0)
      chooseVector(nest, last, plan);
    plan.vectors = plan.results / plan.width;
    return plan;
  }
  plan.kind = NestPlan::Sum;
  // Outputs that are written at each term, or whose values do not combine, are
  // done in order.
  bool combines =
      accumulators.size() == nest.outputs.size() &&
      llvm::all_of(accumulators, [](const Accumulator &accumulator) {
        return accumulator.combiner != nullptr;
      });
  if (!combines)
    return plan;
  plan.lanesAreNeighbours = nest.loops[last].isReduction;
  if (plan.lanesAreNeighbours)
    chooseVector(nest, last, plan);
  int64_t steps = llvm::divideCeil(plan.terms, plan.width);
  if (plan.terms <= maxSerialTerms && plan.results >= threads) {
    plan.vectorLoop = -1;
    plan.width = 1;
    plan.lanesAreNeighbours = false;
    return plan;
  }
  if (plan.lanesAreNeighbours) {
    // As many threads as terms keep busy; a warp at most where there are
    // results enough.
    int64_t most = multiplyCounts(plan.results, 32) >= wanted
                       ? std::min<int64_t>(threads, 32)
                       : threads;
    if (steps >= 32 * 32)
      most = threads;
    plan.lanes = std::min<int64_t>(llvm::PowerOf2Ceil(steps), most);
  } else {
    int64_t most = std::max<int64_t>(threads / columns, 1);
    if (plan.results < columns)
      most = threads / llvm::PowerOf2Ceil(plan.results);
    // Enough results keep all threads busy with one each.
    if (plan.results < wanted)
      plan.lanes = std::min<int64_t>(llvm::PowerOf2Ceil(plan.terms), most);
  }
  return plan;
}

NestPlan remat::cuda::planForBlock(const LoopNest &nest, int64_t threads) {
  return planNest(nest, threads, threads);
}

NestPlan remat::cuda::planForGrid(const LoopNest &nest, int64_t threads) {
  NestPlan plan = planNest(nest, threads, wantedThreads);
  if (plan.kind != NestPlan::Sum || plan.lanes == 1)
    return plan;
  int64_t busy = multiplyCounts(plan.results, plan.lanes);
  if (busy < wantedThreads && plan.terms >= 2 * minSplitTerms)
    plan.splits = std::min({int64_t(llvm::divideCeil(wantedThreads, busy)),
                            plan.terms / minSplitTerms, maxSplits});
  // The last block must have terms, too.
  plan.splits = llvm::divideCeil(plan.terms, plan.splitTerms());
  return plan;
}

int64_t NestEmitter::countBlocks(const NestPlan &plan, int64_t threads) {
  switch (plan.kind) {
  case NestPlan::Serial:
  case NestPlan::Empty:
    return 1;
  case NestPlan::Pointwise:
    return llvm::divideCeil(plan.vectors, threads);
  case NestPlan::Sum:
    return multiplyCounts(llvm::divideCeil(plan.results, threads / plan.lanes),
                          plan.splits);
  }
  llvm_unreachable("no such kind");
}
