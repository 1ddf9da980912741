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
// parts: see StrideClusters.cpp. So is what is made of the few results of a
// sum: see SumTails.cpp.
//
// Reductions of the planes of each channel are a cluster, with what they
// exchange of each channel, if they read the same: the second, a variance about
// the first, finds the planes in the cache.
//
//===----------------------------------------------------------------------===//

#include "ClusterGrower.h"
#include "ProductReaders.h"
#include "StrideClusters.h"
#include "WideContractions.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/ConvolutionBias.h"
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

/// What `value` is added to, as far as each sum alone reads the one before: a
/// contraction is added to `before`, or a scatter adds to its init.
static Value getSumBefore(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto scatter = dyn_cast_or_null<ScatterOp>(op))
    return scatter.getMaximum() ? Value() : scatter.getInit();
  auto sum = dyn_cast_or_null<linalg::GenericOp>(op);
  std::optional<AddedContraction> added =
      sum ? matchAddedContraction(sum) : std::nullopt;
  return added ? added->before : Value();
}

/// The argument that `before` begins as and to which all is added in place.
static BlockArgument getAccumulator(Value before) {
  while (before && !isa<BlockArgument>(before) && before.hasOneUse())
    before = getSumBefore(before);
  return dyn_cast_or_null<BlockArgument>(before);
}

/// The last of the sums that each alone read the one before, from `value` on.
static Value getLastSum(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (reader->getNumResults() != 1 ||
        getSumBefore(reader->getResult(0)) != value)
      break;
    value = reader->getResult(0);
  }
  return value;
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
  BlockArgument accumulator = getAccumulator(added->before);
  Operation *earlier = added->before.getDefiningOp();
  if (!accumulator || !isDonatedTo(accumulator, getLastSum(sum.getResult(0))) ||
      (earlier && !earlier->isBeforeInBlock(contraction))) {
    bool isEpilogue = info.getTarget().getEpilogues() &&
                      contraction->getBlock() == sum->getBlock() &&
                      info.isEligible(contraction);
    return isEpilogue ? Cluster{contraction, sum} : Cluster();
  }
  // What it needs beside the contraction is there, but for an empty tensor.
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
static bool mayJoin(Operation *contraction, Operation *op, BlockInfo &info) {
  return contraction->getBlock() == op->getBlock() && info.isEligible(op) &&
         contraction->getAttr(RematDialect::backwardAttrName) ==
             op->getAttr(RematDialect::backwardAttrName);
}

/// Of what reads `value`, the operations that make sums which `isSummed` says a
/// library makes with what `maker` makes. They may be a part of the kernel of
/// `contraction`, and stand before all others that read the results of `maker`.
static Cluster findSums(linalg::LinalgOp contraction, Operation *maker,
                        Value value, BlockInfo &info,
                        function_ref<bool(const ColumnSums &)> isSummed) {
  Type type = getElementTypeOrSelf(maker->getResult(0).getType());
  Cluster sums;
  forEachReader(value, [&](Operation *reader) {
    Operation *last = reader;
    if (!type.isF32() && reader->hasOneUse())
      last = *reader->user_begin();
    std::optional<ColumnSums> found = matchColumnSums(last);
    if (!sums.empty() || !found || found->sum != reader || !isSummed(*found) ||
        getElementTypeOrSelf(last->getResult(0).getType()) != type ||
        !mayJoin(contraction, reader, info) ||
        !mayJoin(contraction, last, info) || !info.isBefore(maker, last))
      return;
    sums.push_back(reader);
    if (last != reader)
      sums.push_back(last);
  });
  if (sums.empty())
    return {};
  bool isFirst = true;
  forEachReader(maker->getResult(0), [&](Operation *reader) {
    Operation *other = contraction->getBlock()->findAncestorOpInBlock(*reader);
    isFirst &= other && (llvm::is_contained(sums, other) ||
                         info.isBefore(sums.back(), other));
  });
  return isFirst ? sums : Cluster();
}

/// The mask of the ReLU that `maker` makes of `contraction`, if it stands right
/// behind that; null if there is none.
static Operation *findMask(linalg::LinalgOp contraction,
                           linalg::GenericOp maker, BlockInfo &info) {
  Operation *mask = nullptr;
  forEachReader(maker->getResult(0), [&](Operation *reader) {
    if (!mask || info.isBefore(reader, mask))
      mask = reader;
  });
  Value masked = matchReluMask(mask);
  auto type = cast<RankedTensorType>(maker->getResult(0).getType());
  return masked && type.getShape().back() % maskedRowElements == 0 &&
                 mayJoin(contraction, mask, info)
             ? mask
             : nullptr;
}

/// Whether nothing but a bias is added to a product of factors of 16 bits, and
/// the sum rounded to their type.
static bool isRoundedBias(linalg::GenericOp op, const Epilogue &epilogue) {
  return epilogue.activation == Activation::None &&
         !getElementTypeOrSelf(op->getResult(0).getType()).isF32();
}

