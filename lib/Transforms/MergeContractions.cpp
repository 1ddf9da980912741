//===- MergeContractions.cpp - one contraction for a sum of them ----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recurrent network that is unrolled has a product of a few rows for each
// step in the gradient of its weights. Each makes a matrix as large as the
// weights, which is then added to the others:
//
//   A1^T B1 + A2^T B2 + ...  =  [A1; A2; ...]^T [B1; B2; ...]
//
// The product on the right reads and writes such a matrix once.
//
//===----------------------------------------------------------------------===//

#include "ElementwiseSums.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/StepGraphs.h"
#include "remat/Dialect/Remat/IR/TargetFacts.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"

namespace remat {
#define GEN_PASS_DEF_MERGECONTRACTIONSPASS
#include "remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

/// Whether `op` and `other` are of one phase and one block, and nobody asks for
/// the result of `op` by name.
static bool mayJoin(Operation *op, Operation *other) {
  return op->getBlock() == other->getBlock() &&
         !op->hasAttr(RematDialect::policyAttrName) &&
         op->getAttr(RematDialect::backwardAttrName) ==
             other->getAttr(RematDialect::backwardAttrName) &&
         !isTagged(op->getResult(0));
}

static bool isAddition(Operation &op) {
  return isa<arith::AddFOp, arith::AddIOp>(op);
}

/// Whether `op` adds up its inputs, element by element, each of them once.
static bool isSum(linalg::GenericOp op) {
  if (op.getNumReductionLoops() != 0 || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics() || op.hasDynamicShape() ||
      op.getNumDpsInputs() < 2 ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      llvm::any_of(op.getIndexingMapsArray(),
                   [](AffineMap map) { return !map.isIdentity(); }))
    return false;
  Block &body = *op.getBody();
  Type element = body.getTerminator()->getOperand(0).getType();
  return llvm::all_of(body.without_terminator(),
                      [](Operation &inner) {
                        return isPartOfSum(inner) && inner.hasOneUse();
                      }) &&
         llvm::all_of(body.getArguments().drop_back(),
                      [&](BlockArgument argument) {
                        return argument.hasOneUse() &&
                               argument.getType() == element;
                      }) &&
         llvm::count_if(body, isAddition) == op.getNumDpsInputs() - 1;
}

/// Whether `sum` is also a part of another one, which alone reads it.
static bool isPartOf(linalg::GenericOp sum, linalg::GenericOp other) {
  return sum->hasOneUse() && mayJoin(sum, other) && isSum(sum);
}

static bool isTermOfSum(linalg::GenericOp sum) {
  auto reader = sum->hasOneUse()
                    ? dyn_cast<linalg::GenericOp>(*sum->user_begin())
                    : linalg::GenericOp();
  return reader && isSum(reader) && isPartOf(sum, reader);
}

namespace {
/// A sum, and the contractions among its terms.
class SumOfContractions {
public:
  explicit SumOfContractions(linalg::GenericOp root) : root(root) {}
  /// Merges contractions of one form. Whether there were any.
  bool merge();

private:
  void collect();
  bool isWorthwhile(ArrayRef<linalg::ContractOp> products) const;
  Value build(ArrayRef<linalg::ContractOp> products) const;
  Value add(Value lhs, Value rhs);

