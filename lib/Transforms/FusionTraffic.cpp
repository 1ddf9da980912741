//===- FusionTraffic.cpp - memory traffic of fused operations -------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionTraffic.h"
#include "Tuning.h"

#include "remat/Codegen/LoopNest.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/Structured.h"
#include "remat/Utils/Tags.h"

using namespace mlir;
using namespace remat;

bool remat::hasOneReader(Value value) {
  while (value.hasOneUse() && isViewOp(*value.user_begin()))
    value = value.user_begin()->getResult(0);
  return value.hasOneUse();
}

/// Bytes of a tensor that is a buffer, 0 of others.
static int64_t getBytes(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return isBufferType(type) ? getBufferBytes(type) : 0;
}

/// Whether `op` is cheap beside reading what it reads.
static bool hasCheapBody(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && !op.hasIndexSemantics() &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isCast(inner) ||
                  isa<arith::AddFOp, arith::SubFOp, arith::MulFOp,
                      arith::NegFOp, arith::MaximumFOp, arith::CmpFOp,
                      arith::SelectOp>(inner);
         });
}

/// Whether `op` reads `tensor` by `map`.
static bool readsBy(linalg::GenericOp op, Value tensor, AffineMap map) {
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() == tensor &&
           op.getMatchingIndexingMap(&operand) == map;
  });
}

/// Whether `user` or another reduction in the same loops, which is one with it
/// in the end, reads `tensor` as it reads the result of `op` by `use`.
static bool isReadWith(Value tensor, OpOperand &use) {
  auto user = cast<linalg::GenericOp>(use.getOwner());
  AffineMap map = user.getMatchingIndexingMap(&use);
  if (readsBy(user, tensor, map))
    return true;
  return user.getNumReductionLoops() != 0 &&
         llvm::any_of(tensor.getUsers(), [&](Operation *other) {
           auto reader = dyn_cast<linalg::GenericOp>(other);
           return reader && reader->getBlock() == user->getBlock() &&
                  reader.getIteratorTypes() == user.getIteratorTypes() &&
                  getBackwardLevel(reader) == getBackwardLevel(user) &&
                  readsBy(reader, tensor, map) &&
                  getLoopSizes(reader) == getLoopSizes(user);
         });
}

/// Adds to `large` the tensors that `op` reads, `but` excepted, and that are
/// not small beside its points; false if one is not read as the result is
/// written.
static bool collectLarge(linalg::GenericOp op, Value but,
                         SmallVectorImpl<Value> &large) {
  int64_t points = getNumPoints(op);
  AffineMap written = op.getIndexingMapsArray().back();
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (isSmall(input->get(), points))
      continue;
    if (op.getMatchingIndexingMap(input) != written)
      return false;
    if (input->get() != but)
      large.push_back(input->get());
  }
  return true;
}

/// Whether memory traffic is less if all users of `op` compute it from the
/// tensors `large`: what they read beside what they read already, less the
/// result, which nobody writes.
static bool sparesTraffic(linalg::GenericOp op, ArrayRef<Value> large) {
  int64_t tensors = -1;
  for (OpOperand &use : op->getUses()) {
    if (getBackwardLevel(use.getOwner()) != getBackwardLevel(op))
      return false;
    --tensors;
    for (Value tensor : large)
      tensors += !isReadWith(tensor, use);
  }
  return tensors < 0;
}

/// The tensors that `op` reads and that are not small beside its points.
static SmallVector<Value> getLargeInputs(linalg::GenericOp op) {
  int64_t points = getNumPoints(op);
  return llvm::filter_to_vector(
      op.getInputs(), [&](Value input) { return !isSmall(input, points); });
}

