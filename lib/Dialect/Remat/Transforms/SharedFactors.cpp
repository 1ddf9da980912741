//===- SharedFactors.cpp - factors that the rows of a run share -----------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention's keys and values are the same for all queries of a head. They are
// slices of a projection that are transposed, and often scaled. A kernel of
// blocks of rows can make the part that it needs of them for itself, out of the
// projection, so that there are no copies in memory.
//
// The forward and the backward kernel read them, and the queries. So each of
// both gets operations of its own that make them, and the projection is kept in
// the place of all that was made of it, if that is no smaller.
//
//===----------------------------------------------------------------------===//

#include "StrideClusters.h"

#include "KernelPool.h"
#include "Tuning.h"

#include "remat/Dialect/Remat/IR/Donations.h"
#include "remat/Dialect/Remat/IR/Rows.h"
#include "remat/Utils/BackwardMarks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <limits>

using namespace mlir;
using namespace remat;

/// Whether `op` is a contraction of a kernel of blocks of rows.
static bool isBlockContraction(Operation *op) {
  auto contraction = dyn_cast<linalg::LinalgOp>(op);
  return contraction && op->hasAttr(blockAttrName) &&
         isFloatContraction(contraction);
}

static tensor::ExtractSliceOp getSlice(Value value);

static ArrayRef<int64_t> getRows(Operation *op) {
  return op->getAttrOfType<DenseI64ArrayAttr>(rowsAttrName).asArrayRef();
}

/// How many runs of rows there is a factor for each of, where `operand` of a
/// contraction has the loops that walk the runs in front, the slowest ones of
/// all, and no others; 0 if it has another form.
static int64_t countRuns(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  if (!op.isDpsInput(&operand))
    return 0;
  ArrayRef<int64_t> runs = getRows(op).drop_back();
  SmallVector<int64_t> sizes = getLoopSizes(op);
  unsigned leading = 0;
  int64_t count = 1;
  for (auto [place, expr] :
       llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return 0;
    if (!llvm::is_contained(getRows(op), int64_t(dim.getPosition())))
      continue;
    if (place != leading || leading == runs.size() ||
        runs[leading] != int64_t(dim.getPosition()))
      return 0;
    count *= sizes[dim.getPosition()];
    ++leading;
  }
  return leading == 0 ? 0 : count;
}

/// Whether a contraction reads `operand` row by row.
static bool isReadByRows(OpOperand &operand) {
  auto op = cast<linalg::LinalgOp>(operand.getOwner());
  SmallVector<int64_t> sizes = getLoopSizes(op);
  int64_t rows = 1;
  for (int64_t loop : getRows(op))
    rows *= sizes[loop];
  std::optional<LoopList> loops =
      getLeadingLoops(op.getMatchingIndexingMap(&operand),
                      cast<RankedTensorType>(operand.get().getType()), rows);
  return op.isDpsInput(&operand) && loops && ArrayRef(*loops) == getRows(op);
}

/// Whether a contraction of a kernel of blocks may read what `maker` makes as
/// `operand`: a slice by any loops, else factors and rows.
static bool mayRead(Operation *maker, OpOperand &operand) {
  if (isa<tensor::ExtractSliceOp>(maker))
    return cast<linalg::LinalgOp>(operand.getOwner()).isDpsInput(&operand) &&
           getSlice(operand.get());
  return countRuns(operand) != 0 || isReadByRows(operand);
}

/// Whether `op` makes a tensor element by element, with so little arithmetic
/// that each tile of rows may do it again.
static bool isCheap(linalg::GenericOp op, BlockInfo &info) {
  return op.getNumReductionLoops() == 0 && op->getNumResults() == 1 &&
         info.isEligible(op) &&
         op.getIndexingMapsArray().back().isPermutation() &&
         getBodySize(op) <= ClusterTuning::maxFactorOps &&
         llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
           return isa<arith::ArithDialect>(inner.getDialect()) &&
                  !isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp,
                       arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(inner);
         });
}

/// Whether `op` is a view of a slice that needs no copy: one that divides
/// dimensions, or drops some of one element.
static bool isViewOfSlice(Operation *op) {
  auto collapse = dyn_cast_or_null<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return isa_and_nonnull<tensor::ExpandShapeOp>(op);
  ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
  return llvm::all_of(collapse.getReassociationIndices(),
                      [&](ArrayRef<int64_t> group) {
                        return llvm::count_if(group, [&](int64_t dim) {
                                 return shape[dim] != 1;
                               }) <= 1;
                      });
}

