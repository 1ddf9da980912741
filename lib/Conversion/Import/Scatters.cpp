//===- Scatters.cpp - loops that write at computed places -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters write a scatter as a loop over its updates: each iteration takes a
// slice of a tensor at a place that it reads from indices, combines it with an
// update and puts it back. Unrolled, every iteration is an operation on all of
// the tensor. A loop that adds becomes a remat.scatter. Of one that overwrites,
// each element of the result is that of the last update that goes there, or
// what the loop starts from.
//
//===----------------------------------------------------------------------===//

#include "remat/Conversion/Import/Passes.h"
#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Utils/BackwardMarks.h"
#include "remat/Utils/Closure.h"
#include "remat/Utils/CollectOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

namespace remat {
#define GEN_PASS_DEF_IMPORTSCATTERSPASS
#include "remat/Conversion/Import/Passes.h.inc"
} // namespace remat

using namespace mlir;
using namespace remat;

namespace {

/// What an iteration reads: the slice of `source` that its number selects.
struct Update {
  Value source;
  /// For each dimension of the source, that of the slice, or -1 for the one
  /// that the iteration selects, or -2 for one of size 1.
  SmallVector<int64_t> dims;
};

/// A loop that is a scatter.
struct ScatterLoop {
  scf::ForOp loop;
  /// The number of its iterations, and the values of its counter.
  int64_t trips, low, step;
  tensor::InsertSliceOp insert;
  linalg::GenericOp combine;
  SmallVector<Update> updates;
  /// The offset in each dimension of the tensor, and the dimension of the slice
  /// that lies along it, or -1.
  SmallVector<OpFoldResult> offsets;
  SmallVector<int64_t> windowDims;
  /// Whether updates are added, or overwrite.
  bool adds;

  /// What the counter is in the last iteration.
  int64_t getLast() const { return low + (trips - 1) * step; }
};

} // namespace

static bool hasUnitStrides(ArrayRef<int64_t> strides) {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 1; });
}

/// The dimension of the slice that each dimension of the sliced tensor is, or
/// -1 for those that the slice lacks.
static SmallVector<int64_t> getSliceDims(const llvm::SmallBitVector &dropped) {
  SmallVector<int64_t> dims;
  int64_t next = 0;
  for (unsigned dim = 0; dim < dropped.size(); ++dim)
    dims.push_back(dropped[dim] ? -1 : next++);
  return dims;
}

/// Whether `value` is the number that the loop counts with.
static bool isCounter(Value value, scf::ForOp loop) {
  if (auto cast = value.getDefiningOp<arith::IndexCastOp>())
    value = cast.getIn();
  return value == loop.getInductionVar();
}

/// Whether `value` is computed in the loop by operations on scalars, from
/// nothing that the loop carries.
static bool isIndex(Value value, scf::ForOp loop) {
  return holdsForClosure(value, [&](Value made, SmallVectorImpl<Value> &next) {
    if (made == loop.getInductionVar() ||
        !loop.getRegion().isAncestor(made.getParentRegion()))
      return true;
    Operation *op = made.getDefiningOp();
    if (!op)
      return false;
    llvm::append_range(next, op->getOperands());
    return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
           !isa<ShapedType>(made.getType());
  });
}

