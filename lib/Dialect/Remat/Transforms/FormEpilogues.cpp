//===- FormEpilogues.cpp - readers of products read what is made of them --===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the description of `remat-form-epilogues`. All that other readers do with
// a product is found first; then either all of them are rewritten, or none.
// Sums of what a library makes or reads are put behind it afterwards.
//
//===----------------------------------------------------------------------===//

#include "KernelPool.h"
#include "ProductReaders.h"
#include "ReluMasks.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/Transforms/Passes.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Epilogues.h"
#include "remat/Utils/Structured.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace remat {
#define GEN_PASS_DEF_FORMEPILOGUESPASS
#include "remat/Dialect/Remat/Transforms/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// The readers of one product, and what they read instead.
class ReaderRewriter {
public:
  explicit ReaderRewriter(linalg::LinalgOp product) : product(product) {}

  /// Whether anything has been rewritten.
  bool run();

private:
  bool findMaker();
  bool mayRewrite();
  bool mayRewrite(OpOperand &read);
  bool mayReadResult(Value sum) const;
  bool moveMaker();
  Value getReplacement();
  void replace(OpOperand &read, Value replacement);

  linalg::LinalgOp product;
  ProductReaders readers;
  /// What becomes a part of the product's kernel, and how it is that.
  linalg::GenericOp maker;
  Epilogue epilogue;
};

} // namespace

/// The first reader of the product's own phase that makes an epilogue's result
/// of it, with an activation if there is one.
bool ReaderRewriter::findMaker() {
  for (OpOperand *read : readers.reads) {
    auto generic = cast<linalg::GenericOp>(read->getOwner());
    std::optional<Epilogue> found = matchEpilogue(generic);
    if (!found || found->contraction != product || found->keepsSum ||
        hasPolicy(generic) ||
        generic->getAttr(RematDialect::backwardAttrName) !=
            product->getAttr(RematDialect::backwardAttrName))
      continue;
    bool isPlain = found->activation == Activation::None;
    if (maker && (isPlain != (epilogue.activation == Activation::None)
                      ? isPlain
                      : maker->isBeforeInBlock(generic)))
      continue;
    maker = generic;
    epilogue = *found;
  }
  return static_cast<bool>(maker);
}

/// Whether all that is made of `sum` is the same if it is its ReLU: what the
/// sum is where it is not positive does not matter.
bool ReaderRewriter::mayReadResult(Value sum) const {
  return llvm::all_of(sum.getUsers(), [&](Operation *user) {
    if (isRelu(user, sum))
      return true;
    // A condition of a ReLU in another form is one of these, too; its select is
    // a user of its own.
    auto compare = dyn_cast<arith::CmpFOp>(user);
    if (!compare || compare.getLhs() != sum ||
        !matchPattern(compare.getRhs(), m_AnyZeroFloat()))
      return false;
    switch (compare.getPredicate()) {
    case arith::CmpFPredicate::OGT:
    case arith::CmpFPredicate::OLE:
    case arith::CmpFPredicate::UGT:
    case arith::CmpFPredicate::ULE:
      return true;
    default:
      return false;
    }
  });
}

/// Whether all that a reader makes of the product is its sum with the bias, if
/// there is one, and of that something for which it may read what the maker
/// has.
bool ReaderRewriter::mayRewrite(OpOperand &read) {
  auto generic = cast<linalg::GenericOp>(read.getOwner());
  if (read.get().getType() != maker->getResult(0).getType())
    return false;
  AffineMap map = generic.getMatchingIndexingMap(&read);
  bool isRelu = epilogue.activation == Activation::Relu;
  if (!epilogue.bias)
    return !isRelu || mayReadResult(generic.getMatchingBlockArgument(&read));
  for (Operation *user : generic.getMatchingBlockArgument(&read).getUsers()) {
    auto sum = dyn_cast<arith::AddFOp>(user);
    if (!sum || sum->getBlock() != generic.getBody())
      return false;
    Value other = sum.getLhs() == generic.getMatchingBlockArgument(&read)
                      ? sum.getRhs()
                      : sum.getLhs();
    auto argument = dyn_cast<BlockArgument>(other);
    if (!argument || argument.getOwner() != generic.getBody())
      return false;
    OpOperand &bias = generic->getOpOperand(argument.getArgNumber());
    if (!generic.isDpsInput(&bias) || bias.get() != epilogue.bias ||
        generic.getMatchingIndexingMap(&bias).getResults() !=
            map.getResults().take_back() ||
        (isRelu && !mayReadResult(sum)))
      return false;
  }
  return true;
}

