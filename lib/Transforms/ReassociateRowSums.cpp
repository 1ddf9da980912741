//===- ReassociateRowSums.cpp - sums of products with a product -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a softmax P needs the sums of the rows of P * dP. In
// attention, dP is a product of two matrices, dO and the transposed V, and the
// forward computation has the product O of P and V. So
//   sum over j of P(i, j) * dP(i, j)
//     = sum over j, d of P(i, j) * dO(i, d) * V(j, d)
//     = sum over d of dO(i, d) * O(i, d),
// which needs no element of P or dP. That P is a softmax does not matter.
//
// What the terms of such a sum are products of, and whether two tensors are the
// same but for views and copies, is found out by ElementProducts.h.
//
//===----------------------------------------------------------------------===//

#include "ReassociatedSum.h"

#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace remat {
#define GEN_PASS_DEF_REASSOCIATEROWSUMSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// Finds out whether a sum can be done in the shorter order.
class SumMatcher {
public:
  SumMatcher(linalg::GenericOp op, bool usesRounded)
      : usesRounded(usesRounded), sum{op, {}, {}, {}, {}, {}, {}, {}} {}

  std::optional<ReassociatedSum> match();

private:
  bool matchFactor(const ElementProduct &terms, unsigned number);
  bool matchProduct(const ElementProduct &terms, unsigned number,
                    linalg::ContractOp product, unsigned side,
                    const Access &common);
  SmallVector<std::pair<linalg::ContractOp, unsigned>>
  findProducts(Value factor, linalg::ContractOp except);
  bool takeOut(ElementProduct &terms, const ElementProduct &taken);
  bool isOverSame(linalg::ContractOp product, ArrayRef<PartedIndex> points);
  bool isIndependent(const ElementProduct &product);
  std::optional<Access> findForm(Access result);
  bool isKept(Value form, linalg::ContractOp product);
  ElementProductFinder getFinder(bool ignoresRounding) {
    return ElementProductFinder(sum.parts, sum.type, ignoresRounding);
  }

  bool usesRounded;
  ReassociatedSum sum;
  /// The indices that the operation adds up over.
  SmallVector<PartedIndex> summed;
};

} // namespace

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// Indices of the loops of `op`; nothing if they may have no point.
static std::optional<SmallVector<PartedIndex>>
createLoops(IndexParts &parts, linalg::LinalgOp op, bool fixed) {
  SmallVector<PartedIndex> loops;
  for (int64_t size : getLoopSizes(op)) {
    if (size <= 0)
      return std::nullopt;
    loops.push_back(parts.create(size, fixed));
  }
  return loops;
}

/// What a sum over loops adds up: the term of `total + term`.
static Value getTerm(linalg::GenericOp op) {
  if (!op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op->getNumResults() != 1 || op.getNumReductionLoops() == 0 ||
      !isZeroTensor(op.getDpsInits().front()))
    return {};
  auto sum = op.getBody()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  BlockArgument total = op.getRegionOutputArgs().front();
  if (!sum || !total.hasOneUse() ||
      (sum.getLhs() != total && sum.getRhs() != total))
    return {};
  return sum.getLhs() == total ? sum.getRhs() : sum.getLhs();
}

static FloatType getElement(Value tensor) {
  return dyn_cast<FloatType>(getElementTypeOrSelf(tensor.getType()));
}

/// Whether `op` is a product of floats that it does not round before.
static bool isContraction(linalg::ContractOp op) {
  if (!op || !op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      !startsFromZeros(op))
    return false;
  FloatType type = getElement(op->getResult(0));
  return type &&
         llvm::all_of(op.getInputs(),
                      [&](Value factor) {
                        FloatType other = getElement(factor);
                        return other && other.getWidth() <= type.getWidth();
                      }) &&
         llvm::all_of(op.getIndexingMapsArray(), [](AffineMap map) {
           return map.isProjectedPermutation();
         });
}

/// The indices of the loops of a contraction, for an element of its result.
/// Those that it adds up over are new ones.
static SmallVector<PartedIndex>
getLoops(IndexParts &parts, linalg::ContractOp op, ArrayRef<PartedIndex> dims) {
  AffineMap map = op.getIndexingMapsArray()[2];
  SmallVector<PartedIndex> loops(map.getNumDims());
  for (auto [loop, size] : llvm::enumerate(getLoopSizes(op))) {
    std::optional<unsigned> dim =
        map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
    loops[loop] = dim ? dims[*dim] : parts.create(size, /*fixed=*/true);
  }
  return loops;
}

