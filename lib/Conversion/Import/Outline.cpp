//===- Outline.cpp - from an scf.for to a remat.loop ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Outline.h"

#include "LoopParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"

using namespace mlir;
using namespace remat;
using import::fromTensor;
using import::LoopBounds;
using import::LoopParts;
using import::toTensor;

bool import::canCross(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.hasStaticShape() : type.isIntOrIndexOrFloat();
}

/// The tensor that a value of `type` goes in and out by.
static RankedTensorType getCrossingType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor : RankedTensorType::get({}, type);
}

Value import::toTensor(OpBuilder &builder, Location loc, Value value) {
  RankedTensorType type = getCrossingType(value.getType());
  return type == value.getType()
             ? value
             : tensor::FromElementsOp::create(builder, loc, type, value)
                   .getResult();
}

Value import::fromTensor(OpBuilder &builder, Location loc, Value tensor,
                         Type type) {
  return tensor.getType() == type
             ? tensor
             : tensor::ExtractOp::create(builder, loc, tensor, ValueRange())
                   .getResult();
}

Value import::makeAgain(OpBuilder &builder, Value value, IRMapping &again) {
  if (Value known = again.lookupOrNull(value))
    return known;
  for (Value operand : value.getDefiningOp()->getOperands())
    makeAgain(builder, operand, again);
  builder.clone(*value.getDefiningOp(), again);
  return again.lookup(value);
}

/// An element of a tensor of `type`, along the first dimension.
static RankedTensorType getElementTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(tensor.getShape().drop_front());
}

/// The dimensions of a tensor with one more of size one in front that make up
/// those of a tensor of `rank` dimensions.
static SmallVector<ReassociationIndices> joinLeading(int64_t rank) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t dim = 0; dim < rank; ++dim)
    groups.push_back(dim == 0 ? ReassociationIndices{0, 1}
                              : ReassociationIndices{dim + 1});
  return groups;
}

/// What every iteration hands on unchanged is what the loop began with.
static void forwardUnchanged(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [argument, init, yielded, result] :
       llvm::zip(loop.getRegionIterArgs(), loop.getInitArgs(),
                 loop.getYieldedValues(), loop.getResults())) {
    if (yielded != argument)
      continue;
    unsigned number = result.getResultNumber();
    argument.replaceUsesWithIf(init, [&](OpOperand &use) {
      return use.getOwner() != yield || use.getOperandNumber() != number;
    });
    result.replaceAllUsesWith(init);
  }
}

/// Every element of some constants is the same one: what is read of them
/// depends on no place.
static void foldReadsOfConstants(scf::ForOp loop) {
  loop.getRegion().walk([](Operation *op) {
    if (!isa<tensor::ExtractOp, tensor::ExtractSliceOp>(op) ||
        !matchPattern(op->getOperand(0), m_Constant()))
      return;
    OpBuilder builder(op);
    SmallVector<Value> folded;
    if (failed(builder.tryFold(op, folded)) || folded.empty())
      return;
    op->replaceAllUsesWith(folded);
    op->erase();
  });
}

/// Of what iterations overwrite a part of, no iteration makes all: nothing can
/// be asked of it in one.
static void dropPoliciesOfParts(scf::ForOp loop) {
  auto isInsertion = [](Operation *op) {
    return isa_and_present<tensor::InsertOp, tensor::InsertSliceOp>(op);
  };
  loop.getRegion().walk([&](TagOp tag) {
    if (tag.getName() || !isInsertion(tag.getInput().getDefiningOp()))
      return;
    tag.replaceAllUsesWith(tag.getInput());
    tag.erase();
  });
}

//===----------------------------------------------------------------------===//
// Outlining
//===----------------------------------------------------------------------===//

namespace {
class Outliner {
public:
  Outliner(scf::ForOp loop, LoopBounds bounds, LoopParts parts)
      : loop(loop), bounds(bounds), parts(std::move(parts)), loc(loop.getLoc()),
        builder(loop, &marks) {
    marks.beginRewrite(loop);
  }

