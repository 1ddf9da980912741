//===- LoopParts.cpp - what an scf.for consists of ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopParts.h"

#include "LoopIndices.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "remat/Utils/Closure.h"

using namespace mlir;
using namespace remat;
using import::LoopBounds;
using import::LoopIndices;
using import::LoopParts;
using import::Order;

bool import::isMadeOfConstants(Value value) {
  return holdsForClosure(value, [](Value made, SmallVectorImpl<Value> &next) {
    Operation *op = made.getDefiningOp();
    if (!op)
      return false;
    if (op->hasTrait<OpTrait::ConstantLike>())
      return true;
    llvm::append_range(next, op->getOperands());
    auto tensor = dyn_cast<RankedTensorType>(made.getType());
    bool isCheap = isa<tensor::EmptyOp, linalg::FillOp, tensor::SplatOp>(op) ||
                   (op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
                    !isa<ShapedType>(made.getType()));
    return isCheap && (!tensor || tensor.hasStaticShape());
  });
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The first offset of `op` if it is about one element along the first
/// dimension; null if about more.
template <typename SliceOp>
static OpFoldResult getSliceIndex(SliceOp op) {
  auto isOne = [](int64_t value) { return value == 1; };
  if (op.getStaticSizes().empty() || op.getStaticSizes()[0] != 1 ||
      !llvm::all_of(op.getStaticStrides(), isOne))
    return nullptr;
  return op.getMixedOffsets()[0];
}

/// Whether `op`, a slice of `type`, has all of the dimensions but the first.
template <typename SliceOp>
static bool isWhole(SliceOp op, RankedTensorType type) {
  for (int64_t dim = 1; dim < type.getRank(); ++dim)
    if (!isConstantIntValue(op.getMixedOffsets()[dim], 0) ||
        op.getStaticSizes()[dim] != type.getDimSize(dim))
      return false;
  return true;
}

/// The index of the element of a tensor that is read by `use`.
static OpFoldResult getReadIndex(OpOperand &use) {
  Operation *op = use.getOwner();
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
      slice && &use == &slice.getSourceMutable())
    return getSliceIndex(slice);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op);
      extract && &use == &extract.getTensorMutable() &&
      !extract.getIndices().empty())
    return extract.getIndices().front();
  return nullptr;
}

/// The index of the element of `argument`, which a loop carries, that `op`
/// overwrites by all of another tensor.
static OpFoldResult getWrittenIndex(BlockArgument argument, Operation *op) {
  auto type = cast<RankedTensorType>(argument.getType());
  if (auto insert = dyn_cast<tensor::InsertOp>(op))
    return insert.getDest() == argument && type.getRank() == 1
               ? OpFoldResult(insert.getIndices().front())
               : nullptr;
  auto insert = dyn_cast<tensor::InsertSliceOp>(op);
  if (!insert || insert.getDest() != argument || !isWhole(insert, type))
    return nullptr;
  // What else of dimensions of size one is missing would have to be put back.
  ArrayRef<int64_t> shape = insert.getSourceType().getShape(),
                    element = type.getShape().drop_front();
  bool isElement = shape == element || (!shape.empty() && shape[0] == 1 &&
                                        shape.drop_front() == element);
  return isElement ? getSliceIndex(insert) : nullptr;
}

//===----------------------------------------------------------------------===//
// Taking apart
//===----------------------------------------------------------------------===//

namespace {
class Finder {
public:
  Finder(scf::ForOp loop, LoopBounds bounds)
      : loop(loop), bounds(bounds), indices(loop, bounds) {}

  LoopParts find();

private:
  struct Stack {
    Operation *insert;
    Order order;
  };
  struct Slice {
    SmallVector<Operation *> reads;
    Order order;
  };

  bool isInLoop(Value value) {
    return loop.getRegion().isAncestor(value.getParentRegion());
  }
  bool hasElements(Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    return type && type.hasStaticShape() && type.getRank() > 0 &&
           bounds.trips > 0 && type.getDimSize(0) == bounds.trips;
  }
  void findStacks();
  void findSlices();
  void chooseOrder();
  void need(Value value);
  void need(Operation *op);
  void sort();

  scf::ForOp loop;
  LoopBounds bounds;
  LoopIndices indices;
  llvm::MapVector<unsigned, Stack> stacks;
  llvm::MapVector<Value, Slice> slices;
  /// The tensor whose element an operation reads.
  DenseMap<Operation *, Value> reads;
  LoopParts parts;
  SmallVector<Value> worklist;
};
} // namespace

