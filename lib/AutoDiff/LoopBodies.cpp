//===- LoopBodies.cpp - functions made of bodies of loops -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop's derivative in reverse begins when all iterations are done. What it
// reads of them is found by differentiating a copy of the body, and stacked.
//
//===----------------------------------------------------------------------===//

#include "LoopBodies.h"

#include "remat/AutoDiff/AutoDiff.h"
#include "remat/AutoDiff/DifferentiableOpInterface.h"
#include "remat/Dialect/Remat/IR/KeptStacks.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CheapRecomputation.h"
#include "remat/Utils/Tags.h"

#include <functional>

using namespace mlir;
using namespace remat;

FailureOr<func::FuncOp> remat::getBody(LoopOp loop) {
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      loop, loop.getBodyAttr());
  if (!body || body.isExternal() || !body.getBody().hasOneBlock())
    return loop.emitOpError("runs '")
           << loop.getBody()
           << "', expected a 'func.func' with a body of one "
              "block to differentiate";
  return body;
}

void remat::insertBehind(func::FuncOp body, func::FuncOp function,
                         StringRef suffix) {
  auto module = body->getParentOfType<ModuleOp>();
  function.setName((body.getName() + suffix).str());
  function.setPrivate();
  function.removeArgAttrsAttr();
  function.removeResAttrsAttr();
  SymbolTable(module).insert(function, std::next(Block::iterator(body)));
}

func::FuncOp remat::copyBehind(func::FuncOp body, StringRef suffix) {
  func::FuncOp copy = body.clone();
  insertBehind(body, copy, suffix);
  return copy;
}

/// Whether one loop runs `body`, and nobody else uses it.
static bool isRunOnce(func::FuncOp body) {
  auto uses =
      SymbolTable::getSymbolUses(body, body->getParentOfType<ModuleOp>());
  return uses && llvm::hasSingleElement(*uses);
}

TemporaryFunctions::TemporaryFunctions(ModuleOp module) : module(module) {
  for (Operation &op : *module.getBody())
    known.insert(&op);
}

TemporaryFunctions::~TemporaryFunctions() {
  for (bool erased = true; erased;) {
    erased = false;
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!known.contains(function) &&
          SymbolTable::symbolKnownUseEmpty(function, module)) {
        function.erase();
        erased = true;
      }
  }
}

//===----------------------------------------------------------------------===//
// What is asked
//===----------------------------------------------------------------------===//

