//===- Algorithms.h - the planning algorithms -------------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each algorithm is a free function in a file of its own. It expects a problem
// that passed `check` and returns a plan that passed `verify`. `solve` looks an
// algorithm up by name, checks the problem, runs the algorithm and verifies the
// plan once more, with all that the algorithm says about it. `registerSolver`
// adds algorithms from outside of this library.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_PLANNING_ALGORITHMS_H
#define REMAT_PLANNING_ALGORITHMS_H

#include "remat/Planning/Simulator.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace remat::planning {

/// What a search has reached so far, for a caller that watches it.
struct Progress {
  /// The algorithm at work.
  llvm::StringRef solver;
  /// Seconds since the search began.
  double seconds = 0;
  /// Length and peak of the best plan so far.
  int64_t time = 0, peakBytes = 0;
  /// What no plan is known to be faster than, and the cost of all ops once.
  int64_t lowerBound = 0, baseCost = 0;
};

/// How an algorithm searches, and when it ends.
struct SolverOptions {
  /// How much work a search may do beyond its first plan. Work is counted, not
  /// timed, so that a plan does not depend on the machine's load. One unit
  /// takes about a second on a core of 3 GHz.
  double effort = 1.0;
  /// How much more a search may do while it has no plan, in the same unit.
  /// First plans and smallest budgets of graphs that are hard to fit need it
  /// even where `effort` is close to 0.
  double overdraft = 20.0;
  /// If set, the clock ends the search, and `effort` does not. A solution that
  /// the clock cut short says so.
  std::optional<double> timeLimitSeconds;
  /// If set, a search is over at this time, whatever else ends it: it returns
  /// the best plan that it has, which is then cut short. Up to there it does
  /// what it would do without.
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// A search ends when the part of a plan's time that a better plan may save
  /// (`Solution::gap`) is proven to be at most this.
  double gap = 0;
  /// Seed of all random choices.
  uint64_t seed = 1;
  /// Threads that `auto` may use when there is a time limit; each searches from
  /// a seed of its own. Without a time limit, the plan is the same for every
  /// number of threads.
  unsigned threads = 1;
  /// A plan to start from, such as the one for a neighbouring budget. It
  /// belongs to the same problem, which may have other limits. Algorithms that
  /// cannot use a plan ignore it.
  const Plan *start = nullptr;
  /// Called after every improvement of the plan or the bound, from the thread
  /// that called the solver.
  std::function<void(const Progress &)> onProgress;
  /// When it becomes true, a search returns the best plan that it has.
  const std::atomic<bool> *interrupt = nullptr;
  /// Whether sequences of runs are annealed where nothing else gets the peak
  /// low enough. Such plans pack worse than others of the same peak.
  bool anneal = true;
  /// Whether plans that nothing else got the peak low enough for are annealed
  /// for their cost. What that fills up to the budget packs worse, too.
  bool annealCost = true;
  /// Whether a plan that most of the effort was spent to find at all is worth
  /// all of it once more. Such plans pack worse, too.
  bool improveAgain = false;
  /// Whether anything is to be proven of a plan that is there: otherwise bounds
  /// are only looked for where they may show that there is none.
  bool provesBounds = true;
  /// Whether an InfeasibleBudgetError says which budget is feasible, and why.
  /// That takes a search of its own.
  bool explainInfeasible = true;

  /// Whether the caller says stop, or the deadline is over.
  bool isInterrupted() const {
    return (interrupt && *interrupt) ||
           (deadline && std::chrono::steady_clock::now() >= *deadline);
  }
  /// Seconds up to the deadline, which may be over; infinity without one.
  double getSecondsLeft() const;
};

/// A verified plan and what is known about it.
struct Solution {
  Plan plan;
  /// The algorithm that found it.
  std::string solver;
  int64_t peakBytes = 0;
  int64_t hostPeakBytes = 0;
  /// Summed cost of all that the plan runs.
  int64_t cost = 0;
  /// Length of the schedule, waits for transfers included.
  int64_t time = 0;
  /// Summed cost of all ops, once each.
  int64_t baseCost = 0;
  /// No plan that the algorithm considers takes less time than this.
  int64_t lowerBound = 0;
  /// What proves `lowerBound`, in words.
  std::string proof = "every op runs once";
  double seconds = 0;
  /// When this plan was found, in seconds after the start.
  double secondsToBest = 0;
  /// Whether the clock or an interrupt, not the search itself, ended it.
  bool cutShort = false;

  bool optimal() const { return time == lowerBound; }
  /// (time - lowerBound) / time; 0 for a plan that takes no time.
  double gap() const;
  /// The increase of `time` over `baseCost` in percent.
  double overheadPercent() const;
  /// The increase of `cost` over `baseCost` in percent: without the waits.
  double recomputePercent() const;
  /// The increase of `lowerBound` over `baseCost` in percent.
  double lowerBoundPercent() const;
};

