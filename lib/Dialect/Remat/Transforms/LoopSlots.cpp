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
#include "SpreadStacks.h"
#include "remat/Planning/HostSlots.h"
#include "remat/Planning/Problem.h"
#include "remat/Schedules/Revolve.h"
#include "remat/Utils/Saturating.h"
#include "remat/Utils/TypeNames.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

/// The fewest checkpoints of a loop. With still fewer, bytes hardly shrink
/// while time grows, at last with the square of the iterations.
static int64_t getFewestSlots(int64_t count) {
  constexpr int64_t mostRuns = 8;
  int64_t slots = 1;
  while (fewestAdvances(count, slots) > multiplyCounts(count, mostRuns))
    ++slots;
  return slots;
}

/// The checkpoints of a loop at a level, from 1 on.
static int64_t getSlots(int64_t count, unsigned level) {
  return std::max(count >> (level - 1), getFewestSlots(count));
}

/// The checkpoints in the arena of a loop at a level of those with others in
/// host memory, from 1 on.
static int64_t getSlotsBesideHost(int64_t count, unsigned level) {
  return std::max<int64_t>(count >> std::min(2 * level, 63u), 1);
}

/// The link that `options` have, if values may use it.
static std::optional<HostLink> findLink(GraphOp graph,
                                        const PlanOptions &options) {
  TargetAttr target = getTargetFacts(graph);
  int64_t bandwidth =
      options.offload ? options.linkBandwidth : options.loopLinkBandwidth;
  if (bandwidth == 0 || options.hostBudget == 0)
    return std::nullopt;
  return HostLink{
      bandwidth == targetBandwidth ? target.getLinkBandwidth() : bandwidth,
      target.getDuplexLink(), options.hostBudget.value_or(INT64_MAX)};
}

LoopSlots::LoopSlots(GraphOp graph, const PlanOptions &given)
    : graph(graph), module(graph->getParentOfType<ModuleOp>()) {
  if (!module)
    return;
  // What is said of the step's arena is not said of a body's.
  options.solver = given.solver;
  // A body is not the step, whose plan the caller watches.
  options.solver.onProgress = nullptr;
  options.listsDecisions = given.explain || given.listsDecisions;
  options.offload = false;
  timeLimit = given.solver.timeLimitSeconds;
  link = findLink(graph, given);
  auto kernels = findLoopKernels(module);
  for (auto task : graph.getOps<TaskOp>()) {
    if (!kernels.contains(task.getKernelAttr().getAttr()))
      continue;
    isLooping = true;
    maySpread |= maySpreadStacks(task);
    std::optional<LoopPair> pair = findPair(task);
    if (!pair)
      continue;
    numThinnings =
        std::max<unsigned>(numThinnings, findThinnings(*pair).size());
    if (maySplit(*pair))
      mostSplits = std::max<int64_t>(mostSplits, findLoop(task).getCount());
    int64_t count = findLoop(task).getCount();
    unsigned levels = 1;
    while (getSlots(count, levels) > getFewestSlots(count))
      ++levels;
    numLevels = std::max(numLevels, levels);
    unsigned hostLevels = 1;
    while (getSlotsBesideHost(count, hostLevels) > 1)
      ++hostLevels;
    if (link)
      numHostLevels = std::max(numHostLevels, hostLevels);
  }
  numLevels += numThinnings;
}

/// A body as it was before it was planned. What runs again, the next plan says,
/// which heeds the same policies.
static GraphOp takePlan(GraphOp body) {
  DenseMap<int64_t, TaskOp> originals;
  for (auto task : llvm::make_early_inc_range(body.getOps<TaskOp>()))
    if (!task.isClone()) {
      originals[task.getId()] = task;
    } else {
      task->replaceAllUsesWith(originals.at(task.getId()));
      task.erase();
    }
  for (StringAttr name :
       {body.getBudgetAttrName(), body.getHostBudgetAttrName(),
        body.getSaveAllPeakAttrName(), body.getPlannedPeakAttrName(),
        body.getArenaBytesAttrName(), body.getHostArenaBytesAttrName()})
    body->removeAttr(name);
  for (auto task : body.getOps<TaskOp>()) {
    task.removePlacementAttr();
    task.removeWorkspaceOffsetAttr();
    task.removeHostWorkspaceOffsetAttr();
  }
  return body;
}