/// Matches a slice of a tensor from outside of which the loop's counter is one
/// offset and the others take all of their dimension. All iterations are within
/// the tensor.
static std::optional<Update> matchUpdate(Value value,
                                         const ScatterLoop &match) {
  scf::ForOp loop = match.loop;
  auto slice = value.getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice->getParentRegion() != &loop.getRegion() ||
      loop.getRegion().isAncestor(slice.getSource().getParentRegion()) ||
      !slice.getSourceType().hasStaticShape() ||
      !slice.getType().hasStaticShape() ||
      !hasUnitStrides(slice.getStaticStrides()))
    return std::nullopt;
  Update update{slice.getSource(), getSliceDims(slice.getDroppedDims())};
  bool found = false;
  for (auto [dim, offset] : llvm::enumerate(slice.getMixedOffsets())) {
    int64_t size = slice.getStaticSizes()[dim];
    if (auto selected = dyn_cast<Value>(offset);
        selected && isCounter(selected, loop)) {
      if (found || size != 1 || match.low < 0 ||
          match.getLast() >= slice.getSourceType().getDimSize(dim))
        return std::nullopt;
      found = true;
      update.dims[dim] = -1;
      continue;
    }
    if (!isConstantIntValue(offset, 0) ||
        size != slice.getSourceType().getDimSize(dim))
      return std::nullopt;
    if (update.dims[dim] == -1)
      update.dims[dim] = -2;
  }
  return found ? std::optional<Update>(update) : std::nullopt;
}

/// Matches the tensor that each iteration changes, the place and the slice.
static bool matchPlace(ScatterLoop &match) {
  scf::ForOp loop = match.loop;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  match.insert = yield.getOperand(0).getDefiningOp<tensor::InsertSliceOp>();
  if (!match.insert ||
      match.insert.getDest() != loop.getRegionIterArgs().front() ||
      !match.insert.getDestType().hasStaticShape() ||
      !match.insert.getSourceType().hasStaticShape() ||
      !hasUnitStrides(match.insert.getStaticStrides()))
    return false;
  match.offsets = match.insert.getMixedOffsets();
  match.windowDims = getSliceDims(match.insert.getDroppedDims());
  bool computed = false;
  for (auto [dim, offset] : llvm::enumerate(match.offsets)) {
    int64_t size = match.insert.getStaticSizes()[dim];
    auto value = dyn_cast<Value>(offset);
    if (value && !getConstantIntValue(offset)) {
      // The slices of a scan are better unrolled.
      if (size != 1 || isCounter(value, loop) || !isIndex(value, loop))
        return false;
      computed = true;
    } else if (!isConstantIntValue(offset, 0) ||
               size != match.insert.getDestType().getDimSize(dim)) {
      return false;
    }
  }
  return computed;
}

