//===- StepGraphs.cpp - graphs of steps and of loops' bodies --------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "remat/Dialect/Remat/IR/Donations.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace remat;

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

int64_t remat::getWorkspaceBytes(LoopOp loop, GraphOp body) {
  int64_t alignment = getTargetFacts(body).getAlignment();
  int64_t bytes = body.getArenaBytes().value_or(0);
  SmallVector<BlockArgument> donors = getDonors(body);
  for (auto [number, init] : llvm::enumerate(loop.getInits()))
    if (donors[number] != body.getArguments()[number])
      bytes += llvm::alignTo(getBufferBytes(init), alignment);
  return bytes;
}
