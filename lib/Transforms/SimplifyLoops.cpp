//===- SimplifyLoops.cpp - loops without what nobody needs ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop is an operation and a function, so that no pass which looks at one of
// them sees that the other does not need something.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_SIMPLIFYLOOPSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// One loop and the function that it runs.
class Simplifier {
public:
  Simplifier(LoopOp loop, func::FuncOp body)
      : loop(loop), body(body), block(body.front()),
        terminator(block.getTerminator()), numCarried(loop.getInits().size()) {}

  /// Whether there is something to drop.
  bool hasUnneeded();
  /// Drops it. `loop` is replaced.
  void rewrite();

private:
  void forwardUnchanged();
  void findNeeded();
  void need(Value value);
  BlockArgument addInvariant(BlockArgument old, BitVector &dropped);

  LoopOp loop;
  func::FuncOp body;
  Block &block;
  Operation *terminator;
  unsigned numCarried, numAdded = 0;
  /// What is carried and the same in all iterations: it becomes invariant.
  BitVector unchanged;
  /// Which arguments and results of the body are needed, and which operations.
  BitVector arguments, results;
  DenseSet<Operation *> ops;
};
} // namespace

/// How many of the values that a loop carries say when it ends, and are needed
/// whoever reads them.
static unsigned getNumCounting(LoopOp loop) {
  return loop.getConditional() ? 2 : 0;
}

/// Lets readers of what the loop carries unchanged read what it was at first.
void Simplifier::forwardUnchanged() {
  unchanged.resize(numCarried);
  for (unsigned number = getNumCounting(loop); number < numCarried; ++number)
    if (terminator->getOperand(number) == block.getArgument(number)) {
      unchanged.set(number);
      loop.getResult(number).replaceAllUsesWith(loop.getInits()[number]);
    }
}

/// Takes down that an iteration needs `value`, and what that is made of.
void Simplifier::need(Value value) {
  SmallVector<Value> stack = {value};
  while (!stack.empty()) {
    Value next = stack.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      if (argument.getOwner() == &block)
        arguments.set(argument.getArgNumber());
      continue;
    }
    Operation *op = next.getDefiningOp();
    while (op->getBlock() != &block)
      op = op->getParentOp();
    if (!ops.insert(op).second)
      continue;
    op->walk([&](Operation *inner) {
      llvm::append_range(stack, inner->getOperands());
    });
  }
}

void Simplifier::findNeeded() {
  arguments.resize(block.getNumArguments());
  results.resize(loop.getNumResults());
  for (OpResult result : loop.getResults())
    if (!result.use_empty() || result.getResultNumber() < getNumCounting(loop))
      results.set(result.getResultNumber());
  for (Operation &op : block.without_terminator())
    if (!isMemoryEffectFree(&op)) {
      ops.insert(&op);
      op.walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          need(operand);
      });
    }
  // What is carried and needed in an iteration has to be made by the one
  // before.
  BitVector done(loop.getNumResults());
  while (true) {
    for (unsigned number = 0; number < numCarried; ++number)
      if (arguments[number] && !unchanged[number])
        results.set(number);
    if (done == results)
      return;
    for (unsigned number : results.set_bits())
      if (!done[number])
        need(terminator->getOperand(number));
    done = results;
    // A loop that hands on what nobody reads carries it all the same.
    for (unsigned number : done.set_bits())
      if (number < numCarried)
        arguments.set(number);
  }
}

/// An argument like `old` behind what is carried and the invariants that were
/// added before, and none that is `dropped`.
BlockArgument Simplifier::addInvariant(BlockArgument old, BitVector &dropped) {
  unsigned place = numCarried + numAdded++;
  [[maybe_unused]] bool isInserted = succeeded(body.insertArgument(
      place, old.getType(), DictionaryAttr::get(body.getContext()),
      old.getLoc()));
  assert(isInserted && "the function has a body of its own");
  dropped.push_back(false);
  for (unsigned number = dropped.size(); --number > place;)
    dropped[number] = dropped[number - 1];
  dropped.reset(place);
  return block.getArgument(place);
}