struct FeasibilityCertificate;

/// The error that no plan was found within a budget. It carries the evidence.
class InfeasibleBudgetError : public llvm::ErrorInfo<InfeasibleBudgetError> {
public:
  static char ID;

  InfeasibleBudgetError(
      int64_t budget, int64_t smallestFeasible, std::string evidence,
      std::shared_ptr<const FeasibilityCertificate> certificate = nullptr)
      : budget(budget), smallestFeasible(smallestFeasible),
        evidence(std::move(evidence)), certificate(std::move(certificate)) {}

  int64_t getBudget() const { return budget; }
  /// The smallest budget for which a plan is known; 0 if no plan is known for
  /// any budget.
  int64_t getSmallestFeasible() const { return smallestFeasible; }
  /// At which op the smallest budget binds, what is resident there and which
  /// MUST policies force it, as lines of text.
  const std::string &getEvidence() const { return evidence; }
  /// The same as data; null where there is only text. An algorithm may say with
  /// it how far it got, as a plan and nothing else; `solve` does the rest.
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
  /// The peak of `plan`, so that a plan for this budget exists.
  int64_t smallestFeasible = 0;
  Plan plan;
  /// The smallest arena that is known, where the budget bounds that. Another
  /// plan may have it.
  std::optional<int64_t> arenaBytes;
  /// No plan has a smaller peak than this. It is what the most demanding op
  /// needs together with the values that cannot leave meanwhile, or what
  /// bringing its operands together takes. Where it equals `smallestFeasible`,
  /// that is proven to be the smallest budget.
  int64_t lowerBound = 0;
  /// The op at which `plan` reaches its peak.
  OpId bindingOp = noOp;
  /// Root values that are resident while it runs, largest first.
  std::vector<ValueId> residents;
  /// Those residents that have to be there, because of a MUST policy or because
  /// their op cannot run again.
  std::vector<ValueId> forced;
  /// Whether effort, the clock or an interrupt, not the search itself, ended
  /// the search for a smaller budget.
  bool cutShort = false;

  /// The certificate as lines of text.
  std::string describe(const Problem &problem) const;
};

/// Measures and verifies a plan, and makes a solution of it. A plan whose peak
/// exceeds the device budget is an InfeasibleBudgetError with that peak; any
/// other violation is an error that names it. `solver` says where the plan
/// comes from. Algorithms outside of this library end with a call of this.
llvm::Expected<Solution> evaluatePlan(const Problem &problem, Plan plan,
                                      llvm::StringRef solver);

/// Keeps every value unless a MUST policy forbids it. No plan takes less time,
/// and percentages of a budget refer to the peak of this one. Each
/// MUST_RECOMPUTE value is recomputed right before its first reader of the
/// backward phase, and each MUST_CPU_OFFLOAD value comes back there. Fails when
/// the peak exceeds the budget.
llvm::Expected<Solution> planSaveAll(const Problem &problem,
                                     const SolverOptions &options = {});

/// Saves only what must be saved for the backward phase and recomputes the rest
/// when it is needed, depth first. Makes three plans: they keep what they
/// recompute to its last use of any kind, to its last use in the given order,
/// or not at all. Takes the cheapest within the budget, or the one with the
/// lowest peak if there is no budget. The peak is low, but not always the
/// lowest. Fails when none of the three fits.
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

/// Repairs the save-all plan until it fits. At the step with the highest peak,
/// drops the idle value whose recomputation or transfer costs least per byte of
/// violation until its next use. Then takes back evictions that turned out
/// unnecessary. Tries several ways to rank the candidates and takes the
/// cheapest plan. Works on every graph. Heuristic; fails when no candidate is
/// left.
llvm::Expected<Solution> planGreedy(const Problem &problem,
                                    const SolverOptions &options = {});

/// Large-neighbourhood search over evictions. An evicted value is gone between
/// two of its readers, and is recomputed or reloaded for the second one. First
/// plans take milliseconds. The best one is then improved until the effort is
/// spent, the clock or the caller ends the search, or many epochs in a row
/// found nothing better. Anything may be recomputed anywhere, any number of
/// times; first runs are reordered if the problem's order is free. Heuristic;
/// fails when no plan was found.
llvm::Expected<Solution> planSearch(const Problem &problem,
                                    const SolverOptions &options = {});

