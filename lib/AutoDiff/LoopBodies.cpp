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
/// operations and numbers of their results. Nothing if there is no derivative.
static SmallVector<std::pair<unsigned, unsigned>> findRead(func::FuncOp body) {
  DifferentiateOptions options;
  options.mode = DifferentiateOptions::Reverse;
  options.wrt = findDifferentiable(body.getArgumentTypes());
  options.results = findDifferentiable(body.getResultTypes());
  if (options.wrt.empty() || options.results.empty())
    return {};
  DenseMap<Operation *, unsigned> places;
  func::FuncOp trial = copyBehind(body, "_trial");
  for (auto [place, op] : llvm::enumerate(trial.front().without_terminator()))
    places[&op] = place;
  llvm::SetVector<std::pair<unsigned, unsigned>> read;
  {
    // What has no derivative may not need one: who asks for it reports it.
    ScopedDiagnosticHandler quiet(body.getContext(),
                                  [](Diagnostic &) { return success(); });
    if (failed(differentiate(trial, options)))
      places.clear();
  }
  for (Operation &op : trial.front().without_terminator()) {
    if (places.empty() || places.contains(&op))
      continue;
    for (Value value : getDependencies(&op)) {
      value = getViewRoot(value);
      auto result = dyn_cast<OpResult>(value);
      if (!result || !isa<RankedTensorType>(value.getType()))
        continue;
      auto place = places.find(result.getOwner());
      if (place != places.end() && !isCheap(result.getOwner()))
        read.insert({place->second, result.getResultNumber()});
    }
  }
  trial.erase();
  return read.takeVector();
}

/// Lets `loop` stack `more` values of its body, which it alone runs.
static void stack(LoopOp loop, func::FuncOp body, ArrayRef<Value> more) {
  Operation *terminator = body.front().getTerminator();
  SmallVector<Type> types = llvm::to_vector(loop.getResultTypes());
  for (Value value : more) {
    terminator->insertOperands(terminator->getNumOperands(), value);
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape = {int64_t(loop.getCount())};
    llvm::append_range(shape, type.getShape());
    types.push_back(type.clone(shape));
  }
  body.removeResAttrsAttr();
  body.setFunctionType(FunctionType::get(body.getContext(),
                                         body.getArgumentTypes(),
                                         terminator->getOperandTypes()));
  OpBuilder builder(loop);
  auto stacking = LoopOp::create(
      builder, loop.getLoc(), types, body.getName(), loop.getCount(),
      loop.getReverse(), loop.getInits(), loop.getInvariants(),
      loop.getSlices(), loop.getTrips(), loop.getConditional());
  stacking->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  loop->replaceAllUsesWith(
      stacking->getResults().take_front(loop.getNumResults()));
  loop.erase();
}

LogicalResult remat::stackSaved(func::FuncOp function) {
  for (LoopOp loop : llvm::to_vector(function.front().getOps<LoopOp>())) {
    // Who needs the derivative of a loop without a limit reports it.
    if (loop.getCount() == 0)
      continue;
    FailureOr<func::FuncOp> body = getBody(loop);
    if (failed(body) || failed(attachRules(*body)))
      return failure();
    func::FuncOp saving =
        isRunOnce(*body) ? *body : copyBehind(*body, "_saving");
    Block &block = saving.front();
    SmallVector<Value> saved(
        block.getArguments().take_front(loop.getInits().size()));
    SmallVector<Operation *> ops;
    for (Operation &op : block)
      ops.push_back(&op);
    if (!loop->hasAttr(RematDialect::stacksNothingAttrName))
      for (auto [place, number] : findRead(saving))
        saved.push_back(ops[place]->getResult(number));
    auto stacked =
        block.getTerminator()->getOperands().drop_front(loop.getInits().size());
    llvm::erase_if(
        saved, [&](Value value) { return llvm::is_contained(stacked, value); });
    if (!saved.empty() || saving != *body)
      stack(loop, saving, saved);
  }
  return success();
}
