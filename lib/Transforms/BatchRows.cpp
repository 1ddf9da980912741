//===- BatchRows.cpp - the rows of a batch in a function ------------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BatchRows.h"

#include "remat/Dialect/Remat/IR/Remat.h"
#include "remat/Dialect/Remat/IR/Views.h"
#include "remat/Utils/Closure.h"
#include "remat/Utils/CollectOps.h"
#include "remat/Utils/ReductionOrder.h"
#include "remat/Utils/Structured.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Complex/IR/Complex.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// Where operations have the rows
//===----------------------------------------------------------------------===//

Operation *remat::findReducer(linalg::LinalgOp op, unsigned result) {
  SmallVector<Operation *, 1> combiners;
  if (!matchReduction(op.getRegionOutputArgs(), result, combiners) ||
      combiners.size() != 1 || combiners.front()->getNumResults() != 1 ||
      !(isa<complex::AddOp>(combiners.front()) ||
        getNeutralElement(combiners.front())))
    return nullptr;
  return combiners.front();
}

Value remat::findStart(OpResult total) {
  Operation *op = total.getOwner();
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return scatter.getInit();
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  return structured
             ? structured.getDpsInitOperand(total.getResultNumber())->get()
             : Value();
}

/// The place of loop `loop` in the results of `map`, if that is one dimension
/// on its own. Fails if the loop is in several or in an expression.
static FailureOr<std::optional<unsigned>> findPlaceOf(AffineMap map,
                                                      unsigned loop) {
  std::optional<unsigned> place;
  for (auto [number, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(loop))
      continue;
    if (place || !isa<AffineDimExpr>(expr))
      return failure();
    place = number;
  }
  return place;
}

/// Rows in a dimension, if it is one, of so many runs.
static std::optional<RowPlace> inRuns(std::optional<unsigned> dim,
                                      int64_t runs) {
  return dim ? std::optional(RowPlace{*dim, runs}) : std::nullopt;
}

static std::optional<RowDims> relateStructured(linalg::LinalgOp op,
                                               RowAnchor anchor) {
  OpOperand &operand = anchor.isResult ? *op.getDpsInitOperand(anchor.number)
                                       : op->getOpOperand(anchor.number);
  auto expr = dyn_cast<AffineDimExpr>(
      op.getMatchingIndexingMap(&operand).getResult(anchor.place.dim));
  if (!expr || !op.hasPureTensorSemantics())
    return std::nullopt;
  RowDims dims;
  dims.loop = expr.getPosition();
  dims.runs = anchor.place.runs;
  dims.isReduced =
      op.getIteratorTypesArray()[*dims.loop] == utils::IteratorType::reduction;
  for (OpOperand &each : op->getOpOperands()) {
    FailureOr<std::optional<unsigned>> place =
        findPlaceOf(op.getMatchingIndexingMap(&each), *dims.loop);
    if (failed(place))
      return std::nullopt;
    dims.operands.push_back(inRuns(*place, dims.runs));
    if (!op.isDpsInit(&each))
      continue;
    if (place->has_value() == dims.isReduced ||
        (dims.isReduced && !findReducer(op, dims.results.size())))
      return std::nullopt;
    dims.results.push_back(dims.operands.back());
  }
  return dims;
}

