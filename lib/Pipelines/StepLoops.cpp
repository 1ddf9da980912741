//===- StepLoops.cpp - what is inside of the loops of a step --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bodies of a loop are placed graphs, and so reports of their own. What
// they are about is known around the loop: what is carried, read and stacked.
//
//===----------------------------------------------------------------------===//

#include "StepReporter.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/PlanGraph.h"
#include "remat/Planning/LayerFolding.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

/// The values of the graph around `task` that `operand` of its loop is, or is
/// stacked of.
static SmallVector<Value> findOuter(TaskOp task, Value operand) {
  SmallVector<Value> elements{operand};
  if (StackOp stack = findStack(operand))
    elements.assign(stack.getElements().begin(), stack.getElements().end());
  SmallVector<Value> outer;
  for (Value element : elements)
    if (auto argument = dyn_cast<BlockArgument>(getViewRoot(element)))
      outer.push_back(task.getOperand(argument.getArgNumber()));
  return outer;
}

BufferRole StepReporter::getRole(Value value) const {
  Value root = GraphLiveness::getOwner(value);
  if (auto argument = dyn_cast<BlockArgument>(root))
    return getArgumentRole(argument.getArgNumber());
  OpResult origin = findOrigin(root);
  return origin ? getRole(cast<TaskOp>(origin.getOwner()))
                : BufferRole::Activation;
}

/// The names of the parameters that results of `loop` are the gradients of.
std::vector<std::string> StepReporter::findGradients(TaskOp task,
                                                     LoopOp loop) const {
  std::vector<std::string> names(loop.getNumResults());
  auto findGradient = [&](Value element) -> StringRef {
    for (OpOperand &use : element.getUses()) {
      if (!isa<func::ReturnOp>(use.getOwner()))
        continue;
      for (OpOperand &outer : task.getResult(use.getOperandNumber()).getUses())
        if (isa<ReturnOp>(outer.getOwner()))
          return gradients[outer.getOperandNumber()];
    }
    return {};
  };
  for (auto [name, result] : llvm::zip(names, loop.getResults())) {
    UnstackOp unstack = findUnstack(result);
    if (!unstack) {
      name = findGradient(result).str();
      continue;
    }
    // Those of equal layers have one name.
    auto fold = [&](Value element) {
      StringRef own = findGradient(element);
      return unstack.getNumResults() > 1 ? planning::foldName(own) : own.str();
    };
    std::string first = fold(unstack.getResult(0));
    if (llvm::all_of(unstack.getResults(),
                     [&](Value element) { return fold(element) == first; }))
      name = first;
  }
  return names;
}

BodySurroundings StepReporter::surround(TaskOp task, LoopOp loop,
                                        GraphOp body) {
  BodySurroundings result;
  result.target = target;
  result.kernels = &kernels;
  StepPhase phase = getPhase(task);
  result.isBackward =
      phase == StepPhase::Backward || phase == StepPhase::Recompute;
  result.arguments = names->nameArguments(task, loop, body);
  for (auto [argument, operand] :
       llvm::zip(result.arguments, getBodyOperands(loop, body))) {
    SmallVector<Value> outer = findOuter(task, operand);
    result.roles.push_back(outer.empty() ? BufferRole::Input
                                         : getRole(outer.front()));
    if (argument.name.empty() && !outer.empty())
      if (auto number = dyn_cast<BlockArgument>(getViewRoot(outer.front())))
        argument.name = getArgumentName(number.getArgNumber());
  }
  bool isAdvance = body.getName() != loop.getBody();
  result.numCarried =
      isAdvance ? loop.getStateInits().size() : loop.getInits().size();
  if (!isAdvance)
    result.gradients = findGradients(task, loop);
  result.gradients.resize(body.getNumResults());
  return result;
}

LogicalResult StepReporter::addBodies(TaskOp task, LoopOp loop,
                                      ReportEntry &entry) {
  for (GraphOp graph : findBodies(loop)) {
    BodySurroundings surroundings = surround(task, loop, graph);
    FailureOr<StepReport> report =
        StepReporter(graph, options, link, decisions, &surroundings).run();
    if (failed(report))
      return failure();
    LoopBody &body = entry.bodies.emplace_back();
    body.isAdvance = graph.getName() != loop.getBody();
    body.mostRuns = body.isAdvance ? getAdvances(loop) : loop.getCount();
    body.report = std::move(*report);
    for (const ReportEntry &inner : body.report.entries)
      entry.add(inner, body.mostRuns);
  }
  return success();
}

/// What an argument or a result of a body is to a reader.
std::string StepReporter::nameCarried(unsigned number) const {
  if (!around->gradients[number].empty())
    return "gradient of " + around->gradients[number] + ", so far";
  const std::string &first = around->arguments[number].name;
  return first.empty() ? "carried" : "carried, at first " + first;
}

std::string StepReporter::nameBodyResult(unsigned number) {
  const std::string &gradient = around->gradients[number];
  if (number < around->numCarried)
    return nameCarried(number) + ", of the next iteration";
  if (!gradient.empty())
    return "gradient of " + gradient;
  std::string name =
      names->get(graph.getBody().front().getTerminator()->getOperand(number))
          .name;
  return name.empty() ? "result " + std::to_string(number)
                      : name + ", for all iterations";
}

/// Gives each part of the workspace of a loop a buffer of its own.
void StepReporter::addWorkspaceParts(LoopOp loop, const ReportBuffer &whole) {
  LoopWorkspaceParts parts = getWorkspaceParts(loop);
  ReportEntry &entry = report.entries[whole.birth];
  int64_t offset = whole.offset;
  auto add = [&](int64_t bytes, std::string name) {
    if (bytes == 0)
      return false;
    ReportBuffer &buffer = report.buffers.emplace_back(whole);
    buffer.name = std::move(name);
    buffer.offset = offset;
    buffer.bytes = bytes;
    buffer.result = offset == whole.offset ? 0 : report.buffers.size();
    offset += bytes;
    return true;
  };
  if (add(parts.iteration, "an iteration of " + entry.name))
    entry.iteration = report.buffers.size() - 1;
  add(parts.carried, "what " + entry.name + " carries");
  add(parts.states, "states of " + entry.name + " that are made again");
  if (add(parts.checkpoints,
          std::to_string(parts.numCheckpoints) + " states of " + entry.name)) {
    ReportBuffer &checkpoints = report.buffers.back();
    checkpoints.role = BufferRole::Activation;
    checkpoints.decision = BufferDecision::Saved;
    checkpoints.reason = "checkpoints, which the states of all " +
                         std::to_string(loop.getCount()) +
                         " iterations are made again from; " + "that takes " +
                         std::to_string(getAdvances(loop)) + " iterations more";
  }
  add(parts.stages, "states of " + entry.name + " that go to the host");
}
