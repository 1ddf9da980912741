//===- KernelEmitter.cpp - a bufferized kernel as loops -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Puts the loops of a kernel's ops together. Ops that do not depend on each
// other share the range of units, one after the other; where one reads what
// another writes, the kernel is a single unit that runs them in order.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "LoopEmitter.h"
#include "RowEmitter.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/Saturating.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace remat;
using namespace remat::codegen;
using namespace remat::cpu;

namespace {

//===----------------------------------------------------------------------===//
// Steps of a kernel
//===----------------------------------------------------------------------===//

/// An op that stands in the kernel itself, such as a store: one unit.
class ScalarEmitter : public Emitter {
public:
  ScalarEmitter(Operation *op, const KernelContext &kernel)
      : op(op), kernel(kernel) {}
  int64_t getExtent() const override { return 1; }
  int64_t getCost() const override { return 1; }
  LogicalResult emit(OpBuilder &builder, Value begin, Value end) override {
    OpBuilder::InsertionGuard guard(builder);
    openLoop(builder, op->getLoc(), begin, end);
    auto store = cast<memref::StoreOp>(op);
    FailureOr<BufferView> view = resolveView(store.getMemRef());
    if (failed(view))
      return failure();
    SmallVector<Value> indices;
    for (Value index : store.getIndices())
      indices.push_back(kernel.scalars.lookupOrDefault(index));
    Value address =
        emitLinear(builder, op->getLoc(), view->offset, view->strides, indices);
    kernel.store(builder, op->getLoc(),
                 kernel.scalars.lookupOrDefault(store.getValueToStore()),
                 view->root, address);
    return success();
  }

private:
  Operation *op;
  const KernelContext &kernel;
};

/// One op of the kernel: loops, or a scalar computation (without emitter).
struct Step {
  Operation *op;
  std::unique_ptr<Emitter> emitter;
  SmallVector<BufferView> reads, writes;
};

class KernelEmitter {
public:
  KernelEmitter(BufferizedKernel &kernel, StringRef name, ModuleOp module,
                CheckList &checks, const TileShape &tile)
      : kernel(kernel), name(name), module(module), checks(checks), tile(tile),
        builder(OpBuilder::atBlockEnd(module.getBody())) {}

  FailureOr<EmittedKernel> run();

private:
  void createFunction();
  LogicalResult collectSteps();
  LogicalResult addScatter(ScatterOp scatter, Step &step);
  LogicalResult collectAccesses(Step &step);
  bool isOrdered() const;
  LogicalResult emitScalar(Operation *op);
  LogicalResult emitRows();
  LogicalResult emitInOrder();
  LogicalResult emitSideBySide();

  BufferizedKernel &kernel;
  StringRef name;
  ModuleOp module;
  CheckList &checks;
  const TileShape &tile;
  OpBuilder builder;
  KernelContext context;
  EmittedKernel result;
  std::vector<Step> steps;
  Value begin, end;
};

} // namespace

void KernelEmitter::createFunction() {
  result.workspaceBytes = assignWorkspace(kernel.function, result.workspace);
  Block &old = kernel.function.getBody().front();
  SmallVector<Value> roots(old.getArguments());
  for (const WorkspaceBuffer &buffer : result.workspace)
    roots.push_back(buffer.buffer);
  SmallVector<Type> types;
  for (Value root : roots)
    types.push_back(getFlatType(cast<MemRefType>(root.getType())));
  types.append({builder.getIndexType(), builder.getIndexType(),
                LLVM::LLVMPointerType::get(builder.getContext())});
  Location loc = kernel.function.getLoc();
  result.function = func::FuncOp::create(builder, loc, name,
                                         builder.getFunctionType(types, {}));
  result.function.setPrivate();
  context.entry = result.function.addEntryBlock();
  context.checks = &checks;
  for (auto [number, root] : llvm::enumerate(roots)) {
    bool isArgument = number < kernel.buffers.size();
    context.buffers[root] = context.entry->getArgument(
        isArgument ? kernel.buffers[number] : number);
  }
  for (unsigned i = 0, e = roots.size(); i < e; ++i)
    result.function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                               builder.getUnitAttr());
  auto last = context.entry->getArguments().take_back(3);
  begin = last[0];
  end = last[1];
  context.status = last[2];
  builder.setInsertionPointToStart(context.entry);
}

