//===- NestPlan.cpp - how the points of a nest are divided ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NestEmitter.h"
#include "SharedMemory.h"
#include "VectorAccess.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// The most neighbouring points of a thread.
static constexpr int64_t maxWidth = 8;
/// Sums of at most so many terms are left to one thread.
static constexpr int64_t maxSerialTerms = 32;
/// Threads that keep a GPU busy: about a hundred multiprocessors with a quarter
/// of the threads they hold. A constant, as the order of sums depends on it.
static constexpr int64_t wantedThreads = 1 << 16;
/// Threads that should share all sums, where their number is chosen: they wait
/// for memory, so more of them.
static constexpr int64_t splitThreads = 1 << 17;
/// A block should have at least so many terms of a sum that blocks share, and
/// each of its lanes so many where terms are not next to each other.
static constexpr int64_t minSplitTerms = 2048;
static constexpr int64_t minLaneTerms = 16;
static constexpr int64_t maxSplits = 512;
/// Results of a block that have a lane each next to each other.
static constexpr int64_t columns = 32;

/// Lines with points behind their last vector have at least so many vectors.
static constexpr int64_t minTailedVectors = 32;

/// Points of a thread that it reads together where they are not next to each
/// other: as many floats as 16 bytes hold.
static constexpr int64_t maxRounds = 4;
/// Vectors of a row that a thread reads before it computes with any: then a row
/// that several operations read can stay in registers.
static constexpr int64_t maxRowVectors = 8;
/// Threads that add up for a result what blocks left. Those next to each other
/// in a block still read 128 bytes, and few results have several blocks.
static constexpr int64_t maxPartialLanes = 32;
/// Neighbouring results that a thread has where it adds up what blocks left: as
/// many doubles as 16 bytes hold.
static constexpr int64_t maxPartialWidth = 2;
/// Operations that a thread has for all of them.
static constexpr int64_t maxRoundOps = 1024;

/// Points along a side of the square of a transpose, at least.
static constexpr int64_t minTileSize = 32;

bool remat::cuda::hasChecks(const LoopNest &nest) {
  return nest.body
      ->walk([](Operation *op) {
        return isa<CheckIndexOp, cf::AssertOp>(op) ? WalkResult::interrupt()
                                                   : WalkResult::advance();
      })
      .wasInterrupted();
}

int64_t NestPlan::splitSteps() const {
  return llvm::alignTo(llvm::divideCeil(steps(), splits), lanes);
}

bool remat::cuda::isWholeVectors(Value root, int64_t width) {
  return cast<MemRefType>(root.getType()).getNumElements() % width == 0;
}

bool remat::cuda::isVectorAccess(const Access &access, unsigned loop,
                                 int64_t width) {
  if (width == 1 || !access.root || access.nonlinear || access.base ||
      !isWholeVectors(access.root, width) || access.coefficients[loop] != 1 ||
      access.offset % width != 0)
    return false;
  for (auto [other, coefficient] : llvm::enumerate(access.coefficients))
    if (other != loop && coefficient % width != 0)
      return false;
  return true;
}

bool remat::cuda::isVectorOfLines(const LoopNest &nest, const Access &access,
                                  unsigned loop, unsigned carryLoop,
                                  int64_t width) {
  if (width == 1 || !access.root || access.nonlinear || access.base ||
      !isWholeVectors(access.root, width) || access.coefficients[loop] != 1 ||
      access.coefficients[carryLoop] != nest.loops[loop].size ||
      access.offset % width != 0)
    return false;
  for (auto [other, coefficient] : llvm::enumerate(access.coefficients))
    if (other != loop && other != carryLoop && coefficient % width != 0)
      return false;
  return true;
}

/// The most elements along `loop` that 16 bytes hold of all that is read and
/// written; 1 if there are no vectors of them.
static int64_t getMaxWidth(const LoopNest &nest, unsigned loop) {
  int64_t width = maxWidth;
  for (const Access &access :
       llvm::concat<const Access>(nest.inputs, nest.outputs)) {
    if (isa<ComplexType>(access.elementType))
      return 1;
    if (access.root && access.coefficients[loop] == 1)
      width = std::min(width, vectorBytes / getElementBytes(getStorageType(
                                                access.elementType)));
  }
  return width;
}

