//===- GraphPlanning.h - graphs as planning problems ------------*- C++ -*-===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The two bridges between IR and the planning library: a graph becomes a
// problem, and a plan becomes a graph.
//
//===----------------------------------------------------------------------===//

#ifndef REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNING_H
#define REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNING_H

#include "remat/Dialect/Remat/IR/Absorptions.h"
#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Dialect/Remat/Transforms/TaskNames.h"
#include "remat/Planning/PackingCache.h"
#include "remat/Planning/Plan.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>
#include <unordered_map>

namespace remat {

/// A graph as a problem. Ops are its tasks, in their order; values are the
/// arguments and the results of tasks, views are resolved to what they view.
///
/// With `freeOrder`, tasks may be reordered, but not from one call of the step
/// to another: where a call ends, there is an op without a task, which reads a
/// token of 0 bytes of each last task of the call, and which gives one to each
/// first task of the next. Nor do they leave their side of a border that a
/// region is about: a clone runs behind its original, and what is hidden behind
/// the first backward task stays there.
///
/// Tasks that pack and unpack a value in a graph without a plan are no ops, but
/// the packed form of the value; with `freeOrder` there is none, as first runs
/// of forward tasks could move behind the place where a value is unpacked.
///
/// A graph that is planned is a problem, too, to recount what is live: what is
/// reloaded is a value of its own, which an op without operands gives, and an
/// offload or a release is an op that reads.
struct GraphProblem {
  explicit GraphProblem(GraphOp graph, bool freeOrder = false);

  /// What the graph is compiled for.
  TargetAttr target;
  planning::Problem problem;
  /// The task for every op of the problem; null where a call ends, and for
  /// transfers.
  llvm::SmallVector<TaskOp> tasks;
  /// The value of the graph for every value of the problem; null for tokens.
  llvm::SmallVector<mlir::Value> values;
  /// The forward values that tags gave a name.
  llvm::StringMap<std::vector<planning::ValueId>> named;
  /// For values with a packed form, what packs and what unpacks them.
  struct Offer {
    TaskOp pack, unpack;
  };
  llvm::DenseMap<planning::ValueId, Offer> offers;
  /// What ops call instead of their kernels where they absorb others, by both:
  /// the latter in ascending order.
  std::map<std::pair<planning::OpId, std::vector<planning::OpId>>, Absorption>
      absorptions;
  /// Whether the step is run by several calls, forward and backward.
  bool hasSeveralCalls = false;

private:
  planning::ValueId addToken(planning::OpId op);
  void endCall(mlir::ArrayRef<planning::ValueId> lastTokens, bool backward);
  void addTask(TaskOp task, mlir::ArrayRef<planning::ValueId> given);
  void addTransfer(mlir::Operation *transfer);
  void addOffer(TaskOp unpack);
  std::map<std::vector<planning::OpId>, Absorption> collectAbsorptions(
      planning::OpId reader,
      const std::unordered_map<int64_t, planning::OpId> &opsById) const;
  void addAbsorptions();

  llvm::SmallVector<planning::ValueId> getOrder(TaskOp task);
  bool readsOverwritten(TaskOp task) const;
  void findBackward(GraphOp graph);
  bool isBackward(TaskOp task) const { return backward.contains(task); }
  bool isPlanned(TaskOp task, Policy policy) const;
  bool readsOfBackward(TaskOp task) const;

  TaskNames names;
  /// That of the derivative that planners know, and that of the last one.
  unsigned level, highestLevel = 0;
  llvm::DenseSet<mlir::Operation *> backward;

  /// Arguments that are overwritten before the last call of the step. What
  /// reads them cannot run again in a later one.
  llvm::DenseSet<mlir::Value> overwritten;

  llvm::DenseMap<mlir::Value, planning::ValueId> idOf;
  /// By the number of a task, what says that it has run.
  /// Numbers may be any, and those of a DenseMap may not.
  std::map<int64_t, planning::ValueId> tokenOf;
  /// What says that tasks have run whose results regions hide.
  llvm::SmallVector<planning::ValueId> hidden;
  /// What says that the backward computation has begun.
  std::optional<planning::ValueId> begun;
};

/// Whether the graph returns `value` or a view of it.
bool isReturned(mlir::Value value);

/// The clones that regions ask for where planners know of no border, put into a
/// graph without a plan: behind the first backward task, and for backward tasks
/// of other levels than that which is planned.
class RepeatedTasks {
public:
  explicit RepeatedTasks(GraphOp graph);

  /// Makes the graph what it was.
  void undo();

private:
  void findBorders(llvm::ArrayRef<TaskOp> tasks, unsigned planned);
  bool isHiddenFrom(mlir::Value value, unsigned level) const;
  mlir::Value getAgain(mlir::Value value, TaskOp reader, unsigned level);

