//===- StepGraphs.cpp - graphs of steps and of loops' bodies --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

SmallVector<FunctionOpInterface>
remat::findAlternatives(FunctionOpInterface function) {
  SmallVector<FunctionOpInterface> found;
  while (auto symbol = function->getAttrOfType<FlatSymbolRefAttr>(
             RematDialect::alternativeAttrName)) {
    function = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
        function, symbol);
    // A function may not be its own alternative, by way of others either.
    if (!function || llvm::is_contained(found, function))
      break;
    found.push_back(function);
  }
  return found;
}

SmallVector<GraphOp> remat::collectStepGraphs(ModuleOp module) {
  SmallVector<GraphOp> graphs;
  for (GraphOp graph : getStepGraphs(module)) {
    graphs.push_back(graph);
    for (FunctionOpInterface other : findAlternatives(graph))
      if (auto otherGraph = dyn_cast<GraphOp>(other.getOperation()))
        graphs.push_back(otherGraph);
  }
  return graphs;
}

void remat::eraseUnneeded(ModuleOp module) {
  SymbolTable table(module);
  SmallVector<Operation *> stack;
  for (GraphOp graph : getStepGraphs(module))
    stack.push_back(graph);
  llvm::DenseSet<Operation *> needed(stack.begin(), stack.end());
  while (!stack.empty())
    if (auto uses = SymbolTable::getSymbolUses(stack.pop_back_val()))
      for (SymbolTable::SymbolUse use : *uses) {
        Operation *symbol =
            table.lookup(use.getSymbolRef().getRootReference().getValue());
        if (symbol && needed.insert(symbol).second)
          stack.push_back(symbol);
      }
  for (Operation &op : llvm::make_early_inc_range(module.getOps())) {
    auto graph = dyn_cast<GraphOp>(op);
    bool mayErase =
        graph ? graph.isPrivate() : op.hasAttr(RematDialect::kernelAttrName);
    if (mayErase && !needed.contains(&op))
      op.erase();
  }
}

StackOp remat::findStack(Value slice) { return slice.getDefiningOp<StackOp>(); }

UnstackOp remat::findUnstack(Value result) {
  return result.hasOneUse() ? dyn_cast<UnstackOp>(*result.user_begin())
                            : UnstackOp();
}

SmallVector<Value> remat::getBufferOperands(LoopOp loop) {
  SmallVector<Value> operands;
  for (Value operand : loop->getOperands())
    if (StackOp stack = findStack(operand))
      llvm::append_range(operands, stack.getElements());
    else
      operands.push_back(operand);
  return operands;
}

SmallVector<Value> remat::getBufferResults(LoopOp loop) {
  SmallVector<Value> results(loop.getFinals());
  for (Value result : loop.getStacks())
    if (UnstackOp unstack = findUnstack(result))
      llvm::append_range(results, unstack.getElements());
    else
      results.push_back(result);
  return results;
}

llvm::DenseSet<StringAttr> remat::findLoopKernels(ModuleOp module) {
  llvm::DenseSet<StringAttr> names;
  for (auto kernel : module.getOps<func::FuncOp>())
    if (kernel->hasAttr(RematDialect::kernelAttrName) && !kernel.isExternal() &&
        !kernel.getOps<LoopOp>().empty())
      names.insert(kernel.getSymNameAttr());
  return names;
}

LoopOp remat::findLoop(TaskOp task) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      task, task.getKernelAttr());
  if (!kernel || kernel.isExternal())
    return nullptr;
  auto loops = kernel.getOps<LoopOp>();
  return loops.empty() ? nullptr : *loops.begin();
}

GraphOp remat::findBody(LoopOp loop) {
  return SymbolTable::lookupNearestSymbolFrom<GraphOp>(loop,
                                                       loop.getBodyAttr());
}

SmallVector<GraphOp> remat::findBodies(LoopOp loop) {
  SmallVector<GraphOp> bodies;
  for (FlatSymbolRefAttr symbol : {loop.getBodyAttr(), loop.getAdvanceAttr()})
    if (symbol)
      if (auto body =
              SymbolTable::lookupNearestSymbolFrom<GraphOp>(loop, symbol))
        bodies.push_back(body);
  return bodies;
}

SmallVector<Value> remat::getBodyOperands(LoopOp loop, GraphOp body) {
  SmallVector<Value> operands;
  bool isAdvance = body.getName() != loop.getBody();
  if (!isAdvance) {
    llvm::append_range(operands, loop.getInits());
    llvm::append_range(operands, loop.getInvariants());
  }
  llvm::append_range(operands, loop.getStateInits());
  if (isAdvance)
    llvm::append_range(operands, loop.getStateInvariants());
  llvm::append_range(operands,
                     isAdvance ? loop.getStateSlices() : loop.getSlices());
  return operands;
}