/// Calls what was decided in the body of `loop`, which `task` runs, by the loop
/// and by what that gets. What was decided within loops of the body has names
/// already, and those of all loops that it is in.
static void nameDecisions(TaskOp task, LoopOp loop,
                          std::vector<TaskDecision> &decided) {
  auto graph = task->getParentOfType<GraphOp>();
  GraphOp body = findBody(loop);
  std::string loopName = TaskNames(graph).describe(task);
  SmallVector<ValueName> arguments =
      ValueNames(graph).nameArguments(task, loop, body);
  ValueNames names(body, /*gradients=*/{}, arguments);
  // Numbers may be any, and those of a DenseMap may not.
  std::map<int64_t, TaskOp> tasks;
  for (auto inner : body.getOps<TaskOp>())
    if (!inner.isClone())
      tasks[inner.getId()] = inner;
  for (TaskDecision &decision : decided) {
    if (!decision.loop.empty()) {
      decision.loop = loopName + " / " + decision.loop;
      continue;
    }
    decision.loop = loopName;
    auto found = decision.task ? tasks.find(*decision.task) : tasks.end();
    if (found == tasks.end())
      continue;
    Value result = found->second.getResult(decision.resultNumber);
    decision.value = names.get(result).name;
    if (auto type = dyn_cast<RankedTensorType>(result.getType()))
      decision.value += " " + describeType(type);
    decision.value += " (task " + std::to_string(*decision.task) + ")";
  }
}

static bool hasOffloadPolicy(GraphOp body) {
  return llvm::any_of(body.getOps<TaskOp>(), [](TaskOp task) {
    return llvm::any_of(task->getResults(), [&](OpResult result) {
      std::optional<Policy> policy =
          task.getResultPolicy(result.getResultNumber());
      return policy == Policy::MustCpuOffload ||
             policy == Policy::PreferCpuOffload;
    });
  });
}

/// A copy of `body` with an arena that is smaller by `fewer` bytes, or as small
/// as it can be, and with as much in host memory as `hostBudget`. Levels share
/// bodies, so each copy is made once.
llvm::Expected<LoopSlots::SmallerBody *>
LoopSlots::makeSmaller(GraphOp body, int64_t fewer, int64_t hostBudget) {
  auto [known, isNew] = smallerBodies.try_emplace({body, fewer, hostBudget});
  SmallerBody &made = known->second;
  if (!isNew)
    return &made;
  symbols.insert(body);
  GraphOp smaller = takePlan(body.clone());
  SymbolTable(module).insert(smaller, Block::iterator(body));
  // What a policy sends to the host may be what nothing needs again: there is a
  // link, and no room.
  bool asks = hasOffloadPolicy(smaller);
  options.offload = asks;
  options.hostBudget = asks ? 0 : hostBudget;
  options.loopLinkBandwidth =
      hostBudget > 0 && !asks ? link->bytesPerSecond : 0;
  PlanOptions within = options;
  within.budget = {planning::BudgetRequest::Kind::Smallest};
  int64_t arena = body.getArenaBytes().value_or(0);
  if (fewer < arena) {
    PlanOptions exact = options;
    exact.budget = {planning::BudgetRequest::Kind::Bytes, arena - fewer};
    llvm::consumeError(planGraph(smaller, exact, nullptr, made.decisions));
  }
  if (!smaller.isPlanned())
    if (llvm::Error error =
            planGraph(smaller, within, nullptr, made.decisions)) {
      smaller.erase();
      smallerBodies.erase(known);
      return std::move(error);
    }
  // Numbers are those of tasks in the body, not in the step.
  for (TaskDecision &decision : made.decisions)
    if (decision.body.empty())
      decision.body = smaller.getName().str();
  symbols.insert(smaller);
  if (failed(reassignBuffers(smaller, module)) || failed(placeGraph(smaller))) {
    smallerBodies.erase(known);
    return llvm::createStringError("a loop's body cannot be placed");
  }
  made.graph = smaller;
  return &made;
}

