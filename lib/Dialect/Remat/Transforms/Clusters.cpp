//===- Clusters.cpp - operations that become one kernel -------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster starts at a reduction along rows, or at a batch of contractions
// whose results are larger than their factors, such as attention's scores. It
// grows by what reads its results row by row, and by what makes operands of its
// members in the same way, as long as no path leads out of it and back. What
// only a pad reads is a cluster with the pad. A contraction is one with what a
// library can make of it in the same call.
//
// Slices are one with what reads them, and concatenations with what makes their
// parts: see StrideClusters.cpp.
//
// Reductions of the planes of each channel are a cluster, with what they
// exchange of each channel, if they read the same: the second, a variance about
// the first, finds the planes in the cache.
//
//===----------------------------------------------------------------------===//

#include "ClusterGrower.h"
#include "StrideClusters.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Utils/Epilogues.h"
#include "remat/Utils/Structured.h"

using namespace mlir;
using namespace remat;

/// An elementwise op that only a pad reads writes to the middle of the pad's
/// result: their cluster, or an empty one.
static Cluster padProducer(tensor::PadOp pad, BlockInfo &info,
                           const DenseMap<Operation *, unsigned> &clusterOf) {
  auto generic = pad.getSource().getDefiningOp<linalg::GenericOp>();
  if (!generic || !generic->hasOneUse() || clusterOf.contains(generic) ||
      generic->getNumResults() != 1 || generic.getNumReductionLoops() != 0 ||
      !info.isEligible(generic) ||
      generic->getAttr(RematDialect::backwardAttrName) !=
          pad->getAttr(RematDialect::backwardAttrName) ||
      pad->hasAttr(RematDialect::policyAttrName))
    return {};
  generic->moveBefore(pad);
  return {generic, pad};
}

/// Whether the function gives the buffer of `argument` to its result `value`.
static bool isDonatedTo(BlockArgument argument, Value value) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  std::optional<int64_t> result =
      getDonatedResult(function, argument.getArgNumber());
  Operation *terminator = argument.getOwner()->getTerminator();
  return result && *result < terminator->getNumOperands() &&
         terminator->getOperand(*result) == value;
}

/// A contraction is added to what is in the buffer of a result, or a library
/// also adds one to what is elsewhere: neither needs a buffer for the
/// contraction. Their cluster, or an empty one.
static Cluster
sumOfContraction(linalg::GenericOp sum, BlockInfo &info,
                 const DenseMap<Operation *, unsigned> &clusterOf) {
  std::optional<AddedContraction> added = matchAddedContraction(sum);
  if (!added || clusterOf.contains(sum) || !info.isEligible(sum))
    return {};
  linalg::LinalgOp contraction = added->contraction;
  if (clusterOf.contains(contraction) || !contraction->hasOneUse() ||
      contraction->hasAttr(RematDialect::policyAttrName) ||
      contraction->getAttr(RematDialect::backwardAttrName) !=
          sum->getAttr(RematDialect::backwardAttrName))
    return {};
  auto before = dyn_cast<BlockArgument>(added->before);
  if (!before || !isDonatedTo(before, sum.getResult(0))) {
    bool isEpilogue = info.getTarget().getEpilogues() &&
                      contraction->getBlock() == sum->getBlock() &&
                      info.isEligible(contraction);
    return isEpilogue ? Cluster{contraction, sum} : Cluster();
  }
  // What it needs beside the contraction is an argument, and an empty tensor.
  auto place = sum.getDpsInits().front().getDefiningOp<tensor::EmptyOp>();
  if (!place)
    return {};
  if (contraction->isBeforeInBlock(place))
    place->moveBefore(contraction);
  sum->moveAfter(contraction);
  return {contraction, sum};
}

/// Whether `op` may be a part of the kernel of `contraction`, as far as phases
/// and policies go.
static bool mayJoin(linalg::LinalgOp contraction, Operation *op,
                    BlockInfo &info) {
  return contraction->getBlock() == op->getBlock() && info.isEligible(op) &&
         contraction->getAttr(RematDialect::backwardAttrName) ==
             op->getAttr(RematDialect::backwardAttrName);
}

