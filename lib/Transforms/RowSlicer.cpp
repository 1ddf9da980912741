//===- RowSlicer.cpp - what is sliced with a contraction ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowSlicer.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <set>

using namespace mlir;
using namespace remat;

/// The rows are those of the factor whose dimensions lead in the result.
bool RowSlicer::start(linalg::ContractOp contraction) {
  if (!isEligible(contraction) || !isContractionBody(*contraction.getBlock()))
    return false;
  SmallVector<AffineMap> maps = contraction.getIndexingMapsArray();
  auto type = cast<RankedTensorType>(contraction->getResult(0).getType());
  int64_t factors = 0;
  for (Value input : contraction.getDpsInputs())
    factors += cast<RankedTensorType>(input.getType()).getNumElements();
  wideBytes = getBufferBytes(contraction->getResult(0));
  wideElements = type.getNumElements();
  // A hidden layer of a model with few rows is smaller than its weights.
  if (wideBytes < scale(target.getSliceBytes()) ||
      (!inPhases && wideElements < scale(factors)))
    return false;
  LoopList loops;
  rows = 1;
  std::optional<unsigned> factor;
  for (auto [size, expr] : llvm::zip(type.getShape(), maps[2].getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      break;
    bool inFirst = maps[0].isFunctionOfDim(dim.getPosition());
    bool inSecond = maps[1].isFunctionOfDim(dim.getPosition());
    if (inFirst == inSecond || factor.value_or(inSecond) != inSecond)
      break;
    factor = inSecond;
    loops.push_back(dim.getPosition());
    rows *= size;
  }
  if (rows < 2 * scale(target.getMinSliceRows()) ||
      static_cast<int64_t>(loops.size()) == type.getRank())
    return false;
  members[contraction] = loops;
  return true;
}

bool RowSlicer::isEligible(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !isa<linalg::GenericOp, linalg::ContractOp>(op) ||
      !linalgOp.hasPureTensorSemantics() || !isMemoryEffectFree(op) ||
      op->hasAttr(RematDialect::policyAttrName) || op->getBlock() != &body)
    return false;
  for (int64_t size : getLoopSizes(linalgOp))
    if (size <= 0)
      return false;
  for (AffineMap map : linalgOp.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
  return llvm::all_of(op->getResults(), [](Value result) {
    return isBufferType(result.getType()) && !isTagged(result);
  });
}

/// The loops by which `op` reads the rows of what members make; nothing if it
/// does not, or reads it in another way. Bodies may pick elements of the row
/// at hand.
std::optional<LoopList> RowSlicer::getRows(linalg::LinalgOp op) {
  std::optional<LoopList> loops;
  auto agree = [&](const std::optional<LoopList> &mine) {
    if (!mine || (loops && *loops != *mine))
      return false;
    loops = mine;
    return true;
  };
  auto isMember = [&](Value value) {
    Operation *source = getSource(value);
    return source && members.contains(source);
  };
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isMember(operand.get()))
      continue;
    auto type = cast<RankedTensorType>(operand.get().getType());
    if (sums.contains(getSource(operand.get())) || !op.isDpsInput(&operand) ||
        !agree(
            getLeadingLoops(op.getMatchingIndexingMap(&operand), type, rows)))
      return std::nullopt;
  }
  WalkResult walk = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    if (llvm::none_of(inner->getOperands(), isMember))
      return WalkResult::advance();
    auto extract = dyn_cast<tensor::ExtractOp>(inner);
    if (!extract || sums.contains(getSource(extract.getTensor())))
      return WalkResult::interrupt();
    LoopList mine;
    int64_t points = 1;
    for (auto [size, index] : llvm::zip(
             extract.getTensor().getType().getShape(), extract.getIndices())) {
      auto loop = index.getDefiningOp<linalg::IndexOp>();
      if (points == rows)
        break;
      if (!loop || loop->getBlock() != op.getBlock())
        return WalkResult::interrupt();
      points *= size;
      mine.push_back(loop.getDim());
    }
    return points == rows && agree(mine) ? WalkResult::advance()
                                         : WalkResult::interrupt();
  });
  return walk.wasInterrupted() ? std::nullopt : loops;
}

