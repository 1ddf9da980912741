//===- ClusterGrower.cpp - the growth of a cluster ------------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster grows by what reads the results of its members row by row, and by
// what makes their operands in the same way, as long as no path leads out of it
// and back.
//
//===----------------------------------------------------------------------===//

#include "ClusterGrower.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/GraphLiveness.h"
#include "remat/Utils/Rows.h"
#include "remat/Utils/Structured.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace remat;

bool remat::isFloatContraction(linalg::LinalgOp op) {
  return linalg::isaContractionOpInterface(op) && op->getNumOperands() == 3 &&
         isContractionBody(*op.getBlock()) && addsUpInF32(op);
}

static bool checkEligible(Operation *op, ArrayRef<Value> captured) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !linalgOp.hasPureTensorSemantics() ||
      isa<linalg::FillOp>(op) || op->hasAttr(RematDialect::policyAttrName) ||
      !isMemoryEffectFree(op))
    return false;
  if (!isa<linalg::GenericOp>(op) && !isFloatContraction(linalgOp))
    return false;
  for (int64_t size : getLoopSizes(linalgOp))
    if (size <= 0)
      return false;
  for (Value value : captured)
    if (isa<TensorType>(value.getType()))
      return false;
  for (AffineMap map : linalgOp.getIndexingMapsArray())
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true))
      return false;
  // Sums that are formed element by element in memory are in no row.
  for (OpOperand &init : linalgOp.getDpsInitsMutable())
    for (auto [dim, type] : llvm::enumerate(linalgOp.getIteratorTypesArray()))
      if (type == utils::IteratorType::reduction &&
          linalgOp.getMatchingIndexingMap(&init).isFunctionOfDim(dim))
        return false;
  return llvm::all_of(op->getResults(), [](Value result) {
    return isBufferType(result.getType()) && !isTagged(result);
  });
}

//===----------------------------------------------------------------------===//
// BlockInfo
//===----------------------------------------------------------------------===//

bool BlockInfo::isEligible(Operation *op) {
  auto [it, isNew] = eligible.try_emplace(op, false);
  return isNew ? eligible[op] = checkEligible(op, getCaptured(op)) : it->second;
}

ArrayRef<Value> BlockInfo::getCaptured(Operation *op) {
  auto [it, isNew] = captured.try_emplace(op);
  if (isNew) {
    SetVector<Value> values;
    getUsedValuesDefinedAbove(op->getRegions(), values);
    it->second.assign(values.begin(), values.end());
  }
  return it->second;
}

void BlockInfo::reorder(ArrayRef<Operation *> order) {
  unsigned position = positions.at(order.front());
  for (Operation *op : order)
    position = std::min(position, positions.at(op));
  for (Operation *op : order)
    positions[op] = position++;
}

void BlockInfo::renumber() {
  positions.clear();
  unsigned position = 0;
  for (Operation &op : body)
    positions[&op] = position++;
}

void BlockInfo::forget(Operation *op) {
  positions.erase(op);
  eligible.erase(op);
  captured.erase(op);
}

//===----------------------------------------------------------------------===//
// What a cluster may consist of
//===----------------------------------------------------------------------===//

/// The dimension that a result of a map is, or -1.
static int64_t getDim(AffineExpr expr) {
  auto dim = dyn_cast<AffineDimExpr>(expr);
  return dim ? static_cast<int64_t>(dim.getPosition()) : -1;
}

/// Whether a reduction to the rows that `loops` walk is one along memory: the
/// rows lead in something that it reads.
static bool isAlongMemory(linalg::LinalgOp op, const LoopList &loops) {
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    ArrayRef<AffineExpr> results =
        op.getMatchingIndexingMap(input).getResults();
    if (results.size() <= loops.size())
      return false;
    for (auto [loop, expr] : llvm::zip(loops, results))
      if (getDim(expr) != loop)
        return false;
    return true;
  });
}

/// Whether `op` reads planes of the one loop in `loops`, not in front: all
/// others are reduced.
static bool isAlongPlanes(linalg::LinalgOp op, const LoopList &loops,
                          TargetAttr target) {
  if (loops.size() != 1)
    return false;
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
    AffineMap map = op.getMatchingIndexingMap(input);
    auto place =
        map.getResultPosition(getAffineDimExpr(loops.front(), op.getContext()));
    auto type = dyn_cast<RankedTensorType>(input->get().getType());
    if (!type || !place || *place == 0 ||
        map.getNumResults() != op.getNumLoops())
      return false;
    int64_t plane = 1;
    for (int64_t size : type.getShape().drop_front(*place + 1))
      plane *= size;
    return plane >= ClusterTuning::minPlane &&
           getBufferBytes(type) / type.getDimSize(*place) <=
               target.getChannelBytes();
  });
}