/// Chooses neighbouring points along `loop` of a pointwise nest that go on from
/// one line to the next: images of 7 x 7 have no multiple of 4 points, but all
/// channels together have. `plan` has what is possible within a line.
static void chooseLines(const LoopNest &nest, unsigned carryLoop, unsigned loop,
                        NestPlan &plan) {
  const Loop &line = nest.loops[loop], &lines = nest.loops[carryLoop];
  if (line.begin || line.end || lines.begin || lines.end)
    return;
  int64_t width = getMaxWidth(nest, loop);
  while (width > line.size || line.size * lines.size % width != 0)
    width /= 2;
  auto isVector = [&](const Access &access) {
    return isVectorOfLines(nest, access, loop, carryLoop, width);
  };
  // What is written must be vectors; inputs need not.
  if (width <= plan.width || !llvm::all_of(nest.outputs, isVector) ||
      !llvm::any_of(nest.inputs, isVector))
    return;
  plan.vectorLoop = loop;
  plan.carryLoop = carryLoop;
  plan.width = width;
  plan.tail = 0;
}

/// Chooses neighbouring points along `loop`. If it `mayHaveTail`, the last
/// points of a line may be no vector.
static void chooseVector(const LoopNest &nest, unsigned loop, NestPlan &plan,
                         bool mayHaveTail = false) {
  const Loop &info = nest.loops[loop];
  if (info.begin || info.end)
    return;
  int64_t width = getMaxWidth(nest, loop);
  // What the body reads along the loop at places that it computes.
  DenseSet<Operation *> varying = findVarying(nest, loop);
  SmallVector<memref::LoadOp> gathers;
  for (auto load : nest.body->getOps<memref::LoadOp>())
    if (isVectorGather(nest, load, loop, 1, varying)) {
      gathers.push_back(load);
      width = std::min(width, vectorBytes /
                                  getElementBytes(getStorageType(
                                      load.getMemRefType().getElementType())));
    }
  auto hasVectors = [&](int64_t width) {
    bool any = llvm::any_of(gathers, [&](memref::LoadOp load) {
      return isVectorGather(nest, load, loop, width, varying);
    });
    for (const Access &access :
         llvm::concat<const Access>(nest.inputs, nest.outputs))
      any |= isVectorAccess(access, loop, width);
    return any;
  };
  const int64_t widest = width;
  while (info.size % width != 0)
    width /= 2;
  if (hasVectors(width)) {
    plan.vectorLoop = loop;
    plan.width = width;
    return;
  }
  if (!mayHaveTail || !gathers.empty() ||
      info.size < minTailedVectors * widest || !hasVectors(widest))
    return;
  plan.vectorLoop = loop;
  plan.width = widest;
  plan.tail = info.size % widest;
}

/// Lets threads have fewer neighbouring results if all of these would take too
/// much shared memory.
static void limitScratch(ArrayRef<Accumulator> accumulators, int64_t threads,
                         bool hasSquares, NestPlan &plan) {
  int64_t bytes = 0;
  for (const Accumulator &accumulator : accumulators)
    bytes += threads * getElementBytes(getStorageType(accumulator.type));
  // With squares, there are as many of these, and a count, all in f64.
  auto isTooLarge = [&] {
    int64_t all =
        hasSquares ? threads * 8 * (2 * plan.width + 1) : bytes * plan.width;
    return all > maxScratchBytes;
  };
  while (plan.width > 1 && isTooLarge())
    plan.width /= 2;
  if (plan.width > 1)
    return;
  plan.vectorLoop = -1;
  plan.vectorIsResults = false;
}