/// The slice that `value` is, or such a view of. Null if it is none, or has
/// strides.
static tensor::ExtractSliceOp getSlice(Value value) {
  while (isViewOfSlice(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  return slice && slice.hasUnitStride() && slice.getType().hasStaticShape()
             ? slice
             : tensor::ExtractSliceOp();
}

/// What owns the buffer of `value`, or of what that is a slice of.
static Value getSliceSource(Value value) {
  tensor::ExtractSliceOp slice = getSlice(value);
  return getViewRoot(slice ? slice.getSource() : value);
}

/// The one large tensor that `op`, an elementwise operation or a slice, reads,
/// or a slice of it. Null if it reads another one, or what somebody asked for
/// something about.
static Value getSourceOf(Operation *op) {
  Value source;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  SmallVector<Value> inputs(op->getResults());
  if (generic)
    inputs = generic.getDpsInputs();
  for (Value input : inputs) {
    Operation *maker = getProducer(input);
    if (!isa<RankedTensorType>(input.getType()) ||
        (maker && isClonedIntoKernels(maker)))
      continue;
    Value root = getSliceSource(input);
    if (generic && isSmall(input, getNumPoints(generic)) &&
        isa<BlockArgument>(root))
      continue;
    // Another view of a slice needs a copy, which does this as well.
    if (source || isTagged(root) || isTagged(getViewRoot(input)) ||
        (maker && isa<tensor::ExtractSliceOp>(maker) && !getSlice(input)))
      return Value();
    source = root;
  }
  Operation *maker = source ? source.getDefiningOp() : nullptr;
  return maker && maker->hasAttr(RematDialect::policyAttrName) ? Value()
                                                               : source;
}

static int64_t getBytes(Value value) {
  return getBufferBytes(cast<RankedTensorType>(value.getType()));
}

//===----------------------------------------------------------------------===//
// Operations for each kernel
//===----------------------------------------------------------------------===//

namespace {

/// A contraction of a cluster that reads a factor, through views.
struct FactorRead {
  OpOperand *operand;
  SmallVector<Operation *> views;
  const Cluster *cluster;
};

/// What makes a factor, or the rows of one, for contractions of clusters: an
/// elementwise operation, or a slice.
struct Factor {
  Operation *maker;
  SmallVector<FactorRead> reads;
};

class FactorSpreader {
public:
  FactorSpreader(Block &body, ArrayRef<Cluster> clusters)
      : body(body), info(body), clusterOf(mapClusters(clusters)) {}
  bool run();

private:
  const Cluster *findReader(Operation *maker, OpOperand &use);
  bool collectReads(Factor &factor);
  std::optional<Factor> match(Operation *maker);
  bool isKeptNoLonger(Value source, ArrayRef<Factor> factors);
  bool fitsAsParts(Value source, int64_t part) const;
  bool isReadLater(Value source, Attribute phase);
  bool spread(Factor &factor);

  Block &body;
  BlockInfo info;
  DenseMap<Operation *, const Cluster *> clusterOf;
  /// What makes factors element by element, with the first cluster that reads
  /// it.
  DenseMap<Operation *, const Cluster *> makers;
};

} // namespace

/// In which part of a step a cluster, or what stands alone, is.
static Attribute getPhase(Operation *op) {
  return op->getAttr(RematDialect::backwardAttrName);
}

/// The cluster that `use` of what `maker` makes is for: by a contraction or, if
/// that is a slice, by what makes rows or another factor of it. Null if
/// something else reads it, or needs it as it is.
const Cluster *FactorSpreader::findReader(Operation *maker, OpOperand &use) {
  Operation *user = use.getOwner();
  const Cluster *cluster = clusterOf.lookup(user);
  if (isBlockContraction(user))
    return cluster && mayRead(maker, use) ? cluster : nullptr;
  if (!isa<tensor::ExtractSliceOp>(maker) || !getSlice(use.get()))
    return nullptr;
  auto rows = dyn_cast<linalg::GenericOp>(user);
  if (cluster && rows && rows->hasAttr(blockAttrName) &&
      rows.getNumReductionLoops() == 0)
    return cluster;
  return makers.lookup(user);
}

/// Finds all that reads the factor or a view of it; false if anything does that
/// may not.
bool FactorSpreader::collectReads(Factor &factor) {
  return walkReads(factor.maker->getResult(0),
                   [&](OpOperand &use, ArrayRef<Operation *> views) {
                     const Cluster *cluster = findReader(factor.maker, use);
                     factor.reads.push_back(
                         {&use, llvm::to_vector(views), cluster});
                     return cluster != nullptr;
                   });
}

/// The factor that `maker` makes, which may be one of rows in a cluster.
std::optional<Factor> FactorSpreader::match(Operation *maker) {
  auto generic = dyn_cast<linalg::GenericOp>(maker);
  if (generic ? !isCheap(generic, info)
              : !isa<tensor::ExtractSliceOp>(maker) ||
                    !getSlice(maker->getResult(0)) ||
                    maker->hasAttr(RematDialect::policyAttrName) ||
                    isTagged(maker->getResult(0)))
    return std::nullopt;
  const Cluster *own = clusterOf.lookup(maker);
  bool isOfBlocks = own && maker->hasAttr(blockAttrName);
  bool isOfSlices = own && generic &&
                    llvm::any_of(*own, llvm::IsaPred<tensor::ExtractSliceOp>);
  if (own && !isOfBlocks && !isOfSlices)
    return std::nullopt;
  Factor factor{maker, {}};
  if (!collectReads(factor) || factor.reads.empty())
    return std::nullopt;
  return factor;
}

/// Whether `source` is read in a later phase, by slices of that phase, too.
bool FactorSpreader::isReadLater(Value source, Attribute phase) {
  bool isRead = false;
  forEachReader(source, [&](Operation *reader) {
    isRead |= reader->getBlock() == &body && getPhase(reader) == phase;
  });
  return isRead;
}

/// Whether `source` finds room wherever parts of it do that add up to as many
/// bytes, the smallest of which has `part` bytes: until a result is made, other
/// values lie in its buffer.
bool FactorSpreader::fitsAsParts(Value source, int64_t part) const {
  auto function = cast<func::FuncOp>(body.getParentOp());
  return llvm::all_of(function.getResultTypes(), [&](Type type) {
    return getBufferBytes(cast<RankedTensorType>(type)) % getBytes(source) <
           part;
  });
}

/// Whether `source` is kept anyway as long as these factors are, or takes no
/// more memory than those together that are kept for a later phase.
bool FactorSpreader::isKeptNoLonger(Value source, ArrayRef<Factor> factors) {
  if (isa<BlockArgument>(source) && !findTaker(source))
    return true;
  // Of each later phase, what is kept for it, in all and at least.
  struct Kept {
    int64_t bytes = 0, least = std::numeric_limits<int64_t>::max();
  };
  llvm::MapVector<Attribute, Kept> kept;
  for (const Factor &factor : factors) {
    DenseSet<Attribute> seen;
    for (const FactorRead &read : factor.reads)
      if (Attribute phase = getPhase(read.operand->getOwner());
          phase != getPhase(factor.maker) && seen.insert(phase).second) {
        int64_t bytes = getBytes(factor.maker->getResult(0));
        kept[phase].bytes += bytes;
        kept[phase].least = std::min(kept[phase].least, bytes);
      }
  }
  return llvm::all_of(kept, [&](auto &phase) {
    return isReadLater(source, phase.first) ||
           (phase.second.bytes >= getBytes(source) &&
            fitsAsParts(source, phase.second.least));
  });
}

/// Gives each cluster that reads the factor an operation of its own, in front
/// of it; false if there is only one, of the same phase.
bool FactorSpreader::spread(Factor &factor) {
  llvm::MapVector<const Cluster *, SmallVector<FactorRead>> readsOf;
  for (FactorRead &read : factor.reads)
    readsOf[read.cluster].push_back(read);
  // The first cluster of its own phase keeps it.
  const Cluster *own = nullptr;
  for (auto &[cluster, reads] : readsOf)
    if (getPhase(cluster->back()) == getPhase(factor.maker) &&
        (!own || llvm::is_contained(*cluster, factor.maker)))
      own = cluster;
  bool any = false;
  SetVector<Operation *> replaced;
  for (auto &[reader, reads] : readsOf) {
    const Cluster *cluster = reader;
    if (cluster == own)
      continue;
    any = true;
    // What makes another factor of a slice may stand before the cluster.
    Operation *place = cluster->front();
    for (const FactorRead &read : reads)
      if (read.operand->getOwner()->isBeforeInBlock(place))
        place = read.operand->getOwner();
    OpBuilder builder(place);
    IRMapping mapping;
    auto clone = [&](Operation *op) {
      Operation *copy = builder.clone(*op, mapping);
      copy->removeAttr(rowsAttrName);
      copy->removeAttr(blockAttrName);
      copy->removeAttr(RematDialect::backwardAttrName);
      copyBackward(cluster->back(), copy);
      return copy->getResult(0);
    };
    // Slices, with the views on them, and a place for the result.
    std::function<void(Value)> cloneSource = [&](Value value) {
      Operation *op = value.getDefiningOp();
      if (!op || mapping.contains(value) || !getSlice(value))
        return;
      cloneSource(op->getOperand(0));
      clone(op);
    };
    if (auto generic = dyn_cast<linalg::GenericOp>(factor.maker)) {
      for (Value input : generic.getDpsInputs())
        cloneSource(input);
      Operation *init = generic.getDpsInits()[0].getDefiningOp();
      if (isa_and_nonnull<tensor::EmptyOp>(init))
        clone(init);
    }
    Value made = clone(factor.maker);
    for (FactorRead &read : reads) {
      IRMapping shapes;
      shapes.map(factor.maker->getResult(0), made);
      Value value = made;
      for (Operation *view : read.views) {
        Operation *copy = builder.clone(*view, shapes);
        copy->removeAttr(RematDialect::backwardAttrName);
        copyBackward(cluster->back(), copy);
        value = copy->getResult(0);
        replaced.insert(view);
      }
      read.operand->set(value);
    }
  }
  for (Operation *view : llvm::reverse(replaced))
    if (view->use_empty())
      view->erase();
  // What nothing of its own phase reads, with its slices.
  if (factor.maker->use_empty()) {
    SmallVector<Value> inputs(factor.maker->getOperands());
    makers.erase(factor.maker);
    factor.maker->erase();
    for (Value input : inputs)
      while (Operation *op = input.getDefiningOp()) {
        if (!op->use_empty() || !getSlice(input))
          break;
        input = op->getOperand(0);
        op->erase();
      }
  }
  return any;
}

bool FactorSpreader::run() {
  llvm::MapVector<Value, SmallVector<Factor>> factorsOf;
  auto collect = [&](Operation *maker) {
    std::optional<Factor> factor = match(maker);
    Value source = factor ? getSourceOf(maker) : Value();
    if (!source)
      return;
    if (isa<linalg::GenericOp>(maker))
      makers[maker] = factor->reads.front().cluster;
    factorsOf[source].push_back(std::move(*factor));
  };
  for (auto maker : body.getOps<linalg::GenericOp>())
    collect(maker);
  for (auto slice : body.getOps<tensor::ExtractSliceOp>())
    collect(slice);
  bool any = false;
  for (auto &[source, factors] : factorsOf) {
    if (!isKeptNoLonger(source, factors))
      continue;
    SmallVector<Operation *> slices;
    for (Factor &factor : factors)
      if (isa<linalg::GenericOp>(factor.maker))
        any |= spread(factor);
      else
        slices.push_back(factor.maker);
    // Those that have brought slices of their own with them read these no more.
    for (auto slice :
         llvm::make_early_inc_range(body.getOps<tensor::ExtractSliceOp>()))
      if (llvm::is_contained(slices, slice))
        if (std::optional<Factor> factor = match(slice))
          any |= spread(*factor);
  }
  return any;
}

bool remat::spreadFactors(Block &body, ArrayRef<Cluster> clusters) {
  return FactorSpreader(body, clusters).run();
}

//===----------------------------------------------------------------------===//
// One kernel with the rows
//===----------------------------------------------------------------------===//

/// Whether contractions of `cluster` alone read `value` or a view of it, each
/// in a way that `mayRead` allows.
static bool isReadAsFactor(Value value, const Cluster &cluster,
                           function_ref<bool(OpOperand &)> mayRead) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isViewOp(user))
      return isReadAsFactor(user->getResult(0), cluster, mayRead);
    return llvm::is_contained(cluster, user) && isBlockContraction(user) &&
           mayRead(use);
  });
}