/// Those of the indices in loops of `kind`.
static SmallVector<PartedIndex> select(ArrayRef<PartedIndex> loops,
                                       linalg::LinalgOp op,
                                       utils::IteratorType kind) {
  SmallVector<PartedIndex> selected;
  for (auto [loop, other] : llvm::zip(loops, op.getIteratorTypesArray()))
    if (other == kind)
      selected.push_back(loop);
  return selected;
}

std::optional<ReassociatedSum> SumMatcher::match() {
  linalg::GenericOp op = sum.op;
  Value term = getTerm(op);
  sum.type = getElement(op->getResult(0));
  AffineMap map = op.getIndexingMapsArray().back();
  if (!term || !sum.type || !map.isProjectedPermutation() ||
      map.getNumResults() + op.getNumReductionLoops() != op.getNumLoops())
    return std::nullopt;
  std::optional<SmallVector<PartedIndex>> loops =
      createLoops(sum.parts, op, /*fixed=*/true);
  if (!loops)
    return std::nullopt;
  sum.loops = *loops;
  summed = select(*loops, op, utils::IteratorType::reduction);
  std::optional<ElementProduct> terms =
      getFinder(usesRounded).findProduct(term, op, *loops);
  if (!terms)
    return std::nullopt;
  IndexParts before = sum.parts;
  for (unsigned number = 0; number < terms->factors.size(); ++number) {
    if (matchFactor(*terms, number))
      return std::move(sum);
    sum.parts = before;
  }
  return std::nullopt;
}

/// Products of a tensor and another one, whatever views and copies are between,
/// and the number of the operand.
SmallVector<std::pair<linalg::ContractOp, unsigned>>
SumMatcher::findProducts(Value factor, linalg::ContractOp except) {
  SmallVector<std::pair<linalg::ContractOp, unsigned>> products;
  SetVector<Value> forms;
  forms.insert(factor);
  for (unsigned i = 0; i < forms.size(); ++i)
    for (OpOperand &use : forms[i].getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != sum.op->getBlock() ||
          !user->isBeforeInBlock(sum.op))
        continue;
      if (auto product = dyn_cast<linalg::ContractOp>(user)) {
        if (product != except && isContraction(product) &&
            product.isDpsInput(&use))
          products.push_back({product, use.getOperandNumber()});
        continue;
      }
      std::optional<ElementCopy> copy = matchElementCopy(user);
      if ((copy && copy->input == &use) ||
          isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
              linalg::TransposeOp>(user))
        forms.insert(user->getResult(0));
    }
  llvm::stable_sort(products, [](const auto &a, const auto &b) {
    return a.first->isBeforeInBlock(b.first);
  });
  return products;
}

/// Whether the factor `number` of the terms is a product of matrices that can
/// be added up first.
bool SumMatcher::matchFactor(const ElementProduct &terms, unsigned number) {
  const ElementProduct::Factor &factor = terms.factors[number];
  auto contraction = factor.element.value.getDefiningOp<linalg::ContractOp>();
  if (factor.isDivisor || !isContraction(contraction) ||
      contraction->getBlock() != sum.op->getBlock() ||
      (getElement(factor.element.value) != sum.type && !usesRounded) ||
      llvm::is_contained(getLoopSizes(contraction), 0))
    return false;
  IndexParts &parts = sum.parts;
  SmallVector<PartedIndex> points =
      getLoops(parts, contraction, factor.element.dims);
  sum.inner = select(points, contraction, utils::IteratorType::reduction);
  // Longer sums would be no gain.
  auto countTerms = [&](ArrayRef<PartedIndex> indices) {
    int64_t count = 1;
    for (IndexPart part : parts.resolveAll(indices))
      count *= parts.getSize(part);
    return count;
  };
  if (countTerms(sum.inner) >= countTerms(summed))
    return false;
  // One matrix has the index of the sum, the other has not.
  Access sides[2];
  bool depends[2];
  for (unsigned side : {0, 1}) {
    sides[side] = *getAccess(contraction.getInputs()[side],
                             contraction.getIndexingMapsArray()[side], points);
    llvm::SetVector<IndexPart> read = parts.resolveAll(sides[side].dims);
    depends[side] = llvm::any_of(parts.resolveAll(summed), [&](IndexPart part) {
      return read.contains(part);
    });
  }
  if (depends[0] == depends[1])
    return false;
  sum.first = getFinder(/*ignoresRounding=*/false)
                  .findOrigin(sides[depends[0] ? 1 : 0]);
  Access common = getFinder(usesRounded).findOrigin(sides[depends[0] ? 0 : 1]);
  IndexParts before = parts;
  for (auto [product, side] : findProducts(common.value, contraction)) {
    if (matchProduct(terms, number, product, side, common))
      return true;
    parts = before;
  }
  return false;
}