static NestPlan planNest(const LoopNest &nest, int64_t threads, int64_t wanted,
                         bool hasSquares = false) {
  NestPlan plan;
  if (nest.isEmpty() || nest.sequential) {
    plan.kind = nest.isEmpty() ? NestPlan::Empty : NestPlan::Serial;
    return plan;
  }
  SmallVector<Accumulator> accumulators = findAccumulators(nest);
  int last = -1, before = -1;
  bool reduces = false;
  for (auto [number, loop] : llvm::enumerate(nest.loops)) {
    if (loop.isOpen())
      continue;
    (loop.isReduction ? plan.terms : plan.results) =
        multiplyCounts(loop.isReduction ? plan.terms : plan.results, loop.size);
    reduces |= loop.isReduction;
    before = std::exchange(last, number);
  }
  if (!reduces) {
    if (last >= 0)
      chooseVector(nest, last, plan, /*mayHaveTail=*/true);
    if (before >= 0)
      chooseLines(nest, before, last, plan);
    plan.vectors = plan.results / plan.width;
    if (plan.tail != 0) {
      int64_t size = nest.loops[last].size, lines = plan.results / size;
      plan.vectors = lines * (size / plan.width);
      plan.tails = lines * plan.tail;
    }
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
  bool isShort = plan.terms <= maxSerialTerms && plan.results >= threads;
  if (plan.lanesAreNeighbours && isShort) {
    plan.lanesAreNeighbours = false;
    return plan;
  }
  bool isLine = plan.terms == nest.loops[last].size;
  chooseVector(nest, last, plan,
               /*mayHaveTail=*/plan.lanesAreNeighbours && isLine);
  plan.vectorIsResults = plan.vectorLoop >= 0 && !plan.lanesAreNeighbours;
  if (isShort)
    return plan;
  if (plan.vectorIsResults)
    limitScratch(accumulators, threads, hasSquares, plan);
  int64_t steps = plan.steps();
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
    if (plan.groups() < columns)
      most = threads / llvm::PowerOf2Ceil(plan.groups());
    // Enough results keep all threads busy with one group each.
    if (plan.groups() < wanted)
      plan.lanes = std::min<int64_t>(llvm::PowerOf2Ceil(plan.terms), most);
  }
  return plan;
}

/// Lets a thread read several of its points or terms before it computes any,
/// where it has many: rows of an odd number of elements begin anywhere, and few
/// threads that wait for one vector each do not keep the memory busy.
static void chooseRounds(const LoopNest &nest, int64_t threads,
                         int64_t mostVectors, NestPlan &plan) {
  bool isSum = plan.kind == NestPlan::Sum && plan.lanes != 1;
  bool hasBounds = llvm::any_of(nest.loops, [](const Loop &loop) {
    return !loop.isOpen() && (loop.begin || loop.end);
  });
  if (hasBounds || (!isSum && plan.kind != NestPlan::Pointwise))
    return;
  if (plan.width == 1 && plan.splits == 1 &&
      (!isSum || plan.lanesAreNeighbours)) {
    int64_t count = isSum ? plan.terms : plan.vectors;
    if (count >= 2 * maxRounds * (isSum ? plan.lanes : threads))
      plan.rounds = maxRounds;
    return;
  }
  if (hasChecks(nest))
    return;
  int64_t trips =
      isSum ? plan.splitSteps() / plan.lanes : plan.vectors / threads;
  int64_t size = llvm::range_size(nest.body->without_terminator());
  int64_t most = maxRoundOps / std::max<int64_t>(size * plan.width, 1);
  most = std::clamp<int64_t>(std::min(trips, most), 1, mostVectors);
  // What is left of the last round is read one by one where threads have
  // different numbers of vectors.
  plan.rounds = most;
  for (int64_t fewer = most; 2 * fewer > most; --fewer)
    if (trips % fewer < trips % plan.rounds)
      plan.rounds = fewer;
}

NestPlan remat::cuda::planForBlock(const LoopNest &nest, int64_t threads,
                                   bool readsAhead) {
  NestPlan plan = planNest(nest, threads, threads);
  chooseRounds(nest, threads, readsAhead ? maxRowVectors : 1, plan);
  return plan;
}

