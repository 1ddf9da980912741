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
// updates its init where it lies, and a contraction is added to it there. If
// what is written is returned, the operand is in the caller's buffer from its
// beginning.
//
//===----------------------------------------------------------------------===//

#include "GraphPlanning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

/// Whether no simplification makes the result of `op` independent of what it is
/// made of, as that of a complex number does whose parts are taken, or of an
/// integer that is multiplied by 0. Those of floating point keep nan.
static bool keepsOperands(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::DivFOp,
             arith::NegFOp, arith::MaximumFOp, arith::MinimumFOp, arith::CmpFOp,
             arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(
             op) ||
         (isa<math::MathDialect>(op->getDialect()) &&
          isa<FloatType>(op->getResult(0).getType()) &&
          !isa<math::PowFOp, math::FPowIOp>(op));
}

/// Whether `op` makes an element of result `number` out of `operand`'s; with
/// `always`, whatever a select chooses and a compiler simplifies.
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
    else if (!always || keepsOperands(maker))
      llvm::append_range(stack, maker->getOperands());
  }
  return false;
}

/// Whether the element of result `number` is written when that of `operand` has
/// been read for all results, and by all of the kernel. Code for one that is
/// not made of it, where a condition is the same for all elements, may write
/// all of it first. A result that is the operand itself may become a copy of it
/// behind all others.
static bool isWrittenLast(linalg::GenericOp op, unsigned number,
                          OpOperand &operand) {
  bool isShared = !operand.get().hasOneUse();
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

/// Whether a kernel of blocks reads `operand` in `writer` alone, and for
/// nothing but the one result: what has more of them may be done once for each,
/// in any order.
static bool isReadOnceInBlocks(linalg::GenericOp writer, OpOperand &operand) {
  return operand.getOwner() == writer && writer->getNumResults() == 1 &&
         operand.get().hasOneUse();
}

/// Whether result `result` of `kernel` may be written over `argument`.
static bool mayOverwrite(func::FuncOp kernel, unsigned result,
                         BlockArgument argument) {
  Block &body = kernel.getBody().front();
  if (auto copy = body.getTerminator()
                      ->getOperand(result)
                      .getDefiningOp<linalg::CopyOp>())
    return copy.getDpsInputOperand(0)->get() == argument &&
           argument.hasOneUse();
  if (auto scatter =
          body.getTerminator()->getOperand(result).getDefiningOp<ScatterOp>())
    return scatter.getInit() == argument && argument.hasOneUse();
  if (auto contraction = body.getTerminator()
                             ->getOperand(result)
                             .getDefiningOp<linalg::ContractOp>())
    return contraction.getDpsInits()[0] == argument && argument.hasOneUse();
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
    if (!reader || !reader.isDpsInput(&use) ||
        (reader->hasAttr(blockAttrName) && !isReadOnceInBlocks(writer, use)))
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
  std::optional<AddedContraction> added = matchAddedContraction(writer);
  // An operation on its own may be tiled over all of its elements; only one
  // that stands with others goes row by row. What is added to a contraction is
  // read behind that.
  for (Operation &op : body)
    if (&op != writer && isa<linalg::LinalgOp>(op) &&
        !isa<linalg::FillOp>(op) && !op.hasAttr(rowsAttrName) &&
        !(added && added->contraction == &op && added->before == argument))
      return false;
  return readByWriter && written.isPermutation();
}

SmallVector<SmallVector<unsigned>>
remat::findOverwritable(func::FuncOp kernel) {
  SmallVector<SmallVector<unsigned>> operands(kernel.getNumResults());
  for (unsigned result = 0; result < kernel.getNumResults(); ++result)
    for (BlockArgument argument : kernel.getArguments())
      if (mayOverwrite(kernel, result, argument))
        operands[result].push_back(argument.getArgNumber());
  return operands;
}

namespace {
/// What kernels may overwrite, found once for each.
class Overwritable {
public:
  explicit Overwritable(ModuleOp module) : symbols(module) {}

  const SmallVector<SmallVector<unsigned>> &get(TaskOp task) {
    auto [known, isNew] = kernels.try_emplace(task.getKernel());
    if (isNew)
      if (auto kernel = symbols.lookup<func::FuncOp>(task.getKernel()))
        known->second = findOverwritable(kernel);
    return known->second;
  }

private:
  SymbolTable symbols;
  llvm::StringMap<SmallVector<SmallVector<unsigned>>> kernels;
};
} // namespace

//===----------------------------------------------------------------------===//
// Over arguments
//===----------------------------------------------------------------------===//

/// The operands of `task` that are `root` or views of it.
static unsigned countReads(TaskOp task, Value root) {
  return llvm::count_if(task.getOperands(), [&](Value operand) {
    return getViewRoot(operand) == root;
  });
}

std::optional<unsigned>
remat::findDonorOperand(TaskOp task, unsigned number, BlockArgument donor,
                        ArrayRef<unsigned> overwritable) {
  if (countReads(task, donor) != 1)
    return std::nullopt;
  for (unsigned operand : overwritable)
    if (getViewRoot(task.getOperand(operand)) == donor)
      return operand;
  return std::nullopt;
}

static void setPlace(TaskOp task, unsigned number, Attribute place) {
  SmallVector<Attribute> places(task->getNumResults(),
                                UnitAttr::get(task.getContext()));
  if (std::optional<ArrayAttr> old = task.getPlacement())
    places.assign(old->begin(), old->end());
  places[number] = place;
  task.setPlacementAttr(ArrayAttr::get(task.getContext(), places));
}

/// For each result that has the buffer of an argument, what writes it.
static DenseMap<Value, BlockArgument> findDonated(GraphOp graph) {
  DenseMap<Value, BlockArgument> donated;
  Operation *terminator = graph.getBody().front().getTerminator();
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands()))
    if (donor)
      donated[getViewRoot(returned)] = donor;
  return donated;
}

