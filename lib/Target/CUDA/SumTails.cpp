//===- SumTails.cpp - what follows a sum in its launch --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A block waits until all of its results are there. Then each of its threads
// takes elements of what follows, the same ones of each nest: so it reads what
// it has written itself, or what its block has added up.
//
//===----------------------------------------------------------------------===//

#include "SumTails.h"

#include "remat/Utils/Moments.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cuda;

/// Whether the element of a point is in the place that the point's number says.
static bool isInPlace(const Access &access, unsigned loop) {
  if (!access.root || access.nonlinear || access.base || access.offset != 0)
    return false;
  for (auto [number, coefficient] : llvm::enumerate(access.coefficients))
    if (coefficient != (number == loop ? 1 : 0))
      return false;
  return true;
}

static bool isScalar(const Access &access) {
  return !access.nonlinear && !access.base &&
         llvm::all_of(access.coefficients,
                      [](int64_t coefficient) { return coefficient == 0; });
}

/// Whether two buffers may be in one place: an argument that is written may be
/// given the place of one of its type that is read.
static bool mayShare(Value a, Value b) {
  return a == b || (isa<BlockArgument>(a) && isa<BlockArgument>(b) &&
                    a.getType() == b.getType());
}

/// The only loop along which a sum has several results.
static std::optional<unsigned> findResultLoop(const LoopNest &sum) {
  std::optional<unsigned> found;
  for (auto [number, loop] : llvm::enumerate(sum.loops)) {
    if (loop.isReduction)
      continue;
    if (found)
      return std::nullopt;
    found = number;
  }
  return found;
}

static bool isElementwise(const LoopNest &nest, int64_t elements) {
  return !nest.sequential && nest.loops.size() == 1 &&
         !nest.loops[0].isReduction && nest.loops[0].size == elements &&
         !nest.loops[0].begin && !nest.loops[0].end && !hasChecks(nest) &&
         nest.body->getOps<memref::LoadOp>().empty() &&
         llvm::all_of(
             nest.outputs,
             [](const Access &access) { return isInPlace(access, 0); }) &&
         llvm::all_of(nest.inputs, [](const Access &access) {
           return isInPlace(access, 0) || isScalar(access);
         });
}

static bool isZero(TypedAttr init) {
  auto number = dyn_cast_or_null<FloatAttr>(init);
  return number && number.getValue().isZero();
}

/// Whether a nest is a sum from zero of terms whose number is known.
static bool isPlainSum(const LoopNest &nest, const NestPlan &plan) {
  return plan.kind == NestPlan::Sum && nest.outputs.size() == 1 &&
         nest.outputs[0].root && !nest.outputs[0].nonlinear &&
         !nest.outputs[0].base && isZero(nest.inits[0]) && !hasChecks(nest) &&
         nest.body->getOps<memref::LoadOp>().empty() &&
         llvm::none_of(nest.loops, [](const Loop &loop) {
           return loop.isOpen() || loop.begin || loop.end;
         });
}

/// Whether the points of two nests, and their only results, are the same.
static bool haveSameLoops(const LoopNest &a, const LoopNest &b) {
  return a.outputs[0].coefficients == b.outputs[0].coefficients &&
         llvm::equal(a.loops, b.loops, [](const Loop &one, const Loop &other) {
           return one.size == other.size &&
                  one.isReduction == other.isReduction &&
                  one.dims == other.dims;
         });
}

