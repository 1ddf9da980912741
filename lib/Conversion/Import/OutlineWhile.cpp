//===- OutlineWhile.cpp - from an scf.while to a remat.loop ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A body says whether there is another iteration when it has made what that
// begins with. So the condition stands in front of the loop, where it sees what
// the loop begins with, and at the end of the body.
//
//===----------------------------------------------------------------------===//

#include "LoopParts.h"
#include "Outline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"

using namespace mlir;
using namespace remat;

namespace {
class WhileOutliner {
public:
  explicit WhileOutliner(scf::WhileOp loop)
      : loop(loop), loc(loop.getLoc()), builder(loop, &marks) {
    marks.beginRewrite(loop);
    getUsedValuesDefinedAbove(loop->getRegions(), captured);
  }

  func::FuncOp run(int64_t most, SymbolTable &symbols);

private:
  SmallVector<Value> copyCondition(ValueRange arguments, IRMapping &mapping);
  void copyBlock(Block &block, ValueRange arguments, IRMapping &mapping);
  func::FuncOp createFunction(ValueRange carried, ValueRange invariants,
                              SymbolTable &symbols);
  void fillBody(Block *body);

  scf::WhileOp loop;
  Location loc;
  BackwardMarkListener marks;
  OpBuilder builder;
  /// What is used from outside.
  SetVector<Value> captured;
};
} // namespace

void WhileOutliner::copyBlock(Block &block, ValueRange arguments,
                              IRMapping &mapping) {
  mapping.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
}

/// Whether there is another iteration, and what it begins with.
SmallVector<Value> WhileOutliner::copyCondition(ValueRange arguments,
                                                IRMapping &mapping) {
  copyBlock(*loop.getBeforeBody(), arguments, mapping);
  SmallVector<Value> values;
  for (Value value : loop.getConditionOp()->getOperands())
    values.push_back(mapping.lookupOrDefault(value));
  return values;
}

func::FuncOp WhileOutliner::createFunction(ValueRange carried,
                                           ValueRange invariants,
                                           SymbolTable &symbols) {
  SmallVector<Type> arguments(carried.getTypes());
  llvm::append_range(arguments, invariants.getTypes());
  auto parent = loop->getParentOfType<func::FuncOp>();
  OpBuilder detached(builder.getContext());
  auto function = func::FuncOp::create(
      detached, loc, (parent.getName() + "_loop").str(),
      detached.getFunctionType(arguments, carried.getTypes()));
  function.setPrivate();
  symbols.insert(function);
  return function;
}

void WhileOutliner::fillBody(Block *body) {
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  auto arguments = body->getArguments().drop_front();
  auto take = [&](Type type) {
    Value first = arguments.front();
    arguments = arguments.drop_front();
    return import::fromTensor(builder, loc, first, type);
  };
  Value number = take(builder.getI64Type());
  SmallVector<Value> carried;
  for (Value result : loop.getResults())
    carried.push_back(take(result.getType()));
  for (Value value : captured)
    if (!import::isMadeOfConstants(value))
      mapping.map(value, take(value.getType()));
  for (Value value : captured)
    if (import::isMadeOfConstants(value))
      import::makeAgain(builder, value, mapping);
  copyBlock(*loop.getAfterBody(), carried, mapping);
  SmallVector<Value> next =
      llvm::map_to_vector(loop.getYieldOp().getOperands(), [&](Value value) {
        return mapping.lookupOrDefault(value);
      });
  SmallVector<Value> returned = copyCondition(next, mapping);
  Value one =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(1));
  returned.insert(returned.begin() + 1,
                  arith::AddIOp::create(builder, loc, number, one));
  for (Value &value : returned)
    value = import::toTensor(builder, loc, value);
  func::ReturnOp::create(builder, loc, returned);
}

func::FuncOp WhileOutliner::run(int64_t most, SymbolTable &symbols) {
  IRMapping mapping;
  SmallVector<Value> inits = copyCondition(loop.getInits(), mapping);
  inits.insert(
      inits.begin() + 1,
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(0)));
  for (Value &value : inits)
    value = import::toTensor(builder, loc, value);
  SmallVector<Value> invariants;
  for (Value value : captured)
    if (!import::isMadeOfConstants(value))
      invariants.push_back(import::toTensor(builder, loc, value));
  func::FuncOp function = createFunction(inits, invariants, symbols);
  {
    OpBuilder::InsertionGuard guard(builder);
    fillBody(function.addEntryBlock());
  }
  auto kept = LoopOp::create(builder, loc, ValueRange(inits).getTypes(),
                             function.getName(), most, /*reverse=*/false, inits,
                             invariants, /*slices=*/ValueRange(),
                             /*trips=*/Value(), /*conditional=*/true);
  kept.setAsserts(LoopOp::isAsserting(function.front()));
  for (auto [result, final] :
       llvm::zip(loop.getResults(), kept.getFinals().drop_front(2)))
    result.replaceAllUsesWith(
        import::fromTensor(builder, loc, final, result.getType()));
  loop.erase();
  return function;
}

func::FuncOp import::outlineWhile(scf::WhileOp loop, int64_t most,
                                  SymbolTable &symbols) {
  return WhileOutliner(loop).run(most, symbols);
}