/// Splits the ops at articulation points of the graph: places where later ops
/// read only one value of the earlier ones, and none where memory is scarce
/// again. Arguments and outputs may cross such a place and take their room.
/// Plans each part that exceeds the budget with `planAuto`, for its part of the
/// effort. Plans that recompute something across a place are not considered; in
/// return the searches are much shorter. Fails when fewer than two parts exceed
/// the budget, when something other than recomputation may save memory, and
/// when a part does not fit. Decomposition as in Kusumoto et al. 2019.
llvm::Expected<Solution> planCutPoints(const Problem &problem,
                                       const SolverOptions &options = {});

/// Plans a few of many equal layers and lets all layers do the same. Finds the
/// layers of the graph, as they repeat in the forward and in the backward
/// phase; leaves out all but a few, with their part of the budget; plans the
/// rest with `planSearch`; and lets each layer do what one of those few does.
/// Then repairs what does not fit and takes back what is not needed. The search
/// takes as long for a thousand layers as for ten. Heuristic; fails when the
/// graph has no equal layers, when something other than recomputation may save
/// memory, and when no plan was found. Follows from the symmetry of the
/// problem; Chen et al. 2016 use it for segments.
llvm::Expected<Solution> planLayers(const Problem &problem,
                                    const SolverOptions &options = {});

/// Cuts the forward phase into a few stages where few bytes cross, and gives
/// each the ops of the backward phase that read what it makes. Which borders
/// are kept, which stages run again, and when, is found by the dynamic program
/// for heterogeneous chains [Beaumont, Eyraud-Dubois, Herrmann, Joly and
/// Shilova, Optimal checkpointing for heterogeneous chains, 2019], for several
/// numbers of stages and amounts of memory. Then repairs what does not fit and
/// takes back what is not needed. Good where so little memory is left that
/// borders are made again from earlier ones. Heuristic; fails without a budget
/// or a backward phase, and when no plan was found.
llvm::Expected<Solution> planStages(const Problem &problem,
                                    const SolverOptions &options = {});

/// The integer program of Checkmate [Jain et al., MLSys 2020, section 4],
/// solved by HiGHS. It starts from `options.start` or a plan of `planSearch`,
/// and from `lowerBound`, which may already prove that plan optimal. A program
/// that finishes gives the best plan among those whose ops run for the first
/// time in the given order and which, between two first runs, recompute each op
/// at most once and in the given order. Otherwise the solution is the best plan
/// and the best bound so far. Fails beyond `milpOpLimit` ops, on problems with
/// values that must be offloaded, and in builds without HiGHS.
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

/// Recomputes each value of a chain from the checkpoint before it. Uses as many
/// checkpoints as fit the budget, where they are optimal for ops of equal cost
/// and values of equal size [Griewank and Walther: Algorithm 799: Revolve,
/// 2000]. Linear time per try. Heuristic on chains of unequal ops; fails on
/// graphs that are no chains, and when not even one checkpoint fits.
llvm::Expected<Solution> planRevolve(const Problem &problem,
                                     const SolverOptions &options = {});

/// Saves the values of the cheapest cut between what the forward phase computes
/// and what the backward phase reads, like PyTorch's min-cut partitioner. The
/// cut weighs costs against bytes, with a price per byte that is swept until
/// the plan fits. Each set is the best for its price among sets that are saved
/// at the border of the phases; the plan is a heuristic. Fails when no price
/// gives a plan that fits.
llvm::Expected<Solution> planMinCut(const Problem &problem,
                                    const SolverOptions &options = {});

/// Saves the forward values whose ops cost most in total within a number of
/// bytes, like PyTorch's activation memory budget, and searches for the largest
/// number of bytes whose plan fits. Heuristic: a value is worth the cost of its
/// op, whatever else a recomputation needs. Fails when no number of bytes gives
/// a plan that fits.
llvm::Expected<Solution> planKnapsack(const Problem &problem,
                                      const SolverOptions &options = {});

/// Dynamic programming over chains of lower sets of the forward phase [Kusumoto
/// et al.: A Graph Theoretic Framework of Recomputation Algorithms for
/// Memory-Efficient Backpropagation, NeurIPS 2019]. Uses all lower sets if they
/// are few, otherwise those generated by one op. Heuristic: the paper's bound
/// on memory proposes plans, and the simulator chooses among them. Fails beyond
/// `lowerSetOpLimit` forward ops and when no chain of sets fits.
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
/// heterogeneous chains, 2019; with checkpoints that may stay until the
/// backward ops read them]. Optimal among plans that keep the given order and
/// keep each checkpoint until the backward phase has passed it; ChainDp.cpp
/// says this exactly. When work or memory runs out, the plan comes from a table
/// with fewer points per segment. Fails on graphs that are no chains, beyond
/// `chainDpLimit` forward ops, and when no such plan fits.
llvm::Expected<Solution> planChainDp(const Problem &problem,
                                     const SolverOptions &options = {});
inline constexpr size_t chainDpLimit = 512;