/// Matches how an iteration combines updates with the slice that it changes.
static bool matchCombination(ScatterLoop &match) {
  match.combine = match.insert.getSource().getDefiningOp<linalg::GenericOp>();
  linalg::GenericOp combine = match.combine;
  if (!combine) {
    std::optional<Update> update = matchUpdate(match.insert.getSource(), match);
    if (update)
      match.updates.push_back(*update);
    match.adds = false;
    return update.has_value();
  }
  if (combine->getParentRegion() != &match.loop.getRegion() ||
      combine.getNumDpsInits() != 1 ||
      combine.getNumParallelLoops() != combine.getNumLoops() ||
      !llvm::all_of(combine.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !combine.getBody()->getOps<linalg::IndexOp>().empty())
    return false;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(combine.getRegion(), captured);
  if (llvm::any_of(captured, [&](Value value) {
        return match.loop.getRegion().isAncestor(value.getParentRegion());
      }))
    return false;
  for (Value input : combine.getDpsInputs()) {
    std::optional<Update> update = matchUpdate(input, match);
    if (!update)
      return false;
    match.updates.push_back(*update);
  }
  BlockArgument old = combine.getRegionOutputArgs()[0];
  match.adds = !old.use_empty();
  if (!match.adds)
    return true;
  auto slice = combine.getDpsInits()[0].getDefiningOp<tensor::ExtractSliceOp>();
  if (!slice || slice.getSource() != match.insert.getDest() ||
      slice.getMixedOffsets() != match.insert.getMixedOffsets() ||
      slice.getStaticSizes() != match.insert.getStaticSizes() ||
      !hasUnitStrides(slice.getStaticStrides()))
    return false;
  Operation *sum =
      combine.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  return old.hasOneUse() && isa_and_nonnull<arith::AddFOp>(sum) &&
         sum->hasOneUse() && *old.user_begin() == sum;
}

/// Finds out what the loop counts. Numbers that are so large that the last is
/// not known are left to others.
static bool matchCounter(ScatterLoop &match) {
  scf::ForOp loop = match.loop;
  Type type = loop.getInductionVar().getType();
  if (!type.isIndex() && type.getIntOrFloatBitWidth() > 64)
    return false;
  std::optional<int64_t> low = getConstantIntValue(loop.getLowerBound()),
                         high = getConstantIntValue(loop.getUpperBound()),
                         step = getConstantIntValue(loop.getStep());
  int64_t distance;
  if (!low || !high || !step || *step <= 0 || *low >= *high ||
      loop.getUnsignedCmp() || loop.getNumRegionIterArgs() != 1 ||
      llvm::SubOverflow(*high, *low, distance))
    return false;
  match.low = *low;
  match.step = *step;
  match.trips = llvm::divideCeil(static_cast<uint64_t>(distance), *step);
  return true;
}

static std::optional<ScatterLoop> match(scf::ForOp loop) {
  ScatterLoop result;
  result.loop = loop;
  if (!matchCounter(result))
    return std::nullopt;
  if (!matchPlace(result) || !matchCombination(result))
    return std::nullopt;
  // What the loop carries must have no other use.
  for (Operation *user : loop.getRegionIterArgs().front().getUsers())
    if (user != result.insert &&
        !(isa<tensor::ExtractSliceOp>(user) && result.combine &&
          user->hasOneUse() && *user->user_begin() == result.combine))
      return std::nullopt;
  return result;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

namespace {
class Rewriter {
public:
  Rewriter(ScatterLoop &match, OpBuilder::Listener &listener)
      : match(match), builder(match.loop, &listener),
        loc(match.insert.getLoc()),
        type(cast<RankedTensorType>(match.insert.getDestType())),
        window(cast<RankedTensorType>(match.insert.getSourceType())) {}

  Value rewrite() { return match.adds ? add() : overwrite(); }

private:
  Value add();
  Value overwrite();
  Value takeRead(const Update &update);
  Value computeCounter(OpBuilder &nested, Value iteration);
  Value findLastUpdates(ArrayRef<int64_t> dims);
  Value computeIndex(OpBuilder &nested, int64_t dim, Value iteration);
  Value combine(OpBuilder &nested, ArrayRef<Value> elements, bool isTerm);

  ScatterLoop &match;
  OpBuilder builder;
  Location loc;
  RankedTensorType type, window;
};
} // namespace

/// What the loop counts with in iteration `iteration`.
Value Rewriter::computeCounter(OpBuilder &nested, Value iteration) {
  Value counter = iteration;
  if (match.step != 1)
    counter = arith::MulIOp::create(
        nested, loc, counter,
        arith::ConstantIndexOp::create(nested, loc, match.step));
  if (match.low != 0)
    counter = arith::AddIOp::create(
        nested, loc, counter,
        arith::ConstantIndexOp::create(nested, loc, match.low));
  return counter;
}

/// The offset of iteration `iteration` in dimension `dim`, which is checked.
Value Rewriter::computeIndex(OpBuilder &nested, int64_t dim, Value iteration) {
  IRMapping mapping;
  Value counter = computeCounter(nested, iteration);
  Type counterType = match.loop.getInductionVar().getType();
  if (!counterType.isIndex())
    counter = arith::IndexCastOp::create(nested, loc, counterType, counter);
  mapping.map(match.loop.getInductionVar(), counter);
  std::function<Value(Value)> copy = [&](Value value) -> Value {
    if (Value known = mapping.lookupOrNull(value))
      return known;
    Operation *op = value.getDefiningOp();
    if (!match.loop.getRegion().isAncestor(value.getParentRegion()))
      return value;
    for (Value operand : op->getOperands())
      copy(operand);
    nested.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value index = copy(cast<Value>(match.offsets[dim]));
  Value bound =
      arith::ConstantIndexOp::create(nested, loc, type.getDimSize(dim));
  return CheckIndexOp::create(nested, loc, index, bound);
}

/// What updates of `elements` write, or, `isTerm`, add.
Value Rewriter::combine(OpBuilder &nested, ArrayRef<Value> elements,
                        bool isTerm) {
  if (!match.combine)
    return elements.front();
  linalg::GenericOp generic = match.combine;
  Block *body = generic.getBody();
  IRMapping mapping;
  for (auto [argument, element] : llvm::zip(body->getArguments(), elements))
    mapping.map(argument, element);
  Value yielded = body->getTerminator()->getOperand(0);
  Operation *sum = isTerm ? yielded.getDefiningOp() : nullptr;
  for (Operation &op : body->without_terminator())
    if (&op != sum)
      nested.clone(op, mapping);
  if (sum)
    yielded = sum->getOperand(
        sum->getOperand(0) == generic.getRegionOutputArgs()[0] ? 1 : 0);
  return mapping.lookupOrDefault(yielded);
}

/// The part of an update's source that the iterations read, in their order.
Value Rewriter::takeRead(const Update &update) {
  auto type = cast<RankedTensorType>(update.source.getType());
  SmallVector<int64_t> offsets(type.getRank(), 0), strides(type.getRank(), 1),
      sizes(type.getShape());
  unsigned dim = llvm::find(update.dims, -1) - update.dims.begin();
  offsets[dim] = match.low;
  strides[dim] = match.step;
  sizes[dim] = match.trips;
  if (llvm::equal(sizes, type.getShape()))
    return update.source;
  auto toAttrs = [&](ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(builder.getContext(), values);
  };
  return tensor::ExtractSliceOp::create(builder, loc, update.source,
                                        toAttrs(offsets), toAttrs(sizes),
                                        toAttrs(strides));
}

Value Rewriter::add() {
  MLIRContext *context = builder.getContext();
  unsigned loops = 1 + window.getRank();
  SmallVector<int64_t> sizes = {match.trips};
  llvm::append_range(sizes, window.getShape());
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto block = std::make_unique<Block>();
  for (unsigned i = 0; i < loops; ++i)
    block->addArgument(builder.getIndexType(), loc);
  for (const Update &update : match.updates) {
    SmallVector<AffineExpr> exprs;
    for (int64_t dim : update.dims)
      exprs.push_back(dim == -2 ? getAffineConstantExpr(0, context)
                                : getAffineDimExpr(dim + 1, context));
    inputs.push_back(takeRead(update));
    maps.push_back(AffineMap::get(loops, 0, exprs, context));
    block->addArgument(getElementTypeOrSelf(update.source.getType()), loc);
  }
  // A detached block does not know the context.
  OpBuilder nested(context);
  nested.setInsertionPointToEnd(block.get());
  SmallVector<Value> yields;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    if (isa<Value>(match.offsets[dim]) &&
        !getConstantIntValue(match.offsets[dim]))
      yields.push_back(computeIndex(nested, dim, block->getArgument(0)));
    else if (match.windowDims[dim] >= 0)
      yields.push_back(block->getArgument(1 + match.windowDims[dim]));
    else
      yields.push_back(arith::ConstantIndexOp::create(nested, loc, 0));
  SmallVector<Value> elements =
      llvm::to_vector_of<Value>(block->getArguments().drop_front(loops));
  yields.push_back(combine(nested, elements, /*isTerm=*/true));
  YieldOp::create(nested, loc, yields);
  auto scatter = ScatterOp::create(
      builder, loc, TypeRange(type), inputs, match.loop.getInitArgs()[0],
      builder.getAffineMapArrayAttr(maps), builder.getDenseI64ArrayAttr(sizes));
  scatter.getBody().push_back(block.release());
  return scatter.getResult();
}

/// The number of the last update of each place in dimensions `dims`, or -1.
Value Rewriter::findLastUpdates(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> shape = llvm::map_to_vector(
      dims, [&](int64_t dim) { return type.getDimSize(dim); });
  Value none = arith::ConstantIndexOp::create(builder, loc, -1);
  Value empty =
      tensor::EmptyOp::create(builder, loc, shape, builder.getIndexType());
  Value start = linalg::FillOp::create(builder, loc, none, empty).getResult(0);
  auto scatter = ScatterOp::create(
      builder, loc, TypeRange(start.getType()), ValueRange(), start,
      builder.getArrayAttr({}), ArrayRef<int64_t>{match.trips},
      /*maximum=*/true);
  OpBuilder::InsertionGuard guard(builder);
  Block *block = builder.createBlock(&scatter.getBody());
  Value iteration = block->addArgument(builder.getIndexType(), loc);
  SmallVector<Value> yields = llvm::map_to_vector(
      dims, [&](int64_t dim) { return computeIndex(builder, dim, iteration); });
  yields.push_back(iteration);
  YieldOp::create(builder, loc, yields);
  return scatter.getResult();
}

Value Rewriter::overwrite() {
  MLIRContext *context = builder.getContext();
  int64_t rank = type.getRank();
  SmallVector<int64_t> picked;
  SmallVector<AffineExpr> exprs;
  SmallVector<int64_t> dimOfWindow(window.getRank());
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (match.windowDims[dim] >= 0)
      dimOfWindow[match.windowDims[dim]] = dim;
    if (getConstantIntValue(match.offsets[dim]))
      continue;
    picked.push_back(dim);
    exprs.push_back(getAffineDimExpr(dim, context));
  }
  Value last = findLastUpdates(picked);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(),
                                        type.getElementType());
  SmallVector<AffineMap> maps(3, builder.getMultiDimIdentityMap(rank));
  maps[0] = AffineMap::get(rank, 0, exprs, context);
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &nested, Location loc, ValueRange args) {
    Value zero = arith::ConstantIndexOp::create(nested, loc, 0);
    Value written = arith::CmpIOp::create(
        nested, loc, arith::CmpIPredicate::sge, args[0], zero);
    Value number = computeCounter(
        nested, arith::SelectOp::create(nested, loc, written, args[0], zero));
    SmallVector<Value> elements;
    for (const Update &update : match.updates) {
      SmallVector<Value> indices;
      for (int64_t dim : update.dims) {
        bool isWindow =
            dim >= 0 && !llvm::is_contained(picked, dimOfWindow[dim]);
        indices.push_back(
            dim == -1  ? number
            : isWindow ? linalg::IndexOp::create(nested, loc, dimOfWindow[dim])
                             .getResult()
                       : zero);
      }
      elements.push_back(
          tensor::ExtractOp::create(nested, loc, update.source, indices));
    }
    Value element = combine(nested, elements, /*isTerm=*/false);
    linalg::YieldOp::create(
        nested, loc,
        arith::SelectOp::create(nested, loc, written, element, args[1])
            .getResult());
  };
  return linalg::GenericOp::create(
             builder, loc, TypeRange(type),
             ValueRange{last, match.loop.getInitArgs()[0]}, ValueRange(empty),
             maps, iterators, body)
      .getResult(0);
}

namespace {
struct ImportScatters
    : public remat::impl::ImportScattersPassBase<ImportScatters> {
  void runOnOperation() override {
    for (scf::ForOp loop : collectOps<scf::ForOp>(getOperation()))
      if (std::optional<ScatterLoop> found = match(loop)) {
        BackwardMarkListener marks;
        marks.beginRewrite(found->insert);
        loop.getResult(0).replaceAllUsesWith(Rewriter(*found, marks).rewrite());
        loop.erase();
        ++numRewritten;
      }
  }
};
} // namespace
