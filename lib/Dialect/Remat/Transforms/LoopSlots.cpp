//===- LoopSlots.cpp - loops with fewer checkpoints -----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What loops keep is a choice that planners do not have. So each choice is a
// copy of the graph, which they plan like any other.
//
//===----------------------------------------------------------------------===//

#include "LoopSlots.h"

#include "GraphPlanning.h"
#include "LoopCosts.h"
#include "remat/Planning/Loops.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

/// The fewest checkpoints of a loop. With still fewer, bytes hardly shrink
/// while time grows, at last with the square of the iterations.
static int64_t getFewestSlots(int64_t count) {
  constexpr int64_t mostRuns = 8;
  int64_t slots = 1;
  while (planning::fewestAdvances(count, slots) >
         multiplyCounts(count, mostRuns))
    ++slots;
  return slots;
}

/// The checkpoints of a loop at a level, from 1 on.
static int64_t getSlots(int64_t count, unsigned level) {
  return std::max(count >> (level - 1), getFewestSlots(count));
}

LoopSlots::LoopSlots(GraphOp graph, const PlanOptions &given)
    : graph(graph), module(graph->getParentOfType<ModuleOp>()) {
  if (!module)
    return;
  // What is said of the step's arena is not said of a body's.
  options.solver = given.solver;
  // The host arena is the step's, too.
  options.hostBudget = 0;
  timeLimit = given.solver.timeLimitSeconds;
  auto kernels = findLoopKernels(module);
  for (auto task : graph.getOps<TaskOp>()) {
    if (!kernels.contains(task.getKernelAttr().getAttr()))
      continue;
    isLooping = true;
    if (!findPair(task))
      continue;
    int64_t count = findLoop(task).getCount();
    unsigned levels = 1;
    while (getSlots(count, levels) > getFewestSlots(count))
      ++levels;
    numLevels = std::max(numLevels, levels);
  }
}

/// A body as it was before it was planned.
static GraphOp takePlan(GraphOp body) {
  for (StringAttr name :
       {body.getBudgetAttrName(), body.getHostBudgetAttrName(),
        body.getSaveAllPeakAttrName(), body.getPlannedPeakAttrName(),
        body.getArenaBytesAttrName(), body.getHostArenaBytesAttrName()})
    body->removeAttr(name);
  for (auto task : body.getOps<TaskOp>()) {
    task.removePlacementAttr();
    task.removeWorkspaceOffsetAttr();
  }
  return body;
}

/// Lets `task`, which runs a loop, run one whose body has a smaller arena.
llvm::Error LoopSlots::replan(TaskOp task, int64_t fewer) {
  LoopOp loop = findLoop(task);
  GraphOp body = findBody(loop);
  int64_t arena = body.getArenaBytes().value_or(0);
  bool isPlannedOnce = llvm::none_of(
      body.getOps<TaskOp>(), [](TaskOp inner) { return inner.isClone(); });
  if (arena == 0 || !isPlannedOnce)
    return llvm::Error::success();
  func::FuncOp kernel = getKernel(task);
  symbols.insert(kernel);
  symbols.insert(body);
  GraphOp smaller = takePlan(body.clone());
  SymbolTable(module).insert(smaller, Block::iterator(body));
  std::vector<TaskDecision> decided;
  PlanOptions within = options;
  within.budget = {planning::BudgetRequest::Kind::Smallest};
  if (fewer < arena) {
    PlanOptions exact = options;
    exact.budget = {planning::BudgetRequest::Kind::Bytes, arena - fewer};
    llvm::consumeError(planGraph(smaller, exact, nullptr, decided));
  }
  if (!smaller.isPlanned())
    if (llvm::Error error = planGraph(smaller, within, nullptr, decided)) {
      smaller.erase();
      return error;
    }
  llvm::append_range(decisions, decided);
  symbols.insert(smaller);
  if (failed(reassignBuffers(smaller, module)) || failed(placeGraph(smaller)))
    return llvm::createStringError("a loop's body cannot be placed");
  func::FuncOp changed = kernel.clone();
  SymbolTable(module).insert(changed);
  symbols.insert(changed);
  (*changed.getOps<LoopOp>().begin()).setBody(smaller.getName());
  task.setKernel(changed.getName());
  loop = findLoop(task);
  int64_t slower = getIterationCost(smaller) - getIterationCost(body);
  task.setCost(
      addCounts(task.getCost(), multiplyCounts(std::max<int64_t>(slower, 0),
                                               getIterations(loop))));
  task.setWorkspace(getWorkspaceBytes(loop));
  return llvm::Error::success();
}

llvm::Expected<GraphOp> LoopSlots::make(unsigned level, int64_t fewer) {
  decisions.clear();
  GraphOp copy = graph.clone();
  graph->getBlock()->getOperations().insert(graph->getIterator(), copy);
  copies.push_back(copy);
  // A loop may be in several pairs; what a pair becomes is none.
  while (level > 0) {
    std::optional<LoopPair> pair = findFirstPair(copy);
    if (!pair)
      break;
    for (TaskOp task : {pair->forward, pair->reverse}) {
      symbols.insert(getKernel(task));
      symbols.insert(findBody(findLoop(task)));
    }
    int64_t count = findLoop(pair->reverse).getCount();
    if (llvm::Error error = keepCheckpoints(
            std::move(*pair), getSlots(count, level), module, bodies, symbols))
      return std::move(error);
  }
  if (fewer == 0)
    return copy;
  auto kernels = findLoopKernels(module);
  SmallVector<TaskOp> loops;
  for (auto task : copy.getOps<TaskOp>())
    if (kernels.contains(task.getKernelAttr().getAttr()))
      loops.push_back(task);
  // A body may be planned twice.
  if (timeLimit)
    options.solver.timeLimitSeconds =
        *timeLimit / std::max<double>(2.0 * double(loops.size()), 1);
  for (TaskOp task : loops)
    if (llvm::Error error = replan(task, fewer))
      return std::move(error);
  return copy;
}

LoopSlots::~LoopSlots() {
  for (GraphOp copy : copies)
    copy.erase();
  for (bool erased = true; erased;) {
    erased = false;
    for (Operation *symbol : llvm::to_vector(symbols))
      if (SymbolTable::symbolKnownUseEmpty(symbol, module)) {
        symbols.remove(symbol);
        symbol->erase();
        erased = true;
      }
  }
}
