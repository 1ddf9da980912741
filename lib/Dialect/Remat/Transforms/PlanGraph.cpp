//===- PlanGraph.cpp - plan one graph under a budget ----------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"

#include "GraphPlanning.h"
#include "remat/Planning/BudgetSearch.h"

#include <chrono>
#include <map>

using namespace mlir;
using namespace remat;

static bool asksForOffload(const planning::Problem &problem) {
  return llvm::any_of(problem.values, [](const planning::Value &value) {
    return value.policy == planning::Policy::MustCpuOffload ||
           value.policy == planning::Policy::PreferCpuOffload;
  });
}

namespace {
/// A plan, and the budget that it was made for if there was one.
struct Choice {
  planning::Plan plan;
  std::optional<int64_t> budget;
};

/// What becomes of a plan when buffers are assigned and placed.
struct Outcome {
  /// A planned copy of the graph, detached from any module.
  OwningOpRef<GraphOp> graph;
  /// What is live in the arena, and what that can be packed into.
  int64_t peakBytes = 0, arenaBytes = 0;
};

/// Planners bound what values occupy together, wherever that is. This is one
/// way to count so that it says something of the arena.
struct Counted {
  planning::Problem problem;
  /// How much less the arena takes than is counted, without rematerialization.
  int64_t lentBytes = 0;
};

using Clock = std::chrono::steady_clock;

/// Makes a problem of a graph, has it solved, and applies the plan.
class GraphPlanner : private planning::BudgetClient {
public:
  /// With a `deadline`, searches end then.
  GraphPlanner(GraphOp graph, const PlanOptions &options,
               std::optional<Clock::time_point> deadline);

  /// Finds a plan, and applies it to a copy of the graph.
  llvm::Error run();
  /// The peak of the plan that keeps all values; known after `run`, even after
  /// an error that no plan fits.
  int64_t getSaveAllPeak() const { return saveAllPeak; }
  /// Whether the plan of the last run is better than that of `other`, for the
  /// same budget.
  bool isBetterThan(const GraphPlanner &other) const;
  /// Whether there is no time for another plan.
  bool isOver() const override;
  /// Remarks at the tasks on the plan of the last run.
  llvm::Error explain() { return remat::explain(graphProblem, choice.plan); }
  /// The planned copy, detached from any module.
  OwningOpRef<GraphOp> take() { return std::move(planned); }

private:
  // What the search for a budget asks.
  unsigned getNumWays() const override { return counts.size(); }
  int64_t getBytesElsewhere(unsigned way) const override {
    return counts[way].lentBytes;
  }
  llvm::Expected<planning::Solution>
  plan(const planning::PlanRequest &request) override;
  llvm::Expected<planning::FeasibilityCertificate>
  planSmallest(unsigned way) override;
  llvm::Expected<planning::PackedPlan>
  pack(const planning::Plan &plan) override;
  llvm::Expected<std::string>
  explainSmallest(const planning::PackedPlan &smallest) override;

  double getSecondsLeft() const;
  planning::SolverOptions getSolverOptions(double share = 1) const;
  bool mayKeepAll() const;
  void findReturned(GraphOp kept);
  llvm::Error collectCounts();
  llvm::Expected<Choice> choose();
  llvm::Expected<OwningOpRef<GraphOp>> apply(const planning::Plan &plan);
  llvm::Expected<Outcome> tryOut(const planning::Plan &plan);

  GraphOp graph;
  PlanOptions options;
  std::optional<Clock::time_point> deadline;
  GraphProblem graphProblem;
  planning::Problem &problem;
  Choice choice;
  OwningOpRef<GraphOp> planned;
  int64_t plannedTime = 0, plannedArena = 0;
  int64_t saveAllPeak = 0, saveAllArena = 0;
  /// Values that are returned once others have been written in their place.
  SmallVector<planning::ValueId> returned;
  /// Those that are worth trying, in order.
  SmallVector<Counted, 2> counts;
};
} // namespace

