//===- KeepRepeated.cpp - kernels that would run twice --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Cheap recomputation comes before fusion, when it is not yet known which of
// its clones become a part of what reads them, and which are kernels of their
// own because a matmul or a convolution reads them from memory. As tasks, the
// latter are equal to forward ones.
//
//===----------------------------------------------------------------------===//

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"

#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/Hashing.h"

namespace remat {
#define GEN_PASS_DEF_KEEPREPEATEDPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether nobody asks when `task` runs, or how often.
static bool isFree(TaskOp task) {
  return !task.getPinned() && !task.getPolicies();
}

/// Whether the results of `op` are those of `earlier`: both are views, or the
/// same kernel, run by the forward and the backward computation.
static bool isRepetition(Operation *op, Operation *earlier) {
  if (op->getName() != earlier->getName() ||
      op->getOperands() != earlier->getOperands() ||
      op->getResultTypes() != earlier->getResultTypes())
    return false;
  auto task = dyn_cast<TaskOp>(op);
  if (!task)
    return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           op->getAttrDictionary() == earlier->getAttrDictionary();
  auto original = cast<TaskOp>(earlier);
  return task.getKernelAttr() == original.getKernelAttr() &&
         task.getBackward() && !original.getBackward() && isFree(task) &&
         isFree(original);
}

/// The same for operations of which one may repeat the other.
static llvm::hash_code hash(Operation *op) {
  auto task = dyn_cast<TaskOp>(op);
  return llvm::hash_combine(
      op->getName(), task ? task.getKernelAttr() : Attribute(),
      llvm::hash_combine_range(op->operand_begin(), op->operand_end()));
}

/// Removes the tasks of `graph` that repeat forward ones. Returns how many.
static int64_t keepRepeated(GraphOp graph) {
  int64_t numKept = 0;
  // What was run, in its order. It is only looked up: hashes of pointers decide
  // nothing.
  DenseMap<size_t, SmallVector<Operation *, 1>> earlier;
  // What a repetition reads is a repetition, and comes first.
  for (Operation &op : llvm::make_early_inc_range(graph.getBody().front())) {
    if (op.getNumOperands() == 0)
      continue;
    SmallVector<Operation *, 1> &alike = earlier[size_t(hash(&op))];
    auto original = llvm::find_if(
        alike, [&](Operation *other) { return isRepetition(&op, other); });
    if (original == alike.end()) {
      alike.push_back(&op);
      continue;
    }
    numKept += isa<TaskOp>(op);
    op.replaceAllUsesWith(*original);
    op.erase();
  }
  return numKept;
}

/// An alternative to `graph`, the last of all, that does so, if anything
/// changes. Returns how many tasks it has less.
static int64_t addAlternative(GraphOp graph, SymbolTable &symbols) {
  GraphOp copy = graph.clone();
  int64_t numKept = keepRepeated(copy);
  if (numKept == 0) {
    copy.erase();
    return 0;
  }
  FunctionOpInterface last = graph;
  for (FunctionOpInterface other : findAlternatives(graph))
    last = other;
  copy.setName((graph.getName() + "_kept").str());
  copy.setPrivate();
  copy->removeAttr(RematDialect::alternativeAttrName);
  copy->setAttr(keepsRepeatedAttrName, UnitAttr::get(graph.getContext()));
  symbols.insert(copy, std::next(Block::iterator(last)));
  last->setAttr(RematDialect::alternativeAttrName,
                FlatSymbolRefAttr::get(copy));
  return numKept;
}

namespace {
struct KeepRepeated : remat::impl::KeepRepeatedPassBase<KeepRepeated> {
  using KeepRepeatedPassBase::KeepRepeatedPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto graph : module.getOps<GraphOp>())
      if (graph.isPlanned()) {
        graph.emitOpError("is planned, expected its tasks to be those of the "
                          "program");
        return signalPassFailure();
      }
    if (!alternative) {
      for (auto graph : module.getOps<GraphOp>())
        numKept += keepRepeated(graph);
      return;
    }
    SymbolTable symbols(module);
    for (GraphOp graph : llvm::to_vector(getStepGraphs(module)))
      numKept += addAlternative(graph, symbols);
  }
};
} // namespace