Value remat::skipTags(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isTransparentOp(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Value remat::getStored(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isViewOp(op) && !isTransparentOp(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

static bool isRecompute(Policy policy) {
  return policy == Policy::MustRecompute || policy == Policy::PreferRecompute;
}

bool remat::isHidden(Value value) {
  std::optional<Policy> policy = getAskedPolicy(value);
  return policy && isRecompute(*policy) && holdsPolicy(value);
}

bool remat::isKept(Value value) {
  std::optional<Policy> policy = getAskedPolicy(value);
  return policy && !isRecompute(*policy) && holdsPolicy(value);
}

bool remat::isHidden(LoopOp loop, func::FuncOp body) {
  std::optional<Policy> policy = loop.getInnerPolicy();
  if (policy ? isRecompute(*policy) : loop->hasAttr(stacksKeptAttrName))
    return true;
  return llvm::any_of(body.front().getTerminator()->getOperands().take_front(
                          loop.getInits().size()),
                      [](Value carried) {
                        Value value = getStored(carried);
                        return getAskedPolicy(value) == Policy::MustRecompute &&
                               holdsPolicy(value);
                      });
}

//===----------------------------------------------------------------------===//
// What is saved
//===----------------------------------------------------------------------===//

/// The numbers of `types` that have derivatives.
static SmallVector<int64_t> findDifferentiable(TypeRange types) {
  SmallVector<int64_t> numbers;
  for (auto [number, type] : llvm::enumerate(types))
    if (isDifferentiableType(type))
      numbers.push_back(number);
  return numbers;
}

/// Whether `op` is cheaper to do again than to read its result.
static bool isCheap(Operation *op) {
  return op->hasTrait<OpTrait::ConstantLike>() ||
         isa<tensor::EmptyOp, linalg::FillOp>(op);
}

/// What of the body its derivative reads, apart from arguments: places of
/// operations and numbers of their results. What is hidden is made again of
/// other values, which are read instead. Nothing if there is no derivative.
static SmallVector<std::pair<unsigned, unsigned>> findRead(func::FuncOp body) {
  DifferentiateOptions options;
  options.mode = DifferentiateOptions::Reverse;
  options.wrt = findDifferentiable(body.getArgumentTypes());
  options.results = findDifferentiable(body.getResultTypes());
  if (options.wrt.empty() || options.results.empty())
    return {};
  TemporaryFunctions temporary(body->getParentOfType<ModuleOp>());
  DenseMap<Operation *, unsigned> places;
  func::FuncOp trial = copyBehind(body, "_trial");
  DenseMap<Operation *, unsigned> loopPlaces;
  for (auto [place, ops] :
       llvm::enumerate(llvm::zip(body.front().without_terminator(),
                                 trial.front().without_terminator()))) {
    auto &[old, copy] = ops;
    // Loops that stack more are made anew.
    (isa<LoopOp>(old) ? loopPlaces[&old] : places[&copy]) = place;
  }
  {
    // What has no derivative may not need one: who asks for it reports it.
    ScopedDiagnosticHandler quiet(body.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(differentiate(trial, options)))
      places.clear();
  }
  // A loop that was given more to stack runs again with all of that.
  for (auto [old, loop] :
       llvm::zip(body.getOps<LoopOp>(), trial.getOps<LoopOp>()))
    if (!places.empty() && old.getNumResults() == loop.getNumResults())
      places[loop] = loopPlaces.at(old);
  // What would not be kept without the loop is not stacked either.
  if (!places.empty())
    recomputeCheap(trial.front());
  llvm::SetVector<std::pair<unsigned, unsigned>> read;
  DenseSet<Operation *> repeated;
  // What a number of one element is made of is made again with it.
  std::function<void(Operation *, bool)> visit = [&](Operation *reader,
                                                     bool isNumber) {
    for (Value value : getDependencies(reader)) {
      value = getStored(value);
      auto result = dyn_cast<OpResult>(value);
      if (!result)
        continue;
      Operation *op = result.getOwner();
      auto place = places.find(op);
      if (place == places.end() || isCheap(op))
        continue;
      bool isTensor = isa<RankedTensorType>(value.getType());
      // A loop is too much for a number that it carries.
      bool isOfNumber = isNumber && !isKept(value) && !isa<LoopOp>(op);
      if (!isHidden(value) && isTensor && !isOfNumber) {
        read.insert({place->second, result.getResultNumber()});
        continue;
      }
      if (!repeated.insert(op).second)
        continue;
      visit(op, isNumber || !isTensor);
      // What a loop must not make, it reads when it runs again.
      for (OpResult other : op->getResults())
        if (isa<LoopOp>(op) && isKept(other))
          read.insert({place->second, other.getResultNumber()});
    }
  };
  for (Operation &op : trial.front().without_terminator())
    if (!places.empty() && !places.contains(&op))
      visit(&op, /*isNumber=*/false);
  trial.erase();
  return read.takeVector();
}

/// Lets `body` return `more` values.
static void returnMore(func::FuncOp body, ArrayRef<Value> more) {
  Operation *terminator = body.front().getTerminator();
  terminator->insertOperands(terminator->getNumOperands(), more);
  body.removeResAttrsAttr();
  body.setFunctionType(FunctionType::get(body.getContext(),
                                         body.getArgumentTypes(),
                                         terminator->getOperandTypes()));
}

/// Erases of `values` what `body` returns behind what it carries.
static void eraseReturned(func::FuncOp body, unsigned numCarried,
                          SmallVectorImpl<Value> &values) {
  SmallVector<Value> returned;
  for (Value value :
       body.front().getTerminator()->getOperands().drop_front(numCarried))
    returned.push_back(skipTags(value));
  llvm::erase_if(
      values, [&](Value value) { return llvm::is_contained(returned, value); });
}

/// What `body` must not make again.
static SmallVector<Value> findKept(func::FuncOp body, unsigned numCarried) {
  SmallVector<Value> kept;
  for (Operation &op : body.front().without_terminator())
    for (OpResult result : op.getResults())
      if (isa<RankedTensorType>(result.getType()) &&
          getStored(result) == result && isKept(result))
        kept.push_back(result);
  eraseReturned(body, numCarried, kept);
  return kept;
}

/// What an iteration begins with, and `body` does not return.
static SmallVector<Value> findCarried(func::FuncOp body, unsigned numCarried) {
  SmallVector<Value> carried(body.getArguments().take_front(numCarried));
  eraseReturned(body, numCarried, carried);
  return carried;
}

/// What the derivative of `body` reads.
static SmallVector<Value> findSaved(func::FuncOp body, unsigned numCarried) {
  Block &block = body.front();
  SmallVector<Value> saved(block.getArguments().take_front(numCarried));
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (auto [place, number] : findRead(body))
    saved.push_back(ops[place]->getResult(number));
  eraseReturned(body, numCarried, saved);
  return saved;
}

void remat::returnSaved(func::FuncOp body, unsigned numCarried) {
  returnMore(body, findSaved(body, numCarried));
}

SmallVector<Type> remat::getLoopTypes(func::FuncOp body, unsigned numCarried,
                                      int64_t count) {
  SmallVector<Type> types(body.getResultTypes().take_front(numCarried));
  for (Type type : body.getResultTypes().drop_front(numCarried)) {
    auto element = cast<RankedTensorType>(type);
    SmallVector<int64_t> shape = {count};
    llvm::append_range(shape, element.getShape());
    types.push_back(element.clone(shape));
  }
  return types;
}

/// Lets `loop` stack all that `body` returns, which it alone runs.
static LoopOp stack(LoopOp loop, func::FuncOp body) {
  OpBuilder builder(loop);
  auto stacking = LoopOp::create(
      builder, loop.getLoc(),
      getLoopTypes(body, loop.getInits().size(), loop.getCount()),
      body.getName(), loop.getCount(), loop.getReverse(), loop.getInits(),
      loop.getInvariants(), loop.getSlices(), loop.getTrips(),
      loop.getConditional());
  stacking.setAsserts(loop.getAsserts());
  stacking.setInnerPolicyAttr(loop.getInnerPolicyAttr());
  stacking->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop->replaceAllUsesWith(
      stacking->getResults().take_front(loop.getNumResults()));
  loop.erase();
  return stacking;
}

Value remat::getTagged(Value result) {
  for (bool found = true; found;) {
    found = false;
    for (Operation *user : result.getUsers())
      if (auto tag = dyn_cast<TagOp>(user)) {
        result = tag.getResult();
        found = true;
        break;
      }
  }
  return result;
}

/// Asks of what `loop` stacks what is asked of it in an iteration, and gives it
/// the names that it has there.
static void tagStacks(LoopOp loop, func::FuncOp body) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(loop);
  Operation *terminator = body.front().getTerminator();
  for (OpResult result : loop.getStacks()) {
    Value value = getStored(terminator->getOperand(result.getResultNumber()));
    // What an iteration begins with, the one before has made.
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getArgNumber() < loop.getInits().size())
      value = getStored(terminator->getOperand(argument.getArgNumber()));
    PolicyAttr policy = loop.getInnerPolicyAttr();
    if (std::optional<Policy> asked = getAskedPolicy(value))
      policy = PolicyAttr::get(loop->getContext(), *asked);
    if (getAskedPolicy(result) || (policy && isRecompute(policy.getValue())))
      policy = {};
    llvm::SetVector<StringAttr> names;
    for (TagOp tag : findTags(value))
      if (tag.getNameAttr())
        names.insert(tag.getNameAttr());
    // A function may be differentiated several times.
    for (TagOp tag : findTags(result))
      names.remove(tag.getNameAttr());
    if (policy && names.empty())
      names.insert(StringAttr());
    Value tagged = result;
    for (StringAttr name : names) {
      auto tag = TagOp::create(builder, loop.getLoc(), tagged, name, policy);
      copyBackward(loop, tag);
      tagged.replaceAllUsesExcept(tag.getResult(), tag);
      tagged = tag;
      policy = {};
    }
  }
}

/// Whether iterations of `loop`, which runs `body`, or those of loops in it
/// make what must not be made again.
static bool hasKept(LoopOp loop, func::FuncOp body) {
  std::optional<Policy> policy = loop.getInnerPolicy();
  if (policy && !isRecompute(*policy))
    return true;
  return llvm::any_of(body.front().without_terminator(), [](Operation &op) {
    if (llvm::any_of(op.getResults(), isKept))
      return true;
    auto inner = dyn_cast<LoopOp>(op);
    if (!inner)
      return false;
    FailureOr<func::FuncOp> innerBody = getBody(inner);
    return succeeded(innerBody) && hasKept(inner, *innerBody);
  });
}

static LogicalResult stackKeptInside(func::FuncOp body, PolicyAttr policy);

/// Lets `loop`, which runs `body`, stack what its derivative reads, or only
/// what must not be made again if it is hidden.
static LogicalResult stackSavedOf(LoopOp loop, func::FuncOp body) {
  unsigned numCarried = loop.getInits().size();
  bool isLoopHidden = isHidden(loop, body),
       isFree = loop->hasAttr(RematDialect::stacksNothingAttrName);
  func::FuncOp saving = isRunOnce(body) ? body : copyBehind(body, "_saving");
  // Iterations that are free of each other are done with their derivatives.
  if (!isFree && failed(stackKeptInside(saving, loop.getInnerPolicyAttr())))
    return failure();
  if (isLoopHidden)
    returnMore(saving, findKept(saving, numCarried));
  else if (isFree)
    returnMore(saving, findCarried(saving, numCarried));
  else
    returnSaved(saving, numCarried);
  if (saving != body || saving.getNumResults() != loop.getNumResults())
    loop = stack(loop, saving);
  tagStacks(loop, saving);
  return success();
}

/// Lets the loops in `body`, which another loop runs, stack what must not be
/// made again, so that the other one can stack it for all of its iterations.
/// The rest they make again for the derivative of an iteration. `policy` is
/// asked of all that `body` makes.
static LogicalResult stackKeptInside(func::FuncOp body, PolicyAttr policy) {
  for (LoopOp loop : llvm::to_vector(body.front().getOps<LoopOp>())) {
    if (policy && !loop.getInnerPolicyAttr())
      loop.setInnerPolicyAttr(policy);
    FailureOr<func::FuncOp> inner = getBody(loop);
    if (failed(inner) || failed(attachRules(*inner)))
      return failure();
    if (loop.getCount() == 0 || !hasKept(loop, *inner))
      continue;
    loop->setAttr(stacksKeptAttrName, UnitAttr::get(loop.getContext()));
    if (failed(stackSavedOf(loop, *inner)))
      return failure();
  }
  return success();
}

LogicalResult remat::stackSaved(func::FuncOp function) {
  for (LoopOp loop : llvm::to_vector(function.front().getOps<LoopOp>())) {
    // Who needs the derivative of a loop without a limit reports it. What must
    // be kept in the body of another loop is stacked already.
    if (loop.getCount() == 0 || loop->hasAttr(stacksKeptAttrName))
      continue;
    FailureOr<func::FuncOp> body = getBody(loop);
    if (failed(body) || failed(attachRules(*body)))
      return failure();
    if (isHidden(loop, *body) && !hasKept(loop, *body))
      continue;
    if (failed(stackSavedOf(loop, *body)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What is read in place of being made again
//===----------------------------------------------------------------------===//

SmallVector<unsigned> remat::readKept(func::FuncOp body, LoopOp loop,
                                      ArrayRef<unsigned> stacks) {
  Block &block = body.front();
  SmallVector<unsigned> read;
  llvm::MapVector<Operation *, SmallVector<std::pair<unsigned, Value>>> inside;
  for (unsigned number : stacks) {
    Value value = getStored(block.getTerminator()->getOperand(number));
    auto stacked = cast<RankedTensorType>(loop.getResult(number).getType());
    // One of another shape is not what is asked for, but a view of it.
    if (isa<BlockArgument>(value) || !isKept(value) ||
        value.getType() != stacked.clone(stacked.getShape().drop_front()))
      continue;
    read.push_back(number);
    BlockArgument argument = block.addArgument(value.getType(), value.getLoc());
    if (isa<LoopOp>(value.getDefiningOp()))
      inside[value.getDefiningOp()].emplace_back(
          cast<OpResult>(value).getResultNumber(), argument);
    value.replaceAllUsesWith(argument);
  }
  for (auto &[op, known] : inside) {
    auto inner = cast<LoopOp>(op);
    if (!inner->use_empty())
      runAgain(inner, *getBody(inner), known);
  }
  // What iterations assert, the loop has found to hold.
  for (Operation *op = block.getTerminator()->getPrevNode(); op;) {
    Operation *before = op->getPrevNode();
    if (op->use_empty())
      op->erase();
    op = before;
  }
  body.setFunctionType(FunctionType::get(
      body.getContext(), block.getArgumentTypes(), body.getResultTypes()));
  return read;
}

LoopOp remat::runAgain(LoopOp loop, func::FuncOp body,
                       ArrayRef<std::pair<unsigned, Value>> known) {
  body = copyBehind(body, "_again");
  SmallVector<Value> slices(loop.getSlices());
  DenseMap<unsigned, Value> stackOf(known.begin(), known.end());
  for (unsigned number :
       readKept(body, loop, llvm::to_vector(llvm::make_first_range(known))))
    slices.push_back(stackOf.at(number));
  OpBuilder builder(loop);
  auto again = LoopOp::create(
      builder, loop.getLoc(), loop.getResultTypes(), body.getName(),
      loop.getCount(), loop.getReverse(), loop.getInits(), loop.getInvariants(),
      slices, loop.getTrips(), loop.getConditional());
  copyBackward(loop, again);
  loop->replaceAllUsesWith(again);
  loop.erase();
  return again;
}
