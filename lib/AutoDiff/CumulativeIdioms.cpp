//===- CumulativeIdioms.cpp - idioms of cumulative sums -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Other idioms are in one body. The logarithm of a cumulative sum is the last
// of several operations: exp, a chain of sums of which each is written into a
// slice of a tensor, and log. So the matcher leaves the body.
//
//===----------------------------------------------------------------------===//

#include "Emit.h"
#include "IdiomMatchers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

/// What `value` is an element of, if it is an argument of a linalg body.
static OpOperand *getElementSource(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  auto op = argument
                ? dyn_cast<linalg::LinalgOp>(argument.getOwner()->getParentOp())
                : nullptr;
  if (!op || argument.getArgNumber() >= op->getNumOperands())
    return nullptr;
  return &op->getOpOperand(argument.getArgNumber());
}

/// What the elements of a result of a linalg operation are computed as.
static Value getYielded(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op)
    return {};
  return op.getBlock()->getTerminator()->getOperand(
      cast<OpResult>(value).getResultNumber());
}

static Value skipConversions(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::ExtFOp, arith::TruncFOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

namespace {
/// Whether values are sums of exponentials and zeros: where such a sum is 0,
/// each of its terms is.
class ExponentialSums {
public:
  bool contains(Value value);

private:
  bool check(Value value);

  /// What a loop carries is taken for such a sum while its body is looked at.
  DenseMap<Value, bool> known;
};
} // namespace

bool ExponentialSums::contains(Value value) {
  value = skipConversions(value);
  auto [found, isNew] = known.try_emplace(value, true);
  if (!isNew)
    return found->second;
  bool result = check(value);
  return known[value] = result;
}

bool ExponentialSums::check(Value value) {
  if (idiom::getNumber(value) == 0.0)
    return true;
  if (OpOperand *source = getElementSource(value))
    return contains(source->get());
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop || argument.getArgNumber() == 0)
      return false;
    unsigned number = argument.getArgNumber() - 1;
    return contains(loop.getInitArgs()[number]) &&
           contains(loop.getYieldedValues()[number]);
  }
  Operation *op = value.getDefiningOp();
  if (isa<math::ExpOp, math::Exp2Op>(op))
    return true;
  if (isa<arith::AddFOp>(op))
    return contains(op->getOperand(0)) && contains(op->getOperand(1));
  if (isa<tensor::ExtractSliceOp, tensor::CollapseShapeOp,
          tensor::ExpandShapeOp, tensor::CastOp>(op))
    return contains(op->getOperand(0));
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return contains(insert.getSource()) && contains(insert.getDest());
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    unsigned number = cast<OpResult>(value).getResultNumber();
    return contains(loop.getInitArgs()[number]) &&
           contains(loop.getYieldedValues()[number]);
  }
  // An element that nothing has been written to.
  if (isa<tensor::EmptyOp>(op))
    return true;
  Value yielded = getYielded(value);
  return yielded && contains(yielded);
}

/// Whether `sum` is `before` and something else, element by element.
static bool addsTo(Value sum, Value before) {
  Value yielded = getYielded(sum);
  auto op = sum.getDefiningOp<linalg::LinalgOp>();
  auto add = yielded ? yielded.getDefiningOp<arith::AddFOp>() : nullptr;
  if (!add || op.getNumParallelLoops() != op.getNumLoops())
    return false;
  return llvm::any_of(add->getOperands(), [&](Value operand) {
    OpOperand *source = getElementSource(operand);
    return source && source->get() == before &&
           op.getMatchingIndexingMap(source).isIdentity();
  });
}

namespace {
/// A tensor whose slices along `dim` are sums of ever more terms. `total`, of
/// which the dimension may be left out, is the last one.
struct CumulativeSum {
  Value total;
  unsigned dim;
};
} // namespace

/// The dimension along which `insert` writes one slice.
static std::optional<unsigned> getSliceDim(tensor::InsertSliceOp insert) {
  auto type = cast<RankedTensorType>(insert.getType());
  std::optional<unsigned> found;
  for (auto [dim, size] : llvm::enumerate(insert.getMixedSizes())) {
    if (isConstantIntValue(size, type.getDimSize(dim)))
      continue;
    if (!isConstantIntValue(size, 1) || found)
      return std::nullopt;
    found = dim;
  }
  return found;
}

static std::optional<CumulativeSum> matchCumulativeSum(Value tensor) {
  if (auto loop = tensor.getDefiningOp<scf::ForOp>()) {
    // The total is what else the loop carries.
    unsigned number = cast<OpResult>(tensor).getResultNumber();
    auto insert =
        loop.getYieldedValues()[number].getDefiningOp<tensor::InsertSliceOp>();
    auto dim = insert ? getSliceDim(insert) : std::nullopt;
    if (!dim || insert.getDest() != loop.getRegionIterArg(number))
      return std::nullopt;
    for (auto [other, yielded] : llvm::enumerate(loop.getYieldedValues()))
      if (yielded == insert.getSource() &&
          addsTo(yielded, loop.getRegionIterArg(other)))
        return CumulativeSum{loop.getResult(other), *dim};
    return std::nullopt;
  }
  auto last = tensor.getDefiningOp<tensor::InsertSliceOp>();
  auto before =
      last ? last.getDest().getDefiningOp<tensor::InsertSliceOp>() : nullptr;
  auto dim = last ? getSliceDim(last) : std::nullopt;
  if (!dim || !before)
    return std::nullopt;
  for (tensor::InsertSliceOp at = last; before;
       at = before, before =
                        before.getDest().getDefiningOp<tensor::InsertSliceOp>())
    if (getSliceDim(before) != dim ||
        !addsTo(at.getSource(), before.getSource()))
      return std::nullopt;
  return CumulativeSum{last.getSource(), *dim};
}

/// The map by which a body that sees `tensor` by `map` sees its slices along
/// `dim`: without that dimension, or at 0 of it if slices have it.
static AffineMap getSliceMap(AffineMap map, unsigned dim, bool isDropped) {
  SmallVector<AffineExpr> exprs(map.getResults());
  if (isDropped)
    exprs.erase(exprs.begin() + dim);
  else
    exprs[dim] = getAffineConstantExpr(0, map.getContext());
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

/// log of a cumulative sum of exponentials. Where the sum is 0 so far, PyTorch
/// has a tangent of 0 unless it is 0 to the end; that is 0 / total.
IdiomTerms idiom::matchLogCumSumExp(Operation *op) {
  auto log = dyn_cast<math::LogOp>(op);
  OpOperand *source =
      log ? getElementSource(skipConversions(log.getOperand())) : nullptr;
  std::optional<CumulativeSum> sum =
      source ? matchCumulativeSum(source->get()) : std::nullopt;
  if (!sum || !ExponentialSums().contains(source->get()))
    return {};
  Value x = log.getOperand();
  auto body = cast<linalg::LinalgOp>(source->getOwner());
  bool isDropped = cast<RankedTensorType>(sum->total.getType()).getRank() <
                   cast<RankedTensorType>(source->get().getType()).getRank();
  AffineMap map =
      getSliceMap(body.getMatchingIndexingMap(source), sum->dim, isDropped);
  auto derivative = [=](const Expr &g) { return g / g.primal(x); };
  auto tangent = [=, total = sum->total](const Expr &g) {
    DerivativeContext &context = g.getContext();
    Expr present = g.primal(x);
    Expr last(context, createScalarConversion(
                           context.getBuilder(), context.getLoc(),
                           context.primalElement(total, map), x.getType()));
    return g / select(present == 0.0, last, present);
  };
  return {{x, derivative, tangent}};
}