std::optional<size_t> remat::cuda::findSquares(PlannedNest sum,
                                               ArrayRef<PlannedNest> behind) {
  if (!isPlainSum(*sum.nest, *sum.plan))
    return std::nullopt;
  // What is read and written before the squares are. A result that has been
  // written is in the place of no other.
  Value total = sum.nest->outputs[0].root;
  SmallVector<Value> read, written = {total};
  for (const Access &input : sum.nest->inputs)
    if (input.root)
      read.push_back(input.root);
  for (auto [number, next] : llvm::enumerate(behind)) {
    const LoopNest &nest = *next.nest;
    auto op = cast<linalg::GenericOp>(nest.op);
    bool isMoment =
        isPlainSum(nest, *next.plan) && haveSameLoops(*sum.nest, nest) &&
        llvm::any_of(behind.take_front(number), [&](const PlannedNest &mean) {
          return isCentralMoment(cast<linalg::GenericOp>(sum.nest->op),
                                 cast<linalg::GenericOp>(mean.nest->op), op);
        });
    if (isMoment) {
      Value place = nest.outputs[0].root;
      bool isFree = !llvm::is_contained(written, place) &&
                    llvm::none_of(read, [&](Value other) {
                      return mayShare(place, other) &&
                             !llvm::is_contained(written, other);
                    });
      return isFree ? std::optional<size_t>(number) : std::nullopt;
    }
    // The sum, the mean and the terms must stay what they are.
    if (!nest.body->getOps<memref::LoadOp>().empty())
      return std::nullopt;
    for (const Access &output : nest.outputs) {
      if (llvm::is_contained(written, output.root))
        return std::nullopt;
      written.push_back(output.root);
    }
    for (const Access &input : nest.inputs)
      if (input.root)
        read.push_back(input.root);
  }
  return std::nullopt;
}

size_t remat::cuda::countTails(PlannedNest sum, ArrayRef<PlannedNest> behind) {
  std::optional<unsigned> loop = findResultLoop(*sum.nest);
  if (sum.plan->kind != NestPlan::Sum || !loop)
    return 0;
  SmallVector<Value> written, shared;
  for (const Access &output : sum.nest->outputs) {
    if (!isInPlace(output, *loop))
      return 0;
    written.push_back(output.root);
  }
  if (sum.squares) {
    if (!isInPlace(*sum.squares, *loop))
      return 0;
    written.push_back(sum.squares->root);
  }
  // Where the sum ends in a launch of its own, nobody reads its terms any more.
  if (sum.plan->splits == 1) {
    for (const Access &input : sum.nest->inputs)
      if (input.root)
        shared.push_back(input.root);
    if (!sum.nest->body->getOps<memref::LoadOp>().empty())
      return 0;
  }
  size_t count = 0;
  for (const PlannedNest &tail : behind) {
    if (!isElementwise(*tail.nest, sum.plan->results))
      break;
    for (const Access &output : tail.nest->outputs)
      written.push_back(output.root);
    for (const Access &input : tail.nest->inputs)
      if (input.root && !isInPlace(input, 0))
        shared.push_back(input.root);
    // Other blocks may not have read yet what all of them read.
    bool isSafe = llvm::none_of(shared, [&](Value read) {
      return llvm::any_of(written,
                          [&](Value output) { return mayShare(read, output); });
    });
    if (!isSafe)
      break;
    ++count;
  }
  return count;
}

LogicalResult remat::cuda::emitTails(const NestPlan &plan,
                                     ArrayRef<LoopNest> tails,
                                     LaunchBuilder &launch) {
  if (tails.empty())
    return success();
  OpBuilder &builder = launch.builder;
  OpBuilder::InsertionGuard guard(builder);
  Location loc = tails.front().op->getLoc();
  launch.emitBarrier(loc);
  int64_t mine = launch.threads / plan.lanes * plan.resultWidth();
  Value place = launch.thread;
  if (mine > launch.threads)
    place = openLoop(builder, loc, launch.thread, emitIndex(builder, loc, mine),
                     launch.threads);
  Value first = arith::MulIOp::create(builder, loc, launch.block,
                                      emitIndex(builder, loc, mine), nsw);
  Value number = arith::AddIOp::create(builder, loc, first, place, nsw);
  auto isBelow = [&](Value value, int64_t end) {
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, value,
                                 emitIndex(builder, loc, end));
  };
  openIf(builder, loc, isBelow(place, mine));
  openIf(builder, loc, isBelow(number, plan.results));
  for (const LoopNest &tail : tails) {
    NestPlan elements;
    elements.vectors = plan.results;
    OpBuilder::InsertionGuard inner(builder);
    if (failed(NestEmitter(tail, elements, launch).emitPoint(number)))
      return failure();
  }
  return success();
}
