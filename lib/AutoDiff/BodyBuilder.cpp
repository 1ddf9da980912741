//===- BodyBuilder.cpp - bodies of structured derivatives -----------------===//
//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BodyBuilder.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

#include "Emit.h"

using namespace mlir;
using namespace remat;

//===----------------------------------------------------------------------===//
// StructuredBody
//===----------------------------------------------------------------------===//

StructuredBody StructuredBody::get(linalg::LinalgOp op) {
  StructuredBody result;
  result.op = op;
  result.body = op.getBlock();
  result.sizes = op.getStaticLoopRanges();
  for (OpOperand &operand : op->getOpOperands()) {
    // linalg.map and others have no argument for some operands.
    unsigned number = operand.getOperandNumber();
    Value inside;
    if (number < result.body->getNumArguments())
      inside = result.body->getArgument(number);
    result.elements.push_back(
        {operand.get(), op.getMatchingIndexingMap(&operand), inside});
  }
  for (OpResult opResult : op->getResults()) {
    unsigned number = opResult.getResultNumber();
    AffineMap map = op.getIndexingMapMatchingResult(opResult);
    Value yielded = result.body->getTerminator()->getOperand(number);
    if (yielded.getDefiningOp() && yielded.getParentBlock() == result.body &&
        result.coversAllLoops(map))
      result.stored.try_emplace(yielded, Element{opResult, map, yielded});
  }
  return result;
}

StructuredBody StructuredBody::get(ScatterOp op) {
  StructuredBody result;
  result.op = op;
  result.body = &op.getBody().front();
  result.sizes = llvm::to_vector(op.getSizes());
  for (auto [input, map, argument] : llvm::zip(
           op.getInputs(), op.getIndexingMapsArray(), op.getElementArguments()))
    result.elements.push_back({input, map, argument});
  llvm::append_range(result.points, op.getPointArguments());
  return result;
}

bool StructuredBody::coversAllLoops(AffineMap map) const {
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    AffineExpr expr = getAffineDimExpr(dim, map.getContext());
    if (size != 1 && !llvm::is_contained(map.getResults(), expr))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Building a body
//===----------------------------------------------------------------------===//

BodyBuilder::BodyBuilder(const StructuredBody &forward, bool forScatter,
                         bool useStored, Location loc)
    : forward(forward), useStored(useStored), block(std::make_unique<Block>()),
      blockBuilder(loc.getContext()) {
  setBuilder(blockBuilder);
  // A detached block does not know the context.
  blockBuilder.setInsertionPointToEnd(block.get());
  setLoc(loc);
  if (!forScatter)
    return;
  for (unsigned dim = 0; dim < forward.getNumLoops(); ++dim)
    pointValues[dim] = block->addArgument(blockBuilder.getIndexType(), loc);
}

Value BodyBuilder::element(Value source, AffineMap map, bool isPrimal) {
  for (Input &input : inputs)
    if (input.source == source && input.map == map &&
        input.isPrimal == isPrimal)
      return input.argument;
  BlockArgument argument =
      block->addArgument(getElementTypeOrSelf(source.getType()), getLoc());
  inputs.push_back({source, map, isPrimal, argument});
  return argument;
}

Value BodyBuilder::point(unsigned dim) {
  Value &value = pointValues[dim];
  if (!value) {
    OpBuilder::InsertionGuard guard(blockBuilder);
    blockBuilder.setInsertionPointToStart(block.get());
    value = linalg::IndexOp::create(blockBuilder, getLoc(), dim);
  }
  return value;
}

SmallVector<Value> BodyBuilder::apply(AffineMap map, ValueRange symbols) {
  SmallVector<Value> coordinates;
  for (unsigned dim = 0; dim < forward.getNumLoops(); ++dim)
    coordinates.push_back(map.isFunctionOfDim(dim) ? point(dim) : Value());
  SmallVector<Value> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(affine::expandAffineExpr(blockBuilder, getLoc(), expr,
                                               coordinates, symbols));
  return results;
}

Value BodyBuilder::extract(Value tensor, ValueRange indices) {
  return tensor::ExtractOp::create(blockBuilder, getLoc(), tensor, indices);
}

Value BodyBuilder::cloneOp(OpResult result) {
  Operation *op = result.getOwner();
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, primal(operand));
  Operation *clone = blockBuilder.clone(*op, mapping);
  for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults()))
    mapped[from] = to;
  return mapped[result];
}

