//===- FoldTransposesIntoContractions.cpp - tensors where they are --------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Exporters transpose, repeat and reshape what they multiply, to a contraction
// that has a name, and transpose what it makes, such as the gradient of a
// weight. One with indexing maps reads and writes the tensors themselves. The
// heads of keys and values that groups of query heads share are so in memory
// once, and their gradients are summed over the group by the contraction that
// makes them.
//
//===----------------------------------------------------------------------===//

#include "FoldTransposesIntoContractions.h"

#include "remat/Utils/Builders.h"
#include "remat/Utils/Structured.h"

using namespace mlir;
using namespace remat;

/// Whether `linalg.contract` takes these maps: its dimensions are reduced and
/// read by both inputs, or written and read by one.
bool import::areContractMaps(ArrayRef<AffineMap> maps) {
  if (!llvm::all_of(maps, [](AffineMap map) {
        return map.isProjectedPermutation() && map.getNumSymbols() == 0;
      }))
    return false;
  bool contracts = false;
  for (unsigned dim = 0, e = maps[0].getNumDims(); dim < e; ++dim) {
    bool lhs = maps[0].isFunctionOfDim(dim), rhs = maps[1].isFunctionOfDim(dim);
    bool out = maps[2].isFunctionOfDim(dim);
    if (out ? !lhs && !rhs : !lhs || !rhs)
      return false;
    contracts |= !out;
  }
  return contracts;
}

/// What the map of an operand becomes if the operand's transpose is left out.
static AffineMap composePermutation(AffineMap map, ArrayRef<int64_t> dims) {
  // Result dimension i of the transpose is dimension dims[i] of its input.
  SmallVector<AffineExpr> exprs(map.getNumResults());
  for (auto [result, input] : llvm::enumerate(dims))
    exprs[input] = map.getResult(result);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

//===----------------------------------------------------------------------===//
// Transposes and broadcasts
//===----------------------------------------------------------------------===//

/// If `value` repeats a tensor along further dimensions, the operation that
/// does.
static linalg::LinalgOp matchBroadcast(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || op.getNumDpsInputs() != 1 || op->getNumResults() != 1 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !isa<RankedTensorType>(op->getOperand(0).getType()))
    return {};
  Block &body = *op.getBlock();
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  return body.getTerminator()->getOperand(0) == body.getArgument(0) &&
                 maps[0].isProjectedPermutation() && maps[1].isIdentity()
             ? op
             : linalg::LinalgOp();
}

/// What is not read any more must not count as a reader.
static void eraseIfDead(RewriterBase &rewriter, Operation *op) {
  if (isOpTriviallyDead(op))
    rewriter.eraseOp(op);
}

/// Reads what a transpose or a broadcast reads in place of its result.
static void foldLayouts(RewriterBase &rewriter, linalg::ContractOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand &operand : op.getInputsMutable()) {
    AffineMap &map = maps[operand.getOperandNumber()];
    while (true) {
      AffineMap previous = map;
      Value input;
      if (std::optional<Permutation> transpose =
              matchPermutation(operand.get().getDefiningOp())) {
        map = composePermutation(map, transpose->dims);
        input = transpose->input;
      } else if (linalg::LinalgOp broadcast = matchBroadcast(operand.get())) {
        map = broadcast.getIndexingMapsArray()[0].compose(map);
        input = broadcast->getOperand(0);
      } else {
        break;
      }
      // A dimension that is summed has to be one of both factors.
      if (!import::areContractMaps(maps)) {
        map = previous;
        break;
      }
      Operation *layout = operand.get().getDefiningOp();
      rewriter.modifyOpInPlace(op, [&] { operand.set(input); });
      eraseIfDead(rewriter, layout);
    }
  }
  rewriter.modifyOpInPlace(op, [&] {
    op.setIndexingMapsAttr(rewriter.getAffineMapArrayAttr(maps));
  });
}

//===----------------------------------------------------------------------===//
// Transposed results
//===----------------------------------------------------------------------===//

/// Whether the dimensions of the result are those of a batch, then those of one
/// factor, then those of the other, as the factors have them in memory: a
/// library writes such a result, in whatever order the factors are.
static bool isWrittenInOrder(ArrayRef<AffineMap> maps,
                             ArrayRef<int64_t> sizes) {
  // The factors whose dimensions were found, and the place of the last in its
  // factor.
  SmallVector<unsigned> factors;
  unsigned last = 0;
  for (AffineExpr expr : maps[2].getResults()) {
    unsigned loop = cast<AffineDimExpr>(expr).getPosition();
    bool isOfLhs = maps[0].isFunctionOfDim(loop);
    bool isOfBatch = isOfLhs && maps[1].isFunctionOfDim(loop);
    // Loops of one iteration are nowhere in memory.
    if (sizes[loop] == 1 || (isOfBatch && factors.empty()))
      continue;
    unsigned factor = isOfLhs ? 0 : 1;
    unsigned place = *maps[factor].getResultPosition(expr);
    bool isNext = factors.empty() || factor != factors.back();
    if (isOfBatch || (isNext ? factors.size() == 2 : place < last))
      return false;
    if (isNext)
      factors.push_back(factor);
    last = place;
  }
  return true;
}