/// The loops of `maker` that walk the runs of which contractions of `cluster`
/// alone read a factor each; none if there are no such.
static std::optional<LoopList> findRuns(linalg::GenericOp maker,
                                        const Cluster &cluster) {
  int64_t runs = 0;
  auto hasRuns = [&](OpOperand &use) {
    int64_t mine = countRuns(use);
    bool isSame = mine != 0 && (runs == 0 || runs == mine);
    runs = mine;
    return isSame;
  };
  if (!isReadAsFactor(maker->getResult(0), cluster, hasRuns) || runs == 0)
    return std::nullopt;
  std::optional<LoopList> loops = getLeadingLoops(
      maker.getIndexingMapsArray().back(),
      cast<RankedTensorType>(maker->getResult(0).getType()), runs);
  return loops && !loops->empty() ? loops : std::nullopt;
}

/// Whether `source` lives until the first of `cluster`, whatever `makers` read:
/// something else reads it there, or later.
static bool livesUntil(Value source, Operation *first, const Cluster &cluster,
                       ArrayRef<Operation *> makers, BlockInfo &info) {
  Operation *taker = findTaker(source);
  bool lives = isa<BlockArgument>(source) &&
               (!taker || info.isBefore(cluster.back(), taker));
  forEachReader(source, [&](Operation *reader) {
    lives |=
        reader->getBlock() == first->getBlock() &&
        !llvm::is_contained(makers, reader) &&
        (llvm::is_contained(cluster, reader) || info.isBefore(first, reader));
  });
  return lives;
}

