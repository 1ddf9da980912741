//===- Concats.cpp - conditionals in bodies -------------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// JAX's concatenation arrives as a body that asks, by nested scf.if, in which
// of the tensors it is.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Builders.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Intervals.h"

#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTCONCATSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Concatenations
//===----------------------------------------------------------------------===//

namespace {
/// A body that reads one of several tensors along a dimension.
struct Concatenation {
  RankedTensorType type;
  std::optional<int64_t> dim;
  int64_t position = 0;
  SmallVector<Value> parts;
};
} // namespace

/// Whether `value` is `linalg.index dim` minus `offset`.
static bool isShiftedIndex(Value value, int64_t dim, int64_t offset) {
  IntegerAttr amount;
  if (auto sub = value.getDefiningOp<arith::SubIOp>()) {
    if (!matchPattern(sub.getRhs(), m_Constant(&amount)))
      return false;
    offset -= amount.getInt();
    value = sub.getLhs();
  } else if (auto add = value.getDefiningOp<arith::AddIOp>()) {
    if (!matchPattern(add.getRhs(), m_Constant(&amount)))
      return false;
    offset += amount.getInt();
    value = add.getLhs();
  }
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index && static_cast<int64_t>(index.getDim()) == dim && offset == 0;
}

/// Matches an extract that yields part of the result from `position` to `end`.
static bool matchPart(Value value, Concatenation &result, int64_t end) {
  auto extract = value.getDefiningOp<tensor::ExtractOp>();
  if (!extract || !result.dim)
    return false;
  RankedTensorType type = extract.getTensor().getType();
  if (type.getRank() != result.type.getRank() ||
      type.getDimSize(*result.dim) != end - result.position)
    return false;
  for (auto [dim, index] : llvm::enumerate(extract.getIndices())) {
    bool isJoined = static_cast<int64_t>(dim) == *result.dim;
    if (!isShiftedIndex(index, dim, isJoined ? result.position : 0))
      return false;
    if (!isJoined && type.getDimSize(dim) != result.type.getDimSize(dim))
      return false;
  }
  result.parts.push_back(extract.getTensor());
  result.position = end;
  return true;
}

/// Matches `value`, what the body yields at and after `position`.
static bool matchConcatenation(Value value, Concatenation &result) {
  auto choice = value.getDefiningOp<scf::IfOp>();
  if (!choice)
    return result.dim &&
           matchPart(value, result, result.type.getDimSize(*result.dim));
  if (choice.getNumResults() != 1)
    return false;
  auto compare = choice.getCondition().getDefiningOp<arith::CmpIOp>();
  IntegerAttr end;
  if (!compare ||
      (compare.getPredicate() != arith::CmpIPredicate::ult &&
       compare.getPredicate() != arith::CmpIPredicate::slt) ||
      !matchPattern(compare.getRhs(), m_Constant(&end)))
    return false;
  auto index = compare.getLhs().getDefiningOp<linalg::IndexOp>();
  if (!index)
    return false;
  int64_t dim = index.getDim();
  if (result.dim.value_or(dim) != dim || dim >= result.type.getRank())
    return false;
  result.dim = dim;
  return matchPart(choice.thenYield().getOperand(0), result, end.getInt()) &&
         matchConcatenation(choice.elseYield().getOperand(0), result);
}

static bool convertConcatenation(RewriterBase &rewriter,
                                 linalg::GenericOp generic) {
  if (generic->getNumResults() != 1 ||
      generic.getNumLoops() != generic.getNumParallelLoops() ||
      !generic.getMatchingIndexingMap(generic.getDpsInitOperand(0))
           .isIdentity())
    return false;
  Concatenation match;
  match.type = cast<RankedTensorType>(generic.getResult(0).getType());
  Value yielded = generic.getBody()->getTerminator()->getOperand(0);
  if (!yielded.getDefiningOp<scf::IfOp>() ||
      !matchConcatenation(yielded, match))
    return false;
  rewriter.setInsertionPoint(generic);
  rewriter.replaceOpWithNewOp<tensor::ConcatOp>(generic, match.type, *match.dim,
                                                match.parts);
  return true;
}

//===----------------------------------------------------------------------===//
// Other conditionals
//===----------------------------------------------------------------------===//

