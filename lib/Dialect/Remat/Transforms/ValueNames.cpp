//===- ValueNames.cpp - names of the values of a graph --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/Transforms/TaskNames.h"

#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Planning/LayerFolding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace remat;

/// The name that the program gave an argument, and the module that it is of.
static ValueName nameArgument(GraphOp graph, unsigned number) {
  ValueName name;
  auto given =
      graph.getArgAttrOfType<StringAttr>(number, RematDialect::nameAttrName);
  if (!given)
    return name;
  name.name = given.str();
  name.isNamedArgument = true;
  StringRef layer = given.getValue().rsplit('.').first;
  if (layer.size() < given.size())
    name.layer = layer.str();
  return name;
}

static SmallVector<ValueName> nameArguments(GraphOp graph) {
  SmallVector<ValueName> names;
  for (unsigned number = 0; number < graph.getNumArguments(); ++number)
    names.push_back(nameArgument(graph, number));
  return names;
}

ValueNames::ValueNames(GraphOp graph, ArrayRef<std::string> gradients,
                       ArrayRef<ValueName> given)
    : graph(graph), arguments(given.empty() ? ::nameArguments(graph)
                                            : SmallVector<ValueName>(given)),
      layers(graph, gradients, given) {}

ValueName ValueNames::get(Value value) {
  Value root = getViewRoot(value);
  while (isa_and_nonnull<OffloadOp, ReloadOp>(root.getDefiningOp()))
    root = getViewRoot(root.getDefiningOp()->getOperand(0));
  if (auto argument = dyn_cast<BlockArgument>(root))
    return arguments[argument.getArgNumber()];
  auto task = dyn_cast<TaskOp>(root.getDefiningOp());
  if (!task)
    return {};
  if (findLoop(task)) {
    unsigned number = cast<OpResult>(root).getResultNumber();
    ValueName name = getLoopResults(task)[number];
    if (!name.name.empty())
      return name;
  }
  std::string layer = layers.getLayer(task).str();
  std::string name = joinName(layer, describeKind(task));
  if (task.getBackward() && !isUpdate(task))
    name += ", backward";
  return {name, layer, /*isNamedArgument=*/false};
}

/// What several values are called: those of equal layers by one name.
static ValueName fold(ArrayRef<ValueName> names) {
  if (names.empty())
    return {};
  ValueName folded = names.front();
  if (names.size() == 1)
    return folded;
  folded.name = planning::foldName(folded.name);
  folded.layer = planning::foldLayer(folded.layer);
  for (const ValueName &name : names.drop_front()) {
    folded.isNamedArgument &= name.isNamedArgument;
    if (planning::foldName(name.name) != folded.name)
      folded.name.clear();
    if (planning::foldLayer(name.layer) != folded.layer)
      folded.layer.clear();
  }
  return folded;
}

SmallVector<ValueName> ValueNames::nameArguments(TaskOp task, LoopOp loop,
                                                 GraphOp body) {
  auto nameOperand = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(getViewRoot(operand));
    return argument ? get(task.getOperand(argument.getArgNumber()))
                    : ValueName();
  };
  return llvm::map_to_vector(getBodyOperands(loop, body), [&](Value operand) {
    if (StackOp stack = findStack(operand))
      return fold(llvm::map_to_vector(stack.getElements(), nameOperand));
    return nameOperand(operand);
  });
}

ArrayRef<ValueName> ValueNames::getLoopResults(TaskOp task) {
  if (auto known = loopResults.find(task); known != loopResults.end())
    return known->second;
  SmallVector<ValueName, 0> names(task.getNumResults());
  LoopOp loop = findLoop(task);
  if (GraphOp body = findBody(loop)) {
    SmallVector<ValueName> arguments = nameArguments(task, loop, body);
    ValueNames inner(body, /*gradients=*/{}, arguments);
    OperandRange made = body.getBody().front().getTerminator()->getOperands();
    size_t carried = loop.getInits().size();
    size_t next = carried;
    for (auto [number, stack] : llvm::enumerate(loop.getStacks())) {
      ValueName name = inner.get(made[carried + number]);
      UnstackOp unstack = findUnstack(stack);
      size_t elements = unstack ? unstack.getNumResults() : 1;
      for (size_t i = 0; i < elements && next < names.size(); ++i, ++next) {
        names[next] = {"", name.layer, /*isNamedArgument=*/false};
        if (name.name.empty())
          continue;
        names[next].name = name.name;
        if (unstack)
          names[next].name += ", of iteration " + std::to_string(i);
        else if (loop.isCountedAtRunTime())
          names[next].name +=
              ", of up to " + std::to_string(loop.getCount()) + " iterations";
        else
          names[next].name +=
              ", of " + std::to_string(loop.getCount()) + " iterations";
      }
    }
  }
  return loopResults[task] = std::move(names);
}
