//===- SecondPlans.cpp - plans with less workspace ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan belongs to a kernel, so that a task and its clones have the same one.
// Under a budget another plan may be better: then the whole graph has copies of
// the kernels, and the planner chooses between graphs, as between other forms
// of a step.
//
//===----------------------------------------------------------------------===//

#include "SecondPlans.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace remat;
using namespace remat::cuda;

static constexpr StringLiteral suffix = "_second";

/// The copy of a kernel that has the plans.
static FunctionOpInterface copyKernel(FunctionOpInterface kernel,
                                      ArrayRef<codegen::DevicePlan> plans,
                                      SymbolTable &symbols) {
  auto copy = cast<FunctionOpInterface>(kernel->clone());
  copy.setName((kernel.getName() + suffix).str());
  symbols.insert(copy, std::next(Block::iterator(kernel)));
  SmallVector<codegen::DevicePlan> seconds(plans);
  for (codegen::DevicePlan &plan : seconds)
    plan.isSecond = true;
  codegen::setDevicePlans(copy, seconds);
  return copy;
}

void remat::cuda::addGraphsWithSecondPlans(ModuleOp module,
                                           const SecondPlans &plans) {
  SymbolTable symbols(module);
  llvm::StringMap<FlatSymbolRefAttr> copies;
  auto findCopy = [&](TaskOp task) -> FlatSymbolRefAttr {
    auto found = plans.find(task.getKernel());
    if (found == plans.end())
      return {};
    FlatSymbolRefAttr &copy = copies[task.getKernel()];
    if (!copy)
      copy = FlatSymbolRefAttr::get(
          copyKernel(symbols.lookup<FunctionOpInterface>(task.getKernel()),
                     found->second, symbols));
    return copy;
  };
  for (GraphOp graph : llvm::to_vector(getStepGraphs(module))) {
    if (llvm::none_of(graph.getOps<TaskOp>(), [&](TaskOp task) {
          return plans.contains(task.getKernel());
        }))
      continue;
    FunctionOpInterface last = graph;
    for (FunctionOpInterface other : findAlternatives(graph))
      last = other;
    GraphOp copy = graph.clone();
    copy.setName((graph.getName() + suffix).str());
    copy.setPrivate();
    copy->removeAttr(RematDialect::alternativeAttrName);
    copy->setAttr(secondPlansAttrName, UnitAttr::get(module.getContext()));
    symbols.insert(copy, std::next(Block::iterator(last)));
    last->setAttr(RematDialect::alternativeAttrName,
                  FlatSymbolRefAttr::get(copy));
    for (TaskOp task : copy.getOps<TaskOp>())
      if (FlatSymbolRefAttr kernel = findCopy(task))
        task.setKernelAttr(kernel);
  }
}
