//===- Microbatches.cpp - a step over several parts of a batch ------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The function computes what one part of a batch gives; a loop runs it for all
// parts and takes the mean, as training loops that accumulate gradients do.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "BatchParts.h"
#include "LoopUpdates.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "remat/Dialect/Remat/IR/Gradients.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/Builders.h"

namespace remat {
#define GEN_PASS_DEF_MICROBATCHESPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// The function that is run for each part, and the one that it becomes.
class PartLoop : BatchParts {
public:
  PartLoop(func::FuncOp function, int64_t parts, ArrayRef<int64_t> batch)
      : BatchParts(function, parts, batch), builder(function.getContext()) {}

  LogicalResult run();

private:
  func::FuncOp writePart();
  void writeStep(func::FuncOp part);
  Value addShare(OpBuilder &builder, Value sum, Value value);
  void addShares(func::FuncOp part);

  OpBuilder builder;
  /// Numbers of those results and arguments of a part that are sums of means.
  SmallVector<unsigned> sums;
};
} // namespace

/// The body of the loop. Arguments: sums of means and what is carried, in the
/// order of the results; the invariants; the parts. In the place of sums it
/// returns what the part gives.
func::FuncOp PartLoop::writePart() {
  func::FuncOp part = function.clone();
  part.setName((function.getName() + "_part").str());
  part.setPrivate();
  part.removeArgAttrsAttr();
  part.removeResAttrsAttr();
  part->removeAttr(RematDialect::alternativeAttrName);
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(part, std::next(Block::iterator(function)));
  Block &block = part.front();
  Operation *terminator = block.getTerminator();
  unsigned numBefore = block.getNumArguments();
  auto move = [&](unsigned number) {
    BlockArgument old = block.getArgument(number);
    old.replaceAllUsesWith(block.addArgument(old.getType(), old.getLoc()));
  };
  builder.setInsertionPoint(terminator);
  // Numbers of results: an argument that is returned is moved as well.
  SmallVector<unsigned> order, stacked;
  DenseSet<int64_t> moved;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    if (isStacked(kind)) {
      stacked.push_back(number);
      continue;
    }
    if (kind == PartResult::Carried) {
      order.push_back(number);
      moved.insert(donors[number].getArgNumber());
      move(donors[number].getArgNumber());
      continue;
    }
    auto type =
        cast<RankedTensorType>(terminator->getOperand(number).getType());
    Type element = getSumElement(type.getElementType());
    sums.push_back(order.size());
    block.addArgument(type.clone(element), loc);
    order.push_back(number);
  }
  for (unsigned number = 0; number < numBefore; ++number)
    if (!moved.contains(number) && !isSliced(number))
      move(number);
  for (int64_t number : batch)
    move(number);
  for (int64_t number : keys)
    move(number);
  block.eraseArguments(0, numBefore);
  llvm::append_range(order, stacked);
  terminator->setOperands(
      llvm::map_to_vector(order, [&](unsigned number) -> Value {
        return terminator->getOperand(number);
      }));
  part.setFunctionType(builder.getFunctionType(block.getArgumentTypes(),
                                               terminator->getOperandTypes()));
  for (unsigned number : sums)
    part.setArgAttr(number, RematDialect::donatedAttrName,
                    builder.getI64IntegerAttr(number));
  return part;
}

/// What `sum` is with the share that a part has with its `value`.
Value PartLoop::addShare(OpBuilder &builder, Value sum, Value value) {
  auto type = cast<RankedTensorType>(sum.getType());
  Type element = type.getElementType();
  return createElementwise(
      builder, loc, {sum, value}, type,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        return createSum(nested, loc, args[0],
                         createShare(nested, loc, args[1], element));
      });
}