/// The limits of the options, the budget aside. Fails on an unknown name.
static llvm::Error setLimits(GraphProblem &graphProblem,
                             const PlanOptions &options) {
  planning::Problem &problem = graphProblem.problem;
  problem.hostBudget = options.hostBudget;
  problem.linkBytesPerSecond = options.offload ? options.linkBandwidth : 0;
  if (options.offload && problem.linkBytesPerSecond == 0 &&
      asksForOffload(problem))
    problem.linkBytesPerSecond = graphProblem.target.getLinkBandwidth();
  for (const auto &[name, bytes] : options.regionBudgets) {
    auto values = graphProblem.named.find(name);
    if (values == graphProblem.named.end())
      return llvm::createStringError("region '" + name +
                                     "' has a budget, but no forward value "
                                     "has this name");
    problem.regions.push_back({name, bytes, values->second});
  }
  return llvm::Error::success();
}

GraphPlanner::GraphPlanner(GraphOp graph, const PlanOptions &options,
                           std::optional<Clock::time_point> deadline)
    : graph(graph), options(options), deadline(deadline),
      graphProblem(graph, options.reorder), problem(graphProblem.problem) {}

double GraphPlanner::getSecondsLeft() const {
  std::chrono::duration<double> left = *deadline - Clock::now();
  return std::max(left.count(), 0.0);
}

bool GraphPlanner::isOver() const {
  return (deadline && getSecondsLeft() == 0) ||
         (options.solver.interrupt && *options.solver.interrupt);
}

/// What a planner may spend that gets a share of the effort.
planning::SolverOptions GraphPlanner::getSolverOptions(double share) const {
  planning::SolverOptions solver = options.solver;
  solver.effort *= share;
  if (deadline)
    solver.timeLimitSeconds =
        std::min(*options.solver.timeLimitSeconds * share, getSecondsLeft());
  return solver;
}

/// A plan that keeps all values and has no limits but the order.
static llvm::Expected<planning::Solution> keepAll(planning::Problem problem,
                                                  const PlanOptions &options) {
  problem.regions.clear();
  problem.deviceBudget.reset();
  return planning::solve(problem, "save-all", options.solver);
}

/// Finds the plan. What keeps all is tried out first: percentages refer to its
/// peak.
llvm::Expected<Choice> GraphPlanner::choose() {
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  llvm::Expected<planning::Solution> saveAll = keepAll(problem, options);
  if (!saveAll)
    return saveAll.takeError();
  llvm::Expected<Outcome> keepingAll = tryOut(saveAll->plan);
  if (!keepingAll)
    return keepingAll.takeError();
  saveAllPeak = keepingAll->peakBytes;
  saveAllArena = keepingAll->arenaBytes;
  findReturned(*keepingAll->graph);

  using Kind = planning::BudgetRequest::Kind;
  if (options.budget.kind == Kind::Unlimited) {
    llvm::Expected<planning::Solution> solution =
        planning::solve(problem, options.planner, getSolverOptions());
    if (!solution)
      return solution.takeError();
    return Choice{std::move(solution->plan), std::nullopt};
  }
  bool isSmallest = options.budget.kind == Kind::Smallest;
  int64_t budget = isSmallest ? 0 : options.budget.resolve(saveAllPeak);
  // The planner does not know of lent buffers and would not see that all fits.
  bool mayKeep = options.planner == "auto" && mayKeepAll();
  if (!isSmallest && mayKeep && saveAllArena <= budget)
    return Choice{std::move(saveAll->plan), budget};
  if (llvm::Error error = collectCounts())
    return std::move(error);
  // Other planners mostly find the same plan whatever effort they may spend.
  planning::BudgetSearch search(*this,
                                /*briefFirst=*/options.planner == "auto");
  llvm::Expected<planning::PackedPlan> found =
      isSmallest ? search.planSmallest() : search.planWithin(budget);
  if (!found)
    return found.takeError();
  if (!isSmallest)
    return Choice{std::move(found->plan), budget};
  if (mayKeep && saveAllArena <= found->arenaBytes)
    return Choice{std::move(saveAll->plan), saveAllArena};
  return Choice{std::move(found->plan), found->arenaBytes};
}

