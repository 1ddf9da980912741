//===- LoopUpdates.cpp - updates of weights in loops' bodies --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Behind a loop of layers, the gradients of all layers would exist together.
// So an iteration updates the weights whose gradients it makes: weight and
// state become slices of the loop, if they are none, and what the body makes of
// them lies where they do.
//
//===----------------------------------------------------------------------===//

#include "LoopUpdates.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// What loops can update
//===----------------------------------------------------------------------===//

static func::FuncOp lookupBody(LoopOp loop) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(loop,
                                                            loop.getBodyAttr());
}

/// Whether no other loop runs the body of `loop`, and all of its iterations
/// run.
static bool mayChangeBody(LoopOp loop) {
  func::FuncOp body = lookupBody(loop);
  if (!body || loop.getAdvance() || loop.isCountedAtRunTime())
    return false;
  unsigned numLoops = 0;
  loop->getParentOfType<ModuleOp>().walk([&](LoopOp other) {
    numLoops += other.getBodyAttr() == loop.getBodyAttr();
  });
  return numLoops == 1;
}

/// Whether `slice` is a stack of `elements`, in this order.
static bool isStackOf(Value slice, ValueRange elements) {
  StackOp stack = findStack(slice);
  return stack && ValueRange(stack.getElements()) == elements;
}

/// Whether an iteration reads of `weights` only the one that it updates, and
/// that as one slice.
static bool readsOwnWeights(LoopOp loop, ValueRange weights) {
  unsigned numSlices = 0;
  for (Value operand : loop->getOperands()) {
    if (isStackOf(operand, weights) &&
        llvm::is_contained(loop.getSlices(), operand)) {
      ++numSlices;
      continue;
    }
    StackOp stack = findStack(operand);
    for (Value part : stack ? ValueRange(stack.getElements()) : operand)
      if (llvm::is_contained(weights, getViewRoot(part)))
        return false;
  }
  return numSlices <= 1;
}

llvm::MapVector<LoopOp, SmallVector<LoopWeights>>
remat::findLoopWeights(ArrayRef<Value> gradients, ArrayRef<Value> weights) {
  llvm::MapVector<UnstackOp, SmallVector<std::optional<unsigned>>> lists;
  for (auto [number, gradient] : llvm::enumerate(gradients)) {
    auto unstack = gradient.getDefiningOp<UnstackOp>();
    if (!unstack || !gradient.hasOneUse())
      continue;
    auto &list = lists[unstack];
    list.resize(unstack.getNumResults());
    list[cast<OpResult>(gradient).getResultNumber()] = number;
  }
  llvm::MapVector<LoopOp, SmallVector<LoopWeights>> found;
  for (auto &[unstack, list] : lists) {
    Value stack = unstack.getStack();
    auto loop = stack.getDefiningOp<LoopOp>();
    if (!loop || !stack.hasOneUse() || !isBackward(loop) ||
        !llvm::is_contained(loop.getStacks(), stack) || !mayChangeBody(loop) ||
        !llvm::all_of(list, [](auto number) { return number.has_value(); }))
      continue;
    LoopWeights made = {unstack, {}};
    SmallVector<Value> own;
    for (std::optional<unsigned> number : list) {
      made.numbers.push_back(*number);
      own.push_back(weights[*number]);
    }
    if (readsOwnWeights(loop, own))
      found[loop].push_back(std::move(made));
  }
  return found;
}

//===----------------------------------------------------------------------===//
// Bodies with updates
//===----------------------------------------------------------------------===//

namespace {
/// Puts updates into the body of one loop.
class LoopUpdater {
public:
  LoopUpdater(LoopOp loop, Location loc, EmitUpdate emit)
      : loop(loop), loc(loc), emit(emit), body(lookupBody(loop)),
        terminator(body.front().getTerminator()), outside(loop),
        inside(terminator), invariants(loop.getInvariants()),
        slices(loop.getSlices()), types(loop.getResultTypes()) {}