/// Writes what the only reader of the result would make of it by a transpose.
static void foldResultLayout(RewriterBase &rewriter, linalg::ContractOp op) {
  while (op->getResult(0).hasOneUse() && isZeroTensor(op.getOutputs()[0])) {
    Operation *reader = *op->getResult(0).user_begin();
    std::optional<Permutation> transpose = matchPermutation(reader);
    if (!transpose || transpose->input != op->getResult(0) ||
        reader->getBlock() != op->getBlock() ||
        reader->getDiscardableAttrDictionary() !=
            op->getDiscardableAttrDictionary())
      return;
    SmallVector<AffineMap> maps = op.getIndexingMapsArray();
    maps[2] = maps[2].getSubMap(
        SmallVector<unsigned>(transpose->dims.begin(), transpose->dims.end()));
    if (!isWrittenInOrder(maps, op.getStaticLoopRanges()))
      return;
    rewriter.setInsertionPoint(op);
    auto type = cast<RankedTensorType>(reader->getResult(0).getType());
    auto written = linalg::ContractOp::create(
        rewriter, op.getLoc(), TypeRange{type}, op.getInputs(),
        ValueRange{createZeros(rewriter, op.getLoc(), type)},
        rewriter.getAffineMapArrayAttr(maps));
    written.setCastAttr(op.getCastAttr());
    written->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.replaceOp(reader, written);
    rewriter.eraseOp(op);
    op = written;
  }
}

//===----------------------------------------------------------------------===//
// Repeated factors whose dimensions were joined
//===----------------------------------------------------------------------===//

/// The operation that makes `value` element by element out of one tensor of its
/// shape, for nothing but one user, or null.
static linalg::GenericOp matchUnary(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || !op->hasOneUse() || op->getNumResults() != 1 ||
      op.getNumDpsInputs() != 1 || !op.hasPureTensorSemantics() ||
      op.getNumParallelLoops() != op.getNumLoops() || op.hasIndexSemantics() ||
      op.payloadUsesValueFromOperand(op.getDpsInitOperand(0)) ||
      !llvm::all_of(op.getIndexingMapsArray(),
                    [](AffineMap map) { return map.isIdentity(); }) ||
      !isMemoryEffectFree(op))
    return {};
  return op;
}

/// Whether `value` is a tensor that was repeated along further dimensions, and
/// since then moved, joined with others and changed element by element.
static bool isRepeated(Value value) {
  while (true) {
    if (auto join = value.getDefiningOp<tensor::CollapseShapeOp>()) {
      value = join.getSrc();
    } else if (linalg::LinalgOp layout = matchBroadcast(value)) {
      if (!layout.getIndexingMapsArray()[0].isPermutation())
        return true;
      value = layout->getOperand(0);
    } else if (linalg::GenericOp unary = matchUnary(value)) {
      value = unary.getDpsInputs()[0];
    } else {
      return false;
    }
  }
}

/// Of several operations in a row that change the elements of `value`, the
/// first, which reads what was joined or laid out.
static linalg::GenericOp findFirstUnary(Value value) {
  linalg::GenericOp first;
  while (linalg::GenericOp unary = matchUnary(value)) {
    if (matchBroadcast(value))
      break;
    first = unary;
    value = unary.getDpsInputs()[0];
  }
  return first;
}

/// Lets `unary` change the elements before they are joined or laid out.
static void moveBeforeLayout(RewriterBase &rewriter, linalg::GenericOp unary) {
  rewriter.setInsertionPoint(unary);
  Location loc = unary.getLoc();
  Operation *layout = unary.getDpsInputs()[0].getDefiningOp();
  Value source = layout->getOperand(0);
  auto result = cast<RankedTensorType>(unary->getResult(0).getType());
  auto type =
      cast<RankedTensorType>(source.getType()).clone(result.getElementType());
  auto createEmpty = [&](RankedTensorType type) -> Value {
    return tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                   type.getElementType());
  };
  SmallVector<AffineMap> identities(
      2, rewriter.getMultiDimIdentityMap(type.getRank()));
  SmallVector<utils::IteratorType> parallel(type.getRank(),
                                            utils::IteratorType::parallel);
  auto changed = linalg::GenericOp::create(
      rewriter, loc, type, source, createEmpty(type), identities, parallel);
  rewriter.cloneRegionBefore(unary.getRegion(), changed.getRegion(),
                             changed.getRegion().begin());
  if (auto join = dyn_cast<tensor::CollapseShapeOp>(layout)) {
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        unary, result, changed.getResult(0), join.getReassociationIndices());
  } else {
    auto moved = cast<linalg::LinalgOp>(layout);
    rewriter.replaceOpWithNewOp<linalg::GenericOp>(
        unary, result, changed.getResult(0), createEmpty(result),
        moved.getIndexingMapsArray(), moved.getIteratorTypesArray(),
        [](OpBuilder &builder, Location loc, ValueRange elements) {
          linalg::YieldOp::create(builder, loc, elements[0]);
        });
  }
  eraseIfDead(rewriter, layout);
}

