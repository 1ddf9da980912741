//===- OrderTasks.cpp - an order that holds less --------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Differentiation leaves operations in the order in which the forward ones are
// visited. What is computed on a padded or spread tensor may so be held beside
// the next large thing before the small part of it that is wanted is taken out;
// and the gradient of a convolution's input, made first, waits for that of its
// filter, which may need a large value that is made again.
//
// What is written over an operand, such as a sum that a product is added to,
// takes no bytes of its own: it does not wait, as what it reads would wait with
// it.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"
#include "LiveProfile.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/Transforms/Passes.h"

namespace remat {
#define GEN_PASS_DEF_ORDERTASKSPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {
/// The tasks of a graph, and the slots in which they run: there is a slot for
/// each, and what is moved runs in that of another, before or behind it. Two
/// points in time belong to a slot: its tasks run, they have run.
class TaskOrder {
public:
  /// The tasks of `graph` say which operands they write over in its order.
  explicit TaskOrder(GraphOp graph);

  /// Runs tasks that shrink what they read last as early as possible. Whether
  /// any was moved.
  bool shrinkEarly();
  /// Runs tasks right before their first reader where less is then held.
  bool growLate();
  /// Puts the operations of the graph in this order, views to what reads them.
  void apply();

private:
  /// Bytes of results of which each is written over the one before, from the
  /// point at which the first is written to that behind the last at which one
  /// is read.
  struct Buffer {
    int64_t bytes;
    unsigned begin, end;
  };
  /// A result of a task.
  struct Result {
    unsigned maker, buffer;
    SmallVector<unsigned, 4> readers;
    /// The reader that writes over it, if one does: the last one.
    std::optional<unsigned> overwriter;
  };
  struct Task {
    TaskOp op;
    /// Results that it reads and makes, and those of the latter that are not
    /// written over what it reads.
    SmallVector<unsigned> reads, makes, begins;
    unsigned slot;
    /// What was moved to before and behind this one, in the order in which it
    /// was moved, and the bytes that the former make.
    SmallVector<unsigned, 0> before, behind;
    int64_t bytesBefore = 0;
  };

  static unsigned getRun(unsigned slot) { return 2 * slot; }
  static unsigned getHasRun(unsigned slot) { return 2 * slot + 1; }

  void add(TaskOp op, const DenseSet<Value> &returned,
           DenseMap<Value, unsigned> &numberOf);
  Buffer &getBuffer(unsigned result) { return buffers[results[result].buffer]; }
  int64_t countMade(const Task &task);
  bool isFreedBy(unsigned result, unsigned task) const;
  unsigned findEarliest(unsigned number);
  unsigned findLatest(unsigned number);
  bool tryEarlier(unsigned number);
  bool tryLater(unsigned number);
  void raise(unsigned point, int64_t bytes);

  GraphOp graph;
  std::vector<Task> tasks;
  std::vector<Result> results;
  std::vector<Buffer> buffers;
  unsigned numForward = 0;
  LiveProfile live;
};
} // namespace

TaskOrder::TaskOrder(GraphOp graph)
    : graph(graph), live(2 * llvm::range_size(graph.getOps<TaskOp>()) + 1) {
  DenseSet<Value> returned;
  for (Value value : graph.getBody().front().getTerminator()->getOperands())
    returned.insert(getViewRoot(value));
  DenseMap<Value, unsigned> numberOf;
  for (auto op : graph.getOps<TaskOp>())
    add(op, returned, numberOf);
  for (const Buffer &buffer : buffers)
    live.add(buffer.begin, buffer.end, buffer.bytes);
}

void TaskOrder::add(TaskOp op, const DenseSet<Value> &returned,
                    DenseMap<Value, unsigned> &numberOf) {
  TargetAttr target = getTargetFacts(op);
  unsigned number = tasks.size();
  Task &task = tasks.emplace_back();
  task.op = op;
  task.slot = number;
  if (!op.isPlannedBackward())
    numForward = number + 1;
  for (Value operand : op->getOperands()) {
    auto read = numberOf.find(getViewRoot(operand));
    if (read == numberOf.end() || llvm::is_contained(task.reads, read->second))
      continue;
    task.reads.push_back(read->second);
    results[read->second].readers.push_back(number);
    getBuffer(read->second).end = getHasRun(number);
  }
  for (OpResult made : op->getResults()) {
    Result result = {number, unsigned(buffers.size()), {}, std::nullopt};
    std::optional<unsigned> operand =
        op.getInPlaceOperand(made.getResultNumber());
    auto before = operand ? numberOf.find(getViewRoot(op.getOperand(*operand)))
                          : numberOf.end();
    unsigned index = results.size();
    if (before != numberOf.end()) {
      results[before->second].overwriter = number;
      result.buffer = results[before->second].buffer;
    } else {
      int64_t bytes =
          operand
              ? 0
              : getBufferBytes(cast<RankedTensorType>(made.getType()), target);
      buffers.push_back({bytes, getRun(number), getHasRun(number)});
      task.begins.push_back(index);
    }
    // What is returned is in a buffer of the caller.
    if (returned.contains(made))
      buffers[result.buffer].bytes = 0;
    numberOf[made] = index;
    task.makes.push_back(index);
    results.push_back(std::move(result));
  }
}

