//===- InPlace.cpp - results in the place of operands ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may write an element where an operand's element lies once it has
// read that for the last time: elementwise kernels that read an operand at the
// very element they write, and kernels that work row by row, where that holds
// for the last of their operations and the others read only the row. A scatter
// updates its init where it lies, and a product is added to it there. If what
// is written is returned, the operand is in the caller's buffer from its
// beginning.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Rows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace remat;

/// Whether `op` reads `operand`'s rows by the loops that walk its own.
static bool readsOnlyRow(linalg::GenericOp op, OpOperand &operand) {
  auto rows = op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName);
  ArrayRef<AffineExpr> results =
      op.getMatchingIndexingMap(&operand).getResults();
  if (!rows || results.size() < rows.asArrayRef().size())
    return false;
  for (auto [loop, expr] : llvm::zip(rows.asArrayRef(), results))
    if (expr != getAffineDimExpr(loop, op.getContext()))
      return false;
  return true;
}

/// Whether `op` makes an element of result `number` out of `operand`'s; with
/// `always`, whatever a select chooses.
static bool isMadeOf(linalg::GenericOp op, unsigned number, OpOperand &operand,
                     bool always) {
  Block *body = op.getBody();
  Value element = op.getMatchingBlockArgument(&operand);
  llvm::SmallDenseSet<Value> seen;
  SmallVector<Value> stack = {body->getTerminator()->getOperand(number)};
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    if (value == element)
      return true;
    Operation *maker = value.getDefiningOp();
    if (!maker || maker->getBlock() != body || !seen.insert(value).second)
      continue;
    auto select = dyn_cast<arith::SelectOp>(maker);
    if (select && always)
      stack.push_back(select.getCondition());
    else
      llvm::append_range(stack, maker->getOperands());
  }
  return false;
}

/// Whether the element of result `number` is written when that of `operand` has
/// been read for all results. Code for one that is not made of it, where a
/// condition is the same for all elements, may write all of it first. A result
/// that is the operand itself may become a copy of it behind all others.
static bool isWrittenLast(linalg::GenericOp op, unsigned number,
                          OpOperand &operand) {
  bool isShared = false;
  Value element = op.getMatchingBlockArgument(&operand);
  for (unsigned other = 0; other < op.getNumResults(); ++other) {
    if (other == number)
      continue;
    if (op.getBody()->getTerminator()->getOperand(other) == element)
      return false;
    isShared |= isMadeOf(op, other, operand, /*always=*/false);
  }
  return isMadeOf(op, number, operand, /*always=*/isShared);
}

/// Whether result `result` of `kernel` may be written over `argument`.
static bool mayOverwrite(func::FuncOp kernel, unsigned result,
                         BlockArgument argument) {
  Block &body = kernel.getBody().front();
  if (auto scatter =
          body.getTerminator()->getOperand(result).getDefiningOp<ScatterOp>())
    return scatter.getInit() == argument && argument.hasOneUse();
  if (auto product = body.getTerminator()
                         ->getOperand(result)
                         .getDefiningOp<linalg::ContractOp>())
    return product.getDpsInits()[0] == argument && argument.hasOneUse();
  auto writer = body.getTerminator()
                    ->getOperand(result)
                    .getDefiningOp<linalg::GenericOp>();
  if (!writer || writer.getNumReductionLoops() != 0 ||
      argument.getType() != body.getTerminator()->getOperand(result).getType())
    return false;
  unsigned number = 0;
  while (writer->getResult(number) != body.getTerminator()->getOperand(result))
    ++number;
  AffineMap written =
      writer.getMatchingIndexingMap(writer.getDpsInitOperand(number));
  bool readByWriter = false;
  for (OpOperand &use : argument.getUses()) {
    auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!reader || !reader.isDpsInput(&use) || reader->hasAttr(blockAttrName))
      return false;
    if (reader == writer) {
      if (reader.getMatchingIndexingMap(&use) != written ||
          !isWrittenLast(writer, number, use))
        return false;
      readByWriter = true;
      continue;
    }
    if (!reader->isBeforeInBlock(writer) || !readsOnlyRow(reader, use))
      return false;
  }
  // An operation on its own may be tiled over all of its elements; only one
  // that stands with others goes row by row.
  for (Operation &op : body)
    if (&op != writer && isa<linalg::LinalgOp>(op) &&
        !isa<linalg::FillOp>(op) && !op.hasAttr(rowsAttrName))
      return false;
  return readByWriter && written.isPermutation();
}

/// For each result of a kernel, the operands that it may overwrite.
static SmallVector<SmallVector<unsigned>> findOperands(func::FuncOp kernel) {
  SmallVector<SmallVector<unsigned>> operands(kernel.getNumResults());
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    for (BlockArgument argument : kernel.getArguments())
      if (mayOverwrite(kernel, result, argument))
        operands[result].push_back(argument.getArgNumber());
  return operands;
}

void remat::writeInPlace(GraphOp graph, ModuleOp module) {
  if (!module || !getTargetFacts(graph).getInPlace())
    return;
  SymbolTable symbols(module);
  llvm::StringMap<SmallVector<SmallVector<unsigned>>> kernels;
  GraphLiveness liveness(graph);
  DenseMap<Value, const LiveBuffer *> bufferOf;
  for (const LiveBuffer &buffer : liveness.buffers)
    if (buffer.value)
      bufferOf[buffer.value] = &buffer;
  unsigned position = 0;
  Builder builder(graph.getContext());
  for (Operation &op : graph.getBody().front()) {
    unsigned here = position++;
    auto task = dyn_cast<TaskOp>(&op);
    if (!task)
      continue;
    auto [known, isNew] = kernels.try_emplace(task.getKernel());
    if (isNew)
      if (auto kernel = symbols.lookup<func::FuncOp>(task.getKernel()))
        known->second = findOperands(kernel);
    SmallVector<Attribute> places(task->getNumResults(), builder.getUnitAttr());
    DenseSet<Value> taken;
    bool any = false;
    for (auto [number, operands] : llvm::enumerate(known->second)) {
      for (unsigned operand : operands) {
        // The liveness from before knows when each value is read last.
        Value root = getViewRoot(task.getOperand(operand));
        const LiveBuffer *buffer = bufferOf.lookup(root);
        if (!buffer || buffer->space != MemorySpace::Arena ||
            buffer->end != here || !isa<TaskOp>(buffer->owner) ||
            // What another call made is not where this one's results are.
            liveness.isState(*buffer) ||
            llvm::count_if(
                task.getOperands(),
                [&](Value other) { return getViewRoot(other) == root; }) != 1 ||
            !taken.insert(root).second)
          continue;
        places[number] = builder.getI64IntegerAttr(operand);
        any = true;
        break;
      }
    }
    if (any)
      task.setPlacementAttr(builder.getArrayAttr(places));
  }
}