//===----------------------------------------------------------------------===//
// ClusterGrower
//===----------------------------------------------------------------------===//

bool ClusterGrower::start(linalg::LinalgOp seed) {
  body = seed->getBlock();
  mark = seed->getAttr(RematDialect::backwardAttrName);
  AffineMap map = seed.getIndexingMapsArray().back();
  LoopList loops;
  if (isFloatContraction(seed)) {
    // Batch and rows; what is left of the result are its columns.
    if (!makesScores(seed))
      return false;
    for (AffineExpr expr : map.getResults().drop_back())
      loops.push_back(getDim(expr));
    if (!isContractionInRow(seed, loops))
      return false;
    isBlocked = true;
  } else {
    auto generic = cast<linalg::GenericOp>(seed.getOperation());
    if (generic.getNumReductionLoops() == 0 || generic->getNumResults() != 1 ||
        generic.getNumParallelLoops() != map.getNumResults())
      return false;
    for (AffineExpr expr : map.getResults())
      loops.push_back(getDim(expr));
    isPlanes = !isAlongMemory(seed, loops);
    if (isPlanes && !isAlongPlanes(seed, loops, target))
      return false;
  }
  if (loops.empty() || llvm::is_contained(loops, -1))
    return false;
  SmallVector<int64_t> sizes = getLoopSizes(seed);
  rows = 1;
  for (int64_t loop : loops)
    rows *= sizes[loop];
  lastSize = sizes[loops.back()];
  if (rows < 2)
    return false;
  members[seed] = loops;
  return true;
}

/// The loops of `op` that walk the rows: as it reads what members make, or, for
/// a producer, as it writes what they read.
std::optional<LoopList> ClusterGrower::getRows(linalg::LinalgOp op,
                                               bool asProducer) {
  std::optional<LoopList> loops;
  for (OpOperand &operand : op->getOpOperands()) {
    Operation *source = getSource(operand.get());
    if (!source || !members.contains(source))
      continue;
    // A sum over blocks is complete only at their end, and an init that a
    // member computed would have to be updated in place.
    if (sums.contains(source) || !op.isDpsInput(&operand))
      return std::nullopt;
    auto type = cast<RankedTensorType>(operand.get().getType());
    std::optional<LoopList> mine =
        getLeadingLoops(op.getMatchingIndexingMap(&operand), type, rows);
    if (!mine || (loops && *loops != *mine))
      return std::nullopt;
    loops = mine;
  }
  if (!loops && asProducer)
    loops = getLeadingLoops(op.getIndexingMapsArray().back(),
                            cast<RankedTensorType>(op->getResult(0).getType()),
                            rows);
  return loops;
}

/// A contraction joins if it works on blocks of rows: scores that stay inside,
/// or something made from them.
bool ClusterGrower::mayAddContraction(linalg::LinalgOp op,
                                      const LoopList &loops, bool asProducer) {
  return isBlocked && isContractionInRow(op, loops) &&
         (!asProducer || isExpanding(op));
}

/// Whether all members that read `value` do so row by row.
bool ClusterGrower::isReadByRows(Value value) const {
  bool result = true;
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isAlias(user)) {
      result &= isReadByRows(user->getResult(0));
      continue;
    }
    auto it = members.find(user);
    if (it == members.end())
      continue;
    auto op = cast<linalg::LinalgOp>(user);
    std::optional<LoopList> loops =
        getLeadingLoops(op.getMatchingIndexingMap(&use),
                        cast<RankedTensorType>(value.getType()), rows);
    result &= op.isDpsInput(&use) && loops && *loops == it->second;
  }
  return result;
}

/// Whether `op` makes something of channels, out of planes or of such things.
bool ClusterGrower::isOfChannels(linalg::LinalgOp op,
                                 const LoopList &loops) const {
  return llvm::all_of(op->getResults(),
                      [&](Value result) {
                        return cast<RankedTensorType>(result.getType())
                                   .getNumElements() == rows;
                      }) &&
         (op.getNumReductionLoops() == 0 || isAlongPlanes(op, loops, target));
}

