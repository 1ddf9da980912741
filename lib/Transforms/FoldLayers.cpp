//===- FoldLayers.cpp - equal layers become a loop ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chain of equal layers becomes a loop whose iterations are the layers. What
// each layer has of its own, as its weights, stays where it is: it is stacked
// for the loop, which costs nothing (`remat.stack`).
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "Alternatives.h"
#include "RepeatedLayers.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/EntryFunction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_FOLDLAYERSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// Puts a loop in the place of the layers of a chain.
class ChainFolder {
public:
  ChainFolder(func::FuncOp function, LayerChain chain)
      : function(function), chain(std::move(chain)),
        builder(function.getContext()), loc(function.getLoc()) {}

  void run();

private:
  Value getResult(unsigned layer, LayerResult result) {
    return chain.getOp(layer, result.first)->getResult(result.second);
  }
  SmallVector<Value> stackLists();
  func::FuncOp createBody();
  void fillBody(func::FuncOp body);
  Value remake(Value value);
  void replaceResults(LoopOp loop);

  func::FuncOp function;
  LayerChain chain;
  OpBuilder builder;
  Location loc;
  /// Which lists are of numbers.
  BitVector numbers;
  /// In the body: what is made anew of what is made outside.
  IRMapping remade;
};
} // namespace

/// The values of each list as the elements of a stack. Numbers become tensors.
SmallVector<Value> ChainFolder::stackLists() {
  SmallVector<Value> slices;
  for (SmallVector<Value> &list : chain.lists) {
    bool isNumber = !isa<RankedTensorType>(list.front().getType());
    numbers.push_back(isNumber);
    for (Value &value : list) {
      if (!isNumber)
        continue;
      auto constant = cast<arith::ConstantOp>(value.getDefiningOp());
      auto type = RankedTensorType::get({}, value.getType());
      value = arith::ConstantOp::create(
          builder, loc,
          DenseElementsAttr::get(type, Attribute(constant.getValue())));
    }
    auto element = cast<RankedTensorType>(list.front().getType());
    SmallVector<int64_t> shape = {int64_t(chain.count)};
    llvm::append_range(shape, element.getShape());
    slices.push_back(StackOp::create(builder, loc, element.clone(shape), list));
  }
  return slices;
}

/// The body without operations: of what is carried, what all layers read, and
/// one value of each list.
func::FuncOp ChainFolder::createBody() {
  SmallVector<Type> arguments, results;
  for (const CarriedValue &value : chain.carried)
    arguments.push_back(value.init.getType());
  results = arguments;
  llvm::append_range(arguments, ValueRange(chain.invariants).getTypes());
  for (const SmallVector<Value> &list : chain.lists)
    arguments.push_back(list.front().getType());
  for (LayerResult result : chain.listedResults)
    results.push_back(getResult(0, result).getType());
  OpBuilder::InsertionGuard guard(builder);
  builder.clearInsertionPoint();
  auto body =
      func::FuncOp::create(builder, loc, (function.getName() + "_layer").str(),
                           builder.getFunctionType(arguments, results));
  body.setPrivate();
  SymbolTable(function->getParentOfType<ModuleOp>())
      .insert(body, std::next(Block::iterator(function)));
  body.addEntryBlock();
  return body;
}