llvm::Error GraphPlanner::run() {
  llvm::Expected<Choice> chosen = choose();
  if (!chosen)
    return chosen.takeError();
  choice = std::move(*chosen);
  llvm::Expected<planning::PackedPlan> packed = pack(choice.plan);
  if (!packed)
    return packed.takeError();
  plannedTime = packed->time;
  plannedArena = packed->arenaBytes;
  llvm::Expected<OwningOpRef<GraphOp>> applied = apply(choice.plan);
  if (!applied)
    return applied.takeError();
  planned = std::move(*applied);
  planned->setSaveAllPeak(saveAllPeak);
  if (choice.budget)
    planned->setBudget(*choice.budget);
  if (options.hostBudget)
    planned->setHostBudget(*options.hostBudget);
  if (!options.regionBudgets.empty()) {
    Builder builder(graph.getContext());
    NamedAttrList budgets;
    for (const auto &[name, bytes] : options.regionBudgets)
      budgets.set(name, builder.getI64IntegerAttr(bytes));
    planned->setRegionBudgetsAttr(budgets.getDictionary(graph.getContext()));
  }
  return llvm::Error::success();
}

bool GraphPlanner::isBetterThan(const GraphPlanner &other) const {
  if (options.budget.kind == planning::BudgetRequest::Kind::Smallest)
    return std::tie(plannedArena, plannedTime) <
           std::tie(other.plannedArena, other.plannedTime);
  return std::tie(plannedTime, plannedArena) <
         std::tie(other.plannedTime, other.plannedArena);
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

/// Finds what lies in the caller's buffers in `kept`, the graph with a plan
/// that keeps all, without being returned itself: sums that are added to.
void GraphPlanner::findReturned(GraphOp kept) {
  DenseSet<Value> owners;
  for (Value value : kept.getBody().front().getTerminator()->getOperands())
    owners.insert(GraphLiveness::getOwner(value));
  std::map<int64_t, TaskOp> taskOf;
  for (auto task : kept.getOps<TaskOp>())
    taskOf[task.getId()] = task;
  for (auto [id, value] : llvm::enumerate(graphProblem.values)) {
    auto result = dyn_cast_or_null<OpResult>(value);
    if (!result || problem.values[id].isOutput)
      continue;
    auto task = cast<TaskOp>(result.getOwner());
    Value twin = taskOf.at(task.getId())->getResult(result.getResultNumber());
    if (task.getBackward() && owners.contains(GraphLiveness::getOwner(twin)))
      returned.push_back(id);
  }
}

/// Counting the gradients from when they are written, as if they were in the
/// arena and this larger by all of them, a planner sees how the room in their
/// buffers shrinks, but takes it to be in one piece. Not counting them, it
/// takes that room to be the same at all times. Either can be closer to what
/// packing makes of it. What an earlier call of several keeps is not in buffers
/// of a later one.
llvm::Error GraphPlanner::collectCounts() {
  if (options.lend && !graphProblem.tasks.empty() &&
      graphProblem.tasks.back().getPhase() == 0) {
    Counted &counted = counts.emplace_back(Counted{problem});
    for (auto [value, counts] :
         llvm::zip(graphProblem.values, counted.problem.values))
      if (counts.isOutput && problem.ops[counts.producer].backward)
        counts.bytes = getBufferBytes(cast<RankedTensorType>(value.getType()),
                                      graphProblem.target);
  }
  counts.push_back({problem});
  for (Counted &counted : counts) {
    for (planning::ValueId value : returned)
      counted.problem.values[value].bytes = 0;
    llvm::Expected<planning::Solution> saveAll =
        keepAll(counted.problem, options);
    if (!saveAll)
      return saveAll.takeError();
    counted.lentBytes = std::max<int64_t>(saveAll->peakBytes - saveAllArena, 0);
  }
  return llvm::Error::success();
}

llvm::Expected<planning::Solution>
GraphPlanner::plan(const planning::PlanRequest &request) {
  planning::Problem attempt = counts[request.way].problem;
  attempt.deviceBudget = request.bytes;
  planning::SolverOptions solver = getSolverOptions(request.effortShare);
  solver.start = request.start;
  solver.explainInfeasible = options.planner != "auto";
  return planning::solve(attempt, options.planner, solver);
}

llvm::Expected<planning::FeasibilityCertificate>
GraphPlanner::planSmallest(unsigned way) {
  return planning::smallestFeasibleBudget(counts[way].problem,
                                          getSolverOptions());
}

llvm::Expected<planning::PackedPlan>
GraphPlanner::pack(const planning::Plan &plan) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  llvm::Expected<Outcome> outcome = tryOut(plan);
  if (!outcome)
    return outcome.takeError();
  return planning::PackedPlan{plan, simulation->time, outcome->arenaBytes};
}

