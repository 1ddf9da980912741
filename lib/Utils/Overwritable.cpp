//===- Overwritable.cpp - operands that a kernel may write over -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel may write an element where an operand's element lies once it has
// read that for the last time: elementwise kernels that read an operand at the
// very element they write, and kernels that work row by row, where that holds
// for the last of their operations, and what the others read of the row goes
// into what is written. A scatter updates its init where it lies, and a
// contraction is added to it there.
//
//===----------------------------------------------------------------------===//

#include "remat/Utils/Overwritable.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/HostArguments.h"
#include "remat/Dialect/Remat/IR/LoopElements.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Utils/PaddedRows.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"

#include "llvm/ADT/SmallBitVector.h"

#include <deque>

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

namespace {
/// What the conditions of selects are.
using Choices = llvm::SmallDenseMap<Value, bool>;

/// What the body of an operation makes of an element where some conditions are
/// known.
class Makings {
public:
  Makings(Block *body, Value element, bool always, const Choices &choices)
      : body(body), always(always), choices(choices), made{{element, true}} {}

  bool contain(Value value);

private:
  Block *body;
  bool always;
  const Choices &choices;
  DenseMap<Value, bool> made;
};
} // namespace

/// The value that a select with a known condition is, or `value` itself.
static Value choose(Value value, const Choices &choices) {
  while (auto select = value.getDefiningOp<arith::SelectOp>()) {
    auto choice = choices.find(select.getCondition());
    if (choice == choices.end())
      break;
    value = choice->second ? select.getTrueValue() : select.getFalseValue();
  }
  return value;
}

bool Makings::contain(Value value) {
  value = choose(value, choices);
  if (auto known = made.find(value); known != made.end())
    return known->second;
  Operation *maker = value.getDefiningOp();
  bool isMade = false;
  if (maker && maker->getBlock() == body) {
    auto contains = [&](Value operand) { return contain(operand); };
    // Either choice may be all that is left of it.
    if (auto select = dyn_cast<arith::SelectOp>(maker); select && always)
      isMade =
          contain(select.getCondition()) ||
          (contain(select.getTrueValue()) && contain(select.getFalseValue()));
    else if (!always || keepsOperands(maker))
      isMade = llvm::any_of(maker->getOperands(), contains);
  }
  made[value] = isMade;
  return isMade;
}

/// Whether `op` makes an element of result `number` out of `operand`'s; with
/// `always`, whatever a select chooses and a compiler simplifies.
static bool isMadeOf(linalg::GenericOp op, unsigned number, OpOperand &operand,
                     bool always) {
  Block *body = op.getBody();
  Choices none;
  return Makings(body, op.getMatchingBlockArgument(&operand), always, none)
      .contain(body->getTerminator()->getOperand(number));
}

/// Conditions of selects that are the same for all elements, as numbers of the
/// step are; none if there are many. Code may have a loop for each choice.
static SmallVector<Value> findConditions(linalg::GenericOp op) {
  constexpr unsigned most = 4;
  llvm::SmallSetVector<Value, most> conditions;
  for (auto select : op.getBody()->getOps<arith::SelectOp>()) {
    auto argument = dyn_cast<BlockArgument>(select.getCondition());
    if (argument && argument.getOwner() == op.getBody() &&
        op.getMatchingIndexingMap(op.getMatchingOpOperand(argument))
                .getNumResults() == 0)
      conditions.insert(argument);
  }
  if (conditions.size() > most)
    return {};
  return SmallVector<Value>(conditions.getArrayRef());
}

/// Whether a check may read what `makings` has. The number of a place of which
/// there is one does no more than that: code may find it after the write.
static bool isChecked(linalg::GenericOp op, Makings &makings) {
  return llvm::any_of(
      op.getBody()->without_terminator(), [&](Operation &inner) {
        return (isa<CheckIndexOp>(inner) || !isMemoryEffectFree(&inner)) &&
               llvm::any_of(inner.getOperands(), [&](Value operand) {
                 return makings.contain(operand);
               });
      });
}

namespace {
/// What the results of an operation make of an element of an operand, for each
/// choice of the conditions that are the same for all elements. Found once for
/// all results.
class ElementReads {
public:
  ElementReads(linalg::GenericOp op, OpOperand &operand);

  /// Whether the element of result `number` is written when that of the operand
  /// has been read for all results, and by all of the kernel. Code for one that
  /// is not made of it, where a condition is the same for all elements, may
  /// write all of it first, which does no harm where nothing else reads it
  /// then. A result that is the operand itself may become a copy of it behind
  /// all others.
  bool isWrittenLast(unsigned number);

private:
  struct Choice {
    Choice(Block *body, Value element, Choices given)
        : choices(std::move(given)),
          makings(body, element, /*always=*/false, choices),
          alwaysMakings(body, element, /*always=*/true, choices) {}