/// Lets a pointwise nest go through squares in shared memory if some inputs are
/// contiguous along another loop than the results are.
static void chooseTiles(const LoopNest &nest, NestPlan &plan) {
  auto isPlain = [](const Access &access) {
    return access.root && !access.nonlinear && !access.base &&
           !isa<ComplexType>(access.elementType);
  };
  auto isLong = [&](unsigned loop) {
    const Loop &info = nest.loops[loop];
    return !info.isOpen() && !info.begin && !info.end &&
           info.size >= minTileSize / 2;
  };
  int along = -1;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    if (isLong(loop) && llvm::all_of(nest.outputs, [&](const Access &output) {
          return isPlain(output) && output.coefficients[loop] == 1;
        }))
      along = loop;
  if (along < 0)
    return;
  NestPlan tiled = plan;
  tiled.vectorLoop = tiled.carryLoop = -1;
  tiled.width = 1;
  tiled.tail = tiled.tails = 0;
  chooseVector(nest, along, tiled);
  tiled.vectorLoop = along;
  int64_t width = maxWidth;
  for (auto [number, input] : llvm::enumerate(nest.inputs)) {
    if (!isPlain(input) || !input.isRead || input.coefficients[along] == 0 ||
        input.coefficients[along] == 1)
      continue;
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
      if (isLong(loop) && input.coefficients[loop] == 1 &&
          (tiled.tileLoop < 0 || tiled.tileLoop == static_cast<int>(loop))) {
        tiled.tileLoop = loop;
        tiled.staged.push_back(number);
        // There are no vectors of complex numbers.
        width =
            isa<ComplexType>(input.elementType)
                ? 1
                : std::min(width, vectorBytes / getElementBytes(getStorageType(
                                                    input.elementType)));
        while (width > 1 && (nest.loops[loop].size % width != 0 ||
                             !isVectorAccess(input, loop, width)))
          width /= 2;
      }
  }
  if (tiled.staged.empty())
    return;
  tiled.kind = NestPlan::Transpose;
  tiled.tileWidth = width;
  // Eight threads next to each other take a side.
  tiled.tileSize = std::max(minTileSize, 8 * std::max(width, tiled.width));
  plan = tiled;
}

/// Lets so many blocks share a result, or fewer, down to half as many, if each
/// of these has as many terms as the others.
static void chooseSplits(int64_t splits, NestPlan &plan) {
  for (int64_t fewer = splits; 2 * fewer > splits; --fewer) {
    plan.splits = fewer;
    if (plan.splitSteps() * fewer == plan.steps())
      return;
  }
  plan.splits = splits;
  // The last block must have terms, too.
  plan.splits = llvm::divideCeil(plan.steps(), plan.splitSteps());
}

NestPlan remat::cuda::planForGrid(const LoopNest &nest, int64_t threads,
                                  bool hasSquares) {
  NestPlan plan = planNest(nest, threads, wantedThreads, hasSquares);
  if (plan.kind == NestPlan::Pointwise) {
    chooseTiles(nest, plan);
    if (plan.kind == NestPlan::Transpose) {
      plan.vectors = 1;
      for (auto [number, loop] : llvm::enumerate(nest.loops)) {
        bool isSide = static_cast<int>(number) == plan.tileLoop ||
                      static_cast<int>(number) == plan.vectorLoop;
        plan.vectors = multiplyCounts(
            plan.vectors,
            isSide ? llvm::divideCeil(loop.size, plan.tileSize) : loop.size);
      }
    }
  }
  if (plan.kind != NestPlan::Sum || plan.lanes == 1)
    return plan;
  int64_t busy = multiplyCounts(plan.groups(), plan.lanes);
  int64_t least =
      plan.lanesAreNeighbours ? minSplitTerms : minLaneTerms * plan.lanes;
  if (busy < wantedThreads && plan.terms >= 2 * least)
    chooseSplits(std::min({int64_t(llvm::divideCeil(splitThreads, busy)),
                           plan.terms / least, maxSplits}),
                 plan);
  chooseRounds(nest, threads, maxRounds, plan);
  return plan;
}

NestPlan remat::cuda::planForPartials(const NestPlan &plan) {
  NestPlan last;
  last.kind = NestPlan::Sum;
  last.results = plan.results;
  last.terms = plan.splits;
  if (plan.vectorIsResults) {
    last.vectorLoop = plan.vectorLoop;
    last.width = std::min(plan.width, maxPartialWidth);
    last.vectorIsResults = true;
  }
  last.lanes = std::min<int64_t>(llvm::bit_floor(uint64_t(plan.splits)),
                                 maxPartialLanes);
  last.rounds = std::min(last.terms / last.lanes, maxRounds);
  return last;
}

int64_t NestEmitter::countBlocks(const NestPlan &plan, int64_t threads) {
  switch (plan.kind) {
  case NestPlan::Serial:
  case NestPlan::Empty:
    return 1;
  case NestPlan::Pointwise:
    return llvm::divideCeil(plan.vectors + plan.tails, threads);
  case NestPlan::Transpose:
    return plan.vectors;
  case NestPlan::Sum:
    return multiplyCounts(llvm::divideCeil(plan.groups(), threads / plan.lanes),
                          plan.splits);
  }
  llvm_unreachable("no such kind");
}
