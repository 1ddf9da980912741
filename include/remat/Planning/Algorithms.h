//===- Algorithms.h - the planning algorithms -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm is a free function in a file of its own. All expect a problem
// that passed `check`, and all return plans that passed `verify`. `solve`
// chooses one by name and does both.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_ALGORITHMS_H
#define REMAT_PLANNING_ALGORITHMS_H

#include "remat/Planning/Simulator.h"

#include <atomic>
#include <functional>
#include <memory>

namespace remat::planning {

/// What a search has reached, for those who watch it.
struct Progress {
  /// The algorithm at work.
  llvm::StringRef solver;
  double seconds = 0;
  /// Of the best plan so far.
  int64_t time = 0, peakBytes = 0;
};

struct SolverOptions {
  /// How much a search may do beyond its first plan. It counts work, not time,
  /// so that a plan does not depend on the machine's load: this is about the
  /// number of seconds that the work takes on a core of 3 GHz.
  double effort = 1.0;
  /// If set, the clock stops the search too, and `effort` does not. A solution
  /// that it cut short says so.
  std::optional<double> timeLimitSeconds;
  uint64_t seed = 1;
  /// Threads that `auto` may use when there is a time limit; each searches from
  /// a seed of its own. Without one, the plan is the same for every number.
  unsigned threads = 1;
  /// A plan to start from, such as that of a neighbouring budget, of the same
  /// problem but for the limits. Ignored by algorithms that cannot use one.
  const Plan *start = nullptr;
  /// Called after every improvement, from the thread that called the solver.
  std::function<void(const Progress &)> onProgress;
  /// When it becomes true, a search returns the best plan that it has.
  const std::atomic<bool> *interrupt = nullptr;
};

/// A verified plan and what is known about it.
struct Solution {
  Plan plan;
  /// The algorithm that found it.
  std::string solver;
  int64_t peakBytes = 0;
  int64_t hostPeakBytes = 0;
  /// Summed cost of the ops run.
  int64_t cost = 0;
  /// Length of the schedule, waits for transfers included.
  int64_t time = 0;
  /// Summed cost of all ops, once each.
  int64_t baseCost = 0;
  /// No plan takes less time, of those that the algorithm considers.
  int64_t lowerBound = 0;
  /// What proves `lowerBound`; words.
  std::string proof = "every op runs once";
  double seconds = 0;
  /// When this plan was found, in seconds after the start.
  double secondsToBest = 0;
  /// Whether the clock or an interrupt, not the search itself, ended it.
  bool cutShort = false;

  bool optimal() const { return time == lowerBound; }
  /// (time - lowerBound) / time, 0 for a free plan.
  double gap() const;
  /// The increase of cost over `baseCost` in percent.
  double overheadPercent() const;
  /// The same for `lowerBound`: what no plan goes below.
  double lowerBoundPercent() const;
};

struct FeasibilityCertificate;

/// A budget that no plan was found for. Carries the evidence.
class InfeasibleBudgetError : public llvm::ErrorInfo<InfeasibleBudgetError> {
public:
  static char ID;

  InfeasibleBudgetError(
      int64_t budget, int64_t smallestFeasible, std::string evidence,
      std::shared_ptr<const FeasibilityCertificate> certificate = nullptr)
      : budget(budget), smallestFeasible(smallestFeasible),
        evidence(std::move(evidence)), certificate(std::move(certificate)) {}

  int64_t getBudget() const { return budget; }
  /// The smallest budget for which a plan is known. 0 if not even an unlimited
  /// one has a plan.
  int64_t getSmallestFeasible() const { return smallestFeasible; }
  /// Where the smallest budget binds, what is resident there and which MUSTs
  /// force it; lines of text.
  const std::string &getEvidence() const { return evidence; }
  /// The evidence as data; null where there is only text.
  const FeasibilityCertificate *getCertificate() const {
    return certificate.get();
  }

  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  int64_t budget;
  int64_t smallestFeasible;
  std::string evidence;
  std::shared_ptr<const FeasibilityCertificate> certificate;
};

/// How small the budget can get, and why.
struct FeasibilityCertificate {
  /// A plan with this peak exists: `plan`.
  int64_t smallestFeasible = 0;
  Plan plan;
  /// No plan has a smaller peak: what the most demanding op needs, together
  /// with the values that cannot leave across it, or what bringing its operands
  /// together takes. If it is `smallestFeasible`, that is proven to be the
  /// smallest budget.
  int64_t lowerBound = 0;
  /// The op at which `plan` reaches its peak.
  OpId bindingOp = noOp;
  /// Root values resident there, largest first.
  std::vector<ValueId> residents;
  /// Those of them that a MUST policy, or an op that cannot run again, forces.
  std::vector<ValueId> forced;