  linalg::GenericOp root;
  /// The sums that are terms of others, outermost first, and all other terms.
  SmallVector<linalg::GenericOp> sums;
  SmallVector<Value> terms;
};
} // namespace

void SumOfContractions::collect() {
  SmallVector<Value> stack{root->getResult(0)};
  while (!stack.empty()) {
    Value term = stack.pop_back_val();
    auto sum = term.getDefiningOp<linalg::GenericOp>();
    if (sum != root && !(sum && isPartOf(sum, root))) {
      terms.push_back(term);
      continue;
    }
    sums.push_back(sum);
    // In the order in which they are added.
    SmallVector<Value> inputs = sum.getDpsInputs();
    stack.append(inputs.rbegin(), inputs.rend());
  }
}

/// The loop of `product` along which factors are concatenated: the outermost
/// one of the first factor that it sums over.
static std::optional<unsigned> findLoop(linalg::ContractOp product) {
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  for (AffineExpr expr : maps[0].getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    if (!maps[2].isFunctionOfDim(loop) && maps[1].isFunctionOfDim(loop))
      return loop;
  }
  return std::nullopt;
}

/// Whether `product` may be one of several that become one.
static bool isCandidate(linalg::ContractOp product, linalg::GenericOp root) {
  return product && product->hasOneUse() && mayJoin(product, root) &&
         product.hasPureTensorSemantics() && !product.hasDynamicShape() &&
         isContractionBody(*product.getBlock()) && startsFromZeros(product) &&
         llvm::all_of(
             product.getIndexingMapsArray(),
             [](AffineMap map) { return map.isProjectedPermutation(); }) &&
         findLoop(product);
}

/// Whether two contractions are alike but for how much they sum over.
static bool haveOneForm(linalg::ContractOp a, linalg::ContractOp b) {
  if (a->getDiscardableAttrDictionary() != b->getDiscardableAttrDictionary() ||
      a->getPropertiesAsAttribute() != b->getPropertiesAsAttribute())
    return false;
  for (auto [x, y] : llvm::zip(a->getOperands(), b->getOperands()))
    if (getElementTypeOrSelf(x) != getElementTypeOrSelf(y))
      return false;
  SmallVector<int64_t> sizes = getLoopSizes(a), others = getLoopSizes(b);
  unsigned cut = *findLoop(a);
  others[cut] = sizes[cut];
  return sizes == others;
}

/// Whether anything behind `last` reads `value` or, as fusion will have it, a
/// copy of it.
static bool isReadBehind(Value value, Operation *last) {
  bool isRead = false;
  forEachReader(value, [&](Operation *reader) {
    Operation *inBlock = last->getBlock()->findAncestorOpInBlock(*reader);
    isRead |= !inBlock || last->isBeforeInBlock(inBlock);
    if (std::optional<Permutation> copy = matchPermutation(reader);
        copy && llvm::is_sorted(copy->dims))
      isRead |= isReadBehind(reader->getResult(0), last);
  });
  return isRead;
}

/// The bytes of `value` if it is kept until the sum only because one product
/// reads it there that was done before: if nothing behind `last` reads it.
static int64_t countExtendedBytes(Value value, Operation *last) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  // An argument is there as long as its buffer is its own; `last` may stand in
  // a region of the block.
  bool isKept = isa<BlockArgument>(value);
  if (Operation *taker = findTaker(value)) {
    Operation *here = taker->getBlock()->findAncestorOpInBlock(*last);
    isKept = here && here->isBeforeInBlock(taker);
  }
  if (isKept || !type || !type.hasStaticShape())
    return 0;
  return isReadBehind(value, last) ? 0 : getBufferBytes(type);
}

/// Whether one product takes no more memory than several. Sums of all of them
/// are made of several results at a time; in the place of these there are one
/// result, the concatenated factors, and what those are made of.
bool SumOfContractions::isWorthwhile(
    ArrayRef<linalg::ContractOp> products) const {
  if (products.size() < MergeTuning::minProducts)
    return false;
  Operation *last = products.front();
  for (linalg::ContractOp product : products)
    if (last->isBeforeInBlock(product))
      last = product;
  int64_t bytes = 0;
  SetVector<Value> sources;
  for (linalg::ContractOp product : products)
    for (Value factor : product.getInputs()) {
      bytes += getBufferBytes(cast<RankedTensorType>(factor.getType()));
      sources.insert(getViewRoot(factor));
    }
  for (Value source : sources)
    bytes += countExtendedBytes(source, last);
  return bytes <= MergeTuning::savedResults *
                      getBufferBytes(
                          cast<RankedTensorType>(root->getResult(0).getType()));
}

