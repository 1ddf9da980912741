//===- FindPairs.cpp - loops that read the stacks of others ---------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reverse loop may make again what another loop has stacked for it if it can
// read all that this takes: what nobody has written over, or what the same
// iteration will.
//
//===----------------------------------------------------------------------===//

#include "LoopCosts.h"
#include "PairParts.h"
#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

func::FuncOp remat::getKernel(TaskOp task) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
}

/// What `task` passes for `operand` of the loop in its kernel.
static Value getPassed(TaskOp task, Value operand) {
  return task.getOperand(cast<BlockArgument>(operand).getArgNumber());
}

Passed remat::getAllPassed(TaskOp task, Value operand) {
  StackOp stack = findStack(operand);
  if (!stack)
    return {{getPassed(task, operand)}, {}};
  Passed passed{{}, stack.getType()};
  for (Value element : stack.getElements())
    passed.values.push_back(getPassed(task, element));
  return passed;
}

bool remat::isStack(const LoopPair &pair, unsigned slice) {
  return llvm::any_of(pair.stacks, [&](const LoopPair::Stack &stack) {
    return stack.slice == slice;
  });
}

std::optional<unsigned> remat::findOwnSlice(const LoopPair &pair,
                                            unsigned number) {
  auto getSlice = [](TaskOp task, unsigned number) {
    return getAllPassed(task, findLoop(task).getSlices()[number]).values;
  };
  SmallVector<Value, 1> slice = getSlice(pair.forward, number);
  for (unsigned own = 0; own < findLoop(pair.reverse).getSlices().size(); ++own)
    if (!isStack(pair, own) && getSlice(pair.reverse, own) == slice)
      return own;
  return std::nullopt;
}

/// Whether iterations of the forward loop would find something else if they ran
/// again where those of the reverse loop do. An argument may give its buffer to
/// a result that is written before that. The reverse loop itself may update
/// elements of its slices: each is gone when its iteration ends, which runs
/// behind all that the iterations before it are needed for.
static bool readsOverwritten(const LoopPair &pair) {
  LoopOp loop = findLoop(pair.reverse), forward = findLoop(pair.forward);
  DenseSet<Value> updated;
  for (BlockArgument donor : getDonors(findBody(loop)))
    if (donor && donor.getArgNumber() >= loop.getInits().size())
      for (Value value :
           getAllPassed(pair.reverse, loop->getOperand(donor.getArgNumber()))
               .values)
        updated.insert(getViewRoot(value));
  auto graph = cast<GraphOp>(pair.reverse->getParentOp());
  Operation *terminator = graph.getBody().front().getTerminator();
  auto isOverwritten = [&](Value value) {
    Value root = getViewRoot(value);
    auto argument = dyn_cast<BlockArgument>(root);
    std::optional<int64_t> result =
        argument ? getDonatedResult(graph, argument.getArgNumber())
                 : std::nullopt;
    Operation *writer =
        result ? getViewRoot(terminator->getOperand(*result)).getDefiningOp()
               : nullptr;
    return updated.contains(root) ||
           (writer && !pair.reverse->isBeforeInBlock(writer));
  };
  unsigned firstSlice =
               forward.getInits().size() + forward.getInvariants().size(),
           lastSlice = firstSlice + forward.getSlices().size();
  for (auto [number, operand] : llvm::enumerate(forward->getOperands())) {
    bool isOwn = number >= firstSlice && number < lastSlice &&
                 findOwnSlice(pair, number - firstSlice);
    if (!isOwn &&
        llvm::any_of(getAllPassed(pair.forward, operand).values, isOverwritten))
      return true;
  }
  return false;
}

/// Whether two loops of one `count` run the same iterations.
static bool runAsOften(TaskOp forward, TaskOp reverse) {
  LoopOp loop = findLoop(forward), other = findLoop(reverse);
  Value executed;
  if (loop.getConditional())
    executed = forward.getResult(1);
  else if (loop.getTrips())
    executed = getPassed(forward, loop.getTrips());
  return executed ==
         (other.getTrips() ? getPassed(reverse, other.getTrips()) : Value());
}

/// Whether `reader` is a loop that gets `stack` element by element, from the
/// last to the first of `forward`.
static bool readsBackward(Operation *reader, TaskOp maker, OpResult stack) {
  auto task = dyn_cast<TaskOp>(reader);
  LoopOp loop = task ? findLoop(task) : LoopOp(), forward = findLoop(maker);
  if (!loop || loop.getReverse() == forward.getReverse() ||
      loop.getCount() != forward.getCount() || !runAsOften(maker, task))
    return false;
  auto isSlice = [&](Value operand) {
    bool isPassed =
        llvm::is_contained(getAllPassed(task, operand).values, stack);
    return !isPassed || (!findStack(operand) &&
                         llvm::is_contained(loop.getSlices(), operand));
  };
  return llvm::all_of(loop->getOperands(), isSlice);
}

std::optional<LoopPair> remat::findPair(TaskOp reverse) {
  LoopOp loop = findLoop(reverse);
  if (!loop || loop.getAdvance())
    return std::nullopt;
  LoopPair pair;
  pair.reverse = reverse;
  for (auto [slice, operand] : llvm::enumerate(loop.getSlices())) {
    if (findStack(operand))
      continue;
    auto stack = dyn_cast<OpResult>(getPassed(reverse, operand));
    auto forward = stack ? dyn_cast<TaskOp>(stack.getOwner()) : TaskOp();
    LoopOp other = forward ? findLoop(forward) : LoopOp();
    // Numbers of results are those of the loop if it unstacks none.
    if (!other || other.getAdvance() ||
        other.getNumResults() != forward.getNumResults() ||
        stack.getResultNumber() < other.getInits().size() ||
        (pair.forward && pair.forward != forward) || isMadeOnce(stack) ||
        !llvm::all_of(stack.getUsers(), [&](Operation *user) {
          return readsBackward(user, forward, stack);
        }))
      continue;
    pair.forward = forward;
    pair.stacks.push_back({unsigned(slice), stack.getResultNumber()});
  }
  if (!pair.forward || readsOverwritten(pair) || !NeededParts(pair).isEnough())
    return std::nullopt;
  return pair;
}

std::optional<LoopPair> remat::findFirstPair(GraphOp graph) {
  auto kernels = findLoopKernels(graph->getParentOfType<ModuleOp>());
  for (auto task : graph.getOps<TaskOp>())
    if (kernels.contains(task.getKernelAttr().getAttr()))
      if (std::optional<LoopPair> pair = findPair(task))
        return pair;
  return std::nullopt;
}