int64_t TaskOrder::countMade(const Task &task) {
  int64_t bytes = 0;
  for (unsigned result : task.begins)
    bytes += getBuffer(result).bytes;
  return bytes;
}

/// Whether nothing is left of `result` when `task` has run, which reads it.
bool TaskOrder::isFreedBy(unsigned result, unsigned task) const {
  return results[result].readers.back() == task && !results[result].overwriter;
}

void TaskOrder::raise(unsigned point, int64_t bytes) {
  live.add(point, point + 1, std::max<int64_t>(bytes - live.get(point), 0));
}

/// The slot in which what task `number` reads is there, and has been read by
/// all others if this is the last task that reads it.
unsigned TaskOrder::findEarliest(unsigned number) {
  Task &task = tasks[number];
  unsigned slot =
      task.op.isPlannedBackward() && numForward != 0 ? numForward - 1 : 0;
  for (unsigned read : task.reads) {
    const Result &result = results[read];
    slot = std::max(slot, tasks[result.maker].slot);
    if (result.readers.back() == number)
      for (unsigned reader : ArrayRef(result.readers).drop_back())
        slot = std::max(slot, tasks[reader].slot);
  }
  return slot;
}

/// Moves task `number` if less is held then. Those after it are where they
/// were.
bool TaskOrder::tryEarlier(unsigned number) {
  Task &task = tasks[number];
  int64_t made = countMade(task), freed = 0;
  for (unsigned read : task.reads)
    if (isFreedBy(read, number))
      freed += getBuffer(read).bytes;
  if (freed <= made)
    return false;
  unsigned slot = findEarliest(number);
  if (slot + 1 >= number)
    return false;
  int64_t then = live.get(getHasRun(slot)) + made;
  if (then > live.getMax(getRun(slot), getHasRun(number)))
    return false;
  raise(getRun(slot), then);
  for (unsigned made : task.begins) {
    Buffer &buffer = getBuffer(made);
    live.add(getHasRun(slot), buffer.begin, buffer.bytes);
    buffer.begin = getHasRun(slot);
  }
  for (unsigned read : task.reads) {
    if (!isFreedBy(read, number))
      continue;
    Buffer &buffer = getBuffer(read);
    live.add(getHasRun(slot), buffer.end, -buffer.bytes);
    buffer.end = getHasRun(slot);
  }
  tasks[slot].behind.push_back(number);
  task.slot = slot;
  return true;
}

/// The slot of the first reader of what task `number` makes; the number of
/// tasks if there is none, or if what it reads is written over before that.
unsigned TaskOrder::findLatest(unsigned number) {
  Task &task = tasks[number];
  unsigned slot = task.op.isPlannedBackward() ? tasks.size() : numForward;
  for (unsigned made : task.makes)
    for (unsigned reader : results[made].readers)
      slot = std::min(slot, tasks[reader].slot);
  for (unsigned read : task.reads)
    if (std::optional<unsigned> overwriter = results[read].overwriter)
      if (*overwriter != number && tasks[*overwriter].slot < slot)
        return tasks.size();
  return slot;
}

/// Moves task `number` if less is held at the most until then. Those before it
/// are where they were.
bool TaskOrder::tryLater(unsigned number) {
  Task &task = tasks[number];
  int64_t made = countMade(task);
  unsigned slot = findLatest(number);
  if (slot == tasks.size() || slot <= number + 1 ||
      made < OrderTuning::minBytes)
    return false;
  unsigned from = getRun(number), until = getRun(slot);
  int64_t most = live.getMax(from, until);
  // What it reads is held for as long as it waits.
  auto wait = [&](int64_t sign) {
    for (unsigned made : task.begins)
      live.add(from, std::min(until, getBuffer(made).end),
               -sign * getBuffer(made).bytes);
    for (unsigned read : task.reads)
      live.add(getBuffer(read).end, until, sign * getBuffer(read).bytes);
  };
  wait(1);
  int64_t then = live.get(until - 1) + tasks[slot].bytesBefore + made;
  if (std::max(live.getMax(from, until), then) >= most) {
    wait(-1);
    return false;
  }
  raise(until, then);
  for (unsigned read : task.reads)
    getBuffer(read).end = std::max(getBuffer(read).end, until);
  for (unsigned made : task.begins)
    getBuffer(made).begin = until;
  tasks[slot].bytesBefore += made;
  tasks[slot].before.push_back(number);
  task.slot = slot;
  return true;
}