LogicalResult KernelEmitter::collectAccesses(Step &step) {
  auto add = [&](Value value, SmallVectorImpl<BufferView> &list) {
    if (!isa<MemRefType>(value.getType()))
      return success();
    FailureOr<BufferView> view = resolveView(value);
    if (succeeded(view))
      list.push_back(*view);
    return LogicalResult(view);
  };
  if (auto destination = dyn_cast<DestinationStyleOpInterface>(step.op)) {
    for (OpOperand *input : destination.getDpsInputOperands())
      if (failed(add(input->get(), step.reads)))
        return failure();
    for (OpOperand &init : destination.getDpsInitsMutable())
      if (failed(add(init.get(), step.writes)) ||
          failed(add(init.get(), step.reads)))
        return failure();
  } else if (auto store = dyn_cast<memref::StoreOp>(step.op)) {
    return add(store.getMemRef(), step.writes);
  }
  // What bodies gather from, or a scalar load reads.
  WalkResult walk = step.op->walk([&](memref::LoadOp load) {
    return failed(add(load.getMemRef(), step.reads)) ? WalkResult::interrupt()
                                                     : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// What `step` copies as a whole from an argument of the kernel into `target`,
/// if that is all it does.
static std::optional<BufferView> findCopied(const Step &step,
                                            const BufferView &target) {
  auto copy = dyn_cast<linalg::GenericOp>(step.op);
  if (!copy || copy.getNumDpsInputs() != 1 || copy.getNumDpsInits() != 1 ||
      !isa<MemRefType>(copy.getDpsInputs()[0].getType()) ||
      !llvm::hasSingleElement(*copy.getBody()) ||
      copy.getBody()->getTerminator()->getOperand(0) !=
          copy.getBody()->getArgument(0) ||
      !llvm::all_of(copy.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }))
    return std::nullopt;
  FailureOr<BufferView> source = resolveView(copy.getDpsInputs()[0]);
  FailureOr<BufferView> copied = resolveView(copy.getDpsInits()[0]);
  if (failed(source) || failed(copied) || copied->root != target.root ||
      !copied->isWhole() || !target.isWhole() || !source->isWhole() ||
      !isa<BlockArgument>(source->root))
    return std::nullopt;
  return *source;
}

LogicalResult KernelEmitter::addScatter(ScatterOp scatter, Step &step) {
  FailureOr<BufferView> target = resolveView(scatter.getInit());
  if (failed(target))
    return failure();
  // The units of the scatter copy what they add to, each its own part, and
  // nothing if it is there already.
  std::optional<BufferView> start;
  if (!steps.empty() && steps.back().emitter)
    start = findCopied(steps.back(), *target);
  if (start)
    steps.pop_back();
  auto emitter = makeScatterEmitter(scatter, context, start);
  if (failed(emitter))
    return failure();
  step.emitter = std::move(*emitter);
  if (start)
    step.reads.push_back(*start);
  return success();
}

LogicalResult KernelEmitter::collectSteps() {
  for (Operation &op : kernel.function.getBody().front().without_terminator()) {
    if (isa<memref::AllocOp, memref::DeallocOp, ViewLikeOpInterface>(op))
      continue;
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      if (failed(context.addConstant(builder, module, name, get)))
        return failure();
      continue;
    }
    Step step{&op, nullptr, {}, {}};
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      FailureOr<LoopNest> nest = makeLoopNest(generic);
      if (failed(nest))
        return failure();
      step.emitter = makeNestEmitter(std::move(*nest), context);
    } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
      if (failed(addScatter(scatter, step)))
        return failure();
    } else if (isa<memref::StoreOp>(op)) {
      step.emitter = std::make_unique<ScalarEmitter>(&op, context);
    } else if (op.getNumRegions() != 0 ||
               (!isa<memref::LoadOp, CheckIndexOp, cf::AssertOp>(op) &&
                !isPure(&op))) {
      return op.emitOpError("is not supported in a kernel on CPU ('")
             << kernel.function.getName() << "')";
    }
    if (failed(collectAccesses(step)))
      return failure();
    steps.push_back(std::move(step));
  }
  return success();
}

/// Whether some step depends on another one's memory.
bool KernelEmitter::isOrdered() const {
  for (unsigned later = 0; later < steps.size(); ++later)
    for (unsigned earlier = 0; earlier < later; ++earlier) {
      auto overlap = [](ArrayRef<BufferView> a, ArrayRef<BufferView> b) {
        for (const BufferView &x : a)
          for (const BufferView &y : b)
            if (!x.isDisjoint(y))
              return true;
        return false;
      };
      const Step &a = steps[earlier], &b = steps[later];
      if (overlap(a.writes, b.writes) || overlap(a.writes, b.reads) ||
          overlap(a.reads, b.writes))
        return true;
    }
  return false;
}