  func::FuncOp run(SymbolTable &symbols);

private:
  void findOperands();
  func::FuncOp createFunction(SymbolTable &symbols);
  void replaceArguments();
  void replaceCounter(Value counter);
  void replaceReads(ArrayRef<Operation *> reads, Value element);
  void replaceInLoop(Value value, Value replacement) {
    value.replaceUsesWithIf(replacement, [&](OpOperand &use) {
      return loop.getRegion().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  void createReturn();
  Value getTrips();
  Value keepOthers(Value stack, Value init, LoopOp kept);
  void replaceResults(LoopOp kept);

  scf::ForOp loop;
  LoopBounds bounds;
  LoopParts parts;
  Location loc;
  BackwardMarkListener marks;
  OpBuilder builder;
  /// The numbers of results that are carried, in order.
  SmallVector<unsigned> carried;
  /// What is used from outside, but what the body makes again.
  SmallVector<Value> captured;
  SmallVector<Value> inits, invariants, slices;
  Block *body = nullptr;
  /// What the iterations count with, if that is carried, in the body.
  Value counter;
};
} // namespace

void Outliner::findOperands() {
  carried.assign(parts.carried.begin(), parts.carried.end());
  llvm::sort(carried);
  for (unsigned number : carried)
    inits.push_back(toTensor(builder, loc, loop.getInitArgs()[number]));
  if (parts.usesCounter) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    inits.push_back(arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(type, bounds.low)));
  }
  for (Value value : parts.invariants)
    if (!import::isMadeOfConstants(value)) {
      captured.push_back(value);
      invariants.push_back(toTensor(builder, loc, value));
    }
  for (auto &[tensor, reads] : parts.slices)
    slices.push_back(tensor);
}

func::FuncOp Outliner::createFunction(SymbolTable &symbols) {
  SmallVector<Type> arguments(ValueRange(inits).getTypes()), results(arguments);
  llvm::append_range(arguments, ValueRange(invariants).getTypes());
  for (Value slice : slices)
    arguments.push_back(getElementTensor(slice.getType()));
  for (auto &[number, insert] : parts.stacks)
    results.push_back(getElementTensor(loop.getResultTypes()[number]));
  auto parent = loop->getParentOfType<func::FuncOp>();
  OpBuilder detached(builder.getContext());
  auto function =
      func::FuncOp::create(detached, loc, (parent.getName() + "_loop").str(),
                           detached.getFunctionType(arguments, results));
  function.setPrivate();
  symbols.insert(function);
  body = function.addEntryBlock();
  return function;
}

/// Lets the loop's body read the arguments of the function.
void Outliner::replaceArguments() {
  builder.setInsertionPointToEnd(body);
  auto arguments = body->getArguments();
  auto take = [&] {
    Value first = arguments.front();
    arguments = arguments.drop_front();
    return first;
  };
  for (unsigned number : carried) {
    BlockArgument argument = loop.getRegionIterArgs()[number];
    argument.replaceAllUsesWith(
        fromTensor(builder, loc, take(), argument.getType()));
  }
  if (parts.usesCounter)
    replaceCounter(take());
  for (Value value : captured)
    replaceInLoop(value, fromTensor(builder, loc, take(), value.getType()));
  // What is made again depends on what is.
  IRMapping again;
  for (Value value : parts.invariants)
    if (import::isMadeOfConstants(value))
      replaceInLoop(value, import::makeAgain(builder, value, again));
  for (auto &[tensor, reads] : parts.slices)
    replaceReads(reads, take());
}

void Outliner::replaceCounter(Value tensor) {
  Type type = loop.getInductionVar().getType();
  counter = fromTensor(builder, loc, tensor, builder.getI64Type());
  Value cast = counter;
  if (type.isIndex())
    cast = arith::IndexCastOp::create(builder, loc, type, counter);
  else if (!type.isInteger(64))
    cast = arith::TruncIOp::create(builder, loc, type, counter);
  loop.getInductionVar().replaceAllUsesWith(cast);
}

/// Lets what reads an element of a tensor read `element`.
void Outliner::replaceReads(ArrayRef<Operation *> reads, Value element) {
  auto type = cast<RankedTensorType>(element.getType());
  SmallVector<int64_t> shape = {1};
  llvm::append_range(shape, type.getShape());
  // The element as a tensor of one, which slices can be taken from as before.
  Value single;
  auto getSingle = [&] {
    if (!single)
      single =
          tensor::ExpandShapeOp::create(builder, loc, type.clone(shape),
                                        element, joinLeading(type.getRank()));
    return single;
  };
  for (Operation *read : reads) {
    Value result;
    if (auto extract = dyn_cast<tensor::ExtractOp>(read)) {
      OpBuilder at(read, &marks);
      result = tensor::ExtractOp::create(at, read->getLoc(), element,
                                         extract.getIndices().drop_front());
    } else {
      auto slice = cast<tensor::ExtractSliceOp>(read);
      bool isWhole = slice.getStaticSizes().drop_front() == type.getShape();
      if (isWhole && slice.getType() == type) {
        result = element;
      } else if (isWhole && slice.getType().getShape() == ArrayRef(shape)) {
        result = getSingle();
      } else {
        Value source = getSingle();
        OpBuilder at(read, &marks);
        SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
        offsets.front() = at.getIndexAttr(0);
        result = tensor::ExtractSliceOp::create(
            at, read->getLoc(), slice.getType(), source, offsets,
            slice.getMixedSizes(), slice.getMixedStrides());
      }
    }
    if (Operation *op = result.getDefiningOp();
        parts.operations.erase(read) && op)
      parts.operations.insert(op);
    read->replaceAllUsesWith(ValueRange(result));
    read->erase();
  }
}

/// What the iteration hands on.
void Outliner::createReturn() {
  SmallVector<Value> results;
  for (unsigned number : carried)
    results.push_back(toTensor(builder, loc, loop.getYieldedValues()[number]));
  if (counter) {
    Value step = arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(bounds.step));
    results.push_back(toTensor(
        builder, loc, arith::AddIOp::create(builder, loc, counter, step)));
  }
  for (auto &[number, insert] : parts.stacks) {
    Value element = toTensor(builder, loc, insert->getOperand(0));
    RankedTensorType type = getElementTensor(loop.getResultTypes()[number]);
    if (element.getType() != type)
      element = tensor::CollapseShapeOp::create(builder, loc, type, element,
                                                joinLeading(type.getRank()));
    results.push_back(element);
  }
  func::ReturnOp::create(builder, loc, results);
}