/// What is the same as `value`, in the body.
Value ChainFolder::remake(Value value) {
  if (Value known = remade.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (OpOperand *read : collectReads(op))
    remake(read->get());
  builder.clone(*op, remade);
  return remade.lookup(value);
}

void ChainFolder::fillBody(func::FuncOp body) {
  Block &block = body.front();
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&block);
  ArrayRef<BlockArgument> arguments = block.getArguments();
  unsigned firstInvariant = chain.carried.size(),
           firstSlice = firstInvariant + chain.invariants.size();
  SmallVector<Value> slices(arguments.drop_front(firstSlice));
  for (unsigned number : numbers.set_bits())
    slices[number] =
        tensor::ExtractOp::create(builder, loc, slices[number], ValueRange());
  SmallVector<Operation *> made;
  for (unsigned place = 0; place < chain.getLength(); ++place) {
    Operation *op = chain.getOp(0, place)->clone();
    for (auto [operand, read] :
         llvm::zip_equal(collectReads(op), chain.reads[place])) {
      switch (read.kind) {
      case LayerRead::Own:
        operand->set(made[read.result.first]->getResult(read.result.second));
        break;
      case LayerRead::Carried:
        operand->set(arguments[read.number]);
        break;
      case LayerRead::Invariant:
        operand->set(arguments[firstInvariant + read.number]);
        break;
      case LayerRead::Remade:
        operand->set(remake(operand->get()));
        break;
      case LayerRead::Listed:
        operand->set(slices[read.number]);
        break;
      }
    }
    builder.insert(op);
    made.push_back(op);
  }
  SmallVector<Value> returned;
  auto add = [&](LayerResult result) {
    returned.push_back(made[result.first]->getResult(result.second));
  };
  for (const CarriedValue &value : chain.carried)
    add(value.result);
  for (LayerResult result : chain.listedResults)
    add(result);
  func::ReturnOp::create(builder, loc, returned);
}

/// Lets what stands behind the chain read what `loop` makes.
void ChainFolder::replaceResults(LoopOp loop) {
  for (auto [result, stack] :
       llvm::zip_equal(chain.listedResults, loop.getStacks())) {
    SmallVector<Value> values;
    for (unsigned layer = 0; layer < chain.count; ++layer)
      values.push_back(getResult(layer, result));
    auto unstack =
        UnstackOp::create(builder, loc, ValueRange(values).getTypes(), stack);
    for (auto [value, element] : llvm::zip(values, unstack.getElements()))
      value.replaceAllUsesWith(element);
  }
  for (auto [value, final] : llvm::zip(chain.carried, loop.getFinals()))
    getResult(chain.count - 1, value.result).replaceAllUsesWith(final);
  for (Operation *op : llvm::reverse(chain.ops))
    op->erase();
}

void ChainFolder::run() {
  builder.setInsertionPointAfter(chain.ops.back());
  SmallVector<Value> slices = stackLists(), inits;
  func::FuncOp body = createBody();
  fillBody(body);
  for (const CarriedValue &value : chain.carried)
    inits.push_back(value.init);
  SmallVector<Type> types = llvm::to_vector(ValueRange(inits).getTypes());
  for (Type type : body.getResultTypes().drop_front(inits.size())) {
    auto element = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {int64_t(chain.count)};
    llvm::append_range(shape, element.getShape());
    types.push_back(element.clone(shape));
  }
  auto loop =
      LoopOp::create(builder, loc, types, body.getName(), chain.count,
                     /*reverse=*/false, inits, chain.invariants, slices);
  loop.setAsserts(LoopOp::isAsserting(body.front()));
  replaceResults(loop);
}

namespace {
struct FoldLayers : remat::impl::FoldLayersPassBase<FoldLayers> {
  using FoldLayersPassBase::FoldLayersPassBase;

  void runOnOperation() override {
    auto target = dyn_cast_or_null<func::FuncOp>(
        findEntry(getOperation(), function).getOperation());
    if (!target || target.isExternal() || !target.getBody().hasOneBlock()) {
      getOperation().emitError("has no function '")
          << function << "' of one block to fold layers of";
      return signalPassFailure();
    }
    auto find = [&] {
      return findRepeatedLayers(target.front(), FoldingTuning::fewestLayers);
    };
    std::optional<LayerChain> chain = find();
    if (!chain || (alternative && !findAlternatives(target).empty()))
      return;
    if (alternative) {
      target = addAlternative(target, "_folded");
      chain = find();
    }
    int64_t folded = 0;
    for (; chain; chain = find()) {
      numLoops += 1;
      folded += chain->count;
      ChainFolder(target, std::move(*chain)).run();
    }
    numLayers += folded;
    target->setAttr(foldedLayersAttrName,
                    Builder(&getContext()).getI64IntegerAttr(folded));
  }
};
} // namespace