LogicalResult KernelEmitter::emitScalar(Operation *op) {
  Operation *clone = builder.clone(*op, context.scalars);
  FailureOr<Value> replacement = context.lowerOp(clone);
  if (failed(replacement))
    return failure();
  if (*replacement)
    context.scalars.map(op->getResult(0), *replacement);
  return success();
}

/// All operations on one row or block of rows after the other.
LogicalResult KernelEmitter::emitRows() {
  for (Operation &op : kernel.function.getBody().front().without_terminator())
    if (auto get = dyn_cast<memref::GetGlobalOp>(op)) {
      if (failed(context.addConstant(builder, module, name, get)))
        return failure();
    } else if (op.getNumRegions() == 0 && op.getNumResults() == 1 &&
               !isa<MemRefType>(op.getResult(0).getType())) {
      if (failed(emitScalar(&op)))
        return failure();
    }
  FailureOr<std::unique_ptr<Emitter>> emitter =
      makeRowEmitter(kernel.function, context, tile);
  if (failed(emitter))
    return failure();
  result.extent = std::max<int64_t>((*emitter)->getExtent(), 1);
  int64_t unitCost =
      std::max<int64_t>((*emitter)->getCost() / result.extent, 1);
  result.grain = std::max<int64_t>(ThreadTuning::minCost / unitCost, 1);
  return (*emitter)->emit(builder, begin, end);
}

LogicalResult KernelEmitter::emitInOrder() {
  OpBuilder::InsertionGuard guard(builder);
  openLoop(builder, kernel.function.getLoc(), begin, end);
  for (Step &step : steps) {
    if (!step.emitter) {
      if (failed(emitScalar(step.op)))
        return failure();
      continue;
    }
    Location loc = step.op->getLoc();
    if (failed(step.emitter->emit(
            builder, emitIndex(builder, loc, 0),
            emitIndex(builder, loc, step.emitter->getExtent()))))
      return failure();
  }
  return success();
}

LogicalResult KernelEmitter::emitSideBySide() {
  int64_t extent = 0, cost = 0;
  unsigned emitters = 0;
  for (Step &step : steps) {
    if (!step.emitter)
      continue;
    ++emitters;
    extent = addCounts(extent, step.emitter->getExtent());
    cost = addCounts(cost, step.emitter->getCost());
  }
  result.extent = std::max<int64_t>(extent, 1);
  int64_t unitCost = std::max<int64_t>(cost / result.extent, 1);
  result.grain = std::max<int64_t>(ThreadTuning::minCost / unitCost, 1);
  int64_t first = 0;
  for (Step &step : steps) {
    if (!step.emitter) {
      if (failed(emitScalar(step.op)))
        return failure();
      continue;
    }
    Location loc = step.op->getLoc();
    Value from = begin, to = end;
    if (emitters > 1) {
      // The part of the range that belongs to this step, counted from 0.
      Value offset = emitIndex(builder, loc, first);
      auto clamp = [&](Value value) -> Value {
        value = arith::SubIOp::create(builder, loc, value, offset);
        value = arith::MaxSIOp::create(builder, loc, value,
                                       emitIndex(builder, loc, 0));
        return arith::MinSIOp::create(
            builder, loc, value,
            emitIndex(builder, loc, step.emitter->getExtent()));
      };
      from = clamp(begin);
      to = clamp(end);
    }
    if (failed(step.emitter->emit(builder, from, to)))
      return failure();
    first += step.emitter->getExtent();
  }
  return success();
}

FailureOr<EmittedKernel> KernelEmitter::run() {
  if (failed(generalizeOps(kernel.function)))
    return failure();
  createFunction();
  if (isRowKernel(kernel.function)) {
    if (failed(emitRows()))
      return failure();
  } else if (failed(collectSteps()) ||
             failed(isOrdered() ? emitInOrder() : emitSideBySide())) {
    return failure();
  }
  builder.setInsertionPointToEnd(context.entry);
  func::ReturnOp::create(builder, kernel.function.getLoc());
  return result;
}

FailureOr<EmittedKernel> remat::cpu::emitKernel(BufferizedKernel &kernel,
                                                StringRef name, ModuleOp module,
                                                CheckList &checks,
                                                const TileShape &tile) {
  return KernelEmitter(kernel, name, module, checks, tile).run();
}