/// Best-first search over all plans of a small problem: any op any number of
/// times in any order that the problem allows, with absorption, packing and
/// offloading. Finds the plan of least cost. That plan also takes the least
/// time unless it waits for transfers; its cost is a lower bound on the time in
/// any case. Exponential. Fails beyond `exactOpLimit` ops, when the effort runs
/// out, and when no plan fits, which is proven then.
llvm::Expected<Solution> planExact(const Problem &problem,
                                   const SolverOptions &options = {});
inline constexpr size_t exactOpLimit = 12;

/// The portfolio that chooses by itself. Keeps everything if that fits.
/// Searches all plans of a small problem with `planExact`. Otherwise starts
/// `planSearch` from the best of its own first plans and those of the classical
/// algorithms, ends as soon as a lower bound is met, and asks `planMilp` where
/// few ops and a small gap are left. docs/planning-algorithms.md lists the
/// steps. Heuristic with a bound; fails when no plan was found.
llvm::Expected<Solution> planAuto(const Problem &problem,
                                  const SolverOptions &options = {});

/// What a search for the smallest peak makes in the same way whatever its
/// effort, which may take long: plans in the given order and in a lower one.
struct LowPeakPlans {
  struct Made {
    Plan plan;
    /// The bound below which peaks were not looked for, and the least that was
    /// looked for or would have been without the bound.
    int64_t lowest = 0, leastAsked = 0;
    /// How much work it was: what the effort is measured by, and the rest.
    uint64_t steps = 0, stepsBeyond = 0;

    /// Whether the plan would be the same with another bound.
    bool holdsFor(int64_t other) const {
      return other == lowest || leastAsked > std::max(lowest, other);
    }
  };
  std::optional<Made> inGivenOrder, inLowOrder;
};

/// The smallest peak that the heuristics reach, with evidence, and at most that
/// of `options.start`. The problem's own device budget is ignored. What is in
/// `made`, for the same problem, is not made again, and what is made is put
/// there. Without a time limit, no effort leads to more bytes than a power of
/// two from 1/8 on that is less. Fails when no plan exists at any budget.
llvm::Expected<FeasibilityCertificate>
smallestFeasibleBudget(const Problem &problem,
                       const SolverOptions &options = {},
                       LowPeakPlans *made = nullptr);

/// One algorithm, as tools and pass options know it.
struct SolverInfo {
  /// What `--planner` takes: letters, digits, '-', '_' and '.'.
  std::string name;
  /// What `--help` says of it: one line, without a period.
  std::string summary;
  std::function<llvm::Expected<Solution>(const Problem &,
                                         const SolverOptions &)>
      function;
};

/// All algorithms: those of this library, then those that were registered, in
/// the order of their registration.
std::vector<SolverInfo> getSolvers();

/// Adds an algorithm from outside of this library for the rest of the process.
/// From here on every tool, pass and function that takes a planner's name knows
/// it. May be called from any thread. Fails if the name is taken or malformed,
/// or if there is no function.
///
/// The function has the contract of the algorithms above. It is called with a
/// problem that passed `check`, from any thread and, for several problems, from
/// several at the same time. It makes its solution with
/// `evaluatePlan`, and fails with an InfeasibleBudgetError where it finds no
/// plan within the budget. docs/planning.md has an example.
llvm::Error registerSolver(SolverInfo info);

/// The algorithm called `name`. An unknown name is an error that lists the
/// known ones.
llvm::Expected<SolverInfo> findSolver(llvm::StringRef name);

/// Checks the problem, runs the algorithm called `solver`, and verifies what it
/// returns: the plan must be legal, and its peaks, cost and time must be what
/// the simulator counts, to the last byte. An algorithm that returns anything
/// else is an error that says what is wrong. A budget below what the algorithm
/// reaches is an InfeasibleBudgetError with the smallest feasible one.
llvm::Expected<Solution> solve(const Problem &problem, llvm::StringRef solver,
                               const SolverOptions &options = {});

/// `solve`, for whom a slow plan is better than none. Where `auto` finds no
/// plan, but that of `known` fits or the one that shows which budget is
/// feasible, the search goes on from there for the same effort, or for what is
/// left of a time limit. The solution is that plan, called "smallest", or a
/// faster one. It is never slower than the plan of `known` within the budget.
/// Near the smallest budget, and without a time limit, `auto` plans for smaller
/// budgets as well, the same ones for all budgets, and goes on from there.
/// `known` is what `smallestFeasibleBudget` says for the same options.
llvm::Expected<Solution>
solveOrTakeSmallest(const Problem &problem, llvm::StringRef solver,
                    const SolverOptions &options = {},
                    const FeasibilityCertificate *known = nullptr);

} // namespace remat::planning

#endif // REMAT_PLANNING_ALGORITHMS_H