  std::string describe(const Problem &problem) const;
};

/// Measures and verifies a plan that came from elsewhere. A plan above a budget
/// is an InfeasibleBudgetError with its peak, any other violation an error that
/// names it. `solver` is what the solution says of its origin.
llvm::Expected<Solution> evaluatePlan(const Problem &problem, Plan plan,
                                      llvm::StringRef solver);

/// Keeps everything that no MUST says otherwise. Cheapest in time, and the
/// reference for peaks. Each MUST_RECOMPUTE value is recomputed right before
/// its first reader of the backward phase, each MUST_CPU_OFFLOAD value comes
/// back there. Fails when the budget is exceeded.
llvm::Expected<Solution> planSaveAll(const Problem &problem,
                                     const SolverOptions &options = {});

/// Saves nothing for the backward phase but what must be: everything else is
/// recomputed when it is needed, depth first. Of three plans, which keep what
/// they recompute to its last use, to its last use in the given order, or not
/// at all, takes the cheapest within the budget, or the one with the lowest
/// peak if there is no budget. A low peak, not always the lowest. Fails when
/// none of them fits.
llvm::Expected<Solution> planRecomputeAll(const Problem &problem,
                                          const SolverOptions &options = {});

/// Splits the forward ops into about sqrt(n) segments of equal bytes, keeps
/// what crosses a border, and recomputes the rest segment by segment when the
/// backward phase gets there [Chen, Xu, Zhang, Guestrin: Training Deep Nets
/// with Sublinear Memory Cost, 2016, section 4]. Takes the cheapest number of
/// segments within the budget, or the one with the lowest peak if there is no
/// budget. Heuristic; fails when none of them fits.
llvm::Expected<Solution> planSqrt(const Problem &problem,
                                  const SolverOptions &options = {});

/// Repairs the save-all plan until it fits: at the worst step, the idle value
/// with the least recomputation (or transfer) cost per byte of violation is
/// dropped until its next use. Then takes back what turned out unnecessary,
/// and searches around the plan while time lasts. Works on every graph; a
/// heuristic; fails when no repair is left.
llvm::Expected<Solution> planGreedy(const Problem &problem,
                                    const SolverOptions &options = {});

/// Large-neighbourhood search over evictions: values that are gone between two
/// of their readers, and recomputed or reloaded for the second. First plans in
/// milliseconds; then it improves the best plan until the effort is spent, the
/// clock or the caller stops it, or nothing has helped for long. Recomputes
/// anything anywhere, any number of times; reorders first runs if the problem's
/// order is free. Heuristic; fails when no plan was found.
llvm::Expected<Solution> planSearch(const Problem &problem,
                                    const SolverOptions &options = {});

/// Splits the ops where what comes later reads only one value of what came
/// before, an articulation point of the graph, and no longer when memory gets
/// scarce. Arguments and outputs may pass by, and take their room. Plans each
/// part that exceeds the budget with `planAuto`, for its part of the effort. Of
/// all plans only those that recompute nothing across a cut, but these from
/// searches that are much shorter. Fails without a cut between two parts that
/// exceed the budget, when something but recomputation may save memory, and
/// when a part does not fit. Decomposition as in Kusumoto et al. 2019.
llvm::Expected<Solution> planCutPoints(const Problem &problem,
                                       const SolverOptions &options = {});

/// Solves a few of many equal layers for all. Finds the layers of the graph, as
/// they repeat in the forward and in the backward phase; leaves out all but a
/// few, with their part of the budget; plans what is left with `planSearch`;
/// and lets each layer do what one of those few does. What then does not fit is
/// repaired, and what is not needed taken back. The search takes as long for a
/// thousand layers as for ten. Heuristic; fails when the graph has no equal
/// layers, when something but recomputation may save memory, and when no plan
/// was found. Follows from the symmetry of the problem; Chen et al. 2016 use it
/// for segments.
llvm::Expected<Solution> planLayers(const Problem &problem,
                                    const SolverOptions &options = {});

/// The integer program of Checkmate [Jain et al., MLSys 2020, section 4] on
/// HiGHS, started from `options.start` or a plan of `planSearch`, and from
/// `lowerBound`, which may prove that plan optimal among all. When the program
/// finishes in time it is optimal among plans whose ops run for the first time
/// in the given order and which, between two first runs, recompute each op at
/// most once and in the given order; otherwise the best plan and the bound
/// proven so far. Fails beyond `milpOpLimit` ops, on problems that must
/// offload, and in builds without HiGHS.
llvm::Expected<Solution> planMilp(const Problem &problem,
                                  const SolverOptions &options = {});
inline constexpr size_t milpOpLimit = 150;

/// Splits the forward ops into segments of equally many ops, keeps what crosses
/// a border, and recomputes a segment when the backward phase gets there, like
/// PyTorch's torch.utils.checkpoint.checkpoint_sequential. Tries many numbers
/// of segments and takes the best as `planSqrt` does. Heuristic; fails when
/// none of them fits.
llvm::Expected<Solution> planSegments(const Problem &problem,
                                      const SolverOptions &options = {});

/// Ends a segment of the forward phase where its values exceed a number of
/// bytes [Chen et al. 2016, algorithm 3]: anywhere, or only where a single
/// value crosses. Sweeps that number and takes the best as `planSqrt` does.
/// Heuristic; fails when no number fits.
llvm::Expected<Solution> planChenGreedy(const Problem &problem,
                                        const SolverOptions &options = {});

/// Recomputes each of a chain's values from the checkpoint before it, with
/// checkpoints where they are optimal for ops of equal cost and values of equal
/// size [Griewank and Walther: Algorithm 799: Revolve, 2000], and as many of
/// them as fit the budget. Linear time per try; a heuristic on chains of
/// unequal ops. Fails on what is not a chain, and when not even one checkpoint
/// fits.
llvm::Expected<Solution> planRevolve(const Problem &problem,
                                     const SolverOptions &options = {});

/// Saves the values of the cheapest cut between what the forward phase computes
/// and what the backward phase reads, PyTorch's min-cut partitioner, with a
/// price per byte that is swept until the plan fits. Each set is optimal for
/// its price, if all that is saved is saved at the border; the plan is a
/// heuristic. Fails when no price fits.
llvm::Expected<Solution> planMinCut(const Problem &problem,
                                    const SolverOptions &options = {});

/// Saves the forward values whose ops cost most in all within a number of
/// bytes, PyTorch's activation memory budget, and searches for the largest
/// number whose plan fits. Heuristic: a value's price is its op's cost,
/// whatever else the op needs. Fails when no number fits.
llvm::Expected<Solution> planKnapsack(const Problem &problem,
                                      const SolverOptions &options = {});

/// Dynamic programming over chains of lower sets of the forward phase [Kusumoto
/// et al.: A Graph Theoretic Framework of Recomputation Algorithms for
/// Memory-Efficient Backpropagation, NeurIPS 2019]: over all lower sets if they
/// are few, otherwise over those generated by one op. Heuristic: the paper's
/// memory bound guides it and the simulator chooses. Fails beyond
/// `lowerSetOpLimit` forward ops and when no chain fits.
llvm::Expected<Solution> planLowerSets(const Problem &problem,
                                       const SolverOptions &options = {});
inline constexpr size_t lowerSetOpLimit = 2048;

/// Rounds the linear relaxation of Checkmate's program [Jain et al. 2020,
/// section 5.1]. Heuristic; fails where `planMilp` refuses, and when no
/// rounding fits.
llvm::Expected<Solution> planLpRounding(const Problem &problem,
                                        const SolverOptions &options = {});

/// Dynamic programming over a chain at full memory resolution [Griewank and
/// Walther: Revolve, 2000; Beaumont et al.: Optimal checkpointing for
/// heterogeneous chains, 2019; with checkpoints that stay for the sweep's own
/// reads]. Optimal among plans that keep the given order and, of what they have
/// kept, keep each value until its level of the sweep; see ChainDp.cpp. When
/// the work or memory that this takes runs out, a plan from a table with fewer
/// points per segment. Fails on what is not a chain or has more than
/// `chainDpLimit` forward ops, and when no such plan fits.
llvm::Expected<Solution> planChainDp(const Problem &problem,
                                     const SolverOptions &options = {});
inline constexpr size_t chainDpLimit = 512;

/// Best-first search over all plans of a small problem. The plan of least cost:
/// any op any number of times in any order that the problem allows, with
/// absorption, packing and offloading. It takes the least time too, unless it
/// waits for transfers; its cost is a bound in any case. Exponential; fails
/// beyond `exactOpLimit` ops, when the effort runs out, and, proven, when no
/// plan fits.
llvm::Expected<Solution> planExact(const Problem &problem,
                                   const SolverOptions &options = {});
inline constexpr size_t exactOpLimit = 12;

/// Save-all if it fits; otherwise greedy, and the integer program on what is
/// tiny.
llvm::Expected<Solution> planAuto(const Problem &problem,
                                  const SolverOptions &options = {});

/// The smallest peak that the heuristics reach, with evidence. The problem's
/// own device budget is ignored. Fails when no plan exists at any budget.
llvm::Expected<FeasibilityCertificate>
smallestFeasibleBudget(const Problem &problem,
                       const SolverOptions &options = {});

/// One entry of the registry.
struct SolverInfo {
  llvm::StringRef name;
  llvm::StringRef summary;
  llvm::Expected<Solution> (*function)(const Problem &, const SolverOptions &);
};

/// All algorithms, by the names that tools and pass options accept.
llvm::ArrayRef<SolverInfo> getSolvers();

/// Checks the problem, runs the algorithm called `solver`, verifies its plan.
/// A budget below what the algorithm reaches is an InfeasibleBudgetError; an
/// unknown name is an error that lists the choices.
llvm::Expected<Solution> solve(const Problem &problem, llvm::StringRef solver,
                               const SolverOptions &options = {});

} // namespace remat::planning

#endif // REMAT_PLANNING_ALGORITHMS_H