/// A library makes more of a contraction than that before it writes it, where
/// nothing else reads it, and can add up what it has made. Their cluster, or an
/// empty one.
static Cluster epilogueOfContraction(linalg::GenericOp op, BlockInfo &info) {
  linalg::LinalgOp contraction;
  std::optional<Epilogue> epilogue = matchEpilogue(op);
  if (!info.getTarget().getEpilogues() &&
      (!epilogue || !isRoundedBias(op, *epilogue)))
    return {};
  if (epilogue)
    contraction = epilogue->contraction;
  else if (std::optional<GeluGradient> gradient = matchGeluGradient(op))
    contraction = gradient->contraction;
  else if (std::optional<ReluGradient> gradient = matchReluGradient(op);
           gradient && gradient->isMask)
    contraction = gradient->contraction;
  if (!contraction)
    return {};
  bool isReadElsewhere = false;
  forEachReader(contraction->getResult(0),
                [&](Operation *reader) { isReadElsewhere |= reader != op; });
  if (isReadElsewhere || !mayJoin(contraction, op, info) ||
      !info.isEligible(contraction))
    return {};
  Cluster cluster = {contraction, op};
  if (epilogue && epilogue->activation == Activation::Relu)
    if (Operation *mask = findMask(contraction, op, info))
      cluster.push_back(mask);
  if (!epilogue)
    cluster.append(findSums(contraction, op, op->getResult(0), info,
                            [](const ColumnSums &) { return true; }));
  return cluster;
}

/// A library adds a bias to a convolution before it rounds and writes it. Their
/// cluster, or an empty one.
static Cluster biasOfConvolution(linalg::GenericOp op, BlockInfo &info) {
  std::optional<ConvolutionBias> added = matchConvolutionBias(op);
  if (!added || !added->conv->hasOneUse() || hasPolicy(added->conv) ||
      !mayJoin(added->conv, op, info))
    return {};
  return {added->conv, op};
}

/// A library can add up a factor of a contraction beside it: the gradients of a
/// weight and of a bias. Their cluster, or an empty one.
static Cluster sumsOfFactor(linalg::LinalgOp contraction, BlockInfo &info,
                            const DenseMap<Operation *, unsigned> &clusterOf) {
  if (clusterOf.contains(contraction) ||
      !linalg::isaContractionOpInterface(contraction) ||
      contraction->getNumResults() != 1 ||
      contraction->hasAttr(RematDialect::policyAttrName) ||
      isTagged(contraction->getResult(0)))
    return {};
  Type type = getElementTypeOrSelf(contraction->getResult(0).getType());
  for (unsigned number : {0, 1}) {
    auto isFactor = [&](const ColumnSums &sums) {
      return findSummedFactor(contraction, sums, type) == number;
    };
    Cluster sums =
        findSums(contraction, contraction,
                 getViewRoot(contraction->getOperand(number)), info, isFactor);
    if (sums.empty() || llvm::any_of(sums, [&](Operation *op) {
          return clusterOf.contains(op);
        }))
      continue;
    sums.insert(sums.begin(), contraction);
    return sums;
  }
  return {};
}

DenseMap<Operation *, const Cluster *>
remat::mapClusters(ArrayRef<Cluster> clusters) {
  DenseMap<Operation *, const Cluster *> clusterOf;
  for (const Cluster &cluster : clusters)
    for (Operation *op : cluster)
      clusterOf[op] = &cluster;
  return clusterOf;
}

SmallVector<Cluster> remat::formClusters(Block &body) {
  SmallVector<Cluster> clusters;
  DenseMap<Operation *, unsigned> clusterOf;
  // Clusters that were formed before have said so.
  for (Operation &op : body)
    if (op.hasAttr(factorAttrName)) {
      op.removeAttr(factorAttrName);
      op.removeAttr(rowsAttrName);
    }
  WideContractions wide(body);
  BlockInfo info(body);
  auto add = [&](Cluster cluster) {
    for (Operation *op : cluster)
      clusterOf[op] = clusters.size();
    if (!cluster.empty())
      clusters.push_back(std::move(cluster));
  };
  bool hasEpilogues = info.getTarget().getEpilogues();
  if (hasEpilogues || info.getTarget().getBiases())
    for (auto op : body.getOps<linalg::GenericOp>())
      add(epilogueOfContraction(op, info));
  if (addsConvolutionBias(info.getTarget()))
    for (auto op : body.getOps<linalg::GenericOp>())
      add(biasOfConvolution(op, info));
  // Attention's contractions first: its softmax alone would be a cluster too.
  for (bool contractions : {true, false}) {
    SmallVector<linalg::LinalgOp> seeds(body.getOps<linalg::LinalgOp>());
    for (linalg::LinalgOp seed : seeds) {
      if (isFloatContraction(seed) != contractions)
        continue;
      add(ClusterGrower(info, clusterOf).grow(seed));
    }
    wide.join(info, clusters, clusterOf);
  }
  if (info.getTarget().getRowStages())
    for (auto [number, cluster] : llvm::enumerate(clusters))
      if (cluster.front()->hasAttr(blockAttrName)) {
        for (Operation *op : addFinals(cluster, info, clusterOf))
          clusterOf[op] = number;
        for (Operation *op : addFactors(cluster, info, clusterOf))
          clusterOf[op] = number;
        for (Operation *op : addSlicesOfRows(cluster, info, clusterOf))
          clusterOf[op] = number;
      }
  for (auto sum : llvm::to_vector(body.getOps<linalg::GenericOp>()))
    add(sumOfContraction(sum, info, clusterOf));
  if (hasEpilogues)
    for (auto op : body.getOps<linalg::LinalgOp>())
      add(sumsOfFactor(op, info, clusterOf));
  if (info.getTarget().getStrides()) {
    // Sums have moved to their contractions.
    info.renumber();
    SliceUses uses(info);
    for (auto concat : body.getOps<tensor::ConcatOp>())
      add(makersOfParts(concat, info, uses, clusterOf));
    for (auto op : body.getOps<linalg::GenericOp>())
      add(readerOfSlices(op, info, uses, clusterOf));
  }
  for (auto pad : body.getOps<tensor::PadOp>())
    add(padProducer(pad, info, clusterOf));
  if (info.getTarget().getRowStages())
    addSumTails(body, info, clusterOf, add);
  return clusters;
}