/// Whether blocks can be chosen so that an operation joins whose rows are loops
/// of `sizes`, and which adds up over so many rows. Chooses them.
bool ClusterGrower::mayWalk(ArrayRef<int64_t> sizes, int64_t summed) {
  auto areMultiples = [](int64_t a, int64_t b) {
    return std::max(a, b) % std::min(a, b) == 0;
  };
  int64_t last = std::min(lastSize, sizes.back());
  int64_t most = std::max(summedRows, summed);
  if (!areMultiples(lastSize, sizes.back()) ||
      !areMultiples(summedRows, summed) || rows % most != 0 || most == rows ||
      (last != lastSize && last < target.getMinBlockRows()))
    return false;
  lastSize = last;
  summedRows = most;
  return true;
}

/// Whether `op` does nothing but add an argument of the function to something
/// and return the sum, as it is done to accumulate gradients. Kernels of blocks
/// leave it out: what it adds is made in the same kernel, and so has the same
/// bits, with and without it.
static bool isAccumulation(linalg::LinalgOp op) {
  Block *body = op.getBlock();
  return op.getNumDpsInputs() == 2 && op->getNumResults() == 1 &&
         body->getOperations().size() == 2 &&
         isa<arith::AddFOp>(body->front()) &&
         llvm::any_of(op.getDpsInputs(),
                      [&](Value input) {
                        auto root = dyn_cast<BlockArgument>(getRoot(input));
                        return root && root.getOwner() == op->getBlock();
                      }) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           return user->hasTrait<OpTrait::IsTerminator>();
         });
}

bool ClusterGrower::tryAdd(Operation *op, bool asProducer) {
  if (members.contains(op) || clusterOf.contains(op) ||
      members.size() == ClusterTuning::maxMembers || op->getBlock() != body ||
      op->getAttr(RematDialect::backwardAttrName) != mark ||
      !info.isEligible(op))
    return false;
  auto linalgOp = cast<linalg::LinalgOp>(op);
  if (isBlocked && isAccumulation(linalgOp))
    return false;
  std::optional<LoopList> loops = getRows(linalgOp, asProducer);
  if (!loops)
    return false;
  SmallVector<int64_t> sizes = getLoopSizes(linalgOp);
  SmallVector<utils::IteratorType> iterators = linalgOp.getIteratorTypesArray();
  SmallVector<int64_t> rowSizes;
  int64_t summed = 1;
  for (int64_t loop : *loops) {
    rowSizes.push_back(sizes[loop]);
    if (iterators[loop] == utils::IteratorType::reduction)
      summed *= sizes[loop];
    else if (summed != 1)
      return false;
  }
  // Only blocks that follow each other are added up, and only by contractions.
  bool adds = iterators[loops->back()] == utils::IteratorType::reduction;
  if (adds ? !isBlocked || !isFloatContraction(linalgOp) : summed != 1)
    return false;
  if (isFloatContraction(linalgOp)) {
    if (!mayAddContraction(linalgOp, *loops, asProducer))
      return false;
  } else if (isPlanes ? !isOfChannels(linalgOp, *loops)
                      : asProducer && linalgOp.getNumReductionLoops() != 0 &&
                            !isAlongMemory(linalgOp, *loops)) {
    return false;
  }
  // What members exchange has the rows in front, and is complete row by row.
  for (Value operand : op->getOperands()) {
    Value root = getRoot(operand);
    auto it = members.find(root.getDefiningOp());
    if (it == members.end())
      continue;
    auto source = cast<linalg::LinalgOp>(it->first);
    unsigned number = cast<OpResult>(root).getResultNumber();
    std::optional<LoopList> leading = getLeadingLoops(
        source.getMatchingIndexingMap(source.getDpsInitOperand(number)),
        cast<RankedTensorType>(root.getType()), rows);
    if (!leading || *leading != it->second)
      return false;
  }
  for (OpResult result : op->getResults()) {
    AffineMap map = linalgOp.getMatchingIndexingMap(
        linalgOp.getDpsInitOperand(result.getResultNumber()));
    std::optional<LoopList> leading =
        getLeadingLoops(map, cast<RankedTensorType>(result.getType()), rows);
    bool readInside = false;
    forEachReader(result, [&](Operation *reader) {
      readInside |= members.contains(reader);
    });
    if (readInside &&
        (adds || !leading || *leading != *loops || !isReadByRows(result)))
      return false;
    for (int64_t loop : *loops)
      if (!map.isFunctionOfDim(loop) &&
          iterators[loop] != utils::IteratorType::reduction)
        return false;
  }
  int64_t oldLast = lastSize, oldSummed = summedRows;
  if (isBlocked && !mayWalk(rowSizes, summed))
    return false;
  members[op] = *loops;
  if (arrange(/*move=*/false)) {
    if (adds)
      sums.insert(op);
    return true;
  }
  members.erase(op);
  lastSize = oldLast;
  summedRows = oldSummed;
  return false;
}

