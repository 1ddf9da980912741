//===- PlanGraph.h - plan one graph under a budget --------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the pass remat-plan does, for callers that want the outcome as a value:
// an infeasible budget arrives as a planning::InfeasibleBudgetError.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_PLANGRAPH_H
#define REMAT_DIALECT_REMAT_TRANSFORMS_PLANGRAPH_H

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Planning/Algorithms.h"
#include "remat/Planning/Budget.h"
#include "remat/Planning/Explanation.h"
#include "remat/Planning/Frontier.h"

#include <memory>

namespace remat {

struct StoredPlan;

/// The bandwidth of the link to the host that #remat.target says.
inline constexpr int64_t targetBandwidth = -1;

/// What a plan is asked for, and what it may do.
struct PlanOptions {
  /// Bound on the bytes of the arena.
  planning::BudgetRequest budget;
  /// Bound on the bytes in host memory; unset for none.
  std::optional<int64_t> hostBudget;
  /// Bounds on the bytes that forward values of a name keep for the backward
  /// computation, see planning::Region. A name that no value has is an error.
  std::vector<std::pair<std::string, int64_t>> regionBudgets;
  /// Whether the graph is one in which loops keep less, so that nothing may be
  /// left of a name.
  bool mayLackRegions = false;
  /// Whether anything may go to host memory. Without, a policy that asks for it
  /// is an error.
  bool offload = true;
  /// Bytes per second of the link to the host, or `targetBandwidth`. 0 forbids
  /// offloading unless a policy asks for it; then the link is that of the
  /// target.
  int64_t linkBandwidth = 0;
  /// The same where values must not be offloaded, but loops may keep states in
  /// host memory: in the bodies of other loops, which have no transfers.
  int64_t loopLinkBandwidth = 0;
  /// Whether tasks may run for the first time in another order than the
  /// graph's.
  bool reorder = false;
  /// Whether the caller's buffers for results may hold other values until the
  /// result is written.
  bool reuseResultBuffers = true;
  /// Name of the algorithm, see planning::getSolvers.
  std::string planner = "auto";
  planning::SolverOptions solver;
  /// Whether to say of each value what was decided and why, in remarks at the
  /// tasks.
  bool explain = false;
  /// Whether to say so in GraphPlan::decisions.
  bool listsDecisions = false;
  /// If set, this is the plan, and nothing is searched for. `readStoredPlan`
  /// sets it with the limits that it was made for.
  std::shared_ptr<const StoredPlan> stored;
};

/// What a plan does with a result of a task, and why. It outlives the graph:
/// only of the plan that is taken in the end there is anything to say.
struct TaskDecision {
  mlir::Location location;
  /// The name of the graph, and that of the value in its problem.
  std::string function, value;
  /// The task's `id`; unset for clones, which have that of their original.
  std::optional<int64_t> task;
  unsigned resultNumber;
  planning::ValueExplanation explanation;
  /// Of a task in the body of a loop, the name of that graph, and what the loop
  /// is called by; else "".
  std::string body = "", loop = "";
};

/// A plan of a graph, and what is known of the step that runs it.
struct GraphPlan {
  /// Those given, with the freedoms that the plan makes use of.
  PlanOptions options;
  /// What `solution` is a plan of: the graph with the limits of `options`.
  planning::Problem problem;
  /// The peak is that of the arena. Cost and time are of the problem.
  planning::Solution solution;
  /// The bound on the arena, if there was one.
  std::optional<int64_t> budget;
  /// The peak without rematerialization.
  int64_t saveAllPeak = 0;
  /// What percentages refer to: that peak or, in a step of several calls, the
  /// arena without rematerialization. What lives from call to call has memory
  /// of its own there, so that no budget below the sum of both can hold it.
  int64_t saveAllBytes = 0;
  /// What the buffers are packed into.
  int64_t arenaBytes = 0;
  /// In which order parts of a batch run, if there are any: "parts" or
  /// "layers".
  std::string microbatchOrder;
  /// In how many parts the batch of the step is done, by `split-batch`.
  int64_t batchParts = 1;
  /// Whether convolutions have the plans of a library with less workspace.
  bool hasSecondPlans = false;
  /// Whether no forward kernel runs again but by the plan, by `keep-repeated`.
  bool keepsRepeated = false;
  /// Whether large values that elementwise operations share are made by one
  /// kernel with all of these.
  bool fusesReaders = false;
  /// Rows of slices of wide values; 0 for those that the target asks for.
  int64_t sliceRows = 0;
  /// Whether hidden layers are done in such slices, too.
  bool slicesHidden = false;
  /// How many layers are iterations of loops, by `fold-layers`.
  int64_t foldedLayers = 0;
  /// Of which copy of a graph with loops this is a plan: what the loops keep,
  /// by how many bytes their bodies have smaller arenas, and how many of the
  /// iterations keep that, if others keep more.
  unsigned loopLevel = 0;
  int64_t loopFewer = 0, loopSplit = 0;
  /// Of results that wait or come back, in the order of the graph, if they are
  /// listed and the plan is applied.
  std::vector<TaskDecision> decisions;
};

/// The graph (L2) as a planning problem with the limits of `options`, the
/// budget aside. It counts what values occupy wherever they are, as if nothing
/// were written in place or into the buffers of results. Op i is the i-th task,
/// among those of the graph and the clones that regions behind other backward
/// tasks ask for. Fails if the graph is already planned.
llvm::Expected<planning::Problem> makeProblem(GraphOp graph,
                                              const PlanOptions &options);

/// The plan that `planGraph` would apply. The graph (L2) stays as it is.
llvm::Expected<GraphPlan> findPlan(GraphOp graph, const PlanOptions &options);

/// Replaces `graph` (L2) by its planned form (L3) and updates the reference to
/// it. If it has alternatives, they are planned, too, and the best one is
/// left: the fastest one, or the smallest one if the budget is the smallest
/// possible; without a budget, it is the graph. Says what it found, if that is
/// asked for. Fails, leaving the graph as it was, when the budget is
/// infeasible, the planner is unknown, or policies contradict each other.
llvm::Error planGraph(GraphOp &graph, const PlanOptions &options,
                      GraphPlan *found = nullptr);

/// Plans for `points` budgets (2 or more) from the smallest feasible one to the
/// arena that keeps all values: for each the plan that `planGraph` finds, or
/// that for a smaller budget if it is faster. As the budget grows, the arena
/// never falls and the time never rises. The budget of `options` does not
/// count, and the time limit is for all of them together. `plans` gets the plan
/// of each point, if that is asked for.
llvm::Expected<planning::Frontier>
computeFrontier(GraphOp graph, const PlanOptions &options, unsigned points,
                std::vector<GraphPlan> *plans = nullptr);

/// The parts of the workspace of a loop whose bodies are placed graphs, one
/// behind the other as the run time has them, in bytes.
struct LoopWorkspaceParts {
  /// The larger arena of both bodies.
  int64_t iteration = 0;
  /// A buffer for each carried value that the body does not update in place.
  int64_t carried = 0;
  /// If states are made again: two buffers for the current ones.
  int64_t states = 0;
  /// The states of `numCheckpoints` slots; the first one is an operand.
  int64_t checkpoints = 0, numCheckpoints = 0;
  /// For states that come from and go to host memory.
  int64_t stages = 0;

  /// All parts together.
  int64_t getBytes() const;
};
/// The parts of what `loop`, whose bodies are placed, needs.
LoopWorkspaceParts getWorkspaceParts(LoopOp loop);

/// How often `loop` makes the next states of others again, if it runs as often
/// as it may; 0 if it makes none.
int64_t getAdvances(LoopOp loop);

/// What `loop` copies to host memory while it runs, if it runs as often as it
/// may.
int64_t getOffloadedBytes(LoopOp loop);

} // namespace remat

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_PLANGRAPH_H