/// Lets `part` return the sums. A loop of layers adds to those of a layer in
/// the iteration that makes its gradients, so that the gradients of all layers
/// do not exist together.
void PartLoop::addShares(func::FuncOp part) {
  Operation *terminator = part.front().getTerminator();
  SmallVector<WeightUpdate> updates;
  SmallVector<Value> values, before;
  for (unsigned number : sums) {
    before.push_back(part.getArgument(number));
    values.push_back(terminator->getOperand(number));
    updates.push_back({before.back(), values.back(), {}, {}});
  }
  auto emit = [&](OpBuilder &builder, WeightUpdate &update,
                  const StepNumbers &) {
    update.weight = addShare(builder, update.weight, update.gradient);
  };
  auto loops = findLoopWeights(values, before);
  BitVector isInLoop(sums.size());
  for (auto &[loop, lists] : loops)
    for (const LoopWeights &list : lists)
      for (unsigned number : list.numbers)
        isInLoop.set(number);
  builder.setInsertionPoint(terminator);
  for (auto [number, update] : llvm::enumerate(updates))
    if (!isInLoop.test(number))
      emit(builder, update, {});
  for (auto &[loop, lists] : loops)
    updateInLoop(loop, lists, loc, /*numbers=*/{}, updates, emit);
  for (auto [number, update] : llvm::zip_equal(sums, updates))
    terminator->setOperand(number, update.weight);
  part.setFunctionType(builder.getFunctionType(part.front().getArgumentTypes(),
                                               terminator->getOperandTypes()));
}

void PartLoop::writeStep(func::FuncOp part) {
  Block &block = function.front();
  Operation *terminator = block.getTerminator();
  SmallVector<Type> resultTypes = llvm::to_vector(function.getResultTypes());
  SmallVector<Operation *> old;
  for (Operation &op : block.without_terminator())
    old.push_back(&op);
  widenBatch();
  builder.setInsertionPoint(terminator);
  SmallVector<Value> inits, invariants, slices;
  SmallVector<Type> types;
  DenseSet<int64_t> carried;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    auto type = cast<RankedTensorType>(resultTypes[number]);
    if (kind == PartResult::Mean) {
      inits.push_back(createZeros(
          builder, loc, type.clone(getSumElement(type.getElementType()))));
    } else if (kind == PartResult::Carried) {
      inits.push_back(donors[number]);
      carried.insert(donors[number].getArgNumber());
    }
  }
  llvm::append_range(types, ValueRange(inits).getTypes());
  for (auto [number, kind] : llvm::enumerate(kinds))
    if (isStacked(kind))
      types.push_back(addParts(cast<RankedTensorType>(resultTypes[number])));
  for (BlockArgument argument : block.getArguments())
    if (!carried.contains(argument.getArgNumber()) &&
        !isSliced(argument.getArgNumber()))
      invariants.push_back(argument);
  for (int64_t number : llvm::concat<int64_t>(batch, keys))
    slices.push_back(getSlices(builder, number));
  auto loop = LoopOp::create(builder, loc, types, part.getName(), parts,
                             /*reverse=*/false, inits, invariants, slices);
  loop.setAsserts(LoopOp::isAsserting(part.front()));
  auto finals = loop.getFinals().begin(), stacks = loop.getStacks().begin();
  SmallVector<Value> returned;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    auto type = cast<RankedTensorType>(resultTypes[number]);
    if (isStacked(kind)) {
      returned.push_back(join(builder, *stacks++, type, kind));
      continue;
    }
    returned.push_back(
        convertFloats(builder, loc, *finals++, type.getElementType()));
  }
  finish(old, returned);
  function->setAttr(RematDialect::microbatchOrderAttrName,
                    builder.getStringAttr("parts"));
}

LogicalResult PartLoop::run() {
  DenseSet<int64_t> differentiated;
  for (unsigned number = 0; number < function.getNumResults(); ++number)
    if (auto of =
            function.getResultAttrOfType<IntegerAttr>(number, gradientAttrName))
      differentiated.insert(of.getInt());
  if (failed(findBatch(differentiated)) || failed(classifyResults()))
    return failure();
  func::FuncOp part = writePart();
  writeStep(part);
  // Bodies of loops in the function belong to the part alone now.
  addShares(part);
  return success();
}

namespace {
struct Microbatches : remat::impl::MicrobatchesPassBase<Microbatches> {
  using MicrobatchesPassBase::MicrobatchesPassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> target =
        findBatchFunction(getOperation(), function, parts);
    if (failed(target))
      return signalPassFailure();
    SmallVector<int64_t> numbers =
        llvm::to_vector(llvm::iterator_range(arguments));
    if (failed(PartLoop(*target, parts, numbers).run()))
      return signalPassFailure();
    for (FunctionOpInterface other : findAlternatives(*target)) {
      auto function = cast<func::FuncOp>(other.getOperation());
      bool isDone = function->hasAttr(RematDialect::microbatchOrderAttrName);
      if (!isDone && failed(PartLoop(function, parts, numbers).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