/// Checks that the members can stand together: nothing between them may both
/// depend on one and be needed by another. With `move`, puts them so.
bool ClusterGrower::arrange(bool move) {
  auto ops = llvm::make_first_range(members);
  auto [firstIt, lastIt] = std::minmax_element(
      ops.begin(), ops.end(),
      [&](Operation *a, Operation *b) { return info.isBefore(a, b); });
  Operation *first = *firstIt, *last = *lastIt;
  // What depends on a member has to follow all of them, and so has all of a
  // cluster of which one operation does.
  DenseSet<Operation *> later;
  DenseSet<unsigned> laterClusters;
  SmallVector<Operation *> between;
  unsigned distance = 0;
  for (Operation *op = first; op != last->getNextNode();
       op = op->getNextNode()) {
    if (++distance > ClusterTuning::maxDistance)
      return false;
    between.push_back(op);
  }
  bool changed = true;
  while (changed) {
    changed = false;
    for (Operation *op : between) {
      if (later.contains(op))
        continue;
      auto cluster = clusterOf.find(op);
      bool depends =
          cluster != clusterOf.end() && laterClusters.contains(cluster->second);
      bool isMember = members.contains(op);
      for (Value value : llvm::concat<const Value>(
               SmallVector<Value>(op->getOperands()), info.getCaptured(op)))
        if (Operation *source = value.getDefiningOp())
          depends |= later.contains(source) ||
                     (!isMember && members.contains(getSource(value)));
      if (!depends)
        continue;
      // A view of a member is no computation, members may read it.
      if (isMember)
        return false;
      if (isAlias(op) && getSource(op->getResult(0)) &&
          members.contains(getSource(op->getResult(0))))
        continue;
      later.insert(op);
      if (cluster != clusterOf.end())
        laterClusters.insert(cluster->second);
      changed = true;
    }
  }
  if (!move)
    return true;
  // Members and their views keep their order, the rest goes before or behind.
  SmallVector<Operation *> earlier, inside, behind;
  for (Operation *op : between) {
    Operation *source = isAlias(op) ? getSource(op->getResult(0)) : nullptr;
    bool isView = source && members.contains(source);
    if (later.contains(op))
      behind.push_back(op);
    else if (members.contains(op) || isView)
      inside.push_back(op);
    else
      earlier.push_back(op);
  }
  Operation *end = last->getNextNode();
  for (Operation *op : llvm::concat<Operation *>(inside, behind))
    op->moveBefore(end);
  earlier.append(inside);
  earlier.append(behind);
  info.reorder(earlier);
  return true;
}

/// Whether two members reduce the same planes.
bool ClusterGrower::readsPlanesAgain() const {
  DenseMap<Value, Operation *> readers;
  for (auto &[op, loops] : members)
    for (Value operand : op->getOperands()) {
      auto type = dyn_cast<RankedTensorType>(operand.getType());
      if (type && type.getNumElements() >= rows * ClusterTuning::minPlane &&
          readers.try_emplace(operand, op).first->second != op)
        return true;
    }
  return false;
}

/// Whether rows that do not fit into the memory of a tile are worth a kernel,
/// on a machine that reads them part by part: what is elementwise is made again
/// by its readers. Rows without contractions take many, or most of the machine
/// has nothing to do.
bool ClusterGrower::mayStream(int64_t rowBytes, int64_t reducedBytes) {
  blockRows = std::min(lastSize, target.getBlockRows());
  return isBlocked || rowBytes <= target.getBlockBytes() ||
         (reducedBytes <= target.getBlockBytes() &&
          rows >= target.getBlockRows());
}