/// The dimensions of a tensor that is read by `map`, if loop i is `loops[i]`.
static SmallVector<ReassociationIndices>
groupDims(AffineMap map, ArrayRef<SmallVector<int64_t>> loops) {
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (AffineExpr expr : map.getResults()) {
    ReassociationIndices &group = groups.emplace_back();
    for (size_t i = 0;
         i < loops[cast<AffineDimExpr>(expr).getPosition()].size(); ++i)
      group.push_back(next++);
  }
  return groups;
}

/// `map` if loop i is `loops[i]`.
static AffineMap splitMap(AffineMap map, ArrayRef<SmallVector<int64_t>> loops,
                          unsigned numLoops) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults())
    for (int64_t loop : loops[cast<AffineDimExpr>(expr).getPosition()])
      exprs.push_back(getAffineDimExpr(loop, map.getContext()));
  return AffineMap::get(numLoops, 0, exprs, map.getContext());
}

/// Splits the loops of a contraction so that factor `number` is read as it was
/// before `join`.
static linalg::ContractOp splitLoops(RewriterBase &rewriter,
                                     linalg::ContractOp op, unsigned number,
                                     tensor::CollapseShapeOp join) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  // The loops that each is split into, and their sizes.
  SmallVector<SmallVector<int64_t>> loops, sizes;
  for (int64_t size : op.getStaticLoopRanges())
    sizes.push_back({size});
  for (auto [expr, dims] : llvm::zip_equal(maps[number].getResults(),
                                           join.getReassociationIndices()))
    sizes[cast<AffineDimExpr>(expr).getPosition()] = llvm::map_to_vector(
        dims, [&](int64_t dim) { return join.getSrcType().getDimSize(dim); });
  unsigned numLoops = 0;
  for (ArrayRef<int64_t> split : sizes) {
    SmallVector<int64_t> &numbers = loops.emplace_back();
    for (size_t i = 0; i < split.size(); ++i)
      numbers.push_back(numLoops++);
  }
  auto getType = [&](unsigned operand) {
    SmallVector<int64_t> shape;
    for (AffineExpr expr : maps[operand].getResults())
      llvm::append_range(shape, sizes[cast<AffineDimExpr>(expr).getPosition()]);
    return cast<RankedTensorType>(op->getOperand(operand).getType())
        .clone(shape);
  };

  rewriter.setInsertionPoint(op);
  Location loc = op.getLoc();
  SmallVector<Value> inputs(op.getInputs());
  inputs[number] = join.getSrc();
  unsigned other = 1 - number;
  if (getType(other) != inputs[other].getType())
    inputs[other] = tensor::ExpandShapeOp::create(
        rewriter, loc, getType(other), inputs[other],
        groupDims(maps[other], loops));
  RankedTensorType type = getType(2);
  SmallVector<AffineMap> splitMaps = llvm::map_to_vector(
      maps, [&](AffineMap map) { return splitMap(map, loops, numLoops); });
  auto split =
      linalg::ContractOp::create(rewriter, loc, TypeRange{type}, inputs,
                                 ValueRange{createZeros(rewriter, loc, type)},
                                 rewriter.getAffineMapArrayAttr(splitMaps));
  split.setCastAttr(op.getCastAttr());
  split->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (type == op->getResult(0).getType())
    rewriter.replaceOp(op, split);
  else
    rewriter.replaceOpWithNewOp<tensor::CollapseShapeOp>(
        op, op->getResult(0).getType(), split->getResult(0),
        groupDims(maps[2], loops));
  eraseIfDead(rewriter, join);
  return split;
}

void import::foldTransposesIntoContraction(RewriterBase &rewriter,
                                           linalg::ContractOp op) {
  foldLayouts(rewriter, op);
  if (op.hasDynamicShape())
    return;
  for (unsigned number = 0; number < 2; ++number) {
    while (isRepeated(op->getOperand(number))) {
      Value factor = op->getOperand(number);
      if (auto join = factor.getDefiningOp<tensor::CollapseShapeOp>())
        op = splitLoops(rewriter, op, number, join);
      else if (linalg::GenericOp unary = findFirstUnary(factor))
        moveBeforeLayout(rewriter, unary);
      else
        break;
      foldLayouts(rewriter, op);
    }
  }
  foldResultLayout(rewriter, op);
}