bool TaskOrder::shrinkEarly() {
  bool changed = false;
  for (unsigned number = 1; number < tasks.size(); ++number)
    changed |= tryEarlier(number);
  return changed;
}

bool TaskOrder::growLate() {
  bool changed = false;
  for (unsigned number = tasks.size(); number-- > 0;)
    changed |= tryLater(number);
  return changed;
}

void TaskOrder::apply() {
  // The number of the task before which each operation runs.
  DenseMap<Operation *, unsigned> ranks;
  unsigned rank = 0;
  for (auto [slot, task] : llvm::enumerate(tasks)) {
    for (unsigned number : llvm::reverse(task.before))
      ranks[tasks[number].op] = rank++;
    if (task.slot == slot)
      ranks[task.op] = rank++;
    for (unsigned number : task.behind)
      ranks[tasks[number].op] = rank++;
  }
  Block &block = graph.getBody().front();
  // Each with what is only read there, from the last to the first.
  std::vector<SmallVector<Operation *, 2>> order(rank + 1);
  for (const Task &task : tasks)
    order[ranks.lookup(task.op)].push_back(task.op);
  for (Operation &op : llvm::reverse(block)) {
    if (isa<TaskOp>(op))
      continue;
    unsigned first = rank;
    for (Operation *user : op.getUsers())
      first = std::min(first, ranks.lookup(user));
    ranks[&op] = first;
    order[first].push_back(&op);
  }
  for (SmallVector<Operation *, 2> &ops : order)
    for (Operation *op : llvm::reverse(ops))
      op->moveBefore(&block, block.end());
}

static void removePlacement(GraphOp graph) {
  for (auto task : graph.getOps<TaskOp>())
    task.removePlacementAttr();
}

/// Bytes that the graph needs, with what is written in place or in reused
/// buffers.
static int64_t countPeak(GraphOp graph) {
  auto module = graph->getParentOfType<ModuleOp>();
  writeInPlace(graph, module);
  placeInResultBuffers(graph, module);
  int64_t bytes = GraphLiveness(graph).peak(MemorySpace::Arena).bytes;
  removePlacement(graph);
  return bytes;
}

/// Moves tasks by `rule`, unless more than `peak` bytes are needed when it is
/// known which of their results share a buffer. The bytes that are needed then.
static int64_t moveTasks(GraphOp graph, bool (TaskOrder::*rule)(),
                         int64_t peak) {
  writeInPlace(graph, graph->getParentOfType<ModuleOp>());
  TaskOrder order(graph);
  removePlacement(graph);
  if (!(order.*rule)())
    return peak;
  Block &block = graph.getBody().front();
  SmallVector<Operation *> before =
      llvm::map_to_vector(block, [](Operation &op) { return &op; });
  order.apply();
  int64_t then = countPeak(graph);
  if (then <= peak)
    return then;
  for (Operation *op : before)
    op->moveBefore(&block, block.end());
  return peak;
}

/// Orders the tasks, and numbers them in this order. Returns how many have
/// another number than before.
static FailureOr<int64_t> orderTasks(GraphOp graph) {
  int64_t peak = countPeak(graph);
  peak = moveTasks(graph, &TaskOrder::shrinkEarly, peak);
  moveTasks(graph, &TaskOrder::growLate, peak);
  if (failed(orderDonations(graph)))
    return failure();
  int64_t numMoved = 0;
  for (auto [number, task] : llvm::enumerate(graph.getOps<TaskOp>())) {
    numMoved += task.getId() != number;
    task.setId(number);
  }
  return numMoved;
}

namespace {
struct OrderTasksPass : remat::impl::OrderTasksPassBase<OrderTasksPass> {
  void runOnOperation() override {
    for (auto graph : getOperation().getOps<GraphOp>()) {
      if (graph.isPlanned()) {
        graph.emitOpError("is planned, expected its order to be free");
        return signalPassFailure();
      }
      FailureOr<int64_t> moved = orderTasks(graph);
      if (failed(moved))
        return signalPassFailure();
      numMoved += *moved;
    }
  }
};
} // namespace
