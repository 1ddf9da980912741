//===- LocalSearch.h - large-neighbourhood search over evictions *- C++ -* ===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_PLANNING_LOCALSEARCH_H
#define REMAT_LIB_PLANNING_LOCALSEARCH_H

#include "Evictor.h"
#include "ListSchedule.h"
#include "Neighbourhoods.h"
#include "Reorderer.h"
#include "SearchTuning.h"
#include "remat/Planning/Simulator.h"

namespace remat::planning {

/// Large-neighbourhood search with simulated annealing. First plans come from
/// `Evictor::fit` with a few rankings. Then each round takes a few evictions
/// back, fits again with some noise and prunes. It keeps the outcome if that is
/// better, or at most a little worse, which depends on the temperature.
class LocalSearch {
public:
  /// `graph` and `options` outlive the search. It ends when a plan takes no
  /// more time than `bound`.
  LocalSearch(const Graph &graph, const SolverOptions &options,
              const Stopwatch &watch, int64_t bound);

  bool hasPlan() const { return bestTime < noTime; }
  /// Whether the best plan is proven optimal, or no effort is left.
  bool done() { return isOptimal() || work.exhausted(); }
  /// Whether there is a plan that is proven to be good enough: the best, but
  /// for the gap that the options allow.
  bool isOptimal() const {
    return hasPlan() &&
           double(bestTime - bound) <= options.gap * double(bestTime);
  }
  /// Whether the search ended where even one without a plan has to.
  bool isOverdrawn() { return work.overdrawn() || lowPeakWork.overdrawn(); }
  /// The share of the effort, or of the time, that is done.
  double getSpent() const { return work.getSpent(); }
  bool mayReorder() const { return graph.mayReorder(); }
  int64_t time() const { return bestTime; }
  /// When the best plan was found.
  double secondsOfBest() const { return secondsToBest; }
  /// A bound that proves the best plan good enough.
  int64_t provenTime() const {
    return bestTime - int64_t(options.gap * double(bestTime));
  }
  /// Only valid if there is one.
  const Plan &bestPlan() const { return best; }
  int64_t lowerBound() const { return bound; }
  /// No plan takes less time than `time`; `method` proved it.
  void raiseBound(int64_t time, llvm::StringRef method);

  /// An order with a lower peak than that of the given one; no ops if there is
  /// none, or if the order is not free.
  const LowOrder &findLowOrder();
  /// Adds a plan of another algorithm, if it is within the budget.
  void offer(const Plan &plan);
  /// Makes a plan fit, and adds it.
  void adapt(const Plan &plan);
  /// Plans without a search, for a share of the effort or the time.
  void findFirstPlans(double share = 1);
  /// A plan with a peak of `lowest`, or else as low as it gets, whatever it
  /// costs. Searches up to a share of the effort or the time, and anneals runs
  /// up to another. What is in `made` is not made again, and what is made
  /// without a search is put there.
  Plan findLowPeak(int64_t lowest, double share, double annealingShare,
                   LowPeakPlans *made = nullptr);
  /// Anneals the runs of the best plan for its cost, up to a share of the
  /// effort or the time that is counted apart.
  void lowerCost(double share);
  /// The effort counts from here on: what was spent so far is forgiven.
  void restartEffort() { work.restart(); }
  /// Adds plans of other kinds, for a share of the effort or the time.
  void diversify(double share);
  /// Improves the best plan, if there is one, up to a share of the effort or
  /// the time, or until `patience` epochs in a row found nothing.
  void improve(double share,
               size_t patience = LocalSearchTuning::usualPatience);
  /// Goes on with first runs in any order, if that is allowed.
  void improveInFreeOrder(double share);

  /// The best plan as a solution; an InfeasibleBudgetError if there is none.
  llvm::Expected<Solution> takeSolution(llvm::StringRef solver);

private:
  static constexpr int64_t noTime = std::numeric_limits<int64_t>::max();

  bool fit(const EvictionRanking &ranking);
  bool startAgain(double share);
  Plan descendFurther(int64_t lowest, double share);
  bool mayAnneal() const;
  Plan findLowPeakOfOrders(int64_t lowest, double share, LowPeakPlans *made);
  Plan findLowPeakFrom(int64_t lowest, double share,
                       std::optional<LowPeakPlans::Made> *made);
  bool descend(size_t stages, size_t rounds, double share);
  bool construct(const EvictionRanking &ranking);
  void drawTransferWeight();
  void anneal(size_t rounds, double heat);
  bool round(int64_t current, double allowance);
  void reorderStart();
  void repeatFreeSources();
  void advanceReloads();
  int64_t objective();
  bool isLegal(const Plan &plan);
  void record();
  void record(Plan plan, int64_t time, int64_t peak);
  void reportProgress();

  size_t below(size_t limit) { return generator() % limit; }

  const Graph &graph;
  const SolverOptions &options;
  const Stopwatch &watch;
  int64_t bound;
  std::string proof;
  /// The budget that the search works with now, and the one that plans have to
  /// meet.
  int64_t budget, goal;
  int64_t hostBudget;
  WorkMeter work;
  /// Of plans that are kept for searches with another effort.
  WorkMeter lowPeakWork;
  Timeline timeline;
  Evictor evictor;
  std::mt19937_64 &generator;
  Neighbourhoods neighbourhoods;
  Reorderer reorderer;
  /// The weight of transfers in this epoch; unset if every round draws one.
  std::optional<double> transferWeight;
  /// Whether the order may be changed now.
  bool reordering = false;

  /// The plan to start from: it keeps every value unless a MUST policy forbids
  /// it. In a free order, its ops may be reordered.
  Plan start;
  std::optional<LowOrder> lowOrder;
  Plan best;
  int64_t bestTime = noTime, bestPeak = 0;
  /// The best time when epochs last ended for finding nothing.
  std::optional<int64_t> givenUp;
  double firstPlanSeconds = 0, secondsToBest = 0;
  Simulation simulation;
};

} // namespace remat::planning

#endif // REMAT_LIB_PLANNING_LOCALSEARCH_H