  void passNumbers(const StepNumbers &numbers);
  void update(const LoopWeights &weights, ArrayRef<WeightUpdate> updates);
  /// Puts a loop of the changed body in the place of the loop.
  void replaceLoop();
  void setNewValues(MutableArrayRef<WeightUpdate> updates);

private:
  /// What new values of some weights are: for each iteration, a part of its
  /// update, and the loop's result that stacks these.
  struct NewValues {
    SmallVector<unsigned> numbers;
    /// The place in the state; the weight and the master without one.
    std::optional<unsigned> state;
    bool isMaster = false;
    unsigned result;
  };

  static Value &getPart(WeightUpdate &update, const NewValues &part) {
    if (part.state)
      return update.state[*part.state];
    return part.isMaster ? update.master : update.weight;
  }

  BlockArgument addArgument(unsigned place, Type type);
  BlockArgument slice(ArrayRef<Value> elements);
  void returnInPlace(BlockArgument argument, unsigned result);
  Type getStackType(Value element) const;
  unsigned addResult(BlockArgument argument, Value value);

  LoopOp loop;
  Location loc;
  EmitUpdate emit;
  func::FuncOp body;
  Operation *terminator;
  OpBuilder outside, inside;
  SmallVector<Value> invariants, slices;
  SmallVector<Type> types;
  StepNumbers passed;
  SmallVector<NewValues> made;
};
} // namespace

BlockArgument LoopUpdater::addArgument(unsigned place, Type type) {
  [[maybe_unused]] bool isInserted = succeeded(body.insertArgument(
      place, type, DictionaryAttr::get(body.getContext()), loc));
  assert(isInserted && "the function has a body of its own");
  return body.getArgument(place);
}

/// Lets the body have the numbers of the step.
void LoopUpdater::passNumbers(const StepNumbers &numbers) {
  unsigned numCarried = loop.getInits().size();
  for (OptimizerScalar StepNumbers::*member : getStepNumbers()) {
    if (!(numbers.*member))
      continue;
    Value number = (numbers.*member).value;
    passed.*member = {
        &inside, addArgument(numCarried + invariants.size(), number.getType())};
    invariants.push_back(number);
  }
}

/// What an iteration has of `elements`.
BlockArgument LoopUpdater::slice(ArrayRef<Value> elements) {
  unsigned first = loop.getInits().size() + invariants.size();
  for (auto [number, known] : llvm::enumerate(slices))
    if (isStackOf(known, elements))
      return body.getArgument(first + number);
  auto element = cast<RankedTensorType>(elements.front().getType());
  SmallVector<int64_t> shape = {int64_t(elements.size())};
  llvm::append_range(shape, element.getShape());
  slices.push_back(
      StackOp::create(outside, loc, element.clone(shape), elements));
  return addArgument(body.getNumArguments(), element);
}

/// Lets a result of the body have the buffer of `argument`.
void LoopUpdater::returnInPlace(BlockArgument argument, unsigned result) {
  body.setArgAttr(argument.getArgNumber(), RematDialect::donatedAttrName,
                  inside.getI64IntegerAttr(result));
}