/// What `loop` takes longer with `smaller` in the place of `body`, in
/// nanoseconds. What its own states wait for on the link may be added to what
/// those of the loops within it do, and is no more than what either moves.
int64_t LoopSlots::getDelay(LoopOp loop, GraphOp body, GraphOp smaller) const {
  int64_t slower = getIterationCost(smaller) - getIterationCost(body);
  int64_t delay =
      multiplyCounts(std::max<int64_t>(slower, 0), getIterations(loop));
  if (!loop.getHostSlots() || smaller.getHostArenaBytes().value_or(0) == 0)
    return delay;
  planning::Problem problem;
  problem.linkBytesPerSecond = link->bytesPerSecond;
  int64_t inner = multiplyCounts(getOffloadedWithin(smaller), loop.getCount());
  int64_t moved = std::min(inner, getOffloadedBytes(loop));
  return addCounts(delay, multiplyCounts(problem.transferTime(moved), 2));
}

/// Lets `task`, which runs a loop, run one whose body has a smaller arena.
llvm::Error LoopSlots::replan(TaskOp task, int64_t fewer) {
  LoopOp loop = findLoop(task);
  GraphOp body = findBody(loop);
  if (body.getArenaBytes().value_or(0) == 0)
    return llvm::Error::success();
  func::FuncOp kernel = getKernel(task);
  symbols.insert(kernel);
  // What the body has on the host is there for one iteration, beside the states
  // that the loop has there itself. Then, it may be better without.
  int64_t room = link ? link->budget - getHostWorkspaceBytes(loop) : 0;
  llvm::Expected<SmallerBody *> made =
      makeSmaller(body, fewer, std::max<int64_t>(room, 0));
  if (made && room > 0 && loop.getHostSlots()) {
    llvm::Expected<SmallerBody *> alone = makeSmaller(body, fewer, 0);
    if (!alone)
      return alone.takeError();
    auto rank = [&](GraphOp planned) {
      int64_t target = int64_t(body.getArenaBytes().value_or(0)) - fewer;
      int64_t arena = planned.getArenaBytes().value_or(0);
      return std::pair(std::max(arena, target), getDelay(loop, body, planned));
    };
    if (rank((*alone)->graph) <= rank((*made)->graph))
      made = *alone;
  }
  if (!made)
    return made.takeError();
  GraphOp smaller = (*made)->graph;
  std::vector<TaskDecision> decided = (*made)->decisions;
  int64_t delay = getDelay(loop, body, smaller);
  // Names do not depend on which copies were made before.
  SymbolTable table(module);
  std::string name =
      (kernel.getName() + "_arena" + Twine(smaller.getArenaBytes().value_or(0)))
          .str();
  if (int64_t hostBytes = smaller.getHostArenaBytes().value_or(0))
    name += "_host" + std::to_string(hostBytes);
  auto changed = table.lookup<func::FuncOp>(name);
  if (!changed || !symbols.contains(changed)) {
    changed = kernel.clone();
    changed.setName(name);
    table.insert(changed);
    symbols.insert(changed);
    (*changed.getOps<LoopOp>().begin()).setBody(smaller.getName());
  }
  task.setKernel(changed.getName());
  loop = findLoop(task);
  if (!decided.empty()) {
    nameDecisions(task, loop, decided);
    llvm::append_range(decisions, std::move(decided));
  }
  task.setCost(addCounts(task.getCost(), delay));
  task.setWorkspace(getWorkspaceBytes(loop));
  task.setHostWorkspace(getHostWorkspaceBytes(loop));
  return llvm::Error::success();
}

/// Lets what only copies use be erased with them.
void LoopSlots::keepSymbols(const LoopPair &pair) {
  for (TaskOp task : {pair.forward, pair.reverse}) {
    symbols.insert(getKernel(task));
    symbols.insert(findBody(findLoop(task)));
  }
}

/// Splits the pairs of `copy` that can be split, in the proportion of `late` to
/// the most splits. Returns the numbers of the tasks that run the first
/// iterations of reverse loops.
DenseSet<int64_t> LoopSlots::split(GraphOp copy, int64_t late) {
  DenseSet<int64_t> early;
  if (late <= 0)
    return early;
  for (Operation &op : llvm::make_early_inc_range(copy.getBody().front())) {
    auto task = dyn_cast<TaskOp>(op);
    std::optional<LoopPair> pair;
    if (task && findLoop(task))
      pair = findPair(task);
    if (!pair || !maySplit(*pair))
      continue;
    keepSymbols(*pair);
    int64_t count = findLoop(task).getCount();
    int64_t own = std::clamp<int64_t>(multiplyCounts(count, late) / mostSplits,
                                      1, count - 1);
    early.insert(int64_t(
        splitPair(std::move(*pair), own, module, symbols).early.getId()));
  }
  return early;
}