/// What lies in the arena where most is live, each buffer in a line.
static std::string describePeak(const GraphLiveness &liveness) {
  GraphLiveness::Peak peak = liveness.peak(MemorySpace::Arena);
  SmallVector<const LiveBuffer *> live;
  TaskOp running;
  for (const LiveBuffer &buffer : liveness.buffers) {
    if (buffer.begin == peak.position)
      if (auto task = dyn_cast<TaskOp>(buffer.owner))
        running = task;
    if (buffer.space == MemorySpace::Arena && buffer.bytes != 0 &&
        buffer.begin <= peak.position && peak.position <= buffer.end)
      live.push_back(&buffer);
  }
  llvm::stable_sort(live, [](const LiveBuffer *a, const LiveBuffer *b) {
    return a->bytes > b->bytes;
  });
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "most is live";
  if (running)
    os << " while '" << describe(running) << "' runs";
  os << ", " << peak.bytes << " bytes:";
  static constexpr size_t maxShown = 10;
  int64_t shown = 0;
  for (const LiveBuffer *buffer : ArrayRef(live).take_front(maxShown)) {
    shown += buffer->bytes;
    auto task = dyn_cast<TaskOp>(buffer->owner);
    os << "\n  " << (buffer->value ? "" : "workspace of ") << "'"
       << (task ? describe(task) : "reloaded value") << "', " << buffer->bytes
       << " bytes";
    if (!task || !buffer->value)
      continue;
    unsigned number = cast<OpResult>(buffer->value).getResultNumber();
    if (std::optional<Policy> policy = task.getResultPolicy(number))
      os << ", " << stringifyPolicy(*policy);
  }
  if (live.size() > maxShown)
    os << "\n  " << live.size() - maxShown << " more, " << peak.bytes - shown
       << " bytes";
  int64_t donated = 0;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.space == MemorySpace::Lent && buffer.begin <= peak.position &&
        peak.position <= buffer.end)
      donated += buffer.bytes;
  if (donated != 0)
    os << "\nbesides, " << donated << " bytes lie in buffers of results";
  return text;
}

llvm::Expected<std::string>
GraphPlanner::explainSmallest(const planning::PackedPlan &smallest) {
  llvm::Expected<Outcome> outcome = tryOut(smallest.plan);
  if (!outcome)
    return outcome.takeError();
  std::string evidence = describePeak(GraphLiveness(*outcome->graph));
  // What a planner proves counts neither packing nor values that lie in other
  // buffers than the arena.
  if (options.lend)
    return evidence;
  llvm::Expected<planning::FeasibilityCertificate> certificate =
      planning::smallestFeasibleBudget(problem, options.solver);
  if (!certificate)
    return certificate.takeError();
  return "no plan can need less than " +
         std::to_string(certificate->lowerBound) + " bytes\n" + evidence;
}

/// A copy of the graph with the plan applied.
llvm::Expected<OwningOpRef<GraphOp>>
GraphPlanner::apply(const planning::Plan &plan) {
  llvm::Expected<planning::Simulation> simulation =
      planning::simulate(problem, plan);
  if (!simulation)
    return simulation.takeError();
  OwningOpRef<GraphOp> planned(graph.clone());
  applyPlan(*planned, GraphProblem(*planned, options.reorder), plan);
  planned->setPlannedPeak(simulation->peakBytes);
  return std::move(planned);
}

/// Does with a plan what follows on planning, on a copy of the graph.
llvm::Expected<Outcome> GraphPlanner::tryOut(const planning::Plan &plan) {
  llvm::Expected<OwningOpRef<GraphOp>> planned = apply(plan);
  if (!planned)
    return planned.takeError();
  if (options.lend)
    assignBuffers(**planned, graph->getParentOfType<ModuleOp>());
  GraphLiveness liveness(**planned);
  return Outcome{std::move(*planned), liveness.peak(MemorySpace::Arena).bytes,
                 ArenaLayout(liveness).arenaBytes};
}

