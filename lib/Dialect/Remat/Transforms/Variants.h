//===- Variants.h - plans with more and fewer freedoms ----------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans with fewer freedoms (no link, no packed forms, the order as it is) are
// plans with more, too, but a search with more may miss them. So there is a
// planner for each, and the best of their plans is taken.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_VARIANTS_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_VARIANTS_H

#include "GraphPlanner.h"

namespace remat {

/// A graph to plan has no decisions in it yet.
llvm::Error checkUnplanned(GraphOp graph);

/// Whether `a` is faster than `b` or, with `isSmallest`, takes fewer bytes.
bool isBetter(const GraphPlan &a, const GraphPlan &b, bool isSmallest);

/// The fastest plan with an arena of at most `budget` bytes.
const GraphPlan *findBest(llvm::ArrayRef<GraphPlan> pool, int64_t budget);

/// Takes an error that nothing fits out of `error`, and keeps it in `closest`
/// if it comes closer to a plan than what is there. Returns all other errors.
llvm::Error
keepClosest(llvm::Error error,
            std::unique_ptr<planning::InfeasibleBudgetError> &closest);

/// Of several errors, keeps the first in `first`.
void keepFirst(llvm::Error error, llvm::Error &first);

/// A plan, and the planner that can apply it.
struct Chosen {
  GraphPlan plan;
  GraphPlanner *planner = nullptr;
};

/// The planners of all variants, on a graph with what regions ask for. Whether
/// a planner is asked depends only on plans of those with fewer freedoms, so
/// that one more freedom never makes a plan worse.
class Variants {
public:
  Variants(GraphOp graph, const PlanOptions &options);
  ~Variants() { repeated.undo(); }

  /// To be called before all that follows.
  llvm::Error prepare();
  /// Whether options.stored is a plan of this graph.
  bool isStoredPlan() const;
  /// The best plan of all variants. Of several errors that nothing fits, the
  /// one that comes closest.
  llvm::Expected<Chosen> plan(planning::BudgetRequest budget,
                              std::optional<double> seconds);
  /// The plan of options.stored.
  llvm::Expected<Chosen> evaluateStored();
  llvm::Expected<planning::Frontier>
  computeFrontier(unsigned points, std::vector<GraphPlan> *plans);
  std::optional<double> getSecondsLeft() const;

private:
  bool isInterrupted() const {
    return options.solver.interrupt && *options.solver.interrupt;
  }

  /// What a planner may do beside recomputation.
  struct Freedoms {
    bool link = false, reorder = false, pack = false, absorb = false;

    bool contain(const Freedoms &other) const {
      return link >= other.link && reorder >= other.reorder &&
             pack >= other.pack && absorb >= other.absorb;
    }
  };
  struct Variant {
    Freedoms freedoms;
    /// Whether it cuts the graph into stages, which is tried where the others'
    /// plans take long.
    bool byStages = false;
    std::unique_ptr<GraphPlanner> planner;
  };
  /// The plan of a variant.
  struct Found {
    const Variant *variant;
    GraphPlan plan;
  };

  void add(const PlanOptions &planOptions, Freedoms freedoms,
           bool byStages = false);
  void addStages(bool mayPack);
  llvm::Expected<Chosen> search(planning::BudgetRequest budget,
                                std::optional<double> seconds);
  llvm::Expected<Chosen> takeSettled(int64_t bytes, llvm::Error none);
  llvm::Expected<llvm::SmallPtrSet<const Variant *, 8>> findSmallest();
  GraphPlanner &front() const { return *variants.front().planner; }
  static bool isWorthwhile(const Variant &variant, llvm::ArrayRef<Found> found);

  GraphOp graph;
  const PlanOptions &options;
  std::chrono::steady_clock::time_point start =
      std::chrono::steady_clock::now();
  RepeatedTasks repeated;
  /// Of all planners.
  planning::PackingCache cache;
  /// Those with fewer freedoms first, and those by stages last.
  std::vector<Variant> variants;
};

/// Finds the plan with all loops as they are, and applies it if `planned` is
/// there.
llvm::Expected<GraphPlan> findPlanOf(GraphOp graph, const PlanOptions &options,
                                     PlannedGraph *planned);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_VARIANTS_H