bool ReaderRewriter::mayRewrite() {
  Type type = maker->getResult(0).getType();
  // What is read elsewhere must be neither rounded, nor in rows that do not
  // begin where the library wants them.
  if (!getElementTypeOrSelf(type).isF32() ||
      (epilogue.activation == Activation::Gelu &&
       cast<ShapedType>(type).getShape().back() % keptRowElements != 0))
    return false;
  return llvm::all_of(readers.reads, [&](OpOperand *read) {
    return read->getOwner() == maker || mayRewrite(*read);
  });
}

/// Puts the maker in front of all other readers; false if they stand before
/// what it reads.
bool ReaderRewriter::moveMaker() {
  Operation *first = maker;
  for (OpOperand *read : readers.reads)
    if (read->getOwner()->isBeforeInBlock(first))
      first = read->getOwner();
  if (first == maker)
    return true;
  SetVector<Value> values = getReadValues(maker);
  for (Value value : values)
    if (Operation *op = value.getDefiningOp();
        op && !op->isBeforeInBlock(first))
      return false;
  maker->moveBefore(first);
  return true;
}

/// What the other readers read in the place of the product. The maker of a GELU
/// gets the sum as a second result.
Value ReaderRewriter::getReplacement() {
  if (epilogue.activation != Activation::Gelu)
    return maker->getResult(0);
  OpBuilder builder(maker);
  Type type = maker->getResult(0).getType();
  SmallVector<Value> inits(2, maker.getDpsInits().front());
  SmallVector<AffineMap> maps = maker.getIndexingMapsArray();
  maps.push_back(maps.back());
  auto both = linalg::GenericOp::create(
      builder, maker.getLoc(), TypeRange{type, type}, maker.getDpsInputs(),
      inits, maps, maker.getIteratorTypesArray());
  both.getRegion().takeBody(maker.getRegion());
  Block *body = both.getBody();
  body->addArgument(getElementTypeOrSelf(type), maker.getLoc());
  unsigned number = maker.getDpsInputs()[0] == epilogue.bias ? 1 : 0;
  Value sum = body->getArgument(number);
  if (epilogue.bias)
    sum = (*sum.user_begin())->getResult(0);
  body->getTerminator()->insertOperands(1, sum);
  copyBackward(maker, both);
  maker->getResult(0).replaceAllUsesWith(both->getResult(0));
  maker.erase();
  maker = both;
  return both->getResult(1);
}

/// Makes a reader go on from `replacement` where it has the sum.
void ReaderRewriter::replace(OpOperand &read, Value replacement) {
  auto generic = cast<linalg::GenericOp>(read.getOwner());
  BlockArgument element = generic.getMatchingBlockArgument(&read);
  auto dropRelus = [&](Value sum) {
    if (epilogue.activation != Activation::Relu)
      return;
    for (Operation *user : llvm::make_early_inc_range(sum.getUsers()))
      if (isRelu(user, sum))
        user->getResult(0).replaceAllUsesWith(element);
  };
  if (!epilogue.bias)
    dropRelus(element);
  else
    for (Operation *sum : llvm::make_early_inc_range(element.getUsers())) {
      dropRelus(sum->getResult(0));
      sum->getResult(0).replaceAllUsesWith(element);
      sum->erase();
    }
  read.set(replacement);
}

bool ReaderRewriter::run() {
  if (hasPolicy(product) ||
      !readers.collect(product->getResult(0), product->getBlock()) ||
      readers.reads.size() < 2 || !findMaker() || !mayRewrite() || !moveMaker())
    return false;
  llvm::erase_if(readers.reads,
                 [&](OpOperand *read) { return read->getOwner() == maker; });
  Value replacement = getReplacement();
  SetVector<Operation *> changed;
  for (OpOperand *read : readers.reads) {
    replace(*read, replacement);
    changed.insert(read->getOwner());
  }
  for (Operation *reader : changed)
    simplifyReader(cast<linalg::GenericOp>(reader));
  return true;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// Puts `op` behind `place`, with all that it needs and that costs nothing, and
/// with the sum that it rounds; false, and nothing is moved, if it needs
/// something else from there.
static bool moveBehind(Operation *op, Operation *place) {
  SetVector<Operation *> needed;
  needed.insert(op);
  for (unsigned i = 0; i < needed.size(); ++i)
    for (Value value : getReadValues(needed[i])) {
      Operation *source = value.getDefiningOp();
      if (!source || source == place || source->getBlock() != op->getBlock() ||
          source->isBeforeInBlock(place))
        continue;
      if (!isViewOp(source) && !isClonedIntoKernels(source) &&
          !matchColumnSums(source))
        return false;
      needed.insert(source);
    }
  SmallVector<Operation *> inOrder = llvm::to_vector(needed);
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *one : llvm::reverse(inOrder))
    one->moveAfter(place);
  return true;
}