void Outliner::replaceResults(LoopOp kept) {
  for (auto [number, final] : llvm::zip(carried, kept.getFinals())) {
    OpResult result = loop->getResult(number);
    result.replaceAllUsesWith(
        fromTensor(builder, loc, final, result.getType()));
  }
  for (auto [stack, result] : llvm::zip(parts.stacks, kept.getStacks()))
    loop->getResult(stack.first)
        .replaceAllUsesWith(
            keepOthers(result, loop.getInitArgs()[stack.first], kept));
}

/// How often the loop runs, if that is known at run time only.
Value Outliner::getTrips() {
  if (!bounds.isRunTime)
    return nullptr;
  Value trips = loop.getUpperBound();
  Type i64 = builder.getI64Type();
  if (trips.getType().isIndex())
    trips = arith::IndexCastOp::create(builder, loc, i64, trips);
  else if (trips.getType() != i64 && loop.getUnsignedCmp())
    trips = arith::ExtUIOp::create(builder, loc, i64, trips);
  else if (trips.getType() != i64)
    trips = arith::ExtSIOp::create(builder, loc, i64, trips);
  return toTensor(builder, loc, trips);
}

/// What the loop makes of `init`: `stack`, but what `init` was where no
/// iteration has written.
Value Outliner::keepOthers(Value stack, Value init, LoopOp kept) {
  Value filled = init;
  if (auto fill = init.getDefiningOp<linalg::FillOp>())
    filled = fill.getInputs()[0];
  if (!bounds.isRunTime || init.getDefiningOp<tensor::EmptyOp>() ||
      matchPattern(filled, m_Zero()) || matchPattern(filled, m_PosZeroFloat()))
    return stack;
  auto type = cast<RankedTensorType>(stack.getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  AffineMap all = builder.getMultiDimIdentityMap(type.getRank());
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             builder, loc, type, ValueRange{stack, init, kept.getTrips()},
             empty,
             ArrayRef{all, all,
                      AffineMap::get(type.getRank(), 0, loc.getContext()), all},
             iterators,
             [](OpBuilder &nested, Location loc, ValueRange arguments) {
               Value index = linalg::IndexOp::create(nested, loc, 0);
               index = arith::IndexCastOp::create(nested, loc,
                                                  nested.getI64Type(), index);
               Value hasRun = arith::CmpIOp::create(
                   nested, loc, arith::CmpIPredicate::slt, index, arguments[2]);
               Value value = arith::SelectOp::create(
                   nested, loc, hasRun, arguments[0], arguments[1]);
               linalg::YieldOp::create(nested, loc, value);
             })
      .getResult(0);
}

func::FuncOp Outliner::run(SymbolTable &symbols) {
  findOperands();
  func::FuncOp function = createFunction(symbols);
  replaceArguments();
  for (Operation &op :
       llvm::make_early_inc_range(loop.getBody()->without_terminator()))
    if (parts.operations.contains(&op))
      op.moveBefore(body, body->end());
  builder.setInsertionPointToEnd(body);
  createReturn();
  builder.setInsertionPoint(loop);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  for (auto &[number, insert] : parts.stacks)
    types.push_back(loop.getResultTypes()[number]);
  auto kept =
      LoopOp::create(builder, loc, types, function.getName(), bounds.trips,
                     parts.reverse, inits, invariants, slices, getTrips());
  kept.setAsserts(LoopOp::isAsserting(*body));
  replaceResults(kept);
  loop.erase();
  return function;
}

func::FuncOp import::outlineLoop(scf::ForOp loop, LoopBounds bounds,
                                 SymbolTable &symbols) {
  forwardUnchanged(loop);
  foldReadsOfConstants(loop);
  dropPoliciesOfParts(loop);
  LoopParts parts = findLoopParts(loop, bounds);
  if (parts.carried.empty() && parts.stacks.empty() &&
      parts.operations.empty()) {
    loop.erase();
    return nullptr;
  }
  return Outliner(loop, bounds, std::move(parts)).run(symbols);
}