SmallVector<Operation *>
remat::addFactors(Cluster &cluster, BlockInfo &info,
                  const DenseMap<Operation *, unsigned> &clusterOf) {
  Operation *first = cluster.front();
  // The slices of what `reader` reads that can join with it.
  auto findSlices = [&](Operation *reader) {
    SmallVector<tensor::ExtractSliceOp> slices;
    for (Value operand : reader->getOperands())
      if (auto slice = getSlice(operand);
          slice && info.isBefore(slice, first) &&
          mayShareKernel(slice, first, clusterOf) &&
          isReadBy(slice.getResult(), reader))
        slices.push_back(slice);
    return slices;
  };
  llvm::MapVector<Value, SmallVector<Operation *>> makersOf;
  DenseMap<Operation *, LoopList> runsOf;
  DenseSet<Operation *> seen;
  for (Operation *op : cluster) {
    if (!isBlockContraction(op))
      continue;
    for (Value operand : op->getOperands()) {
      Operation *maker = getViewRoot(operand).getDefiningOp();
      if (!maker || !seen.insert(maker).second ||
          maker->getBlock() != first->getBlock() ||
          !info.isBefore(maker, first) ||
          !mayShareKernel(maker, first, clusterOf) ||
          llvm::is_contained(cluster, maker))
        continue;
      if (auto generic = dyn_cast<linalg::GenericOp>(maker)) {
        if (!isCheap(generic, info) ||
            findSlices(maker).size() !=
                size_t(llvm::count_if(maker->getOperands(), getSlice)))
          continue;
        std::optional<LoopList> runs = findRuns(generic, cluster);
        if (!runs)
          continue;
        runsOf[maker] = *runs;
      } else if (!getSlice(operand) ||
                 !isReadAsFactor(
                     maker->getResult(0), cluster,
                     [&](OpOperand &use) { return mayRead(maker, use); })) {
        continue;
      }
      if (Value source = getSourceOf(maker))
        makersOf[source].push_back(maker);
    }
  }
  SetVector<Operation *> joined;
  Builder builder(first->getContext());
  for (auto &[source, makers] : makersOf) {
    // Slices of rows join, too.
    SetVector<Operation *> mine(makers.begin(), makers.end());
    for (Operation *op : cluster)
      if (auto generic = dyn_cast<linalg::GenericOp>(op);
          generic && generic.getNumReductionLoops() == 0)
        for (tensor::ExtractSliceOp slice : findSlices(op))
          if (getViewRoot(slice.getSource()) == source)
            mine.insert(slice);
    int64_t bytes = 0;
    for (Operation *op : mine)
      bytes += getBytes(op->getResult(0));
    if (bytes < getBytes(source) &&
        !livesUntil(source, first, cluster, makers, info))
      continue;
    joined.insert(mine.begin(), mine.end());
    for (Operation *maker : makers) {
      if (!isa<linalg::GenericOp>(maker))
        continue;
      maker->setAttr(rowsAttrName, builder.getDenseI64ArrayAttr(runsOf[maker]));
      maker->setAttr(factorAttrName, builder.getUnitAttr());
      for (tensor::ExtractSliceOp slice : findSlices(maker))
        joined.insert(slice);
    }
  }
  Cluster sorted(joined.begin(), joined.end());
  llvm::sort(sorted,
             [&](Operation *a, Operation *b) { return info.isBefore(a, b); });
  cluster.insert(cluster.begin(), sorted.begin(), sorted.end());
  return sorted;
}