/// Puts `op` in front of `place`, with all that it needs and that costs
/// nothing; false, and nothing is moved, if it needs something else from there.
static bool moveAhead(Operation *op, Operation *place) {
  SetVector<Operation *> needed;
  needed.insert(op);
  for (unsigned i = 0; i < needed.size(); ++i)
    for (Value value : getReadValues(needed[i])) {
      Operation *source = value.getDefiningOp();
      if (!source || source->getBlock() != op->getBlock() ||
          (source != place && source->isBeforeInBlock(place)))
        continue;
      if (source == place ||
          (!isViewOp(source) && !isClonedIntoKernels(source)))
        return false;
      needed.insert(source);
    }
  SmallVector<Operation *> inOrder = llvm::to_vector(needed);
  llvm::sort(inOrder,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *one : inOrder)
    one->moveBefore(place);
  return true;
}

/// Puts `sum` behind `place`, with which it shares a call then. What reads it
/// stays behind it. Where that stands in front of `place`, as an update by a
/// gradient may, `place` moves.
static bool moveSums(Operation *sum, Operation *place) {
  if (place->isBeforeInBlock(sum))
    return moveBehind(sum, place);
  bool isReadBefore = llvm::any_of(sum->getUsers(), [&](Operation *user) {
    Operation *reader = sum->getBlock()->findAncestorOpInBlock(*user);
    return !reader || !place->isBeforeInBlock(reader);
  });
  if (isReadBefore)
    return moveAhead(place, sum);
  sum->moveAfter(place);
  return true;
}

/// Whether both are computed in the same phase, and nobody has asked for
/// anything about them.
static bool mayShareCall(Operation *a, Operation *b) {
  return !hasPolicy(a) && !hasPolicy(b) && a->getBlock() == b->getBlock() &&
         a->getAttr(RematDialect::backwardAttrName) ==
             b->getAttr(RematDialect::backwardAttrName);
}

/// Whether a library makes what `op` makes of a product in the same call, as
/// the gradient of an activation.
static bool isActivationGradient(linalg::GenericOp op) {
  std::optional<ReluGradient> gradient = matchReluGradient(op);
  return (gradient && gradient->isMask) || matchGeluGradient(op);
}

/// Puts the gradient of a bias behind the gradient of an activation that it is
/// a sum of, or else behind a product of which that is a factor.
static bool joinSums(Operation *sum, DenseSet<Operation *> &taken) {
  std::optional<ColumnSums> sums = matchColumnSums(sum);
  if (!sums || !mayShareCall(sum, sums->sum))
    return false;
  Value summed = getViewRoot(sums->summed);
  Type type = getElementTypeOrSelf(sum->getResult(0).getType());
  auto join = [&](Operation *place) {
    return !taken.contains(place) && mayShareCall(sum, place) &&
           moveSums(sum, place) && taken.insert(place).second;
  };
  auto maker = summed.getDefiningOp<linalg::GenericOp>();
  if (maker && type.isF32() && isActivationGradient(maker) && join(maker))
    return true;
  SetVector<Operation *> readers;
  forEachReader(summed, [&](Operation *reader) { readers.insert(reader); });
  return llvm::any_of(readers, [&](Operation *reader) {
    auto product = dyn_cast<linalg::LinalgOp>(reader);
    return product && findSummedFactor(product, *sums, type) && join(product);
  });
}

namespace {
struct FormEpilogues : remat::impl::FormEpiloguesPassBase<FormEpilogues> {
  using FormEpiloguesPassBase::FormEpiloguesPassBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || !getTargetFacts(func).getEpilogues())
      return;
    for (Block &block : func.getBody())
      for (linalg::LinalgOp product : getProducts(block))
        if (ReaderRewriter(product).run())
          ++numEpilogues;
    for (Block &block : func.getBody())
      numMasks += maskRelus(block);
    for (Block &block : func.getBody()) {
      DenseSet<Operation *> taken;
      for (auto op : llvm::to_vector(block.getOps<linalg::LinalgOp>()))
        if (joinSums(op, taken))
          ++numSums;
    }
  }
};
} // namespace
