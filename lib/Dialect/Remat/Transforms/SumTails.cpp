//===- SumTails.cpp - arithmetic on the results of sums -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A batch norm makes a mean of a sum, the inverse of a deviation of another,
// and four factors for each channel in its gradient. As kernels of their own,
// these take longer to start than to run. They are one kernel with the sum: the
// threads that add up the last terms of its results go on with them. So are the
// mean and the deviation: the sum of the squares about the mean is made beside
// the sum that the mean is of, so that memory is read once.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "KernelPool.h"
#include "Tuning.h"

#include "remat/Utils/Moments.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace remat;

namespace {

/// The order of a block's operations, some of which are moved behind sums. The
/// block itself would number all of them again for each sum.
class TailOrder {
public:
  explicit TailOrder(Block &body) {
    for (Operation &op : body)
      places[&op] = {places.size(), 0};
  }
  bool isBefore(Operation *a, Operation *b) const {
    return places.at(a) < places.at(b);
  }
  /// Moves `op` right behind `last`, which is a sum or the last operation that
  /// has been moved behind one.
  void moveAfter(Operation *op, Operation *last) {
    op->moveAfter(last);
    auto [first, behind] = places.at(last);
    places[op] = {first, behind + 1};
  }

private:
  /// The number of an operation or of the sum that it is behind, and how far it
  /// is behind that.
  DenseMap<Operation *, std::pair<unsigned, unsigned>> places;
};

/// Finds what follows one sum.
class TailFinder {
public:
  TailFinder(linalg::GenericOp sum, BlockInfo &info, TailOrder &order,
             const DenseMap<Operation *, unsigned> &clusterOf)
      : sum(sum), info(info), order(order), clusterOf(clusterOf) {}
  Cluster run();

private:
  bool isSum();
  bool isElementwise(linalg::GenericOp op);
  bool mayJoin(Operation *op);
  bool isSquares(linalg::GenericOp op);
  bool collect(Operation *op, SetVector<Operation *> &moved);
  bool join(Operation *op);
  void joinReaders();
  void joinFactors();

  linalg::GenericOp sum;
  BlockInfo &info;
  TailOrder &order;
  const DenseMap<Operation *, unsigned> &clusterOf;
  ArrayRef<int64_t> shape;
  Cluster members;
};

} // namespace

/// Whether all results have the shape of the loops that add nothing.
bool TailFinder::isSum() {
  if (sum.getNumReductionLoops() == 0 || clusterOf.contains(sum) ||
      sum->hasAttr(RematDialect::policyAttrName) || !info.isEligible(sum) ||
      llvm::any_of(sum->getResults(), isTagged))
    return false;
  SmallVector<unsigned> parallel;
  sum.getParallelDims(parallel);
  AffineMap results = AffineMap::getMultiDimMapWithTargets(
      sum.getNumLoops(), parallel, sum.getContext());
  auto type = dyn_cast<RankedTensorType>(sum.getResultTypes().front());
  if (!type || !type.hasStaticShape() || parallel.empty() ||
      type.getNumElements() > ClusterTuning::maxTail)
    return false;
  shape = type.getShape();
  return llvm::all_of(sum.getDpsInitsMutable(), [&](OpOperand &init) {
    return sum.getMatchingIndexingMap(&init) == results;
  });
}

/// Whether each element of the results is made of those in the same place, and
/// of scalars.
bool TailFinder::isElementwise(linalg::GenericOp op) {
  return op.getNumReductionLoops() == 0 && info.isEligible(op) &&
         llvm::all_of(op.getBody()->without_terminator(),
                      [](Operation &inner) { return isPure(&inner); }) &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
           auto type = dyn_cast<RankedTensorType>(operand.get().getType());
           if (!type)
             return true;
           AffineMap map = op.getMatchingIndexingMap(&operand);
           bool isScalar = op.isDpsInput(&operand) && type.getRank() == 0;
           return isScalar || (type.getShape() == shape && map.isIdentity());
         });
}

bool TailFinder::mayJoin(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && op->getBlock() == sum->getBlock() &&
         members.size() < ClusterTuning::maxMembers &&
         !llvm::is_contained(members, op) && !clusterOf.contains(op) &&
         !op->hasAttr(RematDialect::policyAttrName) &&
         op->getAttr(RematDialect::backwardAttrName) ==
             sum->getAttr(RematDialect::backwardAttrName) &&
         llvm::none_of(op->getResults(), isTagged) &&
         (isElementwise(generic) || isSquares(generic));
}

/// Whether `op` adds up the squares of what the sum does, about a mean that is
/// a member.
bool TailFinder::isSquares(linalg::GenericOp op) {
  return info.isEligible(op) &&
         llvm::any_of(ArrayRef(members).drop_front(), [&](Operation *mean) {
           return isCentralMoment(sum, cast<linalg::GenericOp>(mean), op);
         });
}

/// Adds what has to stand right behind the members so that `op` can, that
/// itself last; false if it reads what is made later.
bool TailFinder::collect(Operation *op, SetVector<Operation *> &moved) {
  for (Value value : getReadValues(op)) {
    Operation *source = value.getDefiningOp();
    if (!source || source->getBlock() != sum->getBlock() ||
        moved.contains(source) || source == members.back() ||
        order.isBefore(source, members.back()))
      continue;
    if (!isClonedIntoKernels(source) || !collect(source, moved))
      return false;
  }
  moved.insert(op);
  return true;
}

bool TailFinder::join(Operation *op) {
  SetVector<Operation *> moved;
  if (!mayJoin(op) || !collect(op, moved))
    return false;
  Operation *last = members.back();
  for (Operation *other : moved) {
    order.moveAfter(other, last);
    last = other;
  }
  members.push_back(op);
  return true;
}

/// What reads results of members, in program order.
void TailFinder::joinReaders() {
  for (unsigned number = 0; number < members.size(); ++number) {
    SmallVector<Operation *> readers;
    for (Operation *reader : members[number]->getUsers())
      if (reader->getBlock() == sum->getBlock() &&
          !llvm::is_contained(readers, reader))
        readers.push_back(reader);
    llvm::sort(readers, [&](Operation *a, Operation *b) {
      return order.isBefore(a, b);
    });
    for (Operation *reader : readers)
      join(reader);
  }
}

/// What is read together with results of members, but is made of other things.
void TailFinder::joinFactors() {
  SetVector<Operation *> readers;
  for (Operation *member : members)
    for (Operation *reader : member->getUsers())
      if (reader->getBlock() == sum->getBlock() &&
          !llvm::is_contained(members, reader))
        readers.insert(reader);
  for (Operation *reader : readers)
    for (Value operand : reader->getOperands()) {
      Operation *maker = operand.getDefiningOp();
      if (maker && maker->getBlock() == sum->getBlock() &&
          order.isBefore(sum, maker))
        join(maker);
    }
}

Cluster TailFinder::run() {
  if (!isSum())
    return {};
  members.push_back(sum);
  joinReaders();
  if (members.size() == 1)
    return {};
  joinFactors();
  return members;
}

void remat::addSumTails(Block &body, BlockInfo &info,
                        const DenseMap<Operation *, unsigned> &clusterOf,
                        llvm::function_ref<void(Cluster)> add) {
  TailOrder order(body);
  for (auto sum : llvm::to_vector(body.getOps<linalg::GenericOp>()))
    add(TailFinder(sum, info, order, clusterOf).run());
}
