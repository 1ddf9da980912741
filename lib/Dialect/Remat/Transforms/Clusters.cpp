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
// Reductions of the planes of each channel are a cluster, with what they
// exchange of each channel, if they read the same: the second, a variance about
// the first, finds the planes in the cache.
//
//===----------------------------------------------------------------------===//

#include "ClusterGrower.h"

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

/// A contraction is added to what is in the buffer of a result: a library does
/// that without a buffer for the contraction. Their cluster, or an empty one.
static Cluster
sumOfContraction(linalg::GenericOp sum, BlockInfo &info,
                 const DenseMap<Operation *, unsigned> &clusterOf) {
  std::optional<AddedContraction> added = matchAddedContraction(sum);
  if (!added || clusterOf.contains(sum) || !info.isEligible(sum))
    return {};
  linalg::LinalgOp contraction = added->contraction;
  auto before = dyn_cast<BlockArgument>(added->before);
  if (!before || !isDonatedTo(before, sum.getResult(0)) ||
      clusterOf.contains(contraction) || !contraction->hasOneUse() ||
      contraction->hasAttr(RematDialect::policyAttrName) ||
      contraction->getAttr(RematDialect::backwardAttrName) !=
          sum->getAttr(RematDialect::backwardAttrName))
    return {};
  // What it needs beside the contraction is an argument, and an empty tensor.
  auto place = sum.getDpsInits().front().getDefiningOp<tensor::EmptyOp>();
  if (!place)
    return {};
  if (contraction->isBeforeInBlock(place))
    place->moveBefore(contraction);
  sum->moveAfter(contraction);
  return {contraction, sum};
}

/// A library makes more of a contraction than that before it writes it, where
/// nothing else reads it. Their cluster, or an empty one.
static Cluster epilogueOfContraction(linalg::GenericOp op, BlockInfo &info) {
  std::optional<Epilogue> epilogue = matchEpilogue(op);
  if (!epilogue || !info.isEligible(op))
    return {};
  linalg::LinalgOp contraction = epilogue->contraction;
  bool isReadElsewhere = false;
  forEachReader(contraction->getResult(0),
                [&](Operation *reader) { isReadElsewhere |= reader != op; });
  if (isReadElsewhere || contraction->getBlock() != op->getBlock() ||
      !info.isEligible(contraction) ||
      contraction->getAttr(RematDialect::backwardAttrName) !=
          op->getAttr(RematDialect::backwardAttrName))
    return {};
  return {contraction, op};
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
  if (info.getTarget().getEpilogues())
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
    if (Cluster cluster = sumOfContraction(sum, info, clusterOf);
        !cluster.empty())
      clusters.push_back(std::move(cluster));
  for (auto pad : body.getOps<tensor::PadOp>())
    if (Cluster cluster = padProducer(pad, info, clusterOf); !cluster.empty())
      clusters.push_back(std::move(cluster));
  return clusters;
}