static void writeOverDonors(GraphOp graph, Overwritable &overwritable) {
  Operation *terminator = graph.getBody().front().getTerminator();
  Builder builder(graph.getContext());
  for (auto [donor, returned] :
       llvm::zip(getDonors(graph), terminator->getOperands())) {
    auto result = dyn_cast<OpResult>(getViewRoot(returned));
    auto task =
        donor && result ? dyn_cast<TaskOp>(result.getOwner()) : TaskOp();
    if (!task || countReads(task, donor) == 0)
      continue;
    unsigned number = result.getResultNumber();
    const auto &operands = overwritable.get(task);
    if (number >= operands.size())
      continue;
    if (auto operand = findDonorOperand(task, number, donor, operands[number]))
      setPlace(task, number, builder.getI64IntegerAttr(*operand));
  }
}

void remat::writeOverDonors(GraphOp graph, ModuleOp module) {
  if (!module || !getTargetFacts(graph).getInPlace())
    return;
  Overwritable overwritable(module);
  ::writeOverDonors(graph, overwritable);
}

/// The last operation that reads each of `arguments`.
static DenseMap<Value, unsigned>
findLastReads(GraphOp graph, const DenseMap<Value, BlockArgument> &donated) {
  DenseMap<Value, unsigned> lastReads;
  if (donated.empty())
    return lastReads;
  for (auto [position, op] : llvm::enumerate(graph.getBody().front()))
    if (!isViewOp(&op))
      for (Value operand : op.getOperands())
        if (Value root = getViewRoot(operand); isa<BlockArgument>(root))
          lastReads[root] = position;
  return lastReads;
}

//===----------------------------------------------------------------------===//
// Over values
//===----------------------------------------------------------------------===//

namespace {
/// Decides which results of tasks are written over operands.
class InPlaceWriter {
public:
  InPlaceWriter(GraphOp graph, ModuleOp module)
      : overwritable(module), liveness(graph), donated(findDonated(graph)),
        lastReads(findLastReads(graph, donated)), graph(graph) {
    for (const LiveBuffer &buffer : liveness.buffers)
      if (buffer.value)
        bufferOf[buffer.value] = &buffer;
  }

  void run();

private:
  void write(TaskOp task, unsigned position);
  bool mayTake(TaskOp task, unsigned number, Value root, unsigned position);

  Overwritable overwritable;
  GraphLiveness liveness;
  DenseMap<Value, const LiveBuffer *> bufferOf;
  DenseMap<Value, BlockArgument> donated;
  DenseMap<Value, unsigned> lastReads;
  GraphOp graph;
};
} // namespace

/// Whether result `number` may be where `root` lies, which `task` reads.
bool InPlaceWriter::mayTake(TaskOp task, unsigned number, Value root,
                            unsigned position) {
  // The liveness from before knows when each value is read last.
  const LiveBuffer *buffer = bufferOf.lookup(root);
  if (!buffer || buffer->space != MemorySpace::Arena ||
      buffer->end != position || !isa<TaskOp>(buffer->owner) ||
      // What another call made is not where this one's results are.
      liveness.isState(*buffer) || countReads(task, root) != 1)
    return false;
  BlockArgument donor = donated.lookup(task->getResult(number));
  if (!donor)
    return true;
  // What is overwritten is in the result's buffer from its beginning.
  const LiveBuffer *first = bufferOf.lookup(GraphLiveness::getOwner(root));
  auto read = lastReads.find(donor);
  return first && (read == lastReads.end() || first->begin > read->second);
}

void InPlaceWriter::write(TaskOp task, unsigned position) {
  DenseSet<Value> taken;
  for (auto [number, operands] : llvm::enumerate(overwritable.get(task))) {
    if (task.getInPlaceOperand(number))
      continue;
    for (unsigned operand : operands) {
      Value root = getViewRoot(task.getOperand(operand));
      if (!mayTake(task, number, root, position) || !taken.insert(root).second)
        continue;
      setPlace(task, number,
               Builder(task.getContext()).getI64IntegerAttr(operand));
      break;
    }
  }
}

void InPlaceWriter::run() {
  ::writeOverDonors(graph, overwritable);
  for (auto [position, op] : llvm::enumerate(graph.getBody().front()))
    if (auto task = dyn_cast<TaskOp>(&op))
      write(task, position);
}

void remat::writeInPlace(GraphOp graph, ModuleOp module) {
  if (module && getTargetFacts(graph).getInPlace())
    InPlaceWriter(graph, module).run();
}