/// A graph to plan has no decisions in it yet.
static llvm::Error checkUnplanned(GraphOp graph) {
  bool decided = graph.isPlanned() || !graph.getOps<OffloadOp>().empty() ||
                 !graph.getOps<ReloadOp>().empty() ||
                 llvm::any_of(graph.getOps<TaskOp>(),
                              [](TaskOp task) { return task.isClone(); });
  if (decided)
    return llvm::createStringError(
        "the graph has transfers or clones, expected one without a plan");
  return llvm::Error::success();
}

llvm::Expected<planning::Problem>
remat::makeProblem(GraphOp graph, const PlanOptions &options) {
  if (llvm::Error error = checkUnplanned(graph))
    return std::move(error);
  RepeatedTasks repeated(graph);
  GraphProblem graphProblem(graph, options.reorder);
  repeated.undo();
  if (llvm::Error error = setLimits(graphProblem, options))
    return std::move(error);
  return std::move(graphProblem.problem);
}

/// The options with fewer and with all of the freedoms that they give (the link
/// to the host, the order of tasks), those with fewer first.
static SmallVector<PlanOptions>
collectVariants(const GraphProblem &graphProblem, const PlanOptions &options) {
  bool mayDoWithoutLink = options.offload && options.linkBandwidth != 0 &&
                          !asksForOffload(graphProblem.problem);
  SmallVector<PlanOptions> variants;
  for (bool link : {false, true}) {
    if (link && !mayDoWithoutLink)
      continue;
    for (bool reorder : {false, true}) {
      if (reorder && !options.reorder)
        continue;
      PlanOptions &variant = variants.emplace_back(options);
      if (mayDoWithoutLink && !link)
        variant.linkBandwidth = 0;
      variant.reorder = reorder;
    }
  }
  return variants;
}

/// Plans with fewer freedoms are plans with more, too, but a search with more
/// may miss them. So each is searched for, and the best is taken.
llvm::Error remat::planGraph(GraphOp &graph, const PlanOptions &options) {
  if (llvm::Error error = checkUnplanned(graph))
    return error;
  std::optional<Clock::time_point> deadline;
  if (options.solver.timeLimitSeconds)
    deadline =
        Clock::now() +
        std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(*options.solver.timeLimitSeconds));
  RepeatedTasks repeated(graph);
  std::unique_ptr<GraphPlanner> best;
  std::optional<int64_t> basis;
  // Of several, the one that comes closest.
  std::unique_ptr<planning::InfeasibleBudgetError> failure;
  for (PlanOptions &variant : collectVariants(GraphProblem(graph), options)) {
    // Percentages mean the same for all.
    if (basis && variant.budget.kind == planning::BudgetRequest::Kind::Percent)
      variant.budget = {planning::BudgetRequest::Kind::Bytes,
                        variant.budget.resolve(*basis)};
    auto planner = std::make_unique<GraphPlanner>(graph, variant, deadline);
    llvm::Error error = planner->run();
    if (!basis)
      basis = planner->getSaveAllPeak();
    if (!error) {
      if (!best || planner->isBetterThan(*best))
        best = std::move(planner);
      if (best->isOver())
        break;
      continue;
    }
    if (llvm::Error other = llvm::handleErrors(
            std::move(error),
            [&](std::unique_ptr<planning::InfeasibleBudgetError> infeasible) {
              if (!failure || infeasible->getSmallestFeasible() <
                                  failure->getSmallestFeasible())
                failure = std::move(infeasible);
            })) {
      repeated.undo();
      return other;
    }
  }
  if (!best) {
    repeated.undo();
    return llvm::Error(std::move(failure));
  }
  if (options.explain)
    if (llvm::Error error = best->explain())
      return error;
  GraphOp replacement = best->take().release();
  if (graph->getBlock())
    graph->getBlock()->getOperations().insert(graph->getIterator(),
                                              replacement);
  graph.erase();
  graph = replacement;
  return llvm::Error::success();
}