  /// For what is hidden, from which level on, and the number of the first task
  /// of such a level behind it.
  struct Border {
    unsigned level, number;
  };
  llvm::DenseMap<mlir::Value, Border> borderOf;
  /// Clones of what is hidden, and of views of it, for readers of a level: what
  /// an inner derivative makes again is not kept for an outer one.
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, mlir::Value> again;
  llvm::DenseMap<mlir::Value, mlir::Value> originalOf;
  /// By the number of a task, how many clones of it there are.
  std::map<int64_t, unsigned> copies;
  llvm::SmallVector<std::pair<mlir::OpOperand *, mlir::Value>> changed;
  llvm::SmallVector<mlir::Operation *> made;
};

/// Rewrites the body of the graph into the schedule that `plan` describes.
/// The plan must have been verified against the problem of this graph.
void applyPlan(GraphOp graph, const GraphProblem &graphProblem,
               const planning::Plan &plan);

/// The decisions on all results that wait or come back, in the order of the
/// graph.
llvm::Expected<std::vector<TaskDecision>>
collectDecisions(GraphOp graph, const GraphProblem &graphProblem,
                 const planning::Plan &plan);

/// Says each in a remark at its task.
void explain(llvm::ArrayRef<TaskDecision> decisions);

/// The same as remarks of the context's remark engine, if there is one: one of
/// category "remat" for each value that is saved, recomputed, offloaded or
/// packed, named by the decision, with bytes and nanoseconds.
void emitDecisionRemarks(llvm::ArrayRef<TaskDecision> decisions);

/// Decides which results of a planned graph lie in the place of an operand or
/// in the buffer of a result of the graph, and so take nothing of the arena
/// (attribute `placement`). The kernels are in `module`.
void assignBuffers(GraphOp graph, mlir::ModuleOp module);

/// The same for a graph that is planned and not placed, whatever was decided
/// before; `planned_peak` becomes the peak of what is left in the arena.
llvm::LogicalResult reassignBuffers(GraphOp graph, mlir::ModuleOp module);

/// Gives every value of a planned graph an address; the size of the arena.
llvm::FailureOr<int64_t> placeGraph(GraphOp graph);

/// The operand in whose place `task` may write its result `number`, which
/// `donor` gives its buffer to: one of `overwritable`, the operands that the
/// kernel may overwrite there, that is the donor or a view of it.
std::optional<unsigned> findDonorOperand(TaskOp task, unsigned number,
                                         mlir::BlockArgument donor,
                                         mlir::ArrayRef<unsigned> overwritable);

/// What tasks write over arguments on the way to a result that has the buffer
/// of one: sums to which other tasks add in place.
llvm::SmallVector<mlir::OpResult> findSumsInDonors(GraphOp graph,
                                                   mlir::ModuleOp module);

/// A result of a task that is written over what another task has made for it.
struct WriteOverMade {
  mlir::OpResult result;
  mlir::Value made;
};
/// Those of backward tasks in a graph without a plan, in their order, whatever
/// the plan: nothing else reads what they are written over.
llvm::SmallVector<WriteOverMade> findWritesOverMade(GraphOp graph,
                                                    mlir::ModuleOp module);

/// Lets tasks write a result over the argument that gives it its buffer, if
/// they read that, or over what others have written over it.
void writeOverDonors(GraphOp graph, mlir::ModuleOp module);

/// Moves tasks that write results into buffers of `donors`, one for each result
/// or null, behind all that read the donor, and what depends on them behind
/// them. Returns whether that can be; if not, nothing is moved.
bool tryOrderDonations(GraphOp graph,
                       mlir::ArrayRef<mlir::BlockArgument> donors);

/// The same for all arguments that give their buffers away; that it cannot be
/// is an error at the graph.
llvm::LogicalResult orderDonations(GraphOp graph);

/// The bytes that are live in the arena when the tasks of `graph`, clones
/// included, run once in their order, as the planner's simulator counts them.
llvm::Expected<int64_t> simulatePeak(GraphOp graph);

/// Lets tasks of a planned graph write results where an operand lies that
/// nothing reads later, if their kernels in `module` allow.
void writeInPlace(GraphOp graph, mlir::ModuleOp module);

/// Puts values that tasks of a planned graph make into the buffers of results
/// that are written later, by another task or by a later iteration of a loop.
/// The kernels are in `module`. Returns whether there are any.
bool placeInResultBuffers(GraphOp graph, mlir::ModuleOp module);

/// The live ranges of the buffers in one space, and where they came from.
struct SpaceRanges {
  SpaceRanges(const GraphLiveness &liveness, MemorySpace space);

  llvm::SmallVector<const LiveBuffer *> buffers;
  llvm::SmallVector<planning::LiveRange> ranges;
};

/// Addresses for the buffers of a graph's arena. In a step of several calls,
/// what later calls need is at the beginning.
struct ArenaLayout {
  explicit ArenaLayout(const GraphLiveness &liveness);
  /// The same with packings from `cache`, for each at most `maxWork`.
  ArenaLayout(const GraphLiveness &liveness, planning::PackingCache &cache,
              int64_t maxWork = planning::PackingOptions::usualWork);

  llvm::SmallVector<const LiveBuffer *> buffers;
  /// One for each buffer.
  std::vector<int64_t> offsets;
  int64_t arenaBytes = 0, stateBytes = 0;

private:
  ArenaLayout() = default;
};

/// A range of bytes with buffers in it, at most one at each byte and position.
class Shelf {
public:
  explicit Shelf(int64_t bytes) : bytes(bytes) {}

  int64_t getBytes() const { return bytes; }
  /// The lowest offset at which `buffer` fits, or -1.
  int64_t find(const LiveBuffer &buffer) const;
  void insert(int64_t offset, const LiveBuffer &buffer);

private:
  int64_t bytes;
  /// Ordered by offset.
  llvm::SmallVector<std::pair<int64_t, const LiveBuffer *>> buffers;
};

/// The byte-positions that a buffer takes, as an order for those who look for
/// room: largest first.
void sortByArea(llvm::SmallVectorImpl<const LiveBuffer *> &buffers);

} // namespace remat

#endif // REMAT_LIB_DIALECT_REMAT_TRANSFORMS_GRAPHPLANNING_H