/// Whether `sum`, over all rows, may go on from slice to slice: its type may be
/// rounded once more, or it is a product that may add up in a wider type.
bool RowSlicer::canAddUp(OpResult sum) {
  Type element = getElementTypeOrSelf(sum);
  if (!element.isF16() && !element.isBF16())
    return true;
  auto product = dyn_cast<linalg::ContractOp>(sum.getOwner());
  return product && isContractionBody(*product.getBlock()) &&
         isZeroTensor(product.getDpsInits().front());
}

/// Adds `op` if it works row by row, or reduces over all rows.
bool RowSlicer::tryAdd(Operation *op, bool asProducer) {
  if (members.contains(op))
    return true;
  if (members.size() == SliceTuning::maxDistance || !isEligible(op))
    return false;
  auto linalgOp = cast<linalg::LinalgOp>(op);
  std::optional<LoopList> loops = getRows(linalgOp);
  if (!loops && asProducer)
    loops = getLeadingLoops(linalgOp.getIndexingMapsArray().back(),
                            cast<RankedTensorType>(op->getResult(0).getType()),
                            rows);
  if (!loops)
    return false;
  SmallVector<utils::IteratorType> iterators = linalgOp.getIteratorTypesArray();
  int64_t reduced = llvm::count_if(*loops, [&](int64_t loop) {
    return iterators[loop] == utils::IteratorType::reduction;
  });
  if (reduced != 0 && reduced != static_cast<int64_t>(loops->size()))
    return false;
  for (OpResult result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (reduced != 0) {
      if (!canAddUp(result))
        return false;
      continue;
    }
    AffineMap map = linalgOp.getMatchingIndexingMap(
        linalgOp.getDpsInitOperand(result.getResultNumber()));
    if (getLeadingLoops(map, type, rows) != loops)
      return false;
  }
  members[op] = *loops;
  if (reduced != 0)
    sums.insert(op);
  return true;
}

/// All that reads something wide.
bool RowSlicer::addReaders() {
  SmallVector<Operation *> worklist =
      llvm::map_to_vector(members, [](auto &entry) { return entry.first; });
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    for (OpResult result : op->getResults()) {
      if (sums.contains(op) || !isWide(result))
        continue;
      SetVector<Operation *> readers;
      forEachReader(result, [&](Operation *reader) {
        readers.insert(body.findAncestorOpInBlock(*reader));
      });
      for (Operation *reader : readers) {
        if (members.contains(reader))
          continue;
        if (!tryAdd(reader, /*asProducer=*/false))
          return false;
        worklist.push_back(reader);
      }
    }
  }
  return true;
}

/// What makes something wide for members, and all that reads it.
bool RowSlicer::addProducers() {
  bool changed = false;
  SmallVector<Operation *> ops =
      llvm::map_to_vector(members, [](auto &entry) { return entry.first; });
  for (Operation *op : ops)
    for (Value operand : cast<linalg::LinalgOp>(op).getDpsInputs()) {
      Operation *source = getSource(operand);
      if (!source || members.contains(source) || !isEligible(source) ||
          llvm::none_of(source->getResults(),
                        [&](Value result) { return isWide(result); }))
        continue;
      auto knownMembers = members;
      auto knownSums = sums;
      if (tryAdd(source, /*asProducer=*/true) && addReaders()) {
        changed = true;
      } else {
        members = std::move(knownMembers);
        sums = std::move(knownSums);
      }
    }
  return changed;
}

unsigned RowSlicer::getPhase(Operation *op) const {
  return inPhases ? getBackwardLevel(op) : 0;
}