/// Whether anything stays inside, and little enough. Sets the rows of a block.
bool ClusterGrower::isWorthwhile() {
  int64_t rowBytes = 0, reducedBytes = 0, columns = 0;
  bool any = false;
  for (auto &[op, loops] : members) {
    bool reduces = cast<linalg::LinalgOp>(op).getNumReductionLoops() != 0;
    for (OpResult result : op->getResults()) {
      bool inside = false, outside = false;
      forEachReader(result, [&](Operation *reader) {
        (members.contains(reader) ? inside : outside) = true;
      });
      any |= inside;
      if (!inside || outside)
        continue;
      auto type = cast<RankedTensorType>(result.getType());
      int64_t bytes = getBufferBytes(type) / rows;
      columns = std::max(columns, type.getNumElements() / rows);
      rowBytes += bytes;
      reducedBytes += reduces ? bytes : 0;
    }
  }
  if (isPlanes && !readsPlanesAgain())
    return false;
  if (!any || rowBytes > target.getRowBytes() ||
      (isBlocked && rows == std::max(lastSize, summedRows)))
    return false;
  blockRows = chooseBlockRows(lastSize, rowBytes, target);
  int64_t fewest = std::min(lastSize, target.getMinBlockRows());
  // The scores of a long sequence do not fit into the fast memory of a tile,
  // and are far larger as a whole. Where rows are kept whole, some are.
  if (isBlocked && target.getRowBytes() <= target.getBlockBytes()) {
    blockRows = std::max(blockRows, fewest);
    // Nor do the factors, which each block reads: larger blocks are fewer.
    if (!target.getRowStages() && rowBytes > 0) {
      int64_t bytes =
          std::min(ClusterTuning::longBlocks * target.getBlockBytes(),
                   ClusterTuning::longBlockBytes);
      int64_t most =
          std::min({lastSize, ClusterTuning::longBlockRows, bytes / rowBytes});
      blockRows = std::max(blockRows, most - most % target.getMinBlockRows());
    }
  }
  bool areEnough = !isBlocked || blockRows >= fewest;
  // Rows of no whole tiles of columns are left as they are where they fit.
  if (rowBytes > target.getBlockBytes() / target.getBlockRows() &&
      target.getRowBytes() > target.getBlockBytes() &&
      (!isBlocked || !areEnough || columns % ClusterTuning::tileColumns == 0))
    return mayStream(rowBytes, reducedBytes);
  return areEnough;
}

Cluster ClusterGrower::grow(linalg::LinalgOp seed) {
  if (clusterOf.contains(seed) || !info.isEligible(seed) || !start(seed))
    return {};
  bool changed = true;
  while (changed) {
    changed = false;
    SetVector<Operation *> readers, producers;
    SmallVector<Operation *> sorted;
    for (auto &[op, loops] : members)
      sorted.push_back(op);
    auto isBefore = [&](Operation *a, Operation *b) {
      return info.isBefore(a, b);
    };
    llvm::sort(sorted, isBefore);
    for (Operation *op : sorted) {
      for (Value result : op->getResults())
        forEachReader(result,
                      [&](Operation *reader) { readers.insert(reader); });
      for (Value operand : op->getOperands())
        if (Operation *source = getSource(operand))
          producers.insert(source);
    }
    // Contractions that feed members first: what reads them joins only with
    // them.
    for (Operation *op : producers)
      changed |= tryAdd(op, /*asProducer=*/true);
    SmallVector<Operation *> inOrder(readers.begin(), readers.end());
    llvm::erase_if(inOrder,
                   [&](Operation *op) { return op->getBlock() != body; });
    llvm::sort(inOrder, isBefore);
    for (Operation *op : inOrder)
      changed |= tryAdd(op, /*asProducer=*/false);
  }
  if (members.size() < 2 || !isWorthwhile())
    return {};
  arrange(/*move=*/true);
  Cluster cluster;
  for (auto &[op, loops] : members)
    cluster.push_back(op);
  llvm::sort(cluster,
             [&](Operation *a, Operation *b) { return info.isBefore(a, b); });
  Builder builder(body->getParentOp()->getContext());
  for (Operation *op : cluster) {
    op->setAttr(rowsAttrName, builder.getDenseI64ArrayAttr(members[op]));
    if (isBlocked)
      op->setAttr(blockAttrName, builder.getI64IntegerAttr(blockRows));
  }
  return cluster;
}
