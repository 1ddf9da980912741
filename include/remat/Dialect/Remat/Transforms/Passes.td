//===- Passes.td - from checkpoint regions to placed graphs -*- tablegen -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD
#define REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RematLowerCheckpoints : Pass<"remat-lower-checkpoints"> {
  let summary = "Turn checkpoint regions into policies on the values they hide";
  let description = [{
    Inlines every `remat.checkpoint`. The values inside that have no policy of
    their own and are not yielded are tagged with the region's policy,
    `must_recompute` unless it has another. Nested regions are inlined from the
    inside out, so the innermost region's policy holds. What a region yields is
    an ordinary value afterwards.

    Tags are operations, which patterns leave alone; attributes would be lost
    when later passes rebuild operations. Because a tag also keeps its operand
    from being fused away, elementwise fusion runs before.

    With `early_stop = false`, a result that the region yields is recomputed
    like an inner value.
  }];
  let dependentDialects = ["::remat::RematDialect"];
}

def RematRecomputeCheap
    : Pass<"remat-recompute-cheap", "::mlir::func::FuncOp"> {
  let summary = "Make elementwise values again instead of keeping them";
  let description = [{
    For a joint function, before fusion. A forward value that the backward
    computation reads, and that is elementwise in values which it has anyway, is
    cloned to where it is first needed there; the original then lives no longer
    than the forward computation needs it. That a normalized tensor or the
    result of an activation is not kept is thus settled before any budget binds.

    Values with a tag or a policy are left to the planner. A chain of such
    values is cut after `max-depth` of them: making it anew all at once would
    take as much memory as keeping it.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"maxDepth", "max-depth", "unsigned", /*default=*/"4",
           "Longest chain of values that are made from each other">
  ];
  let statistics = [
    Statistic<"numCloned", "num-cloned", "Number of operations cloned">
  ];
}

def RematFormTasks : Pass<"remat-form-tasks", "::mlir::ModuleOp"> {
  let summary = "Cut a joint function into tasks that call kernels";
  let description = [{
    Replaces the function by a `remat.graph` of the same name (L1 to L2).

    * Every operation on tensors becomes a task of its own; which operations
      are one kernel was decided by fusion before this pass.
    * Constants, fills, empty tensors and scalars are not values of the graph:
      each kernel that needs them makes its own.
    * `tensor.expand_shape` and `tensor.collapse_shape` become views.
    * `remat.tag` and `remat.stop_gradient` disappear; a tag's policy becomes
      the policy of the task's result. Two different MUST policies on one value
      are an error.
    * A result that is an argument, a constant, a view of another result or
      returned twice is copied by a task.

    Tasks whose kernels are structurally equal share one function.
  }];
  let dependentDialects = ["::remat::RematDialect",
                           "::mlir::linalg::LinalgDialect"];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"\"main\"",
           "The function to cut">
  ];
  let statistics = [
    Statistic<"numTasks", "num-tasks", "Number of tasks formed">,
    Statistic<"numKernels", "num-kernels", "Number of distinct kernels">
  ];
}

def RematPlan : Pass<"remat-plan", "::mlir::ModuleOp"> {
  let summary = "Decide what to save, recompute and offload under a budget";
  let description = [{
    Hands every `remat.graph` of the module to a planner and rewrites it into
    the schedule that the planner returns (L2 to L3). The plan is verified
    before it is applied, and the graph's verifier checks the outcome again.

    The budget bounds the arena. Because an arena can be larger than what is
    live in it, a plan whose buffers cannot be packed into the budget is
    replaced by one with a smaller peak.

    An infeasible budget is an error that says the smallest feasible one, where
    it binds and what is resident there.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let options = [
    Option<"budget", "budget", "std::string", /*default=*/"\"\"",
           "Bytes of the arena, with an optional suffix KiB, MiB or GiB, 'N%' "
           "of the peak without rematerialization, or 'min' for the smallest "
           "feasible; empty for no bound">,
    Option<"hostBudget", "host-budget", "std::string", /*default=*/"\"\"",
           "Bytes that may be offloaded; empty for no bound">,
    Option<"offload", "offload", "bool", /*default=*/"true",
           "Whether anything may go to host memory">,
    Option<"linkBandwidth", "link-bandwidth", "std::string",
           /*default=*/"\"0\"",
           "Bytes per second of the link to the host, such as '25GB/s', or "
           "'inf'; 0 forbids offloading unless a MUST_CPU_OFFLOAD policy asks "
           "for it">,
    Option<"planner", "planner", "std::string", /*default=*/"\"auto\"",
           "Name of the planning algorithm">,
    Option<"reorder", "reorder", "bool", /*default=*/"false",
           "Whether tasks may run for the first time in another order than the "
           "graph's">,
    Option<"lend", "lend", "bool", /*default=*/"true",
           "Whether the buffers of results may hold other values until the "
           "result is written">,
    Option<"effort", "effort", "double", /*default=*/"1.0",
           "Work that a search may do, in about seconds; counted, so that the "
           "plan is the same on every machine">,
    Option<"timeLimit", "time-limit", "double", /*default=*/"0.0",
           "Seconds after which the clock ends the search, whatever the "
           "effort; 0 for never">,
    Option<"seed", "seed", "uint64_t", /*default=*/"1",
           "Seed of the random choices of a search">,
    Option<"threads", "threads", "unsigned", /*default=*/"1",
           "Threads to search with; the plan is the same for every number">,
    Option<"explain", "explain", "bool", /*default=*/"false",
           "Say in a remark at each task what was decided on its results and "
           "why">
  ];
  let statistics = [
    Statistic<"numRecomputed", "num-recomputed", "Number of clones">,
    Statistic<"numOffloaded", "num-offloaded", "Number of offloaded values">,
    Statistic<"plannedPeak", "planned-peak", "Bytes live at the peak">
  ];
}

def RematPlace : Pass<"remat-place", "::mlir::ModuleOp"> {
  let summary = "Give every value of a planned graph an address";
  let description = [{
    Packs the live ranges of a planned graph into one arena and one host arena
    (L3 to L4). Values that are returned go to the caller's result buffers.
    Fails if the arena would exceed the graph's budget.
  }];
  let dependentDialects = ["::remat::RematDialect"];
  let statistics = [
    Statistic<"arenaBytes", "arena-bytes", "Size of the arena">
  ];
}

#endif // REMAT_DIALECT_REMAT_TRANSFORMS_PASSES_TD