void Finder::findStacks() {
  for (BlockArgument argument : loop.getRegionIterArgs()) {
    unsigned number = argument.getArgNumber() - 1;
    if (!hasElements(argument) || !argument.hasOneUse())
      continue;
    Operation *insert = *argument.user_begin();
    if (insert->getBlock() != loop.getBody() || insert->getNumResults() != 1 ||
        !insert->hasOneUse() ||
        loop.getYieldedValues()[number] != insert->getResult(0))
      continue;
    OpFoldResult index = getWrittenIndex(argument, insert);
    Order order = index ? indices.findOrder(index) : Order::None;
    if (order != Order::None)
      stacks.insert({number, Stack{insert, order}});
  }
}

void Finder::findSlices() {
  llvm::MapVector<Value, SmallVector<OpOperand *>> uses;
  loop.getRegion().walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (hasElements(operand.get()) && !isInLoop(operand.get()))
        uses[operand.get()].push_back(&operand);
  });
  for (auto &[tensor, users] : uses) {
    Slice slice{{}, Order::None};
    for (OpOperand *use : users) {
      OpFoldResult index = getReadIndex(*use);
      Order order = index ? indices.findOrder(index) : Order::None;
      if (order == Order::None ||
          (slice.order != Order::None && slice.order != order)) {
        slice.order = Order::None;
        break;
      }
      slice.order = order;
      slice.reads.push_back(use->getOwner());
    }
    if (slice.order != Order::None)
      slices.insert({tensor, slice});
  }
}

/// A loop goes in one direction: that of most of its slices and stacks.
void Finder::chooseOrder() {
  int64_t balance = 0;
  auto vote = [&](Order order) { balance += order == Order::Forward ? 1 : -1; };
  for (auto &[number, stack] : stacks)
    vote(stack.order);
  for (auto &[tensor, slice] : slices)
    vote(slice.order);
  parts.reverse = balance < 0;
  Order order = parts.reverse ? Order::Backward : Order::Forward;
  stacks.remove_if([&](auto &entry) { return entry.second.order != order; });
  slices.remove_if([&](auto &entry) { return entry.second.order != order; });
}

/// Notes what `op`, at the top of the body, reads.
void Finder::need(Operation *op) {
  if (!parts.operations.insert(op).second)
    return;
  op->walk([&](Operation *inner) {
    ValueRange operands = inner->getOperands();
    if (auto it = reads.find(inner); it != reads.end()) {
      parts.slices[it->second].push_back(inner);
      // The tensor and the place are no more.
      operands = operands.drop_front(2);
    }
    for (Value operand : operands)
      if (!op->isAncestor(operand.getParentRegion()->getParentOp()))
        worklist.push_back(operand);
  });
}

/// Notes that `value` is used in the body.
void Finder::need(Value value) {
  if (!isInLoop(value)) {
    parts.invariants.insert(value);
    return;
  }
  if (Operation *op = value.getDefiningOp())
    return need(op);
  unsigned number = cast<BlockArgument>(value).getArgNumber();
  if (number == 0)
    parts.usesCounter = true;
  else if (parts.carried.insert(number - 1))
    worklist.push_back(loop.getYieldedValues()[number - 1]);
}

/// Brings what is used from outside into the order in which the body uses it:
/// so far it is that in which it was found.
void Finder::sort() {
  auto found = parts.invariants.takeVector();
  DenseSet<Value> left(found.begin(), found.end());
  loop.getRegion().walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (left.erase(operand))
        parts.invariants.insert(operand);
  });
  llvm::MapVector<Value, SmallVector<Operation *>> read;
  for (auto &[tensor, slice] : slices)
    if (auto it = parts.slices.find(tensor); it != parts.slices.end())
      read.insert(std::move(*it));
  parts.slices = std::move(read);
}

LoopParts Finder::find() {
  findStacks();
  findSlices();
  chooseOrder();
  for (auto &[tensor, slice] : slices)
    for (Operation *read : slice.reads)
      reads[read] = tensor;
  // Assertions hold whatever is read.
  for (Operation &op : loop.getBody()->without_terminator())
    if (!isMemoryEffectFree(&op))
      need(&op);
  while (!worklist.empty())
    need(worklist.pop_back_val());
  for (OpResult result : loop.getResults()) {
    unsigned number = result.getResultNumber();
    if (result.use_empty())
      continue;
    if (auto it = stacks.find(number); it != stacks.end()) {
      parts.stacks.insert({number, it->second.insert});
      worklist.push_back(it->second.insert->getOperand(0));
    } else {
      need(loop.getRegionIterArgs()[number]);
    }
    while (!worklist.empty())
      need(worklist.pop_back_val());
  }
  sort();
  return std::move(parts);
}

LoopParts import::findLoopParts(scf::ForOp loop, LoopBounds bounds) {
  return Finder(loop, bounds).find();
}