/// One contraction of the concatenated factors.
Value SumOfContractions::build(ArrayRef<linalg::ContractOp> products) const {
  linalg::ContractOp first = products.front();
  OpBuilder builder(root);
  SmallVector<Value> operands;
  AffineExpr cut = getAffineDimExpr(*findLoop(first), root->getContext());
  for (unsigned number : {0, 1}) {
    AffineMap map = first.getIndexingMapsArray()[number];
    SmallVector<Value> parts;
    for (linalg::ContractOp product : products)
      parts.push_back(product->getOperand(number));
    auto whole = tensor::ConcatOp::create(builder, root->getLoc(),
                                          *map.getResultPosition(cut), parts);
    copyBackward(root, whole);
    operands.push_back(whole);
  }
  operands.push_back(first->getOperand(2));
  return clone(builder, first, first->getResultTypes(), operands)->getResult(0);
}

Value SumOfContractions::add(Value lhs, Value rhs) {
  OpBuilder builder(root);
  SmallVector<AffineMap> maps(3, root.getIndexingMapsArray().back());
  Operation &addition = *llvm::find_if(*root.getBody(), isAddition);
  auto sum = linalg::GenericOp::create(
      builder, root.getLoc(), root->getResultTypes(), ValueRange{lhs, rhs},
      root.getDpsInits(), maps, root.getIteratorTypesArray(),
      [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        // As it is done in all of them: narrow numbers in a wider type.
        Type type = arguments[0].getType(), wide = addition.getResultTypes()[0];
        IRMapping terms;
        for (unsigned i : {0, 1})
          terms.map(addition.getOperand(i),
                    type == wide ? arguments[i]
                                 : arith::ExtFOp::create(inner, loc, wide,
                                                         arguments[i]));
        Value value = inner.clone(addition, terms)->getResult(0);
        if (type != wide)
          value = arith::TruncFOp::create(inner, loc, type, value);
        linalg::YieldOp::create(inner, loc, value);
      });
  sum->setDiscardableAttrs(root->getDiscardableAttrDictionary());
  return sum->getResult(0);
}

bool SumOfContractions::merge() {
  collect();
  SmallVector<SmallVector<linalg::ContractOp>> groups;
  for (Value term : terms) {
    auto product = term.getDefiningOp<linalg::ContractOp>();
    if (!isCandidate(product, root))
      continue;
    auto group = llvm::find_if(groups, [&](ArrayRef<linalg::ContractOp> other) {
      return haveOneForm(other.front(), product);
    });
    if (group == groups.end())
      groups.push_back({product});
    else
      group->push_back(product);
  }
  llvm::erase_if(groups, [&](ArrayRef<linalg::ContractOp> products) {
    return !isWorthwhile(products);
  });
  if (groups.empty())
    return false;
  Value total;
  auto include = [&](Value term) { total = total ? add(total, term) : term; };
  DenseSet<Value> merged;
  for (ArrayRef<linalg::ContractOp> products : groups)
    for (linalg::ContractOp product : products)
      merged.insert(product->getResult(0));
  for (Value term : terms)
    if (!merged.contains(term))
      include(term);
  for (ArrayRef<linalg::ContractOp> products : groups)
    include(build(products));
  root->replaceAllUsesWith(ValueRange(total));
  for (linalg::GenericOp sum : sums)
    sum.erase();
  for (ArrayRef<linalg::ContractOp> products : groups)
    for (linalg::ContractOp product : products)
      product.erase();
  return true;
}

namespace {
struct MergeContractions
    : public remat::impl::MergeContractionsPassBase<MergeContractions> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // Parts of a batch are not to be there together.
    if (function->hasAttr(batchPartsAttrName) ||
        function->hasAttr(RematDialect::microbatchOrderAttrName))
      return;
    SmallVector<linalg::GenericOp> roots;
    for (auto sum : collectOps<linalg::GenericOp>(function))
      if (isSum(sum) && !sum->hasAttr(RematDialect::policyAttrName) &&
          !isTermOfSum(sum))
        roots.push_back(sum);
    for (linalg::GenericOp root : roots)
      numMerged += SumOfContractions(root).merge();
  }
};
} // namespace
