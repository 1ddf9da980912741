//===- StepGraphs.cpp - graphs of steps and of loops' bodies --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace remat;

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