/// Whether the derivative of `op` may be infinite, or that of what uses it.
static bool mayBeSingular(Operation &op) {
  return llvm::any_of(op.getResultTypes(),
                      llvm::IsaPred<FloatType, ComplexType>) &&
         !isa<arith::AddFOp, arith::SubFOp, arith::NegFOp, arith::ExtFOp,
              arith::TruncFOp, arith::SelectOp, complex::AddOp, complex::SubOp,
              complex::NegOp, tensor::ExtractOp>(op) &&
         !op.hasTrait<OpTrait::ConstantLike>();
}

/// Clones the operations of `branch` before `choice`. They run whether or not
/// `condition` holds, so where it does not, indices that may be out of bounds
/// are replaced by 0. Numbers are, too: a derivative that is infinite where
/// the branch is not taken does not pass through the selection.
static SmallVector<Value> flattenBranch(RewriterBase &rewriter,
                                        scf::IfOp choice, Block *branch,
                                        Value condition) {
  Location loc = choice.getLoc();
  IRMapping mapping;
  bool isGated = llvm::any_of(branch->without_terminator(), mayBeSingular);
  auto gate = [&](Value value, Value current) {
    if (!isGated || !isa<FloatType, ComplexType>(value.getType()) ||
        matchPattern(value, m_Constant()))
      return;
    Value zero = createZeroConstant(rewriter, loc, value.getType());
    mapping.map(value, arith::SelectOp::create(rewriter, loc, condition,
                                               current, zero));
  };
  llvm::SetVector<Value> used;
  for (Operation &op : branch->without_terminator())
    for (Value operand : op.getOperands())
      if (operand.getParentBlock() != branch && used.insert(operand))
        gate(operand, operand);
  for (Operation &op : branch->without_terminator()) {
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    if (extract && extract.getTensor().getType().getNumElements() == 0) {
      // Nothing can be read; the branch is never taken.
      mapping.map(extract.getResult(),
                  arith::ConstantOp::create(
                      rewriter, loc, rewriter.getZeroAttr(extract.getType())));
      continue;
    }
    Operation *copy = rewriter.clone(op, mapping);
    if (!extract)
      continue;
    rewriter.setInsertionPoint(copy);
    for (auto [dim, operand] :
         llvm::enumerate(cast<tensor::ExtractOp>(copy).getIndicesMutable())) {
      int64_t size = extract.getTensor().getType().getDimSize(dim);
      if (getInterval(operand.get()).isWithin({0, size - 1}))
        continue;
      Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
      operand.set(arith::SelectOp::create(rewriter, loc, condition,
                                          operand.get(), zero));
    }
    rewriter.setInsertionPointAfter(copy);
    gate(extract.getResult(), copy->getResult(0));
  }
  return llvm::map_to_vector(
      branch->getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

static bool isPureBranch(Block *branch) {
  return branch &&
         llvm::all_of(branch->without_terminator(), [](Operation &op) {
           return op.getNumRegions() == 0 && isMemoryEffectFree(&op);
         });
}

/// Replaces `choice` by selections, if its branches have no effects.
static void flattenConditional(RewriterBase &rewriter, scf::IfOp choice) {
  if (choice.getNumResults() == 0 || !isPureBranch(choice.thenBlock()) ||
      !isPureBranch(choice.elseBlock()))
    return;
  rewriter.setInsertionPoint(choice);
  Location loc = choice.getLoc();
  Value condition = choice.getCondition();
  SmallVector<Value> whenTrue =
      flattenBranch(rewriter, choice, choice.thenBlock(), condition);
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
  Value otherwise = arith::XOrIOp::create(rewriter, loc, condition, one);
  SmallVector<Value> whenFalse =
      flattenBranch(rewriter, choice, choice.elseBlock(), otherwise);
  SmallVector<Value> results;
  for (auto [a, b] : llvm::zip(whenTrue, whenFalse))
    results.push_back(arith::SelectOp::create(rewriter, loc, condition, a, b));
  rewriter.replaceOp(choice, results);
}

namespace {
struct ImportConcats
    : public remat::impl::ImportConcatsPassBase<ImportConcats> {
  void runOnOperation() override {
    BackwardMarkListener marks;
    IRRewriter rewriter(&getContext(), &marks);
    for (linalg::GenericOp generic :
         collectOps<linalg::GenericOp>(getOperation())) {
      if (convertConcatenation(rewriter, generic))
        continue;
      // Post-order: inner conditionals first.
      SmallVector<scf::IfOp> choices = collectOps<scf::IfOp>(generic);
      for (scf::IfOp choice : choices)
        flattenConditional(rewriter, choice);
    }
  }
};
} // namespace