/// The rows of a reshape, of which `wide` has the dimensions that the other
/// side has as groups: where they are there, and in the other.
static std::optional<std::pair<RowPlace, RowPlace>>
relateGroups(ArrayRef<ReassociationIndices> groups, ArrayRef<int64_t> wide,
             bool isWide, RowPlace place) {
  if (ShapedType::isDynamicShape(wide))
    return std::nullopt;
  for (auto [number, group] : llvm::enumerate(groups)) {
    if (isWide ? !llvm::is_contained(group, place.dim) : number != place.dim)
      continue;
    int64_t outer = 1; // elements of the dimensions in front
    for (int64_t dim : group) {
      int64_t within = outer * wide[dim];
      if (isWide && dim == place.dim)
        return std::pair(
            place, RowPlace{static_cast<unsigned>(number), outer * place.runs});
      if (!isWide && within > place.runs) {
        if (place.runs % outer != 0 || within % place.runs != 0)
          return std::nullopt;
        return std::pair(
            RowPlace{static_cast<unsigned>(dim), place.runs / outer}, place);
      }
      outer = within;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

static std::optional<RowDims> relateReshape(Operation *op, RowAnchor anchor) {
  auto expand = dyn_cast<tensor::ExpandShapeOp>(op);
  SmallVector<ReassociationIndices> groups =
      expand ? expand.getReassociationIndices()
             : cast<tensor::CollapseShapeOp>(op).getReassociationIndices();
  Value wide = expand ? op->getResult(0) : op->getOperand(0);
  auto found =
      relateGroups(groups, cast<RankedTensorType>(wide.getType()).getShape(),
                   anchor.isResult == (expand != nullptr), anchor.place);
  if (!found)
    return std::nullopt;
  auto [inWide, inNarrow] = *found;
  RowDims dims;
  dims.operands = {expand ? inNarrow : inWide};
  dims.results = {expand ? inWide : inNarrow};
  return dims;
}

/// `dims` if they have the rows where `anchor` has them.
static std::optional<RowDims> keepIfAt(RowDims dims, RowAnchor anchor) {
  std::optional<RowPlace> place = anchor.isResult
                                      ? dims.results[anchor.number]
                                      : dims.operands[anchor.number];
  return place == anchor.place ? std::optional(std::move(dims)) : std::nullopt;
}

/// The rows of a slice of `whole` that has all of them: of the tensor that it
/// is a slice of, and its own.
template <typename SliceOp>
static std::optional<std::pair<RowPlace, RowPlace>>
relateSlice(SliceOp op, RankedTensorType whole, bool isWhole, RowPlace place) {
  llvm::SmallBitVector dropped = op.getDroppedDims();
  unsigned inSlice = 0;
  for (auto [inWhole, size] : llvm::enumerate(whole.getShape())) {
    if (dropped[inWhole])
      continue;
    if ((isWhole ? inWhole : inSlice) == place.dim &&
        !op.isDynamicSize(inWhole) && op.getStaticSize(inWhole) == size)
      return std::pair(RowPlace{static_cast<unsigned>(inWhole), place.runs},
                       RowPlace{inSlice, place.runs});
    ++inSlice;
  }
  return std::nullopt;
}

static std::optional<RowDims> relateExtract(tensor::ExtractSliceOp op,
                                            RowAnchor anchor) {
  auto found =
      relateSlice(op, op.getSourceType(), !anchor.isResult, anchor.place);
  if (!found)
    return std::nullopt;
  RowDims dims;
  dims.operands.resize(op->getNumOperands());
  dims.operands[0] = found->first;
  dims.results = {found->second};
  return keepIfAt(std::move(dims), anchor);
}

static std::optional<RowDims> relateInsert(tensor::InsertSliceOp op,
                                           RowAnchor anchor) {
  bool isSource = !anchor.isResult && anchor.number == 0;
  auto found = relateSlice(op, op.getDestType(), !isSource, anchor.place);
  if (!found)
    return std::nullopt;
  RowDims dims;
  dims.operands.resize(op->getNumOperands());
  dims.operands[0] = found->second;
  dims.operands[1] = found->first;
  dims.results = {found->first};
  return keepIfAt(std::move(dims), anchor);
}

/// The same dimension of all operands and results, which have one rank.
static std::optional<RowDims> relateAlike(Operation *op, RowAnchor anchor) {
  RowDims dims;
  dims.operands.assign(op->getNumOperands(), anchor.place);
  dims.results.assign(op->getNumResults(), anchor.place);
  return dims;
}

/// The images of a convolution, or of one of its gradients. That of the filter
/// adds them up.
static std::optional<RowDims> relateConvolution(ConvOp op, RowAnchor anchor) {
  RowPlace in{static_cast<unsigned>(op.getInputLayout()[0]), anchor.place.runs};
  RowPlace out{static_cast<unsigned>(op.getOutputLayout()[0]),
               anchor.place.runs};
  RowDims dims;
  switch (op.getKind()) {
  case ConvKind::Forward:
    dims.operands = {in, std::nullopt};
    dims.results = {out};
    break;
  case ConvKind::InputGrad:
    dims.operands = {out, std::nullopt};
    dims.results = {in};
    break;
  case ConvKind::FilterGrad:
    dims.operands = {in, out};
    dims.results = {std::nullopt};
    dims.isReduced = true;
    break;
  }
  return keepIfAt(std::move(dims), anchor);
}

/// The rows of updates. They go to the same rows of the result, or are added up
/// where their number says nothing about the place that they go to.
static std::optional<RowDims> relateScatter(ScatterOp op, RowAnchor anchor) {
  unsigned numInputs = op.getInputs().size();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  auto points = op.getPointArguments();
  ValueRange places =
      op.getBody().front().getTerminator()->getOperands().drop_back();
  RowDims dims;
  dims.runs = anchor.place.runs;
  if (!anchor.isResult && anchor.number < numInputs) {
    auto expr = dyn_cast<AffineDimExpr>(
        maps[anchor.number].getResult(anchor.place.dim));
    if (!expr)
      return std::nullopt;
    dims.loop = expr.getPosition();
  } else {
    auto found = llvm::find(points, places[anchor.place.dim]);
    if (found == points.end())
      return std::nullopt;
    dims.loop = std::distance(points.begin(), found);
  }
  for (AffineMap map : maps) {
    FailureOr<std::optional<unsigned>> place = findPlaceOf(map, *dims.loop);
    if (failed(place))
      return std::nullopt;
    dims.operands.push_back(inRuns(*place, dims.runs));
  }
  BlockArgument point = points[*dims.loop];
  auto found = llvm::find(places, point);
  dims.isReduced = found == places.end();
  // Parts are added up.
  if (dims.isReduced && op.getMaximum())
    return std::nullopt;
  // Of a part, the body gets other numbers of rows than of the whole.
  if (dims.isReduced ? !point.use_empty() : !point.hasOneUse())
    return std::nullopt;
  std::optional<RowPlace> place;
  if (!dims.isReduced)
    place = RowPlace{static_cast<unsigned>(found - places.begin()), dims.runs};
  dims.operands.push_back(place);
  dims.results = {place};
  return keepIfAt(std::move(dims), anchor);
}

std::optional<RowDims> remat::relateRows(Operation *op, RowAnchor anchor) {
  if (auto structured = dyn_cast<linalg::LinalgOp>(op))
    return relateStructured(structured, anchor);
  if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
    return relateReshape(op, anchor);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return relateExtract(slice, anchor);
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return relateInsert(insert, anchor);
  if (isTransparentOp(op) ||
      (OpTrait::hasElementwiseMappableTraits(op) &&
       llvm::all_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>)))
    return relateAlike(op, anchor);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return concat.getDim() == anchor.place.dim ? std::nullopt
                                               : relateAlike(op, anchor);
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    if (pad.getPaddedDims()[anchor.place.dim] || !pad.getConstantPaddingValue())
      return std::nullopt;
    RowDims dims;
    dims.operands.resize(op->getNumOperands());
    dims.operands[0] = anchor.place;
    dims.results = {anchor.place};
    return dims;
  }
  if (auto conv = dyn_cast<ConvOp>(op))
    return relateConvolution(conv, anchor);
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return relateScatter(scatter, anchor);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Rows from arguments on
//===----------------------------------------------------------------------===//

RankedTensorType BatchRows::getPartType(Type type, unsigned dim) const {
  auto tensor = cast<RankedTensorType>(type);
  SmallVector<int64_t> shape = llvm::to_vector(tensor.getShape());
  shape[dim] /= parts;
  return tensor.clone(shape);
}

/// Whether constants have the same elements in each part of the rows.
static bool hasEqualParts(DenseElementsAttr elements, RowPlace place,
                          int64_t parts) {
  if (elements.isSplat())
    return true;
  ArrayRef<int64_t> shape = elements.getType().getShape().take_front(place.dim);
  if (place.runs != 1 || llvm::any_of(shape, [](int64_t n) { return n != 1; }))
    return false;
  ArrayRef<char> bytes = elements.getRawData();
  if (elements.getElementType().isInteger(1) || bytes.size() % parts != 0)
    return false;
  size_t size = bytes.size() / parts;
  for (size_t start = size; start < bytes.size(); start += size)
    if (bytes.slice(start, size) != bytes.take_front(size))
      return false;
  return true;
}

/// Whether bodies of `op` read elements of tensors with rows, if at all, only
/// of the row at hand.
bool BatchRows::readsRowsOf(linalg::LinalgOp op, const RowDims &related) const {
  WalkResult walk = op->walk([&](Operation *inner) {
    if (inner == op)
      return WalkResult::advance();
    for (Value value : inner->getOperands()) {
      std::optional<RowPlace> place = getPlace(value);
      if (!place)
        continue;
      auto extract = dyn_cast<tensor::ExtractOp>(inner);
      auto index = extract ? extract.getIndices()[place->dim]
                                 .getDefiningOp<linalg::IndexOp>()
                           : linalg::IndexOp();
      if (!index || index->getBlock() != op.getBlock() ||
          index.getDim() != *related.loop || place->runs != related.runs)
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return !walk.wasInterrupted();
}

bool BatchRows::isFree(Value value, RowPlace place) const {
  // A value, a dimension of it, and how many runs that has.
  using Rows = std::tuple<Value, unsigned, int64_t>;
  Rows start(value, place.dim, place.runs);
  return holdsForClosure(start, [&](Rows rows, SmallVectorImpl<Rows> &next) {
    auto [made, dim, runs] = rows;
    Operation *op = made.getDefiningOp();
    if (!op || getPlace(made) || totals.contains(made) ||
        cast<RankedTensorType>(made.getType()).getDimSize(dim) %
                (runs * parts) !=
            0)
      return false;
    if (isa<tensor::EmptyOp, tensor::SplatOp>(op))
      return true;
    DenseElementsAttr elements;
    if (matchPattern(made, m_Constant(&elements)))
      return hasEqualParts(elements, {dim, runs}, parts);
    std::optional<RowDims> related =
        relateRows(op, {/*isResult=*/true,
                        cast<OpResult>(made).getResultNumber(),
                        {dim, runs}});
    if (!related || related->isReduced)
      return false;
    for (auto [operand, place] :
         llvm::zip(op->getOperands(), related->operands))
      if (place)
        next.push_back({operand, place->dim, place->runs});
    return true;
  });
}

/// What is related to rows that the body of `op` reads, and no operand has. The
/// first of these reads says which loop they are of.
std::optional<RowDims> BatchRows::relateBody(linalg::LinalgOp op) const {
  for (auto extract : collectOps<tensor::ExtractOp>(op)) {
    std::optional<RowPlace> read = getPlace(extract.getTensor());
    if (!read)
      continue;
    auto index =
        extract.getIndices()[read->dim].getDefiningOp<linalg::IndexOp>();
    if (!index || index->getBlock() != op.getBlock())
      return std::nullopt;
    std::optional<RowDims> related;
    for (OpOperand &init : op.getDpsInitsMutable()) {
      auto place =
          findPlaceOf(op.getMatchingIndexingMap(&init), index.getDim());
      if (succeeded(place) && *place)
        related = relateRows(op, {/*isResult=*/true,
                                  op.getTiedOpResult(&init).getResultNumber(),
                                  {**place, read->runs}});
    }
    return related;
  }
  return std::nullopt;
}

/// Finds out where `op` has rows, if it has any.
LogicalResult BatchRows::add(Operation *op) {
  SetVector<Value> read = getReadValues(op);
  bool hasRows =
      llvm::any_of(read, [&](Value value) { return getPlace(value); });
  auto isTotal = [&](Value value) { return totals.contains(value); };
  auto isOther = [&](Value value) { return others.contains(value); };
  bool hasTotals = llvm::any_of(read, isTotal);
  if (!isMemoryEffectFree(op) || llvm::any_of(read, isOther))
    others.insert_range(op->getResults());
  if (!hasRows) {
    if (hasTotals)
      totals.insert_range(op->getResults());
    return success();
  }
  for (Value value : llvm::make_filter_range(read, isTotal))
    if (!isOther(value))
      early.insert(value);
  if (llvm::any_of(
          read, [&](Value value) { return isTotal(value) && isOther(value); }))
    return op->emitOpError("needs what all rows of the batch add up to beside "
                           "single rows: expected rows that do not depend on "
                           "each other");
  auto mixes = [&]() -> LogicalResult {
    if (isa<LoopOp>(op))
      return op->emitOpError("stays a loop, which cannot be done in parts "
                             "here: raise 'unroll-limit', or use "
                             "'microbatches'");
    if (isa<CustomRuleOp, GradientHookOp>(op))
      return op->emitOpError("has a derivative of its own, as branches of "
                             "'scf.if' and functions with a rule have, and "
                             "cannot be done in parts here: use "
                             "'microbatches'");
    return op->emitOpError("mixes rows of the batch, or is none that can be "
                           "run for some of them: expected rows that do not "
                           "depend on each other");
  };
  std::optional<RowDims> related;
  for (OpOperand &operand : op->getOpOperands()) {
    std::optional<RowPlace> place = getPlace(operand.get());
    if (!place)
      continue;
    if (!related)
      related = relateRows(
          op, {/*isResult=*/false, operand.getOperandNumber(), *place});
    if (!related || related->operands[operand.getOperandNumber()] != place)
      return mixes();
  }
  auto structured = dyn_cast<linalg::LinalgOp>(op);
  if (!related && structured)
    related = relateBody(structured);
  if (!related || !isMemoryEffectFree(op) ||
      (structured && !readsRowsOf(structured, *related)) ||
      (!structured && op->getNumRegions() != 0 &&
       !isa<tensor::PadOp, ScatterOp>(op)) ||
      (!structured && llvm::any_of(read, [&](Value value) {
        return getPlace(value) && !llvm::is_contained(op->getOperands(), value);
      })))
    return mixes();
  for (auto [operand, place] :
       llvm::zip(op->getOpOperands(), related->operands))
    if (place && !getPlace(operand.get()) && !isFree(operand.get(), *place))
      return op->emitOpError("reads operand #")
             << operand.getOperandNumber()
             << " row by row with the batch, but it does not depend on the "
                "arguments that are split: expected these to have all rows "
                "(batch-arguments)";
  for (auto [result, place] : llvm::zip(op->getResults(), related->results)) {
    if (!place) {
      totals.insert(result);
      continue;
    }
    auto type = cast<RankedTensorType>(result.getType());
    if (type.getDimSize(place->dim) % (place->runs * parts) != 0)
      return mixes();
    places[result] = *place;
  }
  ops[op] = std::move(*related);
  return success();
}

LogicalResult BatchRows::follow(ArrayRef<int64_t> batch) {
  for (int64_t number : batch) {
    BlockArgument argument = function.getArgument(number);
    int64_t rows = cast<RankedTensorType>(argument.getType()).getDimSize(0);
    if (rows % parts != 0)
      return function.emitOpError("argument #")
             << number << " has " << rows << " rows, expected a multiple of "
             << parts << ", the number of parts";
    places[argument] = {0};
  }
  for (BlockArgument argument : function.getArguments())
    if (!places.contains(argument))
      others.insert(argument);
  for (Operation &op : function.front().without_terminator())
    if (failed(add(&op)))
      return failure();
  return success();
}