bool remat::isNarrowing(linalg::GenericOp op) {
  SmallVector<Value> large = getLargeInputs(op);
  if (large.size() != 1 || getBodySize(op) > FusionTuning::maxNarrowingSize ||
      !hasCheapBody(op))
    return false;
  Value source = large.front();
  if (getBytes(op.getResult(0)) >= getBytes(source))
    return false;
  while (source.getDefiningOp() && isViewOp(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  return source.getDefiningOp() && hasOneReader(source);
}

/// Whether it takes less time on the target if all users of `op` compute it:
/// the result is neither written nor read, and arithmetic is that of each user.
/// A GELU and its derivative have a tanh each where memory is slow beside it.
static bool sparesTime(linalg::GenericOp op, int64_t points) {
  int64_t users = llvm::range_size(op->getUses()), added = 0, cost = 0;
  if (users > FusionTuning::maxComputingUsers)
    return false;
  SmallVector<Value> large = getLargeInputs(op);
  for (OpOperand &use : op->getUses()) {
    if (getBackwardLevel(use.getOwner()) != getBackwardLevel(op))
      return false;
    for (Value tensor : large)
      added += isReadWith(tensor, use) ? 0 : getBytes(tensor);
  }
  for (Operation &inner : op.getBody()->without_terminator())
    cost += codegen::getOpCost(&inner);
  // The operands of all of them are there until the last has run.
  int64_t result = getBytes(op.getResult(0));
  if (added > result)
    return false;
  TargetAttr target = getTargetFacts(op);
  double traffic = static_cast<double>((users + 1) * result - added) /
                   static_cast<double>(target.getBandwidth());
  double arithmetic = static_cast<double>(points) *
                      static_cast<double>(cost * (users - 1)) /
                      static_cast<double>(target.getLoopFlops());
  return traffic > FusionTuning::leastGain * arithmetic;
}

/// Whether all users of `op` may compute it, in a body of `size`.
static bool mayUsersCompute(linalg::GenericOp op, int64_t size) {
  return size <= FusionTuning::maxSparingSize &&
         op.getNumReductionLoops() == 0 && !op.hasIndexSemantics() &&
         llvm::hasNItemsOrLess(op->getUsers(), FusionTuning::maxUsers) &&
         llvm::all_of(op->getUsers(), [&](Operation *user) {
           auto generic = dyn_cast<linalg::GenericOp>(user);
           return generic && generic->getBlock() == op->getBlock() &&
                  size + getBodySize(generic) <= FusionTuning::maxBodySize &&
                  getNumPoints(generic) <= getNumPoints(op) &&
                  getBackwardLevel(generic) >= getBackwardLevel(op) &&
                  !readsHidden(op, getBackwardLevel(generic)) &&
                  llvm::none_of(generic.getOutputs(), [&](Value init) {
                    return init == op.getResult(0);
                  });
         });
}

bool remat::isAbsorbed(linalg::GenericOp op, bool keepNarrow) {
  int64_t size = getBodySize(op);
  bool isCheap = hasCheapBody(op);
  if ((!isCheap && keepNarrow) || !mayUsersCompute(op, size))
    return false;
  SmallVector<Value> large;
  if (isCheap &&
      ((size <= FusionTuning::maxCheapSize && getLargeInputs(op).size() <= 1) ||
       (collectLarge(op, {}, large) && sparesTraffic(op, large))))
    return true;
  return !keepNarrow && sparesTime(op, getNumPoints(op));
}

/// Whether `op` does nothing with `tensor` but compare it: to select by a mask.
static bool onlyCompares(linalg::GenericOp op, Value tensor) {
  SmallVector<Value> casts;
  for (OpOperand *input : op.getDpsInputOperands())
    if (input->get() == tensor)
      casts.push_back(op.getMatchingBlockArgument(input));
  for (size_t number = 0; number < casts.size(); ++number)
    for (Operation *user : casts[number].getUsers()) {
      if (isCast(*user))
        casts.push_back(user->getResult(0));
      else if (!isa<arith::CmpFOp>(user))
        return false;
    }
  return !casts.empty();
}

bool remat::completes(linalg::GenericOp producer, linalg::GenericOp consumer) {
  if (!hasCheapBody(producer) || !hasCheapBody(consumer) ||
      consumer->getNumResults() != 1 ||
      !onlyCompares(consumer, producer.getResult(0)) ||
      !mayUsersCompute(consumer, getBodySize(producer) + getBodySize(consumer)))
    return false;
  SmallVector<Value> large;
  if (!collectLarge(consumer, producer.getResult(0), large) ||
      !collectLarge(producer, {}, large) || !sparesTraffic(consumer, large))
    return false;
  // No more is kept until the last user has run: one tensor in the place of the
  // result, and what all of them read anyway.
  auto isReadByAll = [&](Value tensor) {
    return llvm::all_of(consumer->getUses(), [&](OpOperand &use) {
      return isReadWith(tensor, use);
    });
  };
  int64_t kept = 0;
  for (Value tensor : large)
    if (!isReadByAll(tensor))
      kept = addCounts(kept, getBytes(tensor));
  return kept <= getBytes(consumer.getResult(0));
}
