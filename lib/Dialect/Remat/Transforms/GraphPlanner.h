//===- GraphPlanner.h - the search for a plan of a graph --------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Finds plans of one graph for one choice of freedoms (order, link). What it
// learns of the graph serves all budgets that it is asked for.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNER_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNER_H

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Planning/BudgetSearch.h"

#include <chrono>
#include <map>

namespace remat {

/// Whether a policy wants any value in host memory.
bool asksForOffload(const planning::Problem &problem);

/// A plan that keeps all values and has no limits but the order.
llvm::Expected<planning::Solution> keepAllValues(planning::Problem problem,
                                                 const PlanOptions &options);

/// The limits of the options, the budget aside. Fails on an unknown name.
llvm::Error setLimits(GraphProblem &graphProblem, const PlanOptions &options);

/// Makes a problem of a graph, has it solved, and applies the plans. Planners
/// of the same graph may be at work at the same time, as long as nobody changes
/// its module.
class GraphPlanner {
public:
  /// Without `mayPack`, values have no packed forms, and without `mayAbsorb` no
  /// task absorbs others, whatever the graph offers.
  /// `cache` outlives the planner.
  GraphPlanner(GraphOp graph, const PlanOptions &options,
               planning::PackingCache &cache, bool mayPack = true,
               bool mayAbsorb = true);
  ~GraphPlanner();

  /// Lets searches end after so many seconds from now. What they do up to there
  /// does not depend on the limit: a longer one finds nothing worse, and the
  /// first plan as early.
  void setTimeLimit(std::optional<double> seconds);

  /// Tries out what keeps all values: percentages refer to its peak. To be
  /// called before all that follows.
  llvm::Error prepare();
  int64_t getSaveAllPeak() const { return saveAllPeak; }
  int64_t getSaveAllArena() const { return saveAllArena; }
  /// What percentages of a budget refer to.
  int64_t getSaveAllBytes() const;
  /// The plan that keeps all values; unset if the limits may forbid it.
  llvm::Expected<std::optional<GraphPlan>> planSaveAll();
  /// About the arena of the smallest plan: another search for a plan in as
  /// little may find one in a little less. None where only that search knows.
  llvm::Expected<std::optional<int64_t>> estimateSmallest();
  /// The best plan that is found for a budget.
  llvm::Expected<GraphPlan> plan(const planning::BudgetRequest &budget);
  /// What is known of `plan`, which may come from anywhere: one that is illegal
  /// is an error. Packs for as much work as what compiles the plan.
  llvm::Expected<GraphPlan> evaluate(planning::Plan plan,
                                     std::optional<int64_t> budget,
                                     llvm::StringRef planner) {
    return evaluate(std::move(plan), budget, planner, allPackingWork);
  }
  /// Lets `plan`, which may have been packed for a part of the effort, be
  /// packed for as much work as what compiles it.
  llvm::Error settle(GraphPlan &plan);
  /// What is live at the peak of a plan that has a larger arena than wanted.
  llvm::Expected<std::string> explain(const GraphPlan &plan) {
    return explainSmallest(plan.solution.plan, isSmallestCutShort,
                           getSolverOptions(/*share=*/1));
  }
  const GraphProblem &getProblem() const { return graphProblem; }

  /// Whether there is no time for another plan.
  bool isOver() const;
  /// A copy of the graph with the plan applied, detached from any module.
  llvm::Expected<mlir::OwningOpRef<GraphOp>> apply(const GraphPlan &plan);
  llvm::Expected<std::vector<TaskDecision>>
  collectDecisions(const GraphPlan &plan) {
    return remat::collectDecisions(graph, graphProblem, plan.solution.plan);
  }

private:
  using Clock = std::chrono::steady_clock;
  static constexpr int64_t allPackingWork = planning::PackingOptions::usualWork;

  /// What becomes of a plan when buffers are assigned and placed.
  struct Outcome {
    /// A planned copy of the graph, detached from any module.
    mlir::OwningOpRef<GraphOp> graph;
    /// What is live in the arena, and what that can be packed into.
    int64_t peakBytes = 0, arenaBytes = 0;
  };

  /// Planners bound what values occupy together, wherever that is. This is one
  /// way to count so that it says something of the arena.
  struct Counted {
    planning::Problem problem;
    /// How much less the arena takes than is counted, without
    /// rematerialization.
    int64_t reusedBytes = 0;
    /// What searches for the smallest peak have in common.
    planning::LowPeakPlans lowPeaks = {};
  };

