//===- SliceUses.cpp - how long tensors with slices are in use ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SliceUses.h"

#include "KernelPool.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Rows.h"

using namespace mlir;
using namespace remat;

/// Whether `value` is `source` or a slice of it, in any shape.
static bool isPartOf(Value value, Value source) {
  Value root = getViewRoot(value);
  auto slice = root.getDefiningOp<tensor::ExtractSliceOp>();
  return root == source || (slice && getViewRoot(slice.getSource()) == source);
}

/// Whether `op` is a slice of next to nothing beside `slice`, as of a bias.
static bool isSmallSlice(Operation *op, tensor::ExtractSliceOp slice) {
  return isa<tensor::ExtractSliceOp>(op) && slice.getType().hasStaticShape() &&
         isSmall(op->getResult(0), slice.getType().getNumElements());
}

void SliceUses::extend(Span &span, tensor::ExtractSliceOp slice,
                       Operation *until) const {
  Value source = getViewRoot(slice.getSource());
  while (!span.isWhole && info.isBefore(span.end, until)) {
    Operation *op = span.end;
    if (isViewOp(op) || isTransparentOp(op) || isClonedIntoKernels(op) ||
        isSmallSlice(op, slice) ||
        llvm::any_of(op->getOperands(),
                     [&](Value operand) { return isPartOf(operand, source); }))
      span.end = op->getNextNode();
    else
      span.isWhole = true;
  }
}

bool SliceUses::isInUseUntil(tensor::ExtractSliceOp slice, Operation *reader) {
  Value source = getViewRoot(slice.getSource());
  if (isa<BlockArgument>(source)) {
    Operation *taker = findTaker(source);
    return !taker || taker->getBlock() != reader->getBlock() ||
           info.isBefore(reader, taker);
  }
  Span here{slice, slice->getNextNode()};
  auto [known, isNew] = spans.try_emplace(source, here);
  Span &span = known->second;
  if (info.isBefore(slice, span.begin)) {
    extend(here, slice, span.begin);
    if (here.end == span.begin)
      span.begin = slice;
  }
  if (info.isBefore(slice, span.begin) || !info.isBefore(slice, span.end))
    span = here;
  extend(span, slice, reader);
  return !info.isBefore(span.end, reader);
}

/// What reads `value` or a view of it last: an operation of the block, or what
/// ends that.
Operation *SliceUses::findLastReader(Value value) const {
  Operation *last = nullptr;
  for (Operation *user : value.getUsers()) {
    Block *block = info.getBlock();
    Operation *reader = isAlias(user) ? findLastReader(user->getResult(0))
                                      : block->findAncestorOpInBlock(*user);
    if (!reader && !isAlias(user))
      reader = block->getTerminator();
    if (reader && (!last || info.isBefore(last, reader)))
      last = reader;
  }
  return last;
}

bool SliceUses::isInUseBehind(tensor::ExtractSliceOp slice, Operation *reader) {
  Value source = getViewRoot(slice.getSource());
  auto [last, isNew] = lastReaders.try_emplace(source);
  if (isNew)
    last->second = findLastReader(source);
  return last->second && info.isBefore(reader, last->second);
}
