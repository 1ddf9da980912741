//===- FuseLoops.cpp - loops that run again in others ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A derivative that makes what it reads of a loop's iterations again does all
// that the loop does. Where it does not wait for the loop, as that of the last
// layer, whose cotangents are known from the beginning, the loop is not needed:
// what it stacks comes out of the derivative.
//
//===----------------------------------------------------------------------===//

#include "remat/Transforms/Passes.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace remat {
#define GEN_PASS_DEF_FUSELOOPSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// The function that `loop` alone runs, or null.
static func::FuncOp findOwnBody(LoopOp loop, ModuleOp module) {
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      loop, loop.getBodyAttr());
  if (!body || body.isExternal() || !body.getBody().hasOneBlock())
    return nullptr;
  auto uses = SymbolTable::getSymbolUses(body, module);
  return uses && llvm::hasSingleElement(*uses) ? body : func::FuncOp();
}

/// All that is made of the results of `op`, in order.
static SmallVector<Operation *> findDependent(Operation *op) {
  DenseSet<Value> made(op->result_begin(), op->result_end());
  SmallVector<Operation *> dependent;
  for (Operation *next = op->getNextNode(); next; next = next->getNextNode())
    if (llvm::any_of(getReadValues(next),
                     [&](Value value) { return made.contains(value); })) {
      dependent.push_back(next);
      made.insert_range(next->getResults());
    }
  return dependent;
}

/// Whether iterations of `later` have all that those of `loop` read.
static bool readsAllOf(LoopOp later, LoopOp loop) {
  return later.getCount() == loop.getCount() && !later.isCountedAtRunTime() &&
         !loop.isCountedAtRunTime() &&
         later.getReverse() == loop.getReverse() &&
         llvm::all_of(loop.getInvariants(),
                      [&](Value value) {
                        return llvm::is_contained(later.getInvariants(), value);
                      }) &&
         llvm::all_of(loop.getSlices(), [&](Value value) {
           return llvm::is_contained(later.getSlices(), value);
         });
}

/// Lets `later` stack what `loop` stacks, whose body is `body`.
static void fuse(LoopOp loop, func::FuncOp body, LoopOp later,
                 func::FuncOp laterBody, ArrayRef<Operation *> dependent) {
  Block &block = laterBody.front();
  Operation *terminator = block.getTerminator();
  IRMapping mapping;
  unsigned numInvariants = loop.getInvariants().size(),
           firstInvariant = later.getInits().size(),
           firstSlice = firstInvariant + later.getInvariants().size();
  auto map = [&](unsigned number, unsigned first, ValueRange values,
                 Value value) {
    unsigned place = llvm::find(values, value) - values.begin();
    mapping.map(body.getArgument(number), block.getArgument(first + place));
  };
  for (auto [number, value] : llvm::enumerate(loop.getInvariants()))
    map(number, firstInvariant, later.getInvariants(), value);
  for (auto [number, value] : llvm::enumerate(loop.getSlices()))
    map(numInvariants + number, firstSlice, later.getSlices(), value);
  // In front, so that what both make is there when the derivative begins.
  OpBuilder builder(&block, block.begin());
  for (Operation &op : body.front().without_terminator())
    builder.clone(op, mapping);
  SmallVector<Type> types = llvm::to_vector(later.getResultTypes());
  llvm::append_range(types, loop.getResultTypes());
  for (Value value : body.front().getTerminator()->getOperands())
    terminator->insertOperands(terminator->getNumOperands(),
                               mapping.lookup(value));
  laterBody.removeResAttrsAttr();
  laterBody.setFunctionType(builder.getFunctionType(
      block.getArgumentTypes(), terminator->getOperandTypes()));
  builder.setInsertionPoint(later);
  auto fused =
      LoopOp::create(builder, later.getLoc(), types, later.getBody(),
                     later.getCount(), later.getReverse(), later.getInits(),
                     later.getInvariants(), later.getSlices());
  fused.setAsserts(LoopOp::isAsserting(block));
  fused.setInnerPolicyAttr(later.getInnerPolicyAttr());
  fused->setDiscardableAttrs(later->getDiscardableAttrDictionary());
  Operation *last = fused;
  for (Operation *op : dependent)
    if (op->isBeforeInBlock(fused)) {
      op->moveAfter(last);
      copyBackward(fused, op);
      last = op;
    }
  unsigned numResults = later.getNumResults();
  later->replaceAllUsesWith(fused.getResults().take_front(numResults));
  loop->replaceAllUsesWith(fused.getResults().drop_front(numResults));
  later.erase();
  loop.erase();
  body.erase();
}

namespace {
struct FuseLoops : remat::impl::FuseLoopsPassBase<FuseLoops> {
  using FuseLoopsPassBase::FuseLoopsPassBase;

  void runOnOperation() override {
    SmallVector<LoopOp> loops;
    getOperation().walk([&](LoopOp loop) {
      if (loop->hasAttr(RematDialect::stacksNothingAttrName) &&
          loop.getInits().empty() && isa<func::FuncOp>(loop->getParentOp()))
        loops.push_back(loop);
    });
    for (LoopOp loop : loops)
      if (tryFuse(loop))
        ++numFused;
  }

private:
  bool tryFuse(LoopOp loop) {
    func::FuncOp body = findOwnBody(loop, getOperation());
    if (!body)
      return false;
    SmallVector<Operation *> dependent = findDependent(loop);
    for (Operation *next = loop->getNextNode(); next;
         next = next->getNextNode()) {
      auto later = dyn_cast<LoopOp>(next);
      if (!later || later->hasAttr(RematDialect::stacksNothingAttrName) ||
          !isBackward(later) || later.getAdvance() ||
          llvm::is_contained(dependent, later) || !readsAllOf(later, loop))
        continue;
      func::FuncOp laterBody = findOwnBody(later, getOperation());
      if (!laterBody)
        continue;
      fuse(loop, body, later, laterBody, dependent);
      return true;
    }
    return false;
  }
};
} // namespace
