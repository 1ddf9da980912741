//===- SumFinals.cpp - what is made of sums over rows ---------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention's gradients of keys and values are sums over rows. They are scaled,
// rounded and transposed, and often concatenated with the gradient of the
// queries. The block that has added up a part of a sum can do all of this with
// it, and write it where it belongs. So these operations are one kernel with
// the rows, and no gradient is copied.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "KernelPool.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Rows.h"

using namespace mlir;
using namespace remat;

namespace {

/// Lets what follows the rows of one cluster join it.
class FinalsFinder {
public:
  FinalsFinder(Cluster &cluster, BlockInfo &info,
               const DenseMap<Operation *, unsigned> &clusterOf)
      : cluster(cluster), info(info), clusterOf(clusterOf),
        members(cluster.begin(), cluster.end()),
        block(cluster.front()->getBlock()) {}
  SmallVector<Operation *> run();

private:
  void findSums();
  bool mayJoin(Operation *op) const;
  bool collect(Operation *op, SetVector<Operation *> &moved) const;
  bool join(Operation *op);
  bool isMade(Value value) const;
  bool isPartOfOther(Operation *op) const;
  void tryAddFinal(Value sum);
  void tryAddConcat(Value part);

  Cluster &cluster;
  BlockInfo &info;
  const DenseMap<Operation *, unsigned> &clusterOf;
  DenseSet<Operation *> members;
  Block *block;
  /// The sums over rows, and how many of all rows there is one for each of; 0
  /// if these differ.
  SmallVector<Value> sums;
  int64_t units = 0;
  SmallVector<Operation *> joined;
};

} // namespace

/// Whether the result of `sum` begins with the loops of rows that are not added
/// up, in their order, so that its parts have the numbers of the units.
static bool isInOrderOfUnits(linalg::LinalgOp sum) {
  auto rows = sum->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName);
  SmallVector<int64_t> sizes = getLoopSizes(sum), units, leading;
  SmallVector<utils::IteratorType> kinds = sum.getIteratorTypesArray();
  for (int64_t loop : rows.asArrayRef())
    if (kinds[loop] == utils::IteratorType::parallel && sizes[loop] != 1)
      units.push_back(loop);
  AffineMap map = sum.getMatchingIndexingMap(sum.getDpsInitOperand(0));
  for (AffineExpr expr : map.getResults())
    if (auto dim = dyn_cast<AffineDimExpr>(expr);
        !dim || sizes[dim.getPosition()] != 1)
      leading.push_back(dim ? dim.getPosition() : -1);
  return ArrayRef(leading).take_front(units.size()) == ArrayRef(units);
}

void FinalsFinder::findSums() {
  for (Operation *op : cluster) {
    auto member = cast<linalg::LinalgOp>(op);
    auto rows = op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName);
    SmallVector<int64_t> sizes = getLoopSizes(member);
    int64_t mine = 1;
    bool adds = false;
    for (int64_t loop : rows.asArrayRef())
      if (member.getIteratorTypesArray()[loop] ==
          utils::IteratorType::reduction)
        adds = true;
      else
        mine *= sizes[loop];
    if (!adds)
      continue;
    units = sums.empty() || units == mine ? mine : 0;
    sums.push_back(op->getResult(0));
  }
}

/// Whether phases and policies let `op` join.
bool FinalsFinder::mayJoin(Operation *op) const {
  return op->getBlock() == block && !members.contains(op) &&
         !clusterOf.contains(op) &&
         !op->hasAttr(RematDialect::policyAttrName) &&
         op->getAttr(RematDialect::backwardAttrName) ==
             cluster.front()->getAttr(RematDialect::backwardAttrName) &&
         llvm::none_of(op->getResults(), isTagged);
}

/// Adds what has to stand right behind the cluster so that `op` can, that
/// itself last; false if it reads what is made later.
bool FinalsFinder::collect(Operation *op, SetVector<Operation *> &moved) const {
  for (Value value : getReadValues(op)) {
    Operation *source = value.getDefiningOp();
    if (!source || source->getBlock() != block || moved.contains(source) ||
        !info.isBefore(cluster.back(), source))
      continue;
    if ((!isViewOp(source) && !isClonedIntoKernels(source)) ||
        !collect(source, moved))
      return false;
  }
  moved.insert(op);
  return true;
}