/// What depends on a member of a phase and is needed by another has to be one,
/// too; fails if it cannot be. Sorts the rest: what depends on members goes
/// behind them.
bool RowSlicer::addBetween(unsigned number, bool &changed) {
  SmallVector<Operation *> ops;
  for (Operation *op : llvm::make_first_range(members))
    if (getPhase(op) == number)
      ops.push_back(op);
  auto [first, last] = std::minmax_element(
      ops.begin(), ops.end(),
      [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Phase &phase = phases[number];
  phase.sorted.clear();
  phase.behind.clear();
  phase.end = (*last)->getNextNode();
  DenseSet<Operation *> inPhase(ops.begin(), ops.end());
  DenseSet<Operation *> depending;
  unsigned distance = 0;
  for (Operation *op = *first; op != phase.end; op = op->getNextNode()) {
    if (++distance > SliceTuning::maxDistance)
      return false;
    bool isMember = inPhase.contains(op), depends = false;
    for (Value value : getReadValues(op)) {
      Operation *source = isMember ? getSource(value) : value.getDefiningOp();
      if (!source || (isMember && members.contains(source)))
        continue;
      if (isMember && depending.contains(source)) {
        changed = true;
        if (!tryAdd(source, /*asProducer=*/true))
          return false;
      }
      depends |= inPhase.contains(source) || depending.contains(source);
    }
    if (isMember)
      phase.sorted.push_back(op);
    else if (depends && depending.insert(op).second)
      phase.behind.push_back(op);
  }
  return true;
}

/// Finds all members, and that they can stand together.
bool RowSlicer::order() {
  bool changed = true;
  while (changed) {
    changed = false;
    if (!addReaders())
      return false;
    changed |= addProducers();
    std::set<unsigned> numbers;
    for (Operation *op : llvm::make_first_range(members))
      numbers.insert(getPhase(op));
    for (unsigned number : numbers)
      if (!addBetween(number, changed))
        return false;
  }
  // Members that joined late may read a sum, or rows in another way.
  for (auto &[op, loops] : members) {
    auto linalgOp = cast<linalg::LinalgOp>(op);
    std::optional<LoopList> mine = getRows(linalgOp);
    bool readsMember = llvm::any_of(getReadValues(op), [&](Value value) {
      Operation *source = getSource(value);
      return source && members.contains(source);
    });
    if (readsMember && mine != loops)
      return false;
  }
  return standApart();
}

/// Whether each phase ends before the next one begins.
bool RowSlicer::standApart() const {
  Operation *last = nullptr;
  for (auto &[number, phase] : phases) {
    if (last && !last->isBeforeInBlock(phase.sorted.front()))
      return false;
    last = phase.sorted.back();
  }
  return true;
}

/// The level of the derivative whose values the slices need.
unsigned RowSlicer::getHighestMark(const Phase &phase) const {
  unsigned level = 0;
  for (Operation *op : phase.sorted)
    level = std::max(level, getBackwardLevel(op));
  return level;
}

/// The slices are done where the gradients are known, so what is forward among
/// the members and depends on them becomes backward. That must be little: a
/// loss and what is made of it. In phases, all stays what it is.
bool RowSlicer::collectForward() {
  if (inPhases)
    return true;
  ArrayRef<Operation *> sorted = phases[0].sorted;
  unsigned level = getHighestMark(phases[0]);
  if (level == 0)
    return true;
  DenseSet<Operation *> depending(sorted.begin(), sorted.end());
  int64_t bytes = 0;
  for (Operation *op = sorted.front(); op != body.getTerminator();
       op = op->getNextNode()) {
    if (getBackwardLevel(op) >= level || depending.contains(op))
      continue;
    bool depends = llvm::any_of(getReadValues(op), [&](Value value) {
      Operation *source = value.getDefiningOp();
      return source && depending.contains(source);
    });
    if (!depends)
      continue;
    depending.insert(op);
    if (isa<TagOp>(op) || op->hasAttr(RematDialect::policyAttrName))
      return false;
    if (!isAlias(op)) {
      for (Value result : op->getResults())
        if (isBufferType(result.getType()))
          bytes += getBufferBytes(result);
      forward.push_back(op);
    }
  }
  return bytes <= wideBytes / SliceTuning::littleShare;
}

int64_t RowSlicer::run(linalg::ContractOp contraction,
                       DenseSet<Operation *> &gone) {
  if (!start(contraction) || !order() || !collectForward() || !isWorthwhile() ||
      !chooseSlices())
    return 0;
  gone.insert_range(llvm::make_first_range(members));
  replace();
  return slices;
}
