//===- GraphPlanner.cpp - the search for a plan of a graph ----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EffortSearch.h"
#include "Variants.h"

#include "remat/Planning/LowerBound.h"
#include "remat/Planning/Releases.h"
#include "remat/Planning/SharedLimit.h"
#include "remat/Utils/Locations.h"
#include "remat/Utils/Parallel.h"

#include "llvm/Support/MathExtras.h"

#include <tuple>

using namespace mlir;
using namespace remat;

/// The part of the effort that finds the first plan under a time limit.
static constexpr double quickScale = 0.05;
/// The part of the effort that proves a bound.
static constexpr double boundShare = 0.03;
/// Half of the time that a planner has in the first round of improvements.
static constexpr double leastRoundSeconds = 0.25;

bool remat::asksForOffload(const planning::Problem &problem) {
  return llvm::any_of(problem.values, [](const planning::Value &value) {
    return value.policy == planning::Policy::MustCpuOffload ||
           value.policy == planning::Policy::PreferCpuOffload;
  });
}

/// Loops of very many iterations take longer than planning can count. Here it
/// is known where they are in the program.
static llvm::Error checkCosts(const GraphProblem &graphProblem) {
  auto limit = static_cast<uint64_t>(graphProblem.problem.costLimit());
  TaskOp longest;
  uint64_t sum = 0;
  for (TaskOp task : graphProblem.tasks) {
    if (!task)
      continue;
    sum = llvm::SaturatingAdd(sum, uint64_t(task.getCost()));
    if (!longest || task.getCost() > longest.getCost())
      longest = task;
  }
  if (sum <= limit)
    return llvm::Error::success();
  std::string where = describeLocation(longest.getLoc());
  return llvm::createStringError(
      where + (where.empty() ? "" : ": ") + "the task '" + longest.getKernel() +
      "' would take an estimated " + Twine(longest.getCost()) +
      " ns and all tasks of the step together " + Twine(sum) +
      " ns, expected at most " + Twine(limit) + " ns");
}

llvm::Error remat::setLimits(GraphProblem &graphProblem,
                             const PlanOptions &options) {
  if (llvm::Error error = checkCosts(graphProblem))
    return error;
  planning::Problem &problem = graphProblem.problem;
  problem.hostBudget = options.hostBudget;
  bool isTargets = options.linkBandwidth == targetBandwidth ||
                   (options.linkBandwidth == 0 && asksForOffload(problem));
  problem.linkBytesPerSecond = !options.offload ? 0
                               : isTargets
                                   ? graphProblem.target.getLinkBandwidth()
                                   : options.linkBandwidth;
  problem.duplexLink =
      problem.linkBytesPerSecond > 0 && graphProblem.target.getDuplexLink();
  for (const auto &[name, bytes] : options.regionBudgets) {
    auto values = graphProblem.named.find(name);
    if (values == graphProblem.named.end() && options.mayLackRegions)
      continue;
    if (values == graphProblem.named.end())
      return llvm::createStringError("region '" + name +
                                     "' has a budget, but no forward value "
                                     "has this name");
    problem.regions.push_back({name, bytes, values->second});
  }
  return llvm::Error::success();
}

GraphPlanner::GraphPlanner(GraphOp graph, const PlanOptions &options,
                           planning::PackingCache &cache, bool mayPack,
                           bool mayAbsorb)
    : graph(graph), options(options), cache(cache),
      graphProblem(graph, options.reorder), problem(graphProblem.problem) {
  // A stored plan says how fast the link was that it is for.
  if (options.linkBandwidth == targetBandwidth)
    this->options.linkBandwidth = graphProblem.target.getLinkBandwidth();
  if (!mayPack)
    for (planning::Value &value : graphProblem.problem.values)
      value.packed.reset();
  if (!mayAbsorb)
    for (planning::Op &op : graphProblem.problem.ops) {
      op.absorbedCost.reset();
      op.absorbers.clear();
    }
}

// Where what it has is known.
GraphPlanner::~GraphPlanner() = default;

//===----------------------------------------------------------------------===//
// The clock
//===----------------------------------------------------------------------===//

void GraphPlanner::setTimeLimit(std::optional<double> seconds) {
  options.solver.timeLimitSeconds = seconds;
  deadline.reset();
  if (seconds)
    deadline = planning::deadlineAfter(*seconds);
}

