//===- NarrowFactors.cpp - factors of tiles in half of the bytes ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of blocks of rows multiplies what it has computed in f32, such as
// attention's probabilities, with factors that are often bf16, widened for this
// alone. It reads them as they are, and widens them itself, or does not need
// to: tensor cores take the other factor apart. Where both factors are widened
// from f16 or bf16, both are read as they are.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace remat;

namespace {

/// A contraction that reads a factor, through views from it on.
struct NarrowRead {
  OpOperand *operand;
  SmallVector<Operation *> views;
};

} // namespace

static Type getElement(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

/// Whether `value` is made in a kernel of blocks of rows.
static bool isMadeInBlocks(Value value) {
  Operation *maker = getViewRoot(value).getDefiningOp();
  return maker && maker->hasAttr(blockAttrName);
}

/// Whether a contraction of a kernel of blocks may read `operand` before it is
/// widened from `narrow`.
static bool mayBeNarrow(OpOperand &operand, Type narrow) {
  auto op = dyn_cast<linalg::LinalgOp>(operand.getOwner());
  if (!op || !op->hasAttr(blockAttrName) || !isFloatContraction(op) ||
      op->getNumOperands() != 3 || operand.getOperandNumber() > 1 ||
      !getElement(op->getOperand(2)).isF32())
    return false;
  Value other = op->getOperand(1 - operand.getOperandNumber());
  // A product of a factor with itself stays: its operands change one by one.
  if (getViewRoot(other) == getViewRoot(operand.get()))
    return false;
  arith::ExtFOp widening = findWidening(other);
  return getElement(other) == narrow ||
         (widening && widening.getIn().getType() == narrow) ||
         (narrow.isBF16() && getElement(other).isF32() &&
          isMadeInBlocks(other));
}

static bool collectReads(Value value, Type narrow,
                         SmallVectorImpl<NarrowRead> &reads) {
  return walkReads(value, [&](OpOperand &use, ArrayRef<Operation *> views) {
    reads.push_back({&use, llvm::to_vector(views)});
    return mayBeNarrow(use, narrow);
  });
}

/// What `op` makes before it widens it.
static Value createNarrow(OpBuilder &builder, linalg::GenericOp op,
                          arith::ExtFOp widening) {
  Location loc = op.getLoc();
  builder.setInsertionPoint(op);
  auto type = cast<RankedTensorType>(op.getResult(0).getType())
                  .clone(widening.getIn().getType());
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  copyBackward(op, empty.getDefiningOp());
  IRMapping mapping;
  mapping.map(op.getDpsInits()[0], empty);
  auto narrow = linalg::GenericOp::create(
      builder, loc, TypeRange{type}, op.getDpsInputs(), ValueRange{empty},
      op.getIndexingMapsAttr(), op.getIteratorTypesAttr(), op.getDocAttr(),
      op.getLibraryCallAttr());
  narrow->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  op.getRegion().cloneInto(&narrow.getRegion(), mapping);
  Block &body = *narrow.getBody();
  body.getArguments().back().setType(type.getElementType());
  Operation *end = body.getTerminator();
  auto last = end->getOperand(0).getDefiningOp<arith::ExtFOp>();
  end->setOperand(0, last.getIn());
  if (last->use_empty())
    last->erase();
  return narrow.getResult(0);
}

/// An operation before `op` in its block that makes the same, in the same part
/// of the step or before; null if there is none.
static Operation *findSame(linalg::GenericOp op) {
  if (op.getNumDpsInputs() == 0)
    return nullptr;
  for (Operation *user : op.getDpsInputs()[0].getUsers()) {
    auto other = dyn_cast<linalg::GenericOp>(user);
    if (other && other != op && other->getBlock() == op->getBlock() &&
        other->isBeforeInBlock(op) &&
        other->getResultTypes() == op->getResultTypes() &&
        llvm::equal(other.getDpsInputs(), op.getDpsInputs()) &&
        other.getIndexingMaps() == op.getIndexingMaps() &&
        other.getIteratorTypes() == op.getIteratorTypes() &&
        getBackwardLevel(other) <= getBackwardLevel(op) &&
        !other->hasAttr(RematDialect::policyAttrName) &&
        OperationEquivalence::isRegionEquivalentTo(
            &other.getRegion(), &op.getRegion(),
            OperationEquivalence::IgnoreLocations))
      return other;
  }
  return nullptr;
}

/// Lets a contraction read `narrow` in the place of an operand.
static void setNarrow(OpBuilder &builder, OpOperand &operand, Value narrow) {
  Operation *op = operand.getOwner();
  builder.setInsertionPoint(op);
  if (auto contract = dyn_cast<linalg::ContractOp>(op)) {
    // The body is one of the factors' element types.
    SmallVector<Value> inputs(contract.getInputs());
    inputs[operand.getOperandNumber()] = narrow;
    auto made = linalg::ContractOp::create(
        builder, op->getLoc(), op->getResultTypes(), inputs,
        contract.getOutputs(), contract.getIndexingMapsAttr(),
        llvm::to_vector(op->getDiscardableAttrs()));
    op->replaceAllUsesWith(made->getResults());
    op->erase();
    return;
  }
  Block &body = op->getRegion(0).front();
  BlockArgument argument = body.getArgument(operand.getOperandNumber());
  argument.setType(getElement(narrow));
  builder.setInsertionPointToStart(&body);
  auto wide = arith::ExtFOp::create(builder, op->getLoc(), builder.getF32Type(),
                                    argument);
  argument.replaceAllUsesExcept(wide.getResult(), wide);
  operand.set(narrow);
}

bool remat::narrowFactors(Block &body) {
  bool any = false;
  OpBuilder builder(body.getParentOp()->getContext());
  for (auto op : llvm::to_vector(body.getOps<linalg::GenericOp>())) {
    arith::ExtFOp widening = op->getNumResults() == 1
                                 ? findWidening(op.getResult(0))
                                 : arith::ExtFOp();
    if (!widening || !widening.getType().isF32())
      continue;
    Type type = widening.getIn().getType();
    SmallVector<NarrowRead> reads;
    if (!(type.isBF16() || type.isF16()) ||
        !collectReads(op.getResult(0), type, reads) || reads.empty())
      continue;
    Value narrow = createNarrow(builder, op, widening);
    for (NarrowRead &read : reads) {
      Value value = narrow;
      for (Operation *view : read.views) {
        builder.setInsertionPoint(read.operand->getOwner());
        Operation *copy = builder.clone(*view);
        copy->setOperand(0, value);
        copy->getResult(0).setType(
            cast<RankedTensorType>(view->getResult(0).getType()).clone(type));
        value = copy->getResult(0);
      }
      setNarrow(builder, *read.operand, value);
    }
    // The views of it that nobody reads any more.
    std::function<void(Operation *)> erase = [&](Operation *user) {
      for (Operation *other : llvm::make_early_inc_range(user->getUsers()))
        erase(other);
      if (user->use_empty())
        user->erase();
    };
    erase(op);
    auto made = narrow.getDefiningOp<linalg::GenericOp>();
    if (Operation *same = findSame(made)) {
      made->replaceAllUsesWith(same->getResults());
      made->erase();
    }
    any = true;
  }
  return any;
}