/// Whether a product adds up over the indices that the sum does, and has those
/// that the new sum is over. `points` are the indices of its loops.
bool SumMatcher::isOverSame(linalg::ContractOp product,
                            ArrayRef<PartedIndex> points) {
  const IndexParts &parts = sum.parts;
  // Each loop has indices of its own, which are known.
  size_t numParts = 0;
  for (const PartedIndex &point : points) {
    if (!parts.isFixed(point))
      return false;
    numParts += parts.resolve(point).size();
  }
  if (numParts != parts.resolveAll(points).size())
    return false;
  auto contains = [&](ArrayRef<PartedIndex> all, ArrayRef<PartedIndex> some) {
    llvm::SetVector<IndexPart> set = parts.resolveAll(all);
    return llvm::all_of(parts.resolveAll(some),
                        [&](IndexPart part) { return set.contains(part); });
  };
  SmallVector<PartedIndex> added =
      select(points, product, utils::IteratorType::reduction);
  return contains(added, summed) && contains(summed, added) &&
         contains(select(points, product, utils::IteratorType::parallel),
                  sum.inner);
}

/// Whether `product`, whose factor `side` is that of the sum's, too, can be
/// used.
bool SumMatcher::matchProduct(const ElementProduct &terms, unsigned number,
                              linalg::ContractOp product, unsigned side,
                              const Access &common) {
  if (getBackwardLevel(product) > getBackwardLevel(sum.op) ||
      (getElement(product->getResult(0)) != sum.type && !usesRounded))
    return false;
  std::optional<SmallVector<PartedIndex>> points =
      createLoops(sum.parts, product, /*fixed=*/false);
  if (!points)
    return false;
  ElementProductFinder finder = getFinder(usesRounded);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  Access same = finder.findOrigin(
      *getAccess(product.getInputs()[side], maps[side], *points));
  if (!sum.parts.unify(same, common))
    return false;
  ElementProduct others = finder.findProduct(
      *getAccess(product.getInputs()[1 - side], maps[1 - side], *points));
  sum.scale = terms;
  sum.scale.factors.erase(sum.scale.factors.begin() + number);
  if (!takeOut(sum.scale, others) || !isOverSame(product, *points) ||
      !isIndependent(sum.scale))
    return false;
  std::optional<Access> result =
      findForm(*getAccess(product->getResult(0), maps[2], *points));
  if (!result || !isKept(result->value, product))
    return false;
  sum.second = *result;
  return true;
}

/// Takes the factors of `taken` out of `terms`, all of them.
bool SumMatcher::takeOut(ElementProduct &terms, const ElementProduct &taken) {
  for (const ElementProduct::Factor &factor : taken.factors) {
    auto *same = llvm::find_if(terms.factors, [&](const auto &other) {
      return other.isDivisor == factor.isDivisor &&
             sum.parts.unify(factor.element, other.element);
    });
    if (same == terms.factors.end())
      return false;
    terms.factors.erase(same);
  }
  for (const ElementProduct::Gate &gate : taken.gates) {
    auto *same = llvm::find_if(terms.gates, [&](const auto &other) {
      return other.closesIf == gate.closesIf &&
             sum.parts.unify(gate.condition, other.condition);
    });
    if (same == terms.gates.end())
      return false;
    terms.gates.erase(same);
  }
  // A gate may be there several times, which is once.
  llvm::erase_if(terms.gates, [&](const auto &other) {
    return llvm::any_of(taken.gates, [&](const auto &gate) {
      return other.closesIf == gate.closesIf &&
             sum.parts.unify(gate.condition, other.condition);
    });
  });
  terms.isNegative ^= taken.isNegative;
  for (ElementProduct::Constant constant : taken.constants) {
    auto *same = llvm::find(terms.constants, constant);
    if (same != terms.constants.end()) {
      terms.constants.erase(same);
      continue;
    }
    constant.isDivisor ^= true;
    terms.constants.push_back(constant);
  }
  return true;
}

