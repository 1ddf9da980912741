//===- OfferPacking.cpp - packed forms for the planner --------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offers are tasks with kernels of their own, so that they cost what any other
// task costs and fuse with nothing: the planner has to be free to leave them
// out.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/PackedForms.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/Builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

namespace remat {
#define GEN_PASS_DEF_OFFERPACKINGPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

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

namespace {
/// The values of a graph that may be packed.
class Eligible {
public:
  explicit Eligible(GraphOp graph);

  bool contains(OpResult value) const;

private:
  bool isBackward(TaskOp task) const {
    return task.getBackwardLevel() >= level;
  }
  void exclude(TaskOp reader, bool throughBackward);

  unsigned level;
  /// Tasks of which nothing may be packed, and those whose operands are known
  /// to be results of such.
  DenseSet<Operation *> excluded, seen;
};
} // namespace

Eligible::Eligible(GraphOp graph) : level(graph.getPlannedLevel()) {
  SymbolTable symbols(graph->getParentOfType<ModuleOp>());
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
void Eligible::exclude(TaskOp reader, bool throughBackward) {
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

bool Eligible::contains(OpResult value) const {
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
// Kernels and tasks
//===----------------------------------------------------------------------===//

namespace {
struct OfferPacking : remat::impl::OfferPackingPassBase<OfferPacking> {
  using OfferPackingPassBase::OfferPackingPassBase;

  void runOnOperation() override {
    if (codec != "bf16") {
      getOperation().emitError("remat-offer-packing: unknown codec '")
          << codec << "', expected 'bf16'";
      return signalPassFailure();
    }
    for (GraphOp graph : llvm::to_vector(getStepGraphs(getOperation()))) {
      if (graph.isPlanned()) {
        graph.emitOpError("is already planned, expected one without a plan");
        return signalPassFailure();
      }
      offer(graph);
    }
  }

private:
  void offer(GraphOp graph);
  func::FuncOp getConversion(RankedTensorType from, RankedTensorType to,
                             StringRef name);

  DenseMap<std::pair<Type, Type>, func::FuncOp> conversions;
};
} // namespace

/// A kernel that rounds, or extends, each element.
func::FuncOp OfferPacking::getConversion(RankedTensorType from,
                                         RankedTensorType to, StringRef name) {
  func::FuncOp &kernel = conversions[{from, to}];
  if (kernel)
    return kernel;
  OpBuilder builder(&getContext());
  Location loc = getOperation().getLoc();
  kernel = func::FuncOp::create(
      builder, loc, name,
      builder.getFunctionType(TypeRange(from), TypeRange(to)));
  kernel.setPrivate();
  kernel->setAttr(RematDialect::kernelAttrName, builder.getUnitAttr());
  Block *body = kernel.addEntryBlock();
  builder.setInsertionPointToStart(body);
  bool narrows = to.getElementTypeBitWidth() < from.getElementTypeBitWidth();
  Value result = createElementwise(
      builder, loc, body->getArgument(0), to,
      [&](OpBuilder &nested, Location loc, ValueRange args) -> Value {
        Type element = to.getElementType();
        if (narrows)
          return arith::TruncFOp::create(nested, loc, element, args[0]);
        return arith::ExtFOp::create(nested, loc, element, args[0]);
      });
  func::ReturnOp::create(builder, loc, result);
  SymbolTable symbols(getOperation());
  symbols.insert(kernel, getOperation().getBody()->end());
  return kernel;
}

void OfferPacking::offer(GraphOp graph) {
  Eligible eligible(graph);
  SmallVector<OpResult> values;
  int64_t number = 0;
  for (auto task : graph.getOps<TaskOp>()) {
    number = std::max<int64_t>(number, task.getId() + 1);
    for (OpResult value : task->getResults())
      if (eligible.contains(value))
        values.push_back(value);
  }
  OpBuilder builder(graph.getBody().front().getTerminator());
  auto addTask = [&](func::FuncOp kernel, Value operand, StringRef mark) {
    unsigned level = graph.getPlannedLevel();
    auto task = TaskOp::create(
        builder, operand.getLoc(), kernel.getFunctionType().getResults(),
        kernel.getName(), operand, /*id=*/number++, /*copy=*/0,
        /*backward=*/true, /*phase=*/0, /*pinned=*/false, /*policies=*/{},
        /*names=*/{}, /*layers=*/{}, /*cost=*/0, /*workspace=*/0,
        /*host_workspace=*/0,
        /*placement=*/{}, /*workspace_offset=*/{},
        /*host_workspace_offset=*/{},
        /*level=*/level > 1 ? builder.getI64IntegerAttr(level) : IntegerAttr(),
        /*policy_level=*/{});
    task->setAttr(mark, builder.getStringAttr(codec));
    return task->getResult(0);
  };
  for (OpResult value : values) {
    auto type = cast<RankedTensorType>(value.getType());
    auto packed = cast<RankedTensorType>(type.clone(builder.getBF16Type()));
    Value form =
        addTask(getConversion(type, packed, "pack"), value, packsAttrName);
    addTask(getConversion(packed, type, "unpack"), form, unpacksAttrName);
  }
  numOffered += values.size();
}