/// Whether `choice` compares with a number as the value that `compare` compares
/// does: it is that value or, where the comparison chooses so, another number
/// (relu(x) > 0 if and only if x > 0).
static bool comparesLikeItsChoice(arith::CmpFOp compare, Value choice) {
  auto select = choice.getDefiningOp<arith::SelectOp>();
  if (!select || select.getCondition() != compare.getResult())
    return false;
  bool takesIfTrue = select.getTrueValue() == compare.getLhs();
  Value other = takesIfTrue ? select.getFalseValue() : select.getTrueValue();
  Value taken = takesIfTrue ? select.getTrueValue() : select.getFalseValue();
  FloatAttr number, threshold;
  return taken == compare.getLhs() &&
         matchPattern(other, m_Constant(&number)) &&
         matchPattern(compare.getRhs(), m_Constant(&threshold)) &&
         arith::applyCmpPredicate(compare.getPredicate(), number.getValue(),
                                  threshold.getValue()) == !takesIfTrue;
}

/// A comparison that holds for what was stored as it did for what was compared.
Value BodyBuilder::compareStored(Value value) {
  auto compare = value.getDefiningOp<arith::CmpFOp>();
  if (!compare)
    return {};
  for (Operation *user : compare->getUsers()) {
    auto found = user->getNumResults() == 1
                     ? forward.stored.find(user->getResult(0))
                     : forward.stored.end();
    if (found == forward.stored.end() ||
        !comparesLikeItsChoice(compare, found->first))
      continue;
    IRMapping mapping;
    mapping.map(compare.getLhs(),
                element(found->second.source, found->second.map, true));
    mapping.map(compare.getRhs(), primal(compare.getRhs()));
    return mapped[value] = blockBuilder.clone(*compare, mapping)->getResult(0);
  }
  return {};
}

Value BodyBuilder::primal(Value value) {
  if (Value known = mapped.lookup(value))
    return known;
  if (value.getParentBlock() != forward.body) {
    captured.insert(value);
    return value;
  }
  if (useStored) {
    auto found = forward.stored.find(value);
    if (found != forward.stored.end())
      return element(found->second.source, found->second.map, true);
    if (Value same = compareStored(value))
      return same;
  }
  if (isa<BlockArgument>(value)) {
    for (auto [dim, argument] : llvm::enumerate(forward.points))
      if (argument == value)
        return point(dim);
    for (const StructuredBody::Element &candidate : forward.elements)
      if (candidate.inside == value)
        return element(candidate.source, candidate.map, true);
    llvm_unreachable("an argument stands for an element or a coordinate");
  }
  if (auto index = value.getDefiningOp<linalg::IndexOp>())
    return point(index.getDim());
  return cloneOp(cast<OpResult>(value));
}

void BodyBuilder::activate(ArrayRef<Value> leaves) {
  active.insert(leaves.begin(), leaves.end());
  for (Operation &op : forward.body->without_terminator()) {
    auto rule = dyn_cast<DifferentiableOpInterface>(op);
    if (rule && rule.blocksDerivative())
      continue;
    if (llvm::none_of(op.getOperands(),
                      [&](Value value) { return isActive(value); }))
      continue;
    for (Value result : op.getResults())
      if (isDifferentiableType(result.getType()))
        active.insert(result);
  }
}

int64_t BodyBuilder::getPrimalBytes() const {
  llvm::SmallDenseSet<Value> seen;
  int64_t bytes = 0;
  auto count = [&](Value source) {
    auto type = dyn_cast<RankedTensorType>(source.getType());
    if (!type || isa<BlockArgument>(source) || !seen.insert(source).second)
      return;
    bytes += getBufferBytes(type);
  };
  for (const Input &input : inputs)
    if (input.isPrimal)
      count(input.source);
  for (Value value : captured)
    count(value);
  return bytes;
}

//===----------------------------------------------------------------------===//
// Making the operation
//===----------------------------------------------------------------------===//

SmallVector<Value> BodyBuilder::resolveInputs(DerivativeContext &outer) {
  for (Value value : captured) {
    Value supplied = outer.primal(value);
    if (supplied == value)
      continue;
    block->walk([&](Operation *op) { op->replaceUsesOfWith(value, supplied); });
  }
  SmallVector<Value> sources;
  for (const Input &input : inputs)
    sources.push_back(input.isPrimal ? outer.primal(input.source)
                                     : input.source);
  return sources;
}