    // The makings refer to the choices.
    Choices choices;
    Makings makings, alwaysMakings;
    /// Results that are the element, and that may be made of it.
    llvm::SmallBitVector kept, reading;
    bool isChecked = false;
  };

  bool isSharedByKernel;
  OperandRange results;
  std::deque<Choice> all;
};
} // namespace

ElementReads::ElementReads(linalg::GenericOp op, OpOperand &operand)
    : isSharedByKernel(!operand.get().hasOneUse()),
      results(op.getBody()->getTerminator()->getOperands()) {
  Value element = op.getMatchingBlockArgument(&operand);
  SmallVector<Value> conditions = findConditions(op);
  for (unsigned bits = 0; bits < 1u << conditions.size(); ++bits) {
    Choices choices;
    for (auto [index, condition] : llvm::enumerate(conditions))
      choices[condition] = bits >> index & 1;
    Choice &choice = all.emplace_back(op.getBody(), element, choices);
    choice.kept.resize(results.size());
    choice.reading.resize(results.size());
    for (auto [number, result] : llvm::enumerate(results)) {
      choice.kept[number] = choose(result, choices) == element;
      choice.reading[number] = choice.makings.contain(result);
    }
    choice.isChecked = isChecked(op, choice.makings);
  }
}

bool ElementReads::isWrittenLast(unsigned number) {
  bool isEverMade = false;
  for (Choice &choice : all) {
    if (!choice.kept[number] && choice.kept.any())
      return false;
    bool isShared = isSharedByKernel || choice.isChecked ||
                    choice.reading.count() > choice.reading[number];
    Makings &makings = isShared ? choice.alwaysMakings : choice.makings;
    bool isMade = makings.contain(results[number]);
    if (!isMade && isShared)
      return false;
    isEverMade |= isMade;
  }
  return isEverMade;
}

/// Whether `op` makes one element of each row, out of all that it reads of it.
static bool makesOnePerRow(linalg::GenericOp op) {
  auto rows = op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName);
  return rows && op.getNumParallelLoops() == rows.size();
}

namespace {
/// Whether a result of a kernel of rows cannot be made before `reader` has read
/// `use`. Parts of rows may be worked on in any order, so only what the writer
/// computes from holds it back.
class NeedFinder {
public:
  NeedFinder(linalg::GenericOp reader, OpOperand &use)
      : reader(reader), use(use) {}

  /// Whether an element of result `number` of `op` needs the element of `use`
  /// at the same place or, without a map of the `place`, all of the result's
  /// row needs all of the row.
  bool isNeeded(linalg::GenericOp op, unsigned number, AffineMap place);

private:
  linalg::GenericOp reader;
  OpOperand &use;
  /// Results that are known not to need the read.
  DenseSet<std::pair<Value, AffineMap>> seen;
};
} // namespace

bool NeedFinder::isNeeded(linalg::GenericOp op, unsigned number,
                          AffineMap place) {
  if (makesOnePerRow(op))
    place = AffineMap();
  else if (op.getNumReductionLoops() != 0)
    return false;
  if (!seen.insert({op->getResult(number), place}).second)
    return false;
  auto isRead = [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return (place ? map == place : map.isProjectedPermutation()) &&
           isMadeOf(op, number, operand, /*always=*/true);
  };
  if (op == reader)
    return isRead(use);
  return llvm::any_of(op->getOpOperands(), [&](OpOperand &operand) {
    auto source = operand.get().getDefiningOp<linalg::GenericOp>();
    if (!source || !op.isDpsInput(&operand))
      return false;
    unsigned result = cast<OpResult>(operand.get()).getResultNumber();
    if (makesOnePerRow(source))
      return isMadeOf(op, number, operand, /*always=*/true) &&
             isNeeded(source, result, AffineMap());
    AffineMap made =
        source.getMatchingIndexingMap(source.getDpsInitOperand(result));
    return isRead(operand) && (!place || made == place) &&
           isNeeded(source, result, place);
  });
}

/// Whether a kernel of blocks reads `operand` in `writer` alone, and for
/// nothing but the one result: what has more of them may be done once for each,
/// in any order.
static bool isReadOnceInBlocks(linalg::GenericOp writer, OpOperand &operand) {
  return operand.getOwner() == writer && writer->getNumResults() == 1 &&
         operand.get().hasOneUse();
}

/// The elements of the slice that iterations of a loop write elements of
/// `stack` over, their own; null for those that are needed for something else.
/// Empty if they write over none.
static SmallVector<BlockArgument> findUpdated(Value stack) {
  auto loop = stack.getDefiningOp<LoopOp>();
  SmallVector<BlockArgument> none;
  if (!loop)
    return none;
  auto run = SymbolTable::lookupNearestSymbolFrom<FunctionOpInterface>(
      loop, loop.getBodyAttr());
  if (!run)
    return none;
  BlockArgument donor = getDonors(run)[cast<OpResult>(stack).getResultNumber()];
  unsigned firstSlice = loop.getInits().size() + loop.getInvariants().size() +
                        loop.getStateInits().size();
  if (!donor || donor.getArgNumber() < firstSlice)
    return none;
  StackOp slice =
      findStack(loop.getSlices()[donor.getArgNumber() - firstSlice]);
  if (!slice)
    return none;
  // What states are made of is read before the iteration that has it.
  DenseMap<Value, ElementReader> readers = findElementReaders(loop);
  return llvm::map_to_vector(slice.getElements(), [&](Value element) {
    return readers.lookup(element).numSlices == 1
               ? dyn_cast<BlockArgument>(element)
               : BlockArgument();
  });
}