void Simplifier::rewrite() {
  SmallVector<Type> types;
  SmallVector<Value> operands[3], returned;
  for (unsigned number : results.set_bits()) {
    types.push_back(loop.getResultTypes()[number]);
    returned.push_back(terminator->getOperand(number));
  }
  unsigned numFixed = numCarried + loop.getInvariants().size();
  for (auto [number, operand] : llvm::enumerate(loop.getBodyOperands()))
    if (arguments[number]) {
      unsigned group = number < numCarried && !unchanged[number] ? 0
                       : number < numFixed                       ? 1
                                                                 : 2;
      operands[group].push_back(operand);
    }
  // Places of results move, and with them those of the arguments whose buffers
  // they have.
  for (unsigned number : arguments.set_bits())
    if (auto donated = body.getArgAttrOfType<IntegerAttr>(
            number, RematDialect::donatedAttrName)) {
      unsigned result = donated.getInt(), place = 0;
      for (unsigned before : results.set_bits())
        place += before < result;
      body.setArgAttr(number, RematDialect::donatedAttrName,
                      IntegerAttr::get(donated.getType(), place));
    }
  terminator->setOperands(returned);
  SmallVector<Operation *> unneeded;
  for (Operation &op : block.without_terminator())
    if (!ops.contains(&op))
      unneeded.push_back(&op);
  for (Operation *op : llvm::reverse(unneeded))
    op->erase();
  BitVector dropped = arguments;
  dropped.flip();
  for (unsigned number : unchanged.set_bits())
    if (!dropped[number]) {
      BlockArgument old = block.getArgument(number);
      old.replaceAllUsesWith(addInvariant(old, dropped));
      dropped.set(number);
    }
  [[maybe_unused]] bool isErased = succeeded(body.eraseArguments(dropped));
  assert(isErased && "nothing uses what is not needed");
  body.setFunctionType(FunctionType::get(body.getContext(),
                                         block.getArgumentTypes(),
                                         terminator->getOperandTypes()));
  OpBuilder builder(loop);
  auto made = LoopOp::create(builder, loop.getLoc(), types, loop.getBody(),
                             loop.getCount(), loop.getReverse(), operands[0],
                             operands[1], operands[2], loop.getTrips(),
                             loop.getConditional());
  made.setAsserts(LoopOp::isAsserting(block));
  made.setInnerPolicyAttr(loop.getInnerPolicyAttr());
  made->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
  auto next = made.getResults().begin();
  for (unsigned number : results.set_bits())
    loop.getResult(number).replaceAllUsesWith(*next++);
  loop.erase();
}

bool Simplifier::hasUnneeded() {
  forwardUnchanged();
  findNeeded();
  return !arguments.all() || !results.all();
}

namespace {
struct SimplifyLoops : remat::impl::SimplifyLoopsPassBase<SimplifyLoops> {
  using SimplifyLoopsPassBase::SimplifyLoopsPassBase;

  void runOnOperation() override {
    DenseSet<Operation *> bodies = findBodies();
    // What an outer loop does not need is found first.
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isPrivate()) {
        functions.push_back(function);
        for (FunctionOpInterface other : findAlternatives(function))
          functions.push_back(cast<func::FuncOp>(other.getOperation()));
      }
    DenseSet<Operation *> seen;
    for (size_t i = 0; i < functions.size(); ++i) {
      if (functions[i].isExternal())
        continue;
      SmallVector<LoopOp> loops =
          llvm::to_vector(functions[i].front().getOps<LoopOp>());
      // What reads of a loop is simplified before it.
      for (LoopOp loop : llvm::reverse(loops))
        if (func::FuncOp body = simplify(loop);
            body && seen.insert(body).second)
          functions.push_back(body);
    }
    eraseUnused(bodies);
  }

private:
  /// The functions that loops run, and those that have loops: these are bodies,
  /// too, of which the loop may have been erased before.
  DenseSet<Operation *> findBodies() {
    SymbolTableCollection symbols;
    DenseSet<Operation *> bodies;
    getOperation().walk([&](LoopOp loop) {
      bodies.insert(symbols.lookupNearestSymbolFrom(loop, loop.getBodyAttr()));
      bodies.insert(loop->getParentOfType<func::FuncOp>());
    });
    return bodies;
  }

  /// Erases those of `bodies` that no loop runs any more, as those of loops in
  /// a loop that was erased.
  void eraseUnused(const DenseSet<Operation *> &bodies) {
    for (bool erased = true; erased;) {
      erased = false;
      SymbolTableCollection symbols;
      SymbolUserMap users(symbols, getOperation());
      for (auto function :
           llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
        if (function.isPrivate() && bodies.contains(function) &&
            users.useEmpty(function)) {
          function.erase();
          erased = true;
        }
    }
  }

  /// Simplifies `loop` and returns its body, of which it has a copy if others
  /// run it, too. What nothing uses disappears.
  func::FuncOp simplify(LoopOp loop) {
    auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        loop, loop.getBodyAttr());
    if (!body || body.isExternal() || !body.getBody().hasOneBlock())
      return nullptr;
    auto uses = SymbolTable::getSymbolUses(body, getOperation());
    bool isShared = !uses || !llvm::hasSingleElement(*uses);
    if (loop.use_empty() && isMemoryEffectFree(loop)) {
      loop.erase();
      if (!isShared)
        body.erase();
      return nullptr;
    }
    if (!Simplifier(loop, body).hasUnneeded())
      return body;
    if (isShared) {
      Block::iterator behind = std::next(Block::iterator(body));
      body = body.clone();
      SymbolTable(getOperation()).insert(body, behind);
      loop.setBody(body.getName());
    }
    Simplifier simplifier(loop, body);
    if (simplifier.hasUnneeded())
      simplifier.rewrite();
    ++numSimplified;
    return body;
  }
};
} // namespace
