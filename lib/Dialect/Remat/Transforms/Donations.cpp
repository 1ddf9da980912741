//===- Donations.cpp - arguments are read before they are overwritten -----===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result that has the buffer of an argument is written when nothing reads the
// argument any more, neither a task nor a repetition of one. Planners know
// nothing of this: what writes such a result runs once, and waits in the
// schedule that they find until the last reader has run.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Donations.h"

#include <queue>

using namespace mlir;
using namespace remat;

/// What writes the result that `returned` is.
static Operation *getWriter(Value returned) {
  return getViewRoot(returned).getDefiningOp();
}

namespace {
/// The operations of a graph and what each of them waits for.
class WaitingOrder {
public:
  explicit WaitingOrder(GraphOp graph);

  /// Lets `writer` wait for what reads `argument`. Whether it did not do so
  /// before.
  bool wait(Operation *writer, Value argument);
  /// Puts the operations into an order in which none waits for a later one, as
  /// near to the old one as can be. False if there is none.
  bool apply();

private:
  void add(Operation *first, Operation *then) {
    ++numWaits[number.lookup(then)];
    waiting[number.lookup(first)].push_back(number.lookup(then));
  }

  Block &block;
  SmallVector<Operation *> ops;
  DenseMap<Operation *, unsigned> number;
  std::vector<SmallVector<unsigned, 2>> waiting;
  std::vector<unsigned> numWaits;
};
} // namespace

WaitingOrder::WaitingOrder(GraphOp graph) : block(graph.getBody().front()) {
  for (Operation &op : block.without_terminator()) {
    number[&op] = ops.size();
    ops.push_back(&op);
  }
  waiting.resize(ops.size());
  numWaits.resize(ops.size());
  Operation *pinned = nullptr;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp())
        add(maker, op);
    // Nothing reads what was released.
    if (auto release = dyn_cast<ReleaseOp>(op))
      forEachReader(getViewRoot(release.getSource()), [&](Operation *reader) {
        if (reader != op)
          add(reader, op);
      });
    auto task = dyn_cast<TaskOp>(op);
    if (!task || !task.getPinned())
      continue;
    if (pinned)
      add(pinned, op);
    pinned = op;
  }
}

bool WaitingOrder::wait(Operation *writer, Value argument) {
  bool isNew = false;
  forEachReader(argument, [&](Operation *reader) {
    if (reader == writer || isa<ReturnOp>(reader))
      return;
    isNew |= number.lookup(reader) > number.lookup(writer);
    add(reader, writer);
  });
  return isNew;
}

bool WaitingOrder::apply() {
  std::priority_queue<unsigned, std::vector<unsigned>, std::greater<>> ready;
  for (auto [number, count] : llvm::enumerate(numWaits))
    if (count == 0)
      ready.push(number);
  SmallVector<Operation *> order;
  while (!ready.empty()) {
    unsigned next = ready.top();
    ready.pop();
    order.push_back(ops[next]);
    for (unsigned other : waiting[next])
      if (--numWaits[other] == 0)
        ready.push(other);
  }
  if (order.size() != ops.size())
    return false;
  for (Operation *op : order)
    op->moveBefore(block.getTerminator());
  return true;
}

bool remat::tryOrderDonations(GraphOp graph, ArrayRef<BlockArgument> donors) {
  if (llvm::none_of(donors, [](Value donor) { return bool(donor); }))
    return true;
  WaitingOrder order(graph);
  bool isNew = false;
  for (auto [donor, returned] : llvm::zip(
           donors, graph.getBody().front().getTerminator()->getOperands()))
    if (Operation *writer = getWriter(returned); donor && writer)
      isNew |= order.wait(writer, donor);
  return !isNew || order.apply();
}

LogicalResult remat::orderDonations(GraphOp graph) {
  if (tryOrderDonations(graph, getDonors(graph)))
    return success();
  return graph.emitOpError("has a task that reads an argument and needs the "
                           "result that is written over it");
}