double GraphPlanner::getSeconds() const {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double GraphPlanner::getSecondsLeft() const {
  std::chrono::duration<double> left = *deadline - Clock::now();
  return std::max(left.count(), 0.0);
}

bool GraphPlanner::isOver() const {
  return (deadline && getSecondsLeft() == 0) ||
         (options.solver.interrupt && *options.solver.interrupt);
}

/// What a planner may spend that gets a share of the effort. What it finds is
/// not yet packed, so it is not what a caller watches.
planning::SolverOptions GraphPlanner::getSolverOptions(double share) const {
  planning::SolverOptions solver = options.solver;
  solver.effort *= share;
  solver.onProgress = nullptr;
  solver.deadline = deadline;
  solver.timeLimitSeconds.reset();
  return solver;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

llvm::Expected<planning::Solution>
remat::keepAllValues(planning::Problem problem, const PlanOptions &options) {
  problem.regions.clear();
  problem.deviceBudget.reset();
  return planning::solve(problem, "save-all", options.solver);
}

llvm::Error GraphPlanner::prepare() {
  if (llvm::Error error = setLimits(graphProblem, options))
    return error;
  llvm::Expected<planning::Solution> solution = keepAllValues(problem, options);
  if (!solution)
    return solution.takeError();
  saveAll = std::move(solution->plan);
  llvm::Expected<Outcome> keepingAll = tryOut(saveAll, allPackingWork);
  if (!keepingAll)
    return keepingAll.takeError();
  saveAllPeak = keepingAll->peakBytes;
  saveAllArena = keepingAll->arenaBytes;
  findReturned(*keepingAll->graph);
  return llvm::Error::success();
}

int64_t GraphPlanner::getSaveAllBytes() const {
  return graphProblem.hasSeveralCalls ? std::max(saveAllPeak, saveAllArena)
                                      : saveAllPeak;
}

llvm::Expected<GraphPlan> GraphPlanner::evaluate(planning::Plan plan,
                                                 std::optional<int64_t> budget,
                                                 StringRef planner,
                                                 int64_t packingWork) {
  llvm::Expected<planning::Solution> solution =
      planning::evaluatePlan(problem, std::move(plan), planner);
  if (!solution)
    return solution.takeError();
  llvm::Expected<Outcome> outcome = tryOut(solution->plan, packingWork);
  if (!outcome)
    return outcome.takeError();
  GraphPlan found;
  found.options = options;
  found.problem = problem;
  found.solution = std::move(*solution);
  found.solution.peakBytes = outcome->peakBytes;
  if (bound.time > found.solution.lowerBound) {
    found.solution.lowerBound = std::min(bound.time, found.solution.time);
    found.solution.proof = bound.proof;
  }
  found.solution.seconds = getSeconds();
  found.solution.secondsToBest = best.seconds;
  found.solution.cutShort = cutShort;
  found.budget = budget;
  found.saveAllPeak = saveAllPeak;
  found.saveAllBytes = getSaveAllBytes();
  found.arenaBytes = outcome->arenaBytes;
  return found;
}

llvm::Error GraphPlanner::settle(GraphPlan &plan) {
  if (getPackingWork(/*scale=*/1) == allPackingWork)
    return llvm::Error::success();
  llvm::Expected<Outcome> outcome = tryOut(plan.solution.plan, allPackingWork);
  if (!outcome)
    return outcome.takeError();
  plan.arenaBytes = outcome->arenaBytes;
  return llvm::Error::success();
}

llvm::Expected<std::optional<GraphPlan>> GraphPlanner::planSaveAll() {
  if (!mayKeepAll())
    return std::nullopt;
  return evaluate(saveAll, std::nullopt, "save-all");
}

llvm::Expected<GraphPlan> GraphPlanner::planUnlimited() {
  planning::SolverOptions solver = getSolverOptions(/*share=*/1);
  if (deadline)
    solver.timeLimitSeconds = getSecondsLeft();
  llvm::Expected<planning::Solution> solution =
      planning::solve(problem, options.planner, solver);
  if (!solution)
    return solution.takeError();
  bound.raise(solution->lowerBound, solution->proof);
  cutShort = solution->cutShort;
  llvm::Expected<Released> released =
      release(solution->plan, 0, getPackingWork(/*scale=*/1));
  if (!released)
    return released.takeError();
  return evaluate(std::move(released->plan), std::nullopt, solution->solver);
}

/// The parts of the effort that plans are searched for with where no clock ends
/// the search.
ArrayRef<double> GraphPlanner::getEffortScales() const {
  static constexpr double scales[] = {0, 1};
  ArrayRef<double> all(scales);
  return options.solver.effort > 0 ? all : all.take_front(1);
}

/// The search that has a part of the effort.
GraphPlanner::EffortSearch &GraphPlanner::getSearch(double scale) {
  std::unique_ptr<EffortSearch> &search = searches[scale];
  if (!search)
    search = std::make_unique<EffortSearch>(*this, scale);
  return *search;
}

/// Asks the search of each part of the effort, with its number.
llvm::Error GraphPlanner::searchInParallel(
    llvm::function_ref<void(size_t, EffortSearch &)> ask) {
  SmallVector<EffortSearch *> all;
  for (double scale : getEffortScales())
    all.push_back(&getSearch(scale));
  if (llvm::Error error = all.front()->makeSmallest())
    return error;
  forEachInParallel(graph.getContext(), all.size(),
                    [&](size_t i) { ask(i, *all[i]); });
  for (EffortSearch *search : all)
    search->tellPlanner();
  return llvm::Error::success();
}

llvm::Expected<std::optional<int64_t>> GraphPlanner::estimateSmallest() {
  if (options.planner != "auto" || deadline)
    return std::nullopt;
  begin();
  if (counts.empty())
    if (llvm::Error error = collectCounts())
      return std::move(error);
  llvm::Expected<int64_t> smallest = findSmallestArena();
  if (!smallest)
    return smallest.takeError();
  return mayKeepAll() ? std::min(*smallest, saveAllArena) : *smallest;
}

/// The smallest arena that is known with any part of the effort.
llvm::Expected<int64_t> GraphPlanner::findSmallestArena() {
  SmallVector<std::optional<llvm::Expected<int64_t>>> arenas(
      getEffortScales().size());
  if (llvm::Error error = searchInParallel([&](size_t i, EffortSearch &search) {
        arenas[i].emplace(search.findSmallestArena());
      }))
    return std::move(error);
  int64_t smallest = std::numeric_limits<int64_t>::max();
  llvm::Error error = llvm::Error::success();
  for (std::optional<llvm::Expected<int64_t>> &arena : arenas)
    if (*arena)
      smallest = std::min(smallest, **arena);
    else
      keepFirst(arena->takeError(), error);
  if (error)
    return std::move(error);
  return smallest;
}

/// The best of what is found without effort and with all of it: so effort is
/// never worse than none. The smallest plan is the one for the budget that its
/// arena is, so that this budget has no other.
GraphPlanner::Found
GraphPlanner::searchByEffort(std::optional<int64_t> budget) {
  if (options.planner != "auto") {
    EffortSearch &search = getSearch(1);
    Found found = budget ? search.planWithin(*budget) : search.planSmallest();
    search.tellPlanner();
    return found;
  }
  if (!budget) {
    llvm::Expected<int64_t> smallest = findSmallestArena();
    if (!smallest)
      return smallest.takeError();
    budget = wanted = *smallest;
  }
  SmallVector<std::optional<Found>> plans(getEffortScales().size());
  if (llvm::Error error = searchInParallel([&](size_t i, EffortSearch &search) {
        plans[i].emplace(search.planWithin(*budget));
      }))
    return std::move(error);
  std::optional<planning::PackedPlan> best;
  std::unique_ptr<planning::InfeasibleBudgetError> closest;
  llvm::Error error = llvm::Error::success();
  for (std::optional<Found> &found : plans) {
    if (!*found) {
      keepFirst(keepClosest(found->takeError(), closest), error);
    } else if (!best || std::tie((*found)->time, (*found)->arenaBytes) <
                            std::tie(best->time, best->arenaBytes)) {
      best = std::move(**found);
    }
  }
  if (error)
    return std::move(error);
  if (best)
    return std::move(*best);
  return llvm::Error(std::move(closest));
}

/// A plan under a time limit, for a part of the effort.
GraphPlanner::Found GraphPlanner::searchSoon(std::optional<int64_t> budget,
                                             double scale) {
  EffortSearch &search = getSearch(scale);
  Found found = !budget     ? search.planSmallest()
                : scale < 1 ? search.planSoon(*budget)
                            : search.planWithin(*budget);
  search.tellPlanner();
  return found;
}

/// A first plan for a small part of the effort; then what is found without a
/// time limit; then what more time finds.
GraphPlanner::Found
GraphPlanner::searchUntilDeadline(std::optional<int64_t> budget) {
  std::optional<planning::PackedPlan> best;
  for (double scale : {quickScale, 1.0}) {
    if (scale < 1 && options.planner != "auto")
      continue;
    Found found = searchSoon(budget, scale);
    if (!found && (best || (scale < 1 && !isOver()))) {
      llvm::consumeError(found.takeError());
      continue;
    }
    if (!found)
      return found;
    if (!best || (!budget && found->arenaBytes < best->arenaBytes) ||
        (found->time < best->time &&
         (budget || found->arenaBytes == best->arenaBytes)))
      best = std::move(*found);
    if (isOver())
      return std::move(*best);
  }
  int64_t bytes = budget.value_or(best->arenaBytes);
  return improve(std::move(*best), bytes);
}

/// Rounds of which each gets twice the time of the one before, until the clock
/// ends them or none of the planner's searches would go on for longer.
planning::PackedPlan GraphPlanner::improve(planning::PackedPlan best,
                                           int64_t budget) {
  EffortSearch &search = getSearch(1);
  double seconds = std::max(options.solver.effort, leastRoundSeconds);
  bool goesOn = true;
  auto isGoodEnough = [&] {
    int64_t least = std::max(bound.time, problem.baseCost());
    return double(best.time - least) <= options.solver.gap * double(best.time);
  };
  while (goesOn && !isOver() && !isGoodEnough()) {
    best = search.improve(budget, std::move(best), seconds *= 2, goesOn);
    search.tellPlanner();
  }
  cutShort = isOver();
  return best;
}

llvm::Expected<GraphPlan> GraphPlanner::planBudget(bool isSmallest,
                                                   int64_t bytes) {
  // The planner does not know of reused buffers and would not see that all
  // fits.
  bool mayKeep = options.planner == "auto" && mayKeepAll();
  if (!isSmallest && mayKeep && saveAllArena <= bytes)
    return evaluate(saveAll, bytes, "save-all");
  if (counts.empty())
    if (llvm::Error error = collectCounts())
      return std::move(error);
  if (!isSmallest) {
    wanted = bytes;
    findBound(bytes);
  }
  Found found = deadline ? searchUntilDeadline(wanted) : searchByEffort(wanted);
  // Searches that were not even begun say nothing.
  cutShort |= isOver();
  wanted.reset();
  if (!found)
    return found.takeError();
  int64_t limit = isSmallest ? found->arenaBytes : bytes;
  if (isSmallest) {
    findBound(limit);
    if (mayKeep && saveAllArena <= limit)
      return evaluate(saveAll, saveAllArena, "save-all");
  }
  llvm::Expected<Released> released =
      release(found->plan, limit, getPackingWork(/*scale=*/1));
  if (!released)
    return released.takeError();
  return evaluate(std::move(released->plan), limit, options.planner,
                  getPackingWork(/*scale=*/1));
}

/// Forgets what is known of the plan that was looked for last.
void GraphPlanner::begin() {
  best = Best();
  bound = Bound();
  cutShort = false;
  for (auto &[scale, search] : searches)
    search->begin();
}

llvm::Expected<GraphPlan>
GraphPlanner::plan(const planning::BudgetRequest &budget) {
  using Kind = planning::BudgetRequest::Kind;
  begin();
  if (budget.kind == Kind::Unlimited)
    return planUnlimited();
  if (budget.kind == Kind::Smallest)
    return planBudget(/*isSmallest=*/true, 0);
  return planBudget(/*isSmallest=*/false, budget.resolve(getSaveAllBytes()));
}

/// Whether neither a policy nor a region's budget asks for anything but
/// keeping.
bool GraphPlanner::mayKeepAll() const {
  return problem.regions.empty() &&
         llvm::none_of(problem.values, [](const planning::Value &value) {
           return value.policy == planning::Policy::MustRecompute ||
                  value.policy == planning::Policy::PreferRecompute ||
                  value.policy == planning::Policy::MustCpuOffload ||
                  value.policy == planning::Policy::PreferCpuOffload;
         });
}

void GraphPlanner::Bound::raise(int64_t other, StringRef method) {
  if (other <= time)
    return;
  time = other;
  proof = method.str();
}

/// What may lie outside of the arena at any time: as much as there is in the
/// caller's buffers, and at each task what is written over its operands.
int64_t GraphPlanner::getMostElsewhere() const {
  int64_t bytes = 0, mostInPlace = 0;
  for (auto [value, counted] : llvm::zip(graphProblem.values, problem.values))
    if (counted.isOutput)
      bytes += getBufferBytes(cast<RankedTensorType>(value.getType()),
                              graphProblem.target);
  for (const planning::Op &op : problem.ops) {
    int64_t read = 0, written = 0;
    for (planning::ValueId operand : op.operands)
      read += problem.values[operand].bytes;
    for (planning::ValueId result : op.results) {
      const planning::Value &value = problem.values[result];
      written += value.isOutput ? read : value.bytes;
    }
    mostInPlace = std::max(mostInPlace, std::min(read, written));
  }
  return bytes + mostInPlace;
}

/// What is proven of plans with more live bytes than an arena of `arena` bytes
/// and all that lies elsewhere could hold, for some of the effort.
void GraphPlanner::findBound(int64_t arena) {
  // Otherwise every search proves it.
  if (!options.reuseResultBuffers)
    return;
  // The way in which what is written in place counts once is not for all plans.
  planning::Problem relaxed =
      (countsReturned ? counts.front() : counts.back()).problem;
  relaxed.deviceBudget = arena + getMostElsewhere();
  planning::LowerBoundOptions bounding;
  bounding.effort = std::min(options.solver.effort, 1.0) * boundShare;
  bounding.interrupt = options.solver.interrupt;
  bounding.deadline = deadline;
  planning::LowerBound found = planning::lowerBound(relaxed, bounding);
  if (!found.infeasible)
    bound.raise(found.time, found.method);
}
