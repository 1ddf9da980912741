//===- Packable.cpp - values that may be packed ---------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Packable.h"

#include "GraphPlanning.h"

#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

/// Less is not worth two tasks.
static constexpr int64_t leastBytes = 1024;

//===----------------------------------------------------------------------===//
// What may be inexact
//===----------------------------------------------------------------------===//

/// Whether `value` is a number that packing keeps, and to both sides of which
/// it leaves what is there.
static bool isKept(Value value) {
  return matchPattern(value, m_AnyZeroFloat()) ||
         matchPattern(value, m_PosInfFloat()) ||
         matchPattern(value, m_NegInfFloat());
}

/// Whether a small change of what `op` reads can change its result by more.
static bool isDecision(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return !isKept(compare.getLhs()) && !isKept(compare.getRhs());
  return isa<arith::FPToSIOp, arith::FPToUIOp, arith::RemFOp, math::FloorOp,
             math::CeilOp, math::RoundOp, math::RoundEvenOp, math::TruncOp,
             CallOpInterface, LoopOp>(op);
}

Packable::Packable(GraphOp graph)
    : level(graph.getPlannedLevel()),
      symbols(graph->getParentOfType<ModuleOp>()) {
  llvm::StringMap<bool> decides;
  auto isDeciding = [&](TaskOp task) {
    auto [entry, isNew] = decides.try_emplace(task.getKernel(), true);
    if (Operation *kernel = symbols.lookup(task.getKernel()); kernel && isNew)
      entry->second = kernel
                          ->walk([](Operation *op) {
                            return isDecision(op) ? WalkResult::interrupt()
                                                  : WalkResult::advance();
                          })
                          .wasInterrupted();
    return entry->second;
  };
  SmallVector<TaskOp> deciding, late;
  bool begun = false;
  for (auto task : graph.getOps<TaskOp>()) {
    begun |= isBackward(task);
    if (isDeciding(task))
      deciding.push_back(task);
    if (begun && !isBackward(task))
      late.push_back(task);
  }
  for (TaskOp task : deciding)
    exclude(task, /*throughBackward=*/true);
  seen.clear();
  for (TaskOp task : late)
    exclude(task, /*throughBackward=*/false);
}

/// Excludes what `reader` reads, and what that is made of.
void Packable::exclude(TaskOp reader, bool throughBackward) {
  SmallVector<TaskOp> worklist = {reader};
  while (!worklist.empty())
    for (Value operand : worklist.pop_back_val()->getOperands()) {
      auto maker = getViewRoot(operand).getDefiningOp<TaskOp>();
      if (!maker || (!throughBackward && isBackward(maker)) ||
          !seen.insert(maker).second)
        continue;
      excluded.insert(maker);
      worklist.push_back(maker);
    }
}

bool Packable::contains(OpResult value) const {
  auto task = cast<TaskOp>(value.getOwner());
  unsigned number = value.getResultNumber();
  auto type = cast<RankedTensorType>(value.getType());
  if (isBackward(task) || excluded.contains(task) || isReturned(value) ||
      !type.getElementType().isF32() || getBufferBytes(type) < leastBytes ||
      task.getInPlaceOperand(number) || task.getResultSlot(number))
    return false;
  std::optional<Policy> policy = task.getResultPolicy(number);
  if (policy && *policy != Policy::PreferSave &&
      *policy != Policy::PreferRecompute)
    return false;
  bool isSaved = false;
  forEachReader(value, [&](Operation *reader) {
    auto other = dyn_cast<TaskOp>(reader);
    isSaved |= other && isBackward(other);
  });
  return isSaved;
}

//===----------------------------------------------------------------------===//
// What must not become zero
//===----------------------------------------------------------------------===//

/// Whether `use` is where an operation has no finite result for 0.
static bool isSingular(OpOperand &use) {
  Operation *op = use.getOwner();
  if (isa<arith::DivFOp>(op))
    return use.getOperandNumber() == 1;
  if (isa<math::PowFOp>(op))
    return use.getOperandNumber() == 0;
  return isa<math::LogOp, math::Log2Op, math::Log10Op, math::RsqrtOp>(op);
}

/// Whether an operation of a kernel divides by an element of `argument`, or
/// does what comes to the same. What is added up of several elements is another
/// number.
static bool isDivisor(BlockArgument argument) {
  SmallVector<Value> worklist = {argument};
  DenseSet<Value> seen;
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (isSingular(use))
        return true;
      auto structured = dyn_cast<linalg::LinalgOp>(op);
      if (structured) {
        if (structured->getNumRegions() == 1)
          worklist.push_back(structured.getMatchingBlockArgument(&use));
        if (structured.getNumReductionLoops() == 0)
          llvm::append_range(worklist, op->getResults());
      } else if (!op->hasTrait<OpTrait::IsTerminator>()) {
        llvm::append_range(worklist, op->getResults());
      }
    }
  }
  return false;
}

bool Packable::mayBecomeZero(OpResult value) {
  bool isSafe = true;
  forEachReader(value, [&](Operation *reader) {
    auto task = dyn_cast<TaskOp>(reader);
    auto kernel =
        task ? symbols.lookup<func::FuncOp>(task.getKernel()) : func::FuncOp();
    if (!kernel || kernel.isExternal())
      return;
    for (auto [number, operand] : llvm::enumerate(task.getOperands()))
      if (isSafe && getViewRoot(operand) == value)
        isSafe = !isDivisor(kernel.getArgument(number));
  });
  return isSafe;
}