/// Puts `op` behind the cluster, as its last member; false if it cannot stand
/// there.
bool FinalsFinder::join(Operation *op) {
  SetVector<Operation *> moved;
  if (!collect(op, moved))
    return false;
  Operation *last = cluster.back(), *end = last;
  for (Operation *other : moved)
    if (info.isBefore(end, other))
      end = other;
  SmallVector<Operation *> order(moved.begin(), moved.end());
  for (Operation *other = last; other != end; other = other->getNextNode())
    if (!moved.contains(other->getNextNode()))
      order.push_back(other->getNextNode());
  if (order.size() > ClusterTuning::maxDistance)
    return false;
  for (Operation *other : moved) {
    other->moveAfter(last);
    last = other;
  }
  info.reorder(order);
  cluster.push_back(op);
  members.insert(op);
  joined.push_back(op);
  return true;
}

/// Whether `value` is made by the cluster, or of one of its sums.
bool FinalsFinder::isMade(Value value) const {
  Operation *maker = value.getDefiningOp();
  return members.contains(maker) ||
         (isa_and_nonnull<linalg::GenericOp>(maker) &&
          llvm::any_of(maker->getOperands(), [&](Value operand) {
            return llvm::is_contained(sums, getViewRoot(operand));
          }));
}

/// Whether something else makes a part of the concatenation that `op` makes one
/// of: that is one kernel with it (makersOfParts), and copies the others.
bool FinalsFinder::isPartOfOther(Operation *op) const {
  if (!op->hasOneUse())
    return false;
  auto concat = dyn_cast<tensor::ConcatOp>(*op->user_begin());
  return concat && !llvm::all_of(concat.getInputs(),
                                 [&](Value input) { return isMade(input); });
}

/// An elementwise operation that alone reads `sum`, and nothing else that the
/// cluster makes.
void FinalsFinder::tryAddFinal(Value sum) {
  Operation *reader = nullptr;
  bool isOnly = true;
  forEachReader(sum, [&](Operation *other) {
    isOnly &= !reader || reader == other;
    reader = other;
  });
  auto generic = dyn_cast_or_null<linalg::GenericOp>(reader);
  if (!isOnly || !generic || !mayJoin(generic) || !info.isEligible(generic) ||
      generic.getNumReductionLoops() != 0 || generic->getNumResults() != 1 ||
      !generic.getIndexingMapsArray().back().isPermutation() ||
      isPartOfOther(generic))
    return;
  OpOperand *read = nullptr;
  for (OpOperand &operand : generic->getOpOperands()) {
    Value root = getViewRoot(operand.get());
    if (!members.contains(root.getDefiningOp()))
      continue;
    if (read || root != sum || !generic.isDpsInput(&operand))
      return;
    read = &operand;
  }
  AffineMap map = generic.getMatchingIndexingMap(read);
  std::optional<LoopList> rows = getLeadingLoops(
      map, cast<RankedTensorType>(read->get().getType()), units);
  if (rows && map.isPermutation() && join(generic))
    generic->setAttr(rowsAttrName,
                     Builder(generic).getDenseI64ArrayAttr(*rows));
}

/// A concatenation of what the cluster makes, and of nothing else.
void FinalsFinder::tryAddConcat(Value part) {
  if (!part.hasOneUse())
    return;
  auto concat = dyn_cast<tensor::ConcatOp>(*part.user_begin());
  if (concat && mayJoin(concat) && concat.getResultType().hasStaticShape() &&
      llvm::all_of(concat.getInputs(), [&](Value input) {
        return members.contains(input.getDefiningOp()) && input.hasOneUse();
      }))
    join(concat);
}

SmallVector<Operation *> FinalsFinder::run() {
  findSums();
  if (units == 0)
    return {};
  for (Value sum : sums)
    if (isInOrderOfUnits(sum.getDefiningOp<linalg::LinalgOp>()))
      tryAddFinal(sum);
  for (Operation *op : llvm::to_vector(cluster))
    for (Value result : op->getResults())
      tryAddConcat(result);
  return joined;
}

SmallVector<Operation *>
remat::addFinals(Cluster &cluster, BlockInfo &info,
                 const DenseMap<Operation *, unsigned> &clusterOf) {
  return FinalsFinder(cluster, info, clusterOf).run();
}