  /// What no plan is faster than.
  struct Bound {
    int64_t time = 0;
    /// What proves it.
    std::string proof;

    void raise(int64_t other, llvm::StringRef method);
  };

  /// The best plan so far, and when it was found, in seconds.
  struct Best {
    int64_t arena = std::numeric_limits<int64_t>::max();
    int64_t time = std::numeric_limits<int64_t>::max();
    double seconds = 0;

    /// Whether a plan within `wanted`, or the smallest, is better.
    bool isWorseThan(int64_t otherArena, int64_t otherTime,
                     std::optional<int64_t> wanted) const;
  };

  class EffortSearch;

  llvm::Expected<std::string>
  explainSmallest(const planning::Plan &plan, bool isCutShort,
                  const planning::SolverOptions &solver);
  void begin();
  double getSeconds() const;
  double getSecondsLeft() const;
  planning::SolverOptions getSolverOptions(double share) const;
  bool mayKeepAll() const;
  void findReturned(GraphOp kept);
  bool countInPlaceOnce(planning::Problem &counted);
  llvm::Error collectCounts();
  int64_t getMostElsewhere() const;
  void findBound(int64_t arena);
  llvm::Expected<GraphPlan> planUnlimited();
  llvm::Expected<GraphPlan> planBudget(bool isSmallest, int64_t bytes);
  llvm::Error settleDonations(GraphOp planned);
  using Found = llvm::Expected<planning::PackedPlan>;
  int64_t getPackingWork(double scale) const;
  llvm::Expected<GraphPlan> evaluate(planning::Plan plan,
                                     std::optional<int64_t> budget,
                                     llvm::StringRef planner,
                                     int64_t packingWork);
  llvm::ArrayRef<double> getEffortScales() const;
  EffortSearch &getSearch(double scale);
  llvm::Error
  searchInParallel(llvm::function_ref<void(size_t, EffortSearch &)> ask);
  Found searchSoon(std::optional<int64_t> budget, double scale);
  llvm::Expected<int64_t> findSmallestArena();
  Found searchByEffort(std::optional<int64_t> budget);
  Found searchUntilDeadline(std::optional<int64_t> budget);
  planning::PackedPlan improve(planning::PackedPlan best, int64_t budget);
  llvm::Expected<mlir::OwningOpRef<GraphOp>> apply(const planning::Plan &plan);
  llvm::Expected<Outcome> tryOut(const planning::Plan &plan,
                                 int64_t packingWork);

  /// A plan that is packed, and its peak: in the arena, and as planners count.
  struct Released : planning::PackedPlan {
    int64_t peakBytes = 0, plannedPeak = 0;
  };
  llvm::Expected<Released> tryOutTimed(planning::Plan plan,
                                       int64_t packingWork);
  llvm::Expected<Released> release(const planning::Plan &plan, int64_t limit,
                                   int64_t packingWork);

  GraphOp graph;
  PlanOptions options;
  planning::PackingCache &cache;
  Clock::time_point start = Clock::now();
  std::optional<Clock::time_point> deadline;
  GraphProblem graphProblem;
  planning::Problem &problem;
  planning::Plan saveAll;
  int64_t saveAllPeak = 0, saveAllArena = 0;
  /// Values that are returned once others have been written in their place.
  llvm::SmallVector<planning::ValueId> returned;
  /// Those that are worth trying, in order.
  llvm::SmallVector<Counted, 2> counts;
  /// Whether the first of them counts what is returned.
  bool countsReturned = false;
  /// For each part of the effort that plans are looked for with; made for the
  /// first budget.
  std::map<double, std::unique_ptr<EffortSearch>> searches;

  /// What is known of the plan that is looked for now: the budget, unless that
  /// is to be the smallest, and the best of all searches that are over.
  std::optional<int64_t> wanted;
  Best best;
  Bound bound;
  bool cutShort = false;
  /// Whether effort or the clock ended the last search for the smallest budget.
  bool isSmallestCutShort = false;
};

/// A plan that is applied to a copy of its graph, detached from any module, and
/// what there is to say of it if it is taken.
struct PlannedGraph {
  mlir::OwningOpRef<GraphOp> graph;
  std::vector<TaskDecision> decisions;
};

/// `planGraph` for a graph that may not be taken in the end: it is left to the
/// caller to say what was decided.
llvm::Error planGraph(GraphOp &graph, const PlanOptions &options,
                      GraphPlan *found, std::vector<TaskDecision> &decisions);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNER_H