/// What the loop makes of what the body returns for each iteration.
Type LoopUpdater::getStackType(Value element) const {
  auto type = cast<RankedTensorType>(element.getType());
  SmallVector<int64_t> shape = {int64_t(LoopOp(loop).getCount())};
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

/// Returns `value` as one more result, in the buffer of `argument`.
unsigned LoopUpdater::addResult(BlockArgument argument, Value value) {
  unsigned result = types.size();
  types.push_back(getStackType(value));
  terminator->insertOperands(result, value);
  returnInPlace(argument, result);
  return result;
}

void LoopUpdater::update(const LoopWeights &weights,
                         ArrayRef<WeightUpdate> updates) {
  const WeightUpdate &first = updates[weights.numbers.front()];
  auto sliceOf = [&](llvm::function_ref<Value(const WeightUpdate &)> part) {
    return slice(llvm::map_to_vector(weights.numbers, [&](unsigned number) {
      return part(updates[number]);
    }));
  };
  // Arguments are numbered anew as others are added, but stay what they are.
  WeightUpdate inner;
  BlockArgument weight =
      sliceOf([](const WeightUpdate &update) { return update.weight; });
  inner.weight = weight;
  SmallVector<BlockArgument> state;
  for (unsigned number = 0; number < first.state.size(); ++number)
    state.push_back(sliceOf(
        [&](const WeightUpdate &update) { return update.state[number]; }));
  inner.state.assign(state.begin(), state.end());
  BlockArgument master;
  if (first.master)
    inner.master = master =
        sliceOf([](const WeightUpdate &update) { return update.master; });

  UnstackOp gradients = weights.gradients;
  unsigned result = cast<OpResult>(gradients.getStack()).getResultNumber();
  inner.gradient = terminator->getOperand(result);
  Operation *maker = inner.gradient.getDefiningOp();
  DenseSet<Operation *> before;
  for (Operation &op : body.front())
    before.insert(&op);
  if (maker)
    inside.setInsertionPointAfter(maker);
  else
    inside.setInsertionPoint(terminator);
  emit(inside, inner, passed);
  for (Operation &op : body.front())
    if (maker && !before.contains(&op))
      copyBackward(maker, &op);

  terminator->setOperand(result, inner.weight);
  types[result] = getStackType(inner.weight);
  for (Value element : gradients.getElements())
    element.setType(inner.weight.getType());
  returnInPlace(weight, result);
  made.push_back({weights.numbers, std::nullopt, /*isMaster=*/false, result});
  for (auto [number, argument] : llvm::enumerate(state))
    made.push_back({weights.numbers, unsigned(number), /*isMaster=*/false,
                    addResult(argument, inner.state[number])});
  if (master)
    made.push_back({weights.numbers, std::nullopt, /*isMaster=*/true,
                    addResult(master, inner.master)});
}

void LoopUpdater::replaceLoop() {
  body.setFunctionType(FunctionType::get(body.getContext(),
                                         body.front().getArgumentTypes(),
                                         terminator->getOperandTypes()));
  SmallVector<DictionaryAttr> attrs;
  body.getAllResultAttrs(attrs);
  attrs.resize(terminator->getNumOperands(),
               DictionaryAttr::get(body.getContext()));
  body.setAllResultAttrs(attrs);
  auto changed = LoopOp::create(outside, loop.getLoc(), types, loop.getBody(),
                                loop.getCount(), loop.getReverse(),
                                loop.getInits(), invariants, slices);
  changed.setAsserts(loop.getAsserts());
  changed.setInnerPolicyAttr(loop.getInnerPolicyAttr());
  changed->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop->replaceAllUsesWith(
      changed.getResults().take_front(loop.getNumResults()));
  loop.erase();
  loop = changed;
}

void LoopUpdater::setNewValues(MutableArrayRef<WeightUpdate> updates) {
  outside.setInsertionPointAfter(loop);
  for (const NewValues &part : made) {
    Value stack = loop.getResult(part.result);
    UnstackOp unstack = findUnstack(stack);
    if (!unstack) {
      unstack = UnstackOp::create(outside, loc,
                                  getStackElementTypes(stack.getType()), stack);
      copyBackward(loop, unstack);
    }
    for (auto [number, element] :
         llvm::zip_equal(part.numbers, unstack.getElements()))
      getPart(updates[number], part) = element;
  }
}

void remat::updateInLoop(LoopOp loop, ArrayRef<LoopWeights> weights,
                         Location loc, const StepNumbers &numbers,
                         MutableArrayRef<WeightUpdate> updates,
                         EmitUpdate emit) {
  LoopUpdater updater(loop, loc, emit);
  updater.passNumbers(numbers);
  for (const LoopWeights &some : weights)
    updater.update(some, updates);
  updater.replaceLoop();
  updater.setNewValues(updates);
}