/// What is known of the operands of a kernel's operations.
using KnownReads = llvm::DenseMap<OpOperand *, std::unique_ptr<ElementReads>>;

static ElementReads &getReads(linalg::GenericOp op, OpOperand &operand,
                              KnownReads &known) {
  std::unique_ptr<ElementReads> &reads = known[&operand];
  if (!reads)
    reads = std::make_unique<ElementReads>(op, operand);
  return *reads;
}

/// Whether result `result` of `kernel` may be written over `argument`.
static bool mayOverwrite(func::FuncOp kernel, unsigned result,
                         BlockArgument argument, KnownReads &known) {
  Block &body = kernel.getBody().front();
  if (auto copy = body.getTerminator()
                      ->getOperand(result)
                      .getDefiningOp<linalg::CopyOp>())
    return copy.getDpsInputOperand(0)->get() == argument &&
           argument.hasOneUse();
  if (auto scatter =
          body.getTerminator()->getOperand(result).getDefiningOp<ScatterOp>())
    return scatter.getInit() == argument && argument.hasOneUse();
  if (auto loop =
          body.getTerminator()->getOperand(result).getDefiningOp<LoopOp>()) {
    // What the body updates in place, the loop does.
    unsigned number = cast<OpResult>(body.getTerminator()->getOperand(result))
                          .getResultNumber();
    GraphOp run = findBody(loop);
    return run && number < loop.getInits().size() &&
           loop.getInits()[number] == argument && argument.hasOneUse() &&
           getDonors(run)[number] == run.getArgument(number);
  }
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
    // All rows of a run need all of a factor.
    if (!reader || !reader.isDpsInput(&use) ||
        reader->hasAttr(factorAttrName) ||
        (reader->hasAttr(blockAttrName) && !isReadOnceInBlocks(writer, use)))
      return false;
    if (reader == writer) {
      if (reader.getMatchingIndexingMap(&use) != written ||
          !getReads(writer, use, known).isWrittenLast(number))
        return false;
      readByWriter = true;
      continue;
    }
    if (!reader->isBeforeInBlock(writer) || !readsOnlyRow(reader, use) ||
        !NeedFinder(reader, use).isNeeded(writer, number, written))
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

/// As below, of a kernel whose tensors have no gaps between rows.
static SmallVector<SmallVector<unsigned>>
findOverwritableOfRows(func::FuncOp kernel) {
  SmallVector<SmallVector<unsigned>> operands(kernel.getNumResults());
  // One side of the copy is the host's.
  if (findTransfer(kernel))
    return operands;
  // Loops may have thousands of arguments and results.
  DenseMap<Value, SmallVector<BlockArgument>> updatedOf;
  KnownReads known;
  Operation *terminator = kernel.getBody().front().getTerminator();
  for (auto [result, value] : llvm::enumerate(terminator->getOperands())) {
    if (auto unstack = value.getDefiningOp<UnstackOp>()) {
      Value stack = unstack.getStack();
      auto updated = updatedOf.find(stack);
      if (updated == updatedOf.end())
        updated = updatedOf.insert({stack, findUpdated(stack)}).first;
      unsigned element = cast<OpResult>(value).getResultNumber();
      if (!updated->second.empty() && updated->second[element])
        operands[result].push_back(updated->second[element].getArgNumber());
      continue;
    }
    for (BlockArgument argument : kernel.getArguments())
      if (mayOverwrite(kernel, result, argument, known))
        operands[result].push_back(argument.getArgNumber());
  }
  return operands;
}

SmallVector<SmallVector<unsigned>>
remat::findOverwritable(func::FuncOp kernel) {
  // Of others, whoever compiles them says what they should be.
  if (!llvm::hasSingleElement(kernel.getBody()))
    return SmallVector<SmallVector<unsigned>>(kernel.getNumResults());
  std::optional<UnpaddedKernel> unpadded = removePadding(kernel);
  if (!unpadded)
    return findOverwritableOfRows(kernel);
  SmallVector<SmallVector<unsigned>> operands =
      findOverwritableOfRows(*unpadded->function);
  // Elements lie in the same places where gaps do.
  for (auto [row, numbers] : llvm::zip(unpadded->results, operands))
    llvm::erase_if(numbers, [&, row = row](unsigned number) {
      return unpadded->arguments[number] != row;
    });
  return operands;
}