/// `map` without its constant results, which index dimensions of size 1.
static AffineMap dropConstants(AffineMap map) {
  SmallVector<AffineExpr> exprs;
  for (AffineExpr expr : map.getResults())
    if (!isa<AffineConstantExpr>(expr))
      exprs.push_back(expr);
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

SmallVector<Value> BodyBuilder::finishGeneric(DerivativeContext &outer,
                                              ValueRange values,
                                              ArrayRef<AffineMap> maps) {
  OpBuilder &builder = outer.getBuilder();
  SmallVector<Value> inits;
  SmallVector<AffineMap> outMaps;
  SmallVector<Combiner> combiners;
  for (auto [value, map] : llvm::zip(values, maps)) {
    AffineMap outMap = dropConstants(map);
    SmallVector<int64_t> shape;
    for (AffineExpr expr : outMap.getResults())
      shape.push_back(forward.sizes[cast<AffineDimExpr>(expr).getPosition()]);
    outMaps.push_back(outMap);
    if (forward.coversAllLoops(outMap)) {
      inits.push_back(
          tensor::EmptyOp::create(builder, getLoc(), shape, value.getType()));
      combiners.push_back(nullptr);
      continue;
    }
    inits.push_back(createZeros(
        builder, getLoc(),
        RankedTensorType::get(shape, getAccumulatorType(value.getType()))));
    combiners.push_back(createSum);
  }
  SmallVector<Value> results =
      finishReduction(outer, values, outMaps, inits, combiners);
  for (auto [result, value] : llvm::zip(results, values))
    result = createConversion(builder, getLoc(), result, value.getType());
  return results;
}

/// Adds an operand that is never read if without it no operand would tell
/// linalg the size of some loop.
static void addShapeOperand(OpBuilder &builder, Location loc, Block &block,
                            ArrayRef<int64_t> sizes,
                            SmallVectorImpl<Value> &operands,
                            SmallVectorImpl<AffineMap> &maps,
                            ArrayRef<AffineMap> outMaps) {
  MLIRContext *context = builder.getContext();
  SmallVector<AffineExpr> missing;
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(sizes)) {
    AffineExpr expr = getAffineDimExpr(dim, context);
    auto mentions = [&](AffineMap map) {
      return llvm::is_contained(map.getResults(), expr);
    };
    if (llvm::any_of(maps, mentions) || llvm::any_of(outMaps, mentions))
      continue;
    missing.push_back(expr);
    shape.push_back(size);
  }
  if (missing.empty())
    return;
  Type type = builder.getI8Type();
  operands.push_back(tensor::EmptyOp::create(builder, loc, shape, type));
  maps.push_back(AffineMap::get(sizes.size(), 0, missing, context));
  block.addArgument(type, loc);
}

SmallVector<Value> BodyBuilder::finishReduction(DerivativeContext &outer,
                                                ValueRange values,
                                                ArrayRef<AffineMap> outMaps,
                                                ValueRange inits,
                                                ArrayRef<Combiner> combiners) {
  OpBuilder &builder = outer.getBuilder();
  SmallVector<Value> operands = resolveInputs(outer);
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs)
    maps.push_back(input.map);
  addShapeOperand(builder, getLoc(), *block, forward.sizes, operands, maps,
                  outMaps);
  llvm::append_range(maps, outMaps);

  SmallVector<utils::IteratorType> iterators;
  for (auto [dim, size] : llvm::enumerate(forward.sizes)) {
    AffineExpr expr = getAffineDimExpr(dim, builder.getContext());
    bool parallel = size == 1 || llvm::all_of(outMaps, [&](AffineMap map) {
                      return llvm::is_contained(map.getResults(), expr);
                    });
    iterators.push_back(parallel ? utils::IteratorType::parallel
                                 : utils::IteratorType::reduction);
  }

  SmallVector<Value> yields;
  for (auto [value, init, combiner] : llvm::zip(values, inits, combiners)) {
    Type type = getElementTypeOrSelf(init.getType());
    BlockArgument accumulator = block->addArgument(type, getLoc());
    Value term = value;
    if (combiner) {
      if (isa<FloatType>(type))
        term = createScalarConversion(blockBuilder, getLoc(), term, type);
      term = combiner(blockBuilder, getLoc(), accumulator, term);
    }
    yields.push_back(term);
  }
  linalg::YieldOp::create(blockBuilder, getLoc(), yields);
  auto op = linalg::GenericOp::create(builder, getLoc(), inits.getTypes(),
                                      operands, inits, maps, iterators);
  op.getRegion().push_back(block.release());
  return llvm::to_vector_of<Value>(op.getResults());
}

Value BodyBuilder::finishScatter(DerivativeContext &outer, ValueRange indices,
                                 Value value, Value init) {
  OpBuilder &builder = outer.getBuilder();
  SmallVector<Value> operands = resolveInputs(outer);
  SmallVector<AffineMap> maps;
  for (const Input &input : inputs)
    maps.push_back(input.map);
  SmallVector<Value> yields = llvm::to_vector(indices);
  yields.push_back(value);
  YieldOp::create(blockBuilder, getLoc(), yields);
  auto op =
      ScatterOp::create(builder, getLoc(), TypeRange(init.getType()), operands,
                        init, builder.getAffineMapArrayAttr(maps),
                        builder.getDenseI64ArrayAttr(forward.sizes));
  op.getBody().push_back(block.release());
  return op.getResult();
}