/// Whether what is left is the same for all terms of a sum.
bool SumMatcher::isIndependent(const ElementProduct &product) {
  llvm::SetVector<IndexPart> varying = sum.parts.resolveAll(summed);
  auto holdsFor = [&](const Access &element) {
    return llvm::none_of(
        sum.parts.resolveAll(element.dims),
        [&](IndexPart part) { return varying.contains(part); });
  };
  return llvm::all_of(product.factors,
                      [&](const auto &factor) {
                        return getElement(factor.element.value) &&
                               holdsFor(factor.element);
                      }) &&
         llvm::all_of(product.gates, [&](const auto &gate) {
           return holdsFor(gate.condition);
         });
}

/// Whether an operation rounds what it reads by `use`, at once or behind views.
static bool isRounded(OpOperand &use) {
  Operation *user = use.getOwner();
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
    return llvm::all_of(user->getUses(), isRounded);
  auto generic = dyn_cast<linalg::GenericOp>(user);
  if (!generic)
    return false;
  return llvm::all_of(
      generic.getMatchingBlockArgument(&use).getUsers(), [](Operation *inner) {
        return isa<arith::TruncFOp>(inner) &&
               inner->getResult(0).getType().getIntOrFloatBitWidth() <= 16;
      });
}

/// Operations other than views that read `tensor` or a view of it.
static void collectReaders(Value tensor, SetVector<Operation *> &readers) {
  for (Operation *user : tensor.getUsers())
    if (isViewOp(user))
      collectReaders(user->getResult(0), readers);
    else
      readers.insert(user);
}

/// Whether a form of the result of `product` is there until the sum, whether it
/// reads it or not: for the gradient of a projection, for instance.
bool SumMatcher::isKept(Value form, linalg::ContractOp product) {
  SetVector<Operation *> readers;
  collectReaders(form, readers);
  unsigned level = getBackwardLevel(product);
  // Without marks, one of two readers is taken for a gradient.
  if (getBackwardLevel(sum.op) == level)
    return readers.size() > 1;
  return llvm::any_of(readers, [&](Operation *reader) {
    return getBackwardLevel(reader) > level;
  });
}

/// The form of a result of the forward computation that others read: behind
/// views and copies, as far as nothing else reads it, and rounded where only
/// that is read. Nothing if it is rounded and that is not to be used.
std::optional<Access> SumMatcher::findForm(Access result) {
  for (;;) {
    Value value = result.value;
    bool isWide = getElement(value).getIntOrFloatBitWidth() > 16;
    bool rounded = isWide && !value.use_empty() &&
                   llvm::all_of(value.getUses(), isRounded);
    if (rounded && !usesRounded)
      return std::nullopt;
    std::optional<Access> next;
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      if (user->getBlock() != sum.op->getBlock() ||
          !user->isBeforeInBlock(sum.op) || (!rounded && !value.hasOneUse()))
        continue;
      std::optional<ElementCopy> copy = matchElementCopy(user);
      if (!copy) {
        next = getViewing(sum.parts, user, result);
      } else if (copy->input == &use && !copy->widens) {
        auto generic = cast<linalg::GenericOp>(user);
        std::optional<SmallVector<PartedIndex>> points =
            getLoopIndices(generic.getMatchingIndexingMap(&use), result.dims);
        if (points)
          next = getAccess(generic->getResult(0),
                           generic.getIndexingMapsArray().back(), *points);
      }
      if (next)
        break;
    }
    if (!next)
      return rounded ? std::nullopt : std::optional(result);
    result = *next;
  }
}

namespace {
struct ReassociateRowSums
    : public remat::impl::ReassociateRowSumsPassBase<ReassociateRowSums> {
  using ReassociateRowSumsPassBase::ReassociateRowSumsPassBase;

  void runOnOperation() override {
    // Elsewhere rows of scores are in a cache, where such sums are for free.
    if (!getTargetFacts(getOperation()).getEpilogues())
      return;
    SmallVector<linalg::GenericOp> sums;
    getOperation().walk([&](linalg::GenericOp op) {
      if (getTerm(op))
        sums.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (linalg::GenericOp op : sums)
      if (std::optional<ReassociatedSum> sum =
              SumMatcher(op, usesRoundedResults).match()) {
        rewriteSum(rewriter, *sum);
        ++numRewritten;
      }
  }
};
} // namespace