/// Of what reads `value`, an operation that adds up what `isSummed` says, may
/// be a part of the kernel of `contraction`, and stands behind `maker`, of
/// which it is, before all others that read what that makes; null if there is
/// none.
static Operation *findSums(linalg::LinalgOp contraction, Operation *maker,
                           Value value, BlockInfo &info,
                           function_ref<bool(Value)> isSummed) {
  Operation *sums = nullptr;
  forEachReader(value, [&](Operation *reader) {
    Value summed = matchColumnSums(reader);
    if (!sums && summed && isSummed(summed) &&
        mayJoin(contraction, reader, info) && info.isBefore(maker, reader))
      sums = reader;
  });
  if (!sums)
    return nullptr;
  bool isFirst = true;
  forEachReader(maker->getResult(0), [&](Operation *reader) {
    Operation *other = contraction->getBlock()->findAncestorOpInBlock(*reader);
    isFirst &= other == sums || (other && info.isBefore(sums, other));
  });
  return isFirst ? sums : nullptr;
}

/// A library makes more of a contraction than that before it writes it, where
/// nothing else reads it, and can add up what it has made. Their cluster, or an
/// empty one.
static Cluster epilogueOfContraction(linalg::GenericOp op, BlockInfo &info) {
  std::optional<Epilogue> epilogue = matchEpilogue(op);
  std::optional<GeluGradient> gradient;
  if (!epilogue)
    gradient = matchGeluGradient(op);
  if (!epilogue && !gradient)
    return {};
  linalg::LinalgOp contraction =
      epilogue ? epilogue->contraction : gradient->contraction;
  bool isReadElsewhere = false;
  forEachReader(contraction->getResult(0),
                [&](Operation *reader) { isReadElsewhere |= reader != op; });
  if (isReadElsewhere || !mayJoin(contraction, op, info) ||
      !info.isEligible(contraction))
    return {};
  Operation *sums = nullptr;
  if (gradient)
    sums = findSums(contraction, op, op->getResult(0), info,
                    [](Value) { return true; });
  return sums ? Cluster{contraction, op, sums} : Cluster{contraction, op};
}

/// A library can add up a factor of a contraction beside it: the gradients of a
/// weight and of a bias. Their cluster, or an empty one.
static Cluster sumsOfFactor(linalg::LinalgOp contraction, BlockInfo &info,
                            const DenseMap<Operation *, unsigned> &clusterOf) {
  if (clusterOf.contains(contraction) ||
      !linalg::isaContractionOpInterface(contraction) ||
      !info.isEligible(contraction))
    return {};
  for (unsigned number : {0, 1}) {
    auto isFactor = [&](Value summed) {
      return findSummedFactor(contraction, summed) == number;
    };
    Operation *sums =
        findSums(contraction, contraction,
                 getViewRoot(contraction->getOperand(number)), info, isFactor);
    if (sums && !clusterOf.contains(sums))
      return {contraction, sums};
  }
  return {};
}

SmallVector<Cluster> remat::formClusters(Block &body) {
  SmallVector<Cluster> clusters;
  DenseMap<Operation *, unsigned> clusterOf;
  BlockInfo info(body);
  auto add = [&](Cluster cluster) {
    for (Operation *op : cluster)
      clusterOf[op] = clusters.size();
    if (!cluster.empty())
      clusters.push_back(std::move(cluster));
  };
  bool hasEpilogues = info.getTarget().getEpilogues();
  if (hasEpilogues)
    for (auto op : body.getOps<linalg::GenericOp>())
      add(epilogueOfContraction(op, info));
  // Attention's contractions first: its softmax alone would be a cluster too.
  for (bool contractions : {true, false}) {
    SmallVector<linalg::LinalgOp> seeds(body.getOps<linalg::LinalgOp>());
    for (linalg::LinalgOp seed : seeds) {
      if (isFloatContraction(seed) != contractions)
        continue;
      add(ClusterGrower(info, clusterOf).grow(seed));
    }
  }
  for (auto sum : llvm::to_vector(body.getOps<linalg::GenericOp>()))
    add(sumOfContraction(sum, info, clusterOf));
  if (hasEpilogues)
    for (auto op : body.getOps<linalg::LinalgOp>())
      add(sumsOfFactor(op, info, clusterOf));
  if (info.getTarget().getStrides()) {
    for (auto concat : body.getOps<tensor::ConcatOp>())
      add(makersOfParts(concat, info, clusterOf));
    for (auto op : body.getOps<linalg::GenericOp>())
      add(readerOfSlices(op, info, clusterOf));
  }
  for (auto pad : body.getOps<tensor::PadOp>())
    if (Cluster cluster = padProducer(pad, info, clusterOf); !cluster.empty())
      clusters.push_back(std::move(cluster));
  return clusters;
}
