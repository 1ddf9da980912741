//===- Graph.cpp - a problem, resolved for the algorithms -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Builds the tables of `Graph`.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace remat::planning {

Graph::Graph(const Problem &problem)
    : problem(problem), roots(problem.findRoots()) {
  std::vector<uint32_t> count(numValues() + 1, 0);
  std::vector<uint32_t> lastReader(numValues(), noOp);
  backwardStart = numOps();
  operandBegin.push_back(0);
  for (auto [id, op] : enumerate(problem.ops)) {
    if (op.backward && backwardStart == numOps())
      backwardStart = id;
    for (ValueId operand : op.operands) {
      ValueId root = roots[operand];
      if (lastReader[root] == id)
        continue;
      lastReader[root] = id;
      operandList.push_back(root);
      ++count[root + 1];
    }
    operandBegin.push_back(operandList.size());
  }
  for (size_t i = 1; i < count.size(); ++i)
    count[i] += count[i - 1];
  readerBegin = count;
  readerList.resize(operandList.size());
  for (OpId op = 0; op < numOps(); ++op)
    for (ValueId operand : operands(op))
      readerList[count[operand]++] = op;

  policies.resize(numValues(), Policy::None);
  output.resize(numValues(), false);
  leavesForward.resize(numValues(), false);
  borders.resize(numValues(), noOp);
  once.resize(numOps(), false);
  for (auto [id, value] : enumerate(problem.values)) {
    ValueId root = roots[id];
    Policy &policy = policies[root];
    if (policy == Policy::None || (isMust(value.policy) && !isMust(policy)))
      policy = value.policy;
    if (value.isOutput)
      output[root] = true;
  }
  for (auto [id, op] : enumerate(problem.ops)) {
    once[id] = !op.recomputable;
    for (ValueId result : op.results) {
      Policy policy = policies[result];
      once[id] = once[id] || !problem.values[result].recomputable ||
                 policy == Policy::MustSave || policy == Policy::MustCpuOffload;
      leavesForward[result] =
          !op.backward &&
          ((policy == Policy::MustRecompute && id < backwardStart &&
            backwardStart < numOps()) ||
           (policy == Policy::MustCpuOffload && isReadByBackward(result)));
    }
  }
  OpId next = noOp;
  for (OpId op = numOps(); op-- > 0;) {
    for (ValueId result : results(op))
      if (leavesForward[result])
        borders[result] = next;
    if (problem.ops[op].backward)
      next = op;
  }
  findLossyForms();
}

/// Where the loss of a packed form stays in the backward phase.
void Graph::findLossyForms() {
  mayLose.assign(numValues(), false);
  exactOutput.assign(numOps(), false);
  if (problem.freeOrder || backwardStart == numOps())
    return;
  auto isOutputOp = [&](OpId op) {
    return any_of(results(op), [&](ValueId v) { return isOutput(v); });
  };
  // Forward ops that are needed where they must not change.
  std::vector<bool> exact(numOps(), false);
  for (OpId op = numOps(); op-- > 0;) {
    if (problem.ops[op].backward)
      continue;
    auto needsExact = [&](ValueId result) {
      // An output that has to be made again is made again from exact values.
      return (policies[result] == Policy::MustRecompute && isOutputOp(op)) ||
             any_of(readers(result),
                    [&](OpId reader) { return exact[reader]; });
    };
    exact[op] = op > backwardStart || any_of(results(op), needsExact);
  }
  // Forward ops that read what has a loss.
  std::vector<bool> reads(numOps(), false);
  for (ValueId value = 0; value < numValues(); ++value)
    mayLose[value] =
        problem.values[value].packed && problem.values[value].packed->lossy &&
        !isOutput(value) &&
        none_of(readers(value), [&](OpId reader) { return exact[reader]; });
  for (OpId op = 0; op < numOps(); ++op) {
    if (problem.ops[op].backward)
      continue;
    reads[op] = any_of(operands(op), [&](ValueId operand) {
      return mayLose[operand] ||
             (!isArgument(operand) && reads[producer(operand)]);
    });
    exactOutput[op] = reads[op] && !once[op] && isOutputOp(op);
  }
}

bool Graph::isReadByBackward(ValueId root) const {
  return any_of(readers(root),
                [&](OpId reader) { return problem.ops[reader].backward; });
}

bool Graph::mayReorder() const {
  return problem.freeOrder && numOps() > 1 &&
         !is_contained(leavesForward, true);
}

bool Graph::canOffload(ValueId root) const {
  const Value &value = problem.values[root];
  return problem.linkBytesPerSecond > 0 && value.offloadable &&
         !value.isArgument && policies[root] != Policy::MustSave;
}

bool Graph::recomputesOnly() const {
  for (ValueId value = 0; value < numValues(); ++value)
    if (canOffload(value) || canPack(value))
      return false;
  for (OpId op = 0; op < numOps(); ++op)
    if (canAbsorb(op))
      return false;
  return true;
}

bool Graph::canPack(ValueId root) const {
  const Value &value = problem.values[root];
  bool isOfUse = value.packed && (!value.packed->lossy || mayLose[root]);
  return isOfUse && policies[root] != Policy::MustSave &&
         policies[root] != Policy::MustCpuOffload;
}

void renumberAbsorbers(Op &op, function_ref<OpId(OpId)> renumber) {
  if (op.absorbers.empty())
    return;
  for (OpId &absorber : op.absorbers)
    absorber = renumber(absorber);
  llvm::erase(op.absorbers, noOp);
  llvm::sort(op.absorbers);
  if (op.absorbers.empty())
    op.absorbedCost.reset();
}

} // namespace remat::planning