/// Lets the pairs of `copy` have the stacks of a level; those that have fewer
/// levels, the fewest stacks. The tasks whose numbers are in `before` are of
/// the level before.
llvm::Error LoopSlots::thin(GraphOp copy, unsigned level,
                            const DenseSet<int64_t> &before) {
  if (level == 0)
    return llvm::Error::success();
  // Tasks are replaced; their numbers stay.
  SmallVector<int64_t> ids;
  for (auto task : copy.getOps<TaskOp>())
    if (findLoop(task))
      ids.push_back(int64_t(task.getId()));
  for (int64_t id : ids) {
    auto tasks = copy.getOps<TaskOp>();
    auto task = llvm::find_if(
        tasks, [&](TaskOp task) { return int64_t(task.getId()) == id; });
    std::optional<LoopPair> pair;
    if (task != tasks.end())
      pair = findPair(*task);
    auto thinnings =
        pair ? findThinnings(*pair) : SmallVector<SmallVector<unsigned>>();
    size_t number = std::min<size_t>(level, thinnings.size());
    if (number > 0 && before.contains(id))
      --number;
    if (number-- == 0)
      continue;
    keepSymbols(*pair);
    if (llvm::Error error = keepStacks(std::move(*pair), thinnings[number],
                                       module, bodies, symbols))
      return error;
  }
  return llvm::Error::success();
}

/// Lets the pairs of `copy` have the checkpoints of a level. A loop may be in
/// several pairs; what a pair becomes is none.
llvm::Error LoopSlots::keepCheckpoints(GraphOp copy, unsigned level) {
  while (std::optional<LoopPair> pair = findFirstPair(copy)) {
    keepSymbols(*pair);
    int64_t count = findLoop(pair->reverse).getCount();
    int64_t kept = isOnHost(level)
                       ? getSlotsBesideHost(count, level - numLevels)
                       : getSlots(count, level - numThinnings);
    if (llvm::Error error = remat::keepCheckpoints(
            std::move(*pair), kept, isOnHost(level) ? link : std::nullopt,
            getFewestSlots(count), module, bodies, symbols))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<GraphOp> LoopSlots::make(const LoopChoice &choice) {
  auto [level, fewer, late] = choice;
  decisions.clear();
  GraphOp copy = graph.clone();
  graph->getBlock()->getOperations().insert(graph->getIterator(), copy);
  copies.push_back(copy);
  if (hasCheckpoints(level))
    if (llvm::Error error = keepCheckpoints(copy, level))
      return std::move(error);
  // Of pairs without checkpoints, those with the fewest stacks.
  if (llvm::Error error =
          thin(copy, std::min(level, numThinnings), split(copy, late)))
    return std::move(error);
  leastArenas[copy] = countLeastArena(copy);
  if (maySpread)
    spreadStacks(copy, symbols);
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

llvm::Expected<GraphOp> LoopSlots::getWhole() {
  if (!maySpread)
    return graph;
  if (!whole)
    if (llvm::Error error = make({}).moveInto(whole))
      return std::move(error);
  return whole;
}

int64_t LoopSlots::getMostWorkspace(GraphOp copy) {
  int64_t most = 0;
  for (auto task : copy.getOps<TaskOp>())
    most = std::max(most, int64_t(task.getWorkspace()));
  return most;
}

int64_t LoopSlots::countLeastArena(GraphOp copy) {
  Operation *terminator = copy.getBody().front().getTerminator();
  int64_t least = 0;
  for (auto task : copy.getOps<TaskOp>()) {
    std::optional<LoopPair> pair;
    if (findLoop(task))
      pair = findPair(task);
    if (!pair)
      continue;
    int64_t bytes = 0;
    DenseSet<unsigned> counted;
    for (const LoopPair::Stack &stack : pair->stacks)
      if (counted.insert(stack.result).second)
        bytes = addCounts(
            bytes, getBufferBytes(pair->forward.getResult(stack.result)));
    // They may be in the buffers of results that come later, or in those that
    // later iterations write.
    for (Value result : terminator->getOperands())
      if (Operation *maker = getViewRoot(result).getDefiningOp();
          maker && (maker == task || task->isBeforeInBlock(maker)))
        bytes -= getBufferBytes(result);
    least = std::max(least, bytes);
  }
  return least;
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
